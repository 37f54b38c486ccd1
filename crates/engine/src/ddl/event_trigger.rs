//! Event triggers: CREATE, ALTER, and what fires when a definition runs.

use super::Ddl;
use base::{Error, Oid, Result, bail, err};
use catalog::depend::{self, DependKind, ObjectAddress};
use catalog::{SysRow, oids, vector};
use parser::ast::{CreateEventTriggerStmt, TriggerState};

/// The type of event triggers' functions.
const EVENT_TRIGGER: Oid = Oid(3838);

const EVENTS: [&str; 5] =
    ["ddl_command_start", "ddl_command_end", "sql_drop", "login", "table_rewrite"];

/// Commands that fire event triggers.
#[rustfmt::skip]
const FIRING: &[&str] = &[
    "ALTER ACCESS METHOD", "ALTER AGGREGATE", "ALTER CAST", "ALTER COLLATION", "ALTER CONSTRAINT",
    "ALTER CONVERSION", "ALTER DEFAULT PRIVILEGES", "ALTER DOMAIN", "ALTER EXTENSION",
    "ALTER FOREIGN DATA WRAPPER", "ALTER FOREIGN TABLE", "ALTER FUNCTION", "ALTER INDEX",
    "ALTER LANGUAGE", "ALTER LARGE OBJECT", "ALTER MATERIALIZED VIEW", "ALTER OPERATOR",
    "ALTER OPERATOR CLASS", "ALTER OPERATOR FAMILY", "ALTER POLICY", "ALTER PROCEDURE",
    "ALTER PUBLICATION", "ALTER ROUTINE", "ALTER RULE", "ALTER SCHEMA", "ALTER SEQUENCE",
    "ALTER SERVER", "ALTER STATISTICS", "ALTER SUBSCRIPTION", "ALTER TABLE",
    "ALTER TEXT SEARCH CONFIGURATION", "ALTER TEXT SEARCH DICTIONARY", "ALTER TEXT SEARCH PARSER",
    "ALTER TEXT SEARCH TEMPLATE", "ALTER TRANSFORM", "ALTER TRIGGER", "ALTER TYPE",
    "ALTER USER MAPPING", "ALTER VIEW", "CREATE ACCESS METHOD", "CREATE AGGREGATE", "CREATE CAST",
    "CREATE COLLATION", "CREATE CONSTRAINT", "CREATE CONVERSION", "CREATE DOMAIN",
    "CREATE EXTENSION", "CREATE FOREIGN DATA WRAPPER", "CREATE FOREIGN TABLE", "CREATE FUNCTION",
    "CREATE INDEX", "CREATE LANGUAGE", "CREATE MATERIALIZED VIEW", "CREATE OPERATOR",
    "CREATE OPERATOR CLASS", "CREATE OPERATOR FAMILY", "CREATE POLICY", "CREATE PROCEDURE",
    "CREATE PUBLICATION", "CREATE ROUTINE", "CREATE RULE", "CREATE SCHEMA", "CREATE SEQUENCE",
    "CREATE SERVER", "CREATE STATISTICS", "CREATE SUBSCRIPTION", "CREATE TABLE", "CREATE TABLE AS",
    "CREATE TEXT SEARCH CONFIGURATION", "CREATE TEXT SEARCH DICTIONARY",
    "CREATE TEXT SEARCH PARSER", "CREATE TEXT SEARCH TEMPLATE", "CREATE TRANSFORM",
    "CREATE TRIGGER", "CREATE TYPE", "CREATE USER MAPPING", "CREATE VIEW", "DROP ACCESS METHOD",
    "DROP AGGREGATE", "DROP CAST", "DROP COLLATION", "DROP CONSTRAINT", "DROP CONVERSION",
    "DROP DOMAIN", "DROP EXTENSION", "DROP FOREIGN DATA WRAPPER", "DROP FOREIGN TABLE",
    "DROP FUNCTION", "DROP INDEX", "DROP LANGUAGE", "DROP MATERIALIZED VIEW", "DROP OPERATOR",
    "DROP OPERATOR CLASS", "DROP OPERATOR FAMILY", "DROP POLICY", "DROP PROCEDURE",
    "DROP PUBLICATION", "DROP ROUTINE", "DROP RULE", "DROP SCHEMA", "DROP SEQUENCE", "DROP SERVER",
    "DROP STATISTICS", "DROP SUBSCRIPTION", "DROP TABLE", "DROP TEXT SEARCH CONFIGURATION",
    "DROP TEXT SEARCH DICTIONARY", "DROP TEXT SEARCH PARSER", "DROP TEXT SEARCH TEMPLATE",
    "DROP TRANSFORM", "DROP TRIGGER", "DROP TYPE", "DROP USER MAPPING", "DROP VIEW", "DROP OWNED",
    "GRANT", "REVOKE", "COMMENT", "SECURITY LABEL", "IMPORT FOREIGN SCHEMA",
    "REFRESH MATERIALIZED VIEW", "SELECT INTO", "REINDEX", "LOGIN",
];

/// Commands that do not.
#[rustfmt::skip]
const SILENT: &[&str] = &[
    "ALTER DATABASE", "ALTER EVENT TRIGGER", "ALTER ROLE", "ALTER SYSTEM", "ALTER TABLESPACE",
    "CREATE DATABASE", "CREATE EVENT TRIGGER", "CREATE ROLE", "CREATE TABLESPACE", "DROP DATABASE",
    "DROP EVENT TRIGGER", "DROP ROLE", "DROP TABLESPACE", "GRANT ROLE", "REVOKE ROLE",
    "REASSIGN OWNED", "SELECT", "INSERT", "UPDATE", "DELETE", "MERGE", "TRUNCATE TABLE", "VACUUM",
    "ANALYZE", "CLUSTER", "COPY", "COPY FROM", "BEGIN", "COMMIT", "ROLLBACK", "START TRANSACTION",
    "SAVEPOINT", "RELEASE", "ROLLBACK PREPARED", "COMMIT PREPARED", "PREPARE TRANSACTION",
    "PREPARE", "EXECUTE", "DEALLOCATE", "DEALLOCATE ALL", "DECLARE CURSOR", "CLOSE CURSOR",
    "CLOSE CURSOR ALL", "FETCH", "MOVE", "LISTEN", "UNLISTEN", "NOTIFY", "LOAD", "LOCK TABLE",
    "SET", "SET CONSTRAINTS", "SHOW", "RESET", "DISCARD", "DISCARD ALL", "DISCARD PLANS",
    "DISCARD SEQUENCES", "DISCARD TEMP", "DO", "CALL", "CHECKPOINT", "EXPLAIN",
    "SELECT FOR KEY SHARE", "SELECT FOR NO KEY UPDATE", "SELECT FOR SHARE", "SELECT FOR UPDATE",
];

fn check_tag(event: &str, tag: &str) -> Result<()> {
    let upper = tag.to_ascii_uppercase();
    let unsupported = || err!(FEATURE_NOT_SUPPORTED, "event triggers are not supported for {tag}");
    if event == "table_rewrite" {
        return match upper.as_str() {
            "ALTER TABLE" | "ALTER TYPE" | "ALTER MATERIALIZED VIEW" => Ok(()),
            _ => Err(unsupported()),
        };
    }
    if FIRING.contains(&upper.as_str()) {
        return Ok(());
    }
    if SILENT.contains(&upper.as_str()) {
        return Err(unsupported());
    }
    bail!(SYNTAX_ERROR, "filter value \"{tag}\" not recognized for filter variable \"tag\"")
}

impl Ddl<'_> {
    /// CREATE EVENT TRIGGER.
    pub fn create_event_trigger(&self, stmt: &CreateEventTriggerStmt) -> Result<()> {
        let name = stmt.name.as_str();
        if !self.is_superuser()? {
            return Err(err!(
                INSUFFICIENT_PRIVILEGE,
                "permission denied to create event trigger \"{name}\""
            )
            .hint("Must be superuser to create an event trigger."));
        }
        let event = stmt.event.as_str();
        if !EVENTS.contains(&event) {
            bail!(SYNTAX_ERROR, "unrecognized event name \"{event}\"");
        }
        let mut tags: Option<&[String]> = None;
        for (variable, values) in &stmt.when {
            if variable.name != "tag" {
                bail!(SYNTAX_ERROR, "unrecognized filter variable \"{}\"", variable.name);
            }
            if tags.replace(values).is_some() {
                bail!(SYNTAX_ERROR, "filter variable \"tag\" specified more than once");
            }
        }
        for tag in tags.into_iter().flatten() {
            if event == "login" {
                bail!(
                    FEATURE_NOT_SUPPORTED,
                    "tag filtering is not supported for login event triggers"
                );
            }
            check_tag(event, tag)?;
        }
        if self.named_row(oids::PG_EVENT_TRIGGER, "evtname", name)?.is_some() {
            bail!(DUPLICATE_OBJECT, "event trigger \"{name}\" already exists");
        }
        let function = self.function_exact(&stmt.function, &[])?;
        if function.return_type != EVENT_TRIGGER {
            bail!(
                INVALID_OBJECT_DEFINITION,
                "function {} must return type event_trigger",
                stmt.function.parts.join(".")
            );
        }
        let oid = self.rows.new_oid(oids::PG_EVENT_TRIGGER)?;
        let mut row = SysRow::new(oids::PG_EVENT_TRIGGER)?;
        let tags = match tags {
            Some(tags) => {
                let upper: Vec<String> = tags.iter().map(|t| t.to_ascii_uppercase()).collect();
                vector::from_texts(oids::TEXT, &upper)
            }
            None => types::Datum::Null,
        };
        row.set_oid("oid", oid)?
            .set_text("evtname", name)?
            .set_text("evtevent", event)?
            .set_oid("evtowner", self.user())?
            .set_oid("evtfoid", function.oid)?
            .set_char("evtenabled", b'O')?
            .set("evttags", tags)?;
        self.rows.insert(row)?;
        let own = ObjectAddress::new(oids::PG_EVENT_TRIGGER, oid);
        self.depend_owner(own, self.user())?;
        let on = ObjectAddress::new(oids::PG_PROC, function.oid);
        depend::record(self.rows, own, on, DependKind::Normal)
    }

    /// ALTER EVENT TRIGGER .. ENABLE and DISABLE.
    pub fn alter_event_trigger(&self, name: &str, state: TriggerState) -> Result<()> {
        let Some(mut row) = self.named_row(oids::PG_EVENT_TRIGGER, "evtname", name)? else {
            bail!(UNDEFINED_OBJECT, "event trigger \"{name}\" does not exist");
        };
        self.require_owner(ObjectAddress::new(oids::PG_EVENT_TRIGGER, row.oid("oid")?))?;
        row.set_char("evtenabled", super::alter::state_letter(state))?;
        self.rows.update(row)?;
        Ok(())
    }

    /// An event trigger's owner is a superuser.
    pub(super) fn check_event_trigger_owner(&self, a: ObjectAddress, owner: Oid) -> Result<()> {
        if self.view.role(owner)?.superuser {
            return Ok(());
        }
        let row = self.row_of(a.class, a.object)?;
        Err(err!(
            INSUFFICIENT_PRIVILEGE,
            "permission denied to change owner of event trigger \"{}\"",
            row.text("evtname")?
        )
        .hint("The owner of an event trigger must be a superuser."))
    }

    /// Fires the event triggers that are for a command, in the order of their names.
    pub fn fire_event(&self, event: &str, tag: &str) -> Result<()> {
        if !FIRING.contains(&tag) || !self.settings.bool("event_triggers") {
            return Ok(());
        }
        let replica = self.settings.str("session_replication_role") == "replica";
        let mut found = Vec::new();
        for row in self.rows.table_scan(oids::PG_EVENT_TRIGGER)? {
            let fires = match row.char("evtenabled")? {
                b'D' => false,
                b'A' => true,
                b'R' => replica,
                _ => !replica,
            };
            let tags = row.texts("evttags")?;
            if fires
                && *row.text("evtevent")? == *event
                && tags.is_none_or(|t| t.iter().any(|t| t == tag))
            {
                found.push((row.text("evtname")?, row.oid("evtfoid")?));
            }
        }
        found.sort();
        match found.first() {
            Some((_, function)) => {
                let name = &self.view.proc(*function)?.name;
                let text = format!("calling the event trigger function {name}");
                Err(Error::unsupported(text))
            }
            None => Ok(()),
        }
    }

    /// A small system table's row by the name in it.
    pub(super) fn named_row(&self, class: Oid, column: &str, name: &str) -> Result<Option<SysRow>> {
        for row in self.rows.table_scan(class)? {
            if *row.text(column)? == *name {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }
}
