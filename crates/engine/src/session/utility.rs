//! Statements that are not planned: which function runs which.

use super::Session;
use super::simple::{is_query, unsupported};
use crate::command::set::show_columns;
use crate::ddl::Ddl;
use crate::sink::{ResultColumn, Sink};
use base::{Error, Result, bail};
use parser::ast::{ObjectKind, RawStmt, Stmt};
use std::cell::RefCell;
use types::Datum;

/// The columns that a utility statement gives, if it gives rows.
pub(super) fn result_columns(session: &Session, stmt: &Stmt) -> Result<Vec<ResultColumn>> {
    Ok(match stmt {
        Stmt::Show(s) => show_columns(&s.name),
        Stmt::Explain(_) => vec![crate::command::set::text_column("QUERY PLAN")],
        Stmt::Fetch(f) if !f.is_move => match session.portals.get(&f.cursor) {
            Some(p) => p.prepared.analysed.lock().columns.clone(),
            None => Vec::new(),
        },
        Stmt::Execute(e) => match session.core.prepared.lock().get(&e.name) {
            Some(p) => p.analysed.lock().columns.clone(),
            None => Vec::new(),
        },
        _ => Vec::new(),
    })
}

/// The word for an object kind in a command tag.
fn kind_word(kind: ObjectKind) -> &'static str {
    match kind {
        ObjectKind::Table => "TABLE",
        ObjectKind::Index => "INDEX",
        ObjectKind::Sequence => "SEQUENCE",
        ObjectKind::View => "VIEW",
        ObjectKind::MatView => "MATERIALIZED VIEW",
        ObjectKind::Schema => "SCHEMA",
        ObjectKind::Type => "TYPE",
        ObjectKind::Domain => "DOMAIN",
        ObjectKind::Function => "FUNCTION",
        ObjectKind::Procedure => "PROCEDURE",
        ObjectKind::Routine => "ROUTINE",
        ObjectKind::Aggregate => "AGGREGATE",
        ObjectKind::Trigger => "TRIGGER",
        ObjectKind::Rule => "RULE",
        ObjectKind::Policy => "POLICY",
        ObjectKind::Extension => "EXTENSION",
        ObjectKind::Collation => "COLLATION",
        ObjectKind::Operator => "OPERATOR",
        ObjectKind::ForeignTable => "FOREIGN TABLE",
        ObjectKind::AccessMethod => "ACCESS METHOD",
        ObjectKind::Cast => "CAST",
        ObjectKind::Conversion => "CONVERSION",
        ObjectKind::EventTrigger => "EVENT TRIGGER",
        ObjectKind::ForeignDataWrapper => "FOREIGN DATA WRAPPER",
        ObjectKind::ForeignServer => "SERVER",
        ObjectKind::Language => "LANGUAGE",
        ObjectKind::LargeObject => "LARGE OBJECT",
        ObjectKind::OpClass => "OPERATOR CLASS",
        ObjectKind::OpFamily => "OPERATOR FAMILY",
        ObjectKind::Publication => "PUBLICATION",
        ObjectKind::Subscription => "SUBSCRIPTION",
        ObjectKind::Statistics => "STATISTICS",
        ObjectKind::Tablespace => "TABLESPACE",
        ObjectKind::Transform => "TRANSFORM",
        ObjectKind::TsConfiguration => "TEXT SEARCH CONFIGURATION",
        ObjectKind::TsDictionary => "TEXT SEARCH DICTIONARY",
        ObjectKind::TsParser => "TEXT SEARCH PARSER",
        ObjectKind::TsTemplate => "TEXT SEARCH TEMPLATE",
        _ => "OBJECT",
    }
}

impl Session {
    fn check_may_checkpoint(&self) -> Result<()> {
        if self.core.has_rights_of(catalog::oids::PG_CHECKPOINT)? {
            return Ok(());
        }
        let text = "permission denied to execute CHECKPOINT command";
        Err(Error::new(base::SqlState::INSUFFICIENT_PRIVILEGE, text).detail(
            "Only roles with privileges of the \"pg_checkpoint\" role may execute this command.",
        ))
    }

    /// Runs a statement that is not planned; gives its command tag.
    pub(crate) fn utility(
        &mut self,
        stmt: &RawStmt,
        text: &str,
        params: &[Datum],
        sink: &mut dyn Sink,
    ) -> Result<String> {
        debug_assert!(!is_query(&stmt.stmt));
        if let Some(tag) = self.command(stmt, text, params, sink)? {
            return Ok(tag);
        }
        let tag = match &stmt.stmt {
            Stmt::Set(s) => {
                let tag = self.set_stmt(s)?;
                // The next statement begins with these.
                let settings = self.core.resolved();
                self.logs = settings.log.statements;
                self.interrupts().set_client_check_ms(settings.client_check_ms);
                tag
            }
            Stmt::Show(s) => {
                self.show_stmt(&s.name, sink)?;
                "SHOW"
            }
            Stmt::Explain(e) => self.explain_stmt(e, params, text, sink)?,
            Stmt::Copy(c) => return self.copy_stmt(c, sink),
            Stmt::Vacuum(v) => self.vacuum_stmt(v)?,
            Stmt::Checkpoint(_) => {
                self.check_may_checkpoint()?;
                self.core.database.checkpoint(crate::CheckpointKind::Requested)?;
                "CHECKPOINT"
            }
            Stmt::Lock(l) => self.lock_stmt(l)?,
            Stmt::Deallocate(name) => self.deallocate(name.as_deref())?,
            Stmt::Discard(target) => self.discard(*target)?,
            Stmt::Listen(channel) => {
                let level = self.savepoint_level();
                self.core.trace_notify(|pid| format!("Async_Listen({channel},{pid})"));
                self.core.listening.lock().listen(level, channel);
                "LISTEN"
            }
            Stmt::Unlisten(channel) => {
                let level = self.savepoint_level();
                self.core.trace_notify(|pid| match channel {
                    Some(channel) => format!("Async_Unlisten({channel},{pid})"),
                    None => format!("Async_UnlistenAll({pid})"),
                });
                self.core.listening.lock().unlisten(level, channel.as_deref());
                "UNLISTEN"
            }
            Stmt::Notify(n) => {
                let payload = n.payload.as_deref().unwrap_or("");
                crate::notify_fn::notify(&self.core, &n.channel, payload)?;
                "NOTIFY"
            }
            Stmt::Close(name) => self.close_cursor(name.as_deref())?,
            Stmt::SetConstraints(s) => self.set_constraints(s)?,
            Stmt::CreateTableAs(c) => return self.create_table_as(c, params, text),
            Stmt::Select(s) => return self.select_into(s, text),
            Stmt::Call(c) => self.call_stmt(c, params, sink)?,
            Stmt::RefreshMatView(r) => self.refresh_matview(r, text)?,
            _ => return self.definition(stmt, text),
        };
        Ok(tag.to_string())
    }

    /// Runs a definition.
    fn definition(&mut self, stmt: &RawStmt, text: &str) -> Result<String> {
        self.prevent_in_read_only_definition(&stmt.stmt)?;
        match &stmt.stmt {
            Stmt::CreateIndex(c) if c.concurrently => {
                self.prevent_in_block("CREATE INDEX CONCURRENTLY")?;
            }
            Stmt::Drop(d) if d.concurrently => self.prevent_in_block("DROP INDEX CONCURRENTLY")?,
            _ => {}
        }
        self.prepare_temp(&stmt.stmt)?;
        let tag = self.with_ddl(text, |ddl| {
            let tag = run_definition(ddl, &stmt.stmt)?;
            // Event triggers cannot change what the command does: until their functions run, it
            // does not matter that those for its start are looked for at its end.
            ddl.fire_event("ddl_command_start", &tag)?;
            if matches!(stmt.stmt, Stmt::Drop(_)) {
                ddl.fire_event("sql_drop", &tag)?;
            }
            ddl.fire_event("ddl_command_end", &tag)?;
            Ok(tag)
        })?;
        if let Stmt::CreateSchema(c) = &stmt.stmt
            && !c.elements.is_empty()
        {
            self.schema_elements(c, text)?;
        }
        Ok(tag)
    }

    /// The statements within CREATE SCHEMA, run with the schema first in the search path.
    fn schema_elements(&mut self, stmt: &parser::ast::CreateSchemaStmt, text: &str) -> Result<()> {
        self.core.txn()?.increment_command()?;
        let name = match (&stmt.name, &stmt.authorization) {
            (Some(name), _) => name.clone(),
            (None, Some(role)) => {
                let oid = self.with_ddl(text, |ddl| ddl.role_oid(role))?;
                self.core.view()?.role(oid)?.name.to_string()
            }
            (None, None) => return Ok(()),
        };
        {
            let mut s = self.core.settings.lock();
            let old = s.str("search_path").to_string();
            s.begin_level();
            let path = match old.trim().is_empty() {
                true => crate::ddl::name::quote(&name),
                false => format!("{}, {old}", crate::ddl::name::quote(&name)),
            };
            let actor = crate::settings::Actor { superuser: true, at_start: false };
            s.set("search_path", &path, true, actor)?;
        }
        let mut elements: Vec<&RawStmt> = stmt.elements.iter().collect();
        elements.sort_by_key(|e| match &e.stmt {
            Stmt::CreateSequence(_) => 0,
            Stmt::CreateTable(_) => 1,
            Stmt::CreateView(_) => 2,
            Stmt::CreateIndex(_) => 3,
            Stmt::CreateTrigger(_) => 4,
            _ => 5,
        });
        let mut result = Ok(());
        for element in elements {
            result = check_element(&element.stmt, &name)
                .and_then(|()| self.definition(element, text))
                .and_then(|_| self.core.txn()?.increment_command().map(|_| ()));
            if result.is_err() {
                break;
            }
        }
        self.core.settings.lock().abort_level();
        result
    }

    /// Does something with all that a definition works with.
    pub(crate) fn with_ddl<T>(
        &self,
        text: &str,
        work: impl FnOnce(&Ddl<'_>) -> Result<T>,
    ) -> Result<T> {
        let settings = self.settings();
        let notices = RefCell::new(Vec::new());
        let result = {
            let _kept = self.core.store.keep_locks();
            let env = self.env()?;
            let ddl = Ddl {
                rows: &*self.core.store,
                view: env.view.clone(),
                env: &env,
                storage: self,
                settings: &settings,
                notices: &notices,
                text,
            };
            work(&ddl)
        };
        for notice in notices.into_inner() {
            self.core.notice(super::locate(notice, text));
        }
        result
    }

    fn prevent_in_read_only_definition(&self, stmt: &Stmt) -> Result<()> {
        let what = match stmt {
            Stmt::CreateTable(_) => "CREATE TABLE",
            Stmt::CreateIndex(_) => "CREATE INDEX",
            Stmt::CreateSequence(_) => "CREATE SEQUENCE",
            Stmt::CreateView(_) => "CREATE VIEW",
            Stmt::CreateSchema(_) => "CREATE SCHEMA",
            Stmt::AlterTable(_) => "ALTER TABLE",
            Stmt::Truncate(_) => "TRUNCATE TABLE",
            Stmt::Comment(_) => "COMMENT",
            Stmt::Drop(d) => return self.prevent_in_read_only(&drop_tag(d.kind)),
            _ => return Ok(()),
        };
        self.prevent_in_read_only(what)
    }

    /// Makes the session's temporary schema, if the statement needs it.
    fn prepare_temp(&mut self, stmt: &Stmt) -> Result<()> {
        match stmt {
            Stmt::CreateTable(c) => self.prepare_temp_for(&c.rel, c.persistence),
            Stmt::CreateSequence(c) => self.prepare_temp_for(&c.rel, c.persistence),
            Stmt::CreateView(c) => self.prepare_temp_for(&c.rel, c.persistence),
            Stmt::CreateType(c) => self.prepare_temp_name(&c.name),
            Stmt::CreateDomain(c) => self.prepare_temp_name(&c.name),
            Stmt::CreateFunction(c) => self.prepare_temp_name(&c.name),
            Stmt::Define(d) => self.prepare_temp_name(&d.name),
            Stmt::SetSchema(s) if s.schema == "pg_temp" => self.make_temp_schema(),
            _ => Ok(()),
        }
    }

    fn prepare_temp_name(&mut self, name: &parser::ast::Name) -> Result<()> {
        match crate::ddl::name::split(name).0 {
            Some("pg_temp") => self.make_temp_schema(),
            _ => Ok(()),
        }
    }

    /// Makes the session's temporary schema, if a relation goes there.
    pub(crate) fn prepare_temp_for(
        &mut self,
        rel: &parser::ast::RelName,
        persistence: parser::ast::Persistence,
    ) -> Result<()> {
        let temp = persistence == parser::ast::Persistence::Temporary
            || rel.schema.as_deref() == Some("pg_temp");
        if temp { self.make_temp_schema() } else { Ok(()) }
    }

    fn make_temp_schema(&mut self) -> Result<()> {
        let view = self.core.view()?;
        if let Some(oid) = self.core.temp_namespace()
            && view.find_namespace(oid)?.is_some()
        {
            return Ok(());
        }
        let name = format!("pg_temp_{}", self.core.backend.id().0);
        let oid = match view.namespace_named(&name)? {
            Some(left) => {
                // What a session before left there is of no use to anybody.
                self.with_ddl("", |ddl| ddl.empty_schema(left.oid))?;
                left.oid
            }
            None => self.with_ddl("", |ddl| {
                ddl.require_on_database(b'T')?;
                ddl.insert_namespace(&name, catalog::oids::SUPERUSER)
            })?,
        };
        self.core.set_temp_namespace(Some(oid));
        Ok(())
    }

    fn deallocate(&mut self, name: Option<&str>) -> Result<&'static str> {
        match name {
            None => {
                self.core.prepared.lock().clear();
                Ok("DEALLOCATE ALL")
            }
            Some(name) => {
                self.find_prepared(name)?;
                self.core.prepared.lock().remove(name);
                Ok("DEALLOCATE")
            }
        }
    }

    fn discard(&mut self, target: parser::ast::DiscardTarget) -> Result<&'static str> {
        use parser::ast::DiscardTarget;
        match target {
            DiscardTarget::All => {
                self.prevent_in_block("DISCARD ALL")?;
                self.portals = super::portals::Portals::default();
                self.show_cursors();
                self.core.prepared.lock().clear();
                self.core.reset_authorization(false)?;
                self.core.settings.lock().reset_all();
                self.core.backend.unlock_all_advisory();
                let board = &self.core.database.switchboard;
                self.core.listening.lock().forget(board, self.core.state.oid);
                *self.core.sequences.lock() = Default::default();
                self.drop_temporary()?;
                Ok("DISCARD ALL")
            }
            DiscardTarget::Plans => {
                for p in self.core.prepared.lock().values() {
                    *p.generic.lock() = None;
                }
                Ok("DISCARD PLANS")
            }
            DiscardTarget::Sequences => {
                *self.core.sequences.lock() = Default::default();
                Ok("DISCARD SEQUENCES")
            }
            DiscardTarget::Temp => {
                self.drop_temporary()?;
                Ok("DISCARD TEMP")
            }
        }
    }

    /// Drops all objects in the session's temporary schema.
    pub(crate) fn drop_temporary(&mut self) -> Result<()> {
        let Some(oid) = self.core.temp_namespace() else { return Ok(()) };
        if self.core.view()?.find_namespace(oid)?.is_none() {
            return Ok(());
        }
        self.with_ddl("", |ddl| ddl.empty_schema(oid))
    }

    /// [`Session::drop_temporary`] in a transaction of its own.
    pub(super) fn drop_temporary_at_end(&mut self) -> Result<()> {
        self.core.on_commit.lock().clear();
        self.ensure_transaction()?;
        self.drop_temporary()?;
        self.commit_transaction()
    }

    fn close_cursor(&mut self, name: Option<&str>) -> Result<&'static str> {
        match name {
            None => {
                self.portals.retain(|p| !p.is_cursor);
                self.show_cursors();
                Ok("CLOSE CURSOR ALL")
            }
            Some(name) => {
                if self.portals.remove(name).is_none() {
                    bail!(INVALID_CURSOR_NAME, "cursor \"{name}\" does not exist");
                }
                self.show_cursors();
                Ok("CLOSE CURSOR")
            }
        }
    }
}

fn drop_tag(kind: ObjectKind) -> String {
    format!("DROP {}", kind_word(kind))
}

/// An element of CREATE SCHEMA goes to that schema.
fn check_element(stmt: &Stmt, schema: &str) -> Result<()> {
    let rel = match stmt {
        Stmt::CreateTable(c) => &c.rel,
        Stmt::CreateView(c) => &c.rel,
        Stmt::CreateSequence(c) => &c.rel,
        Stmt::CreateIndex(c) => &c.rel,
        _ => return Ok(()),
    };
    match &rel.schema {
        Some(other) if other != schema => bail!(
            INVALID_SCHEMA_DEFINITION,
            "CREATE specifies a schema ({other}) different from the one being created ({schema})"
        ),
        _ => Ok(()),
    }
}

/// Policies, rules, operators and what goes with them.
fn row_definition(ddl: &Ddl<'_>, stmt: &Stmt) -> Result<String> {
    let tag = match stmt {
        Stmt::CreatePolicy(p) => {
            ddl.create_policy(p)?;
            "CREATE POLICY"
        }
        Stmt::CreateRule(r) => {
            ddl.create_rule(r)?;
            "CREATE RULE"
        }
        Stmt::AlterPolicy(p) => {
            ddl.alter_policy(p)?;
            "ALTER POLICY"
        }
        Stmt::CreateCast(c) => {
            ddl.create_cast(c)?;
            "CREATE CAST"
        }
        Stmt::CreateConversion(c) => {
            ddl.create_conversion(c)?;
            "CREATE CONVERSION"
        }
        Stmt::CreateOpClass(c) => {
            ddl.create_opclass(c)?;
            "CREATE OPERATOR CLASS"
        }
        Stmt::CreateOpFamily { name, access_method } => {
            ddl.create_opfamily(name, access_method)?;
            "CREATE OPERATOR FAMILY"
        }
        Stmt::AlterOpFamily(a) => {
            ddl.alter_opfamily(a)?;
            "ALTER OPERATOR FAMILY"
        }
        Stmt::CreateTrigger(c) => {
            ddl.create_trigger(c)?;
            "CREATE TRIGGER"
        }
        Stmt::CreateForeignDataWrapper(c) => {
            ddl.create_wrapper(c)?;
            "CREATE FOREIGN DATA WRAPPER"
        }
        Stmt::AlterForeignDataWrapper(a) => {
            ddl.alter_wrapper(a)?;
            "ALTER FOREIGN DATA WRAPPER"
        }
        Stmt::CreateForeignServer(c) => {
            ddl.create_server(c)?;
            "CREATE SERVER"
        }
        Stmt::AlterForeignServer(a) => {
            ddl.alter_server(a)?;
            "ALTER SERVER"
        }
        Stmt::UserMapping(u) => {
            ddl.user_mapping(u)?;
            match u.action {
                parser::ast::UserMappingAction::Create => "CREATE USER MAPPING",
                parser::ast::UserMappingAction::Alter => "ALTER USER MAPPING",
                parser::ast::UserMappingAction::Drop => "DROP USER MAPPING",
            }
        }
        Stmt::CreatePublication(c) => {
            ddl.create_publication(c)?;
            "CREATE PUBLICATION"
        }
        Stmt::AlterPublication(a) => {
            ddl.alter_publication(a)?;
            "ALTER PUBLICATION"
        }
        Stmt::CreateStatistics(c) => {
            ddl.create_statistics(c)?;
            "CREATE STATISTICS"
        }
        Stmt::AlterStatistics(a) => {
            ddl.alter_statistics(a)?;
            "ALTER STATISTICS"
        }
        Stmt::AlterOperator(a) => {
            ddl.alter_operator(a)?;
            "ALTER OPERATOR"
        }
        other => return code_definition(ddl, other),
    };
    Ok(tag.to_string())
}

/// Subscriptions, event triggers, and what comes with code of others.
fn code_definition(ddl: &Ddl<'_>, stmt: &Stmt) -> Result<String> {
    let tag = match stmt {
        Stmt::CreateSubscription(c) => {
            ddl.create_subscription(c)?;
            "CREATE SUBSCRIPTION"
        }
        Stmt::AlterSubscription(a) => {
            ddl.alter_subscription(a)?;
            "ALTER SUBSCRIPTION"
        }
        Stmt::DropSubscription { name, missing_ok, .. } => {
            ddl.drop_subscription(name, *missing_ok)?;
            "DROP SUBSCRIPTION"
        }
        Stmt::CreateEventTrigger(c) => {
            ddl.create_event_trigger(c)?;
            "CREATE EVENT TRIGGER"
        }
        Stmt::AlterEventTrigger { name, state } => {
            ddl.alter_event_trigger(name, *state)?;
            "ALTER EVENT TRIGGER"
        }
        Stmt::AlterType { name, options } => {
            ddl.alter_base_type(name, options)?;
            "ALTER TYPE"
        }
        Stmt::CreateLanguage(c) => {
            ddl.create_language(c)?;
            "CREATE LANGUAGE"
        }
        Stmt::CreateTransform(c) => {
            ddl.create_transform(c)?;
            "CREATE TRANSFORM"
        }
        Stmt::CreateAccessMethod(c) => {
            ddl.create_access_method(c)?;
            "CREATE ACCESS METHOD"
        }
        other => return Err(unsupported(other)),
    };
    Ok(tag.to_string())
}

fn run_definition(ddl: &Ddl<'_>, stmt: &Stmt) -> Result<String> {
    let tag = match stmt {
        Stmt::CreateTable(c) => {
            ddl.create_table(c)?;
            if c.foreign.is_some() { "CREATE FOREIGN TABLE" } else { "CREATE TABLE" }
        }
        Stmt::CreateIndex(c) => {
            ddl.create_index_stmt(c)?;
            "CREATE INDEX"
        }
        Stmt::CreateSequence(c) => {
            ddl.create_sequence(c)?;
            "CREATE SEQUENCE"
        }
        Stmt::CreateView(c) => {
            ddl.create_view(c)?;
            "CREATE VIEW"
        }
        Stmt::CreateSchema(c) => {
            ddl.create_schema(c)?;
            "CREATE SCHEMA"
        }
        Stmt::AlterTable(a) => {
            ddl.alter_table(a)?;
            return Ok(format!("ALTER {}", kind_word(a.kind)));
        }
        Stmt::CreateType(c) => {
            ddl.create_type(c)?;
            "CREATE TYPE"
        }
        Stmt::Define(d) => match ddl.define(d)? {
            Some(tag) => tag,
            None => return Err(unsupported(stmt)),
        },
        Stmt::CreateDomain(c) => {
            ddl.create_domain(c)?;
            "CREATE DOMAIN"
        }
        Stmt::AlterDomain(a) => {
            ddl.alter_domain(a)?;
            "ALTER DOMAIN"
        }
        Stmt::AlterEnum(a) => {
            ddl.alter_enum(a)?;
            "ALTER TYPE"
        }
        Stmt::AlterTsDictionary { name, options } => {
            ddl.alter_ts_dictionary(name, options)?;
            "ALTER TEXT SEARCH DICTIONARY"
        }
        Stmt::AlterTsConfiguration(a) => {
            ddl.alter_ts_configuration(a)?;
            "ALTER TEXT SEARCH CONFIGURATION"
        }
        Stmt::CreateFunction(c) => {
            ddl.create_function(c)?;
            if c.procedure { "CREATE PROCEDURE" } else { "CREATE FUNCTION" }
        }
        Stmt::AlterFunction(a) => {
            ddl.alter_function(a)?;
            return Ok(format!("ALTER {}", kind_word(a.object.kind)));
        }
        Stmt::AlterSequence(a) => {
            ddl.alter_sequence(a)?;
            "ALTER SEQUENCE"
        }
        Stmt::Rename(r) => {
            ddl.rename(r)?;
            return Ok(format!("ALTER {}", kind_word(r.relation_kind)));
        }
        Stmt::SetSchema(s) => {
            ddl.set_schema(s)?;
            return Ok(format!("ALTER {}", kind_word(s.object.kind)));
        }
        Stmt::Depends(d) => {
            ddl.depends_on_extension(d)?;
            return Ok(format!("ALTER {}", kind_word(d.object.kind)));
        }
        Stmt::Owner(o) => {
            ddl.owner_stmt(o)?;
            return Ok(format!("ALTER {}", kind_word(o.object.kind)));
        }
        Stmt::Truncate(t) => {
            ddl.truncate(t)?;
            "TRUNCATE TABLE"
        }
        Stmt::Drop(d) => {
            ddl.drop_stmt(d)?;
            return Ok(drop_tag(d.kind));
        }
        Stmt::Comment(c) => {
            ddl.comment(c)?;
            "COMMENT"
        }
        other => return row_definition(ddl, other),
    };
    Ok(tag.to_string())
}
