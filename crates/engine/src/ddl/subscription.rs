//! Subscriptions: what is to be received, as it is said. A statement that would talk to the
//! publisher is refused until there is somebody who does.

use super::Ddl;
use super::lookup::bool_of;
use super::name::split;
use super::table::def_text;
use base::{Error, Oid, Result, SqlState, bail, err};
use catalog::depend::ObjectAddress;
use catalog::{SysRow, oids, vector};
use parser::ast::{DefElem, Name, SubscriptionAction, SubscriptionStmt};

/// `pg_create_subscription`
const CREATE_SUBSCRIPTION: Oid = Oid(6304);

/// Words that a connection string may set.
#[rustfmt::skip]
const CONNECTION_WORDS: &[&str] = &[
    "service", "user", "password", "passfile", "channel_binding", "connect_timeout", "dbname",
    "host", "hostaddr", "port", "client_encoding", "options", "application_name",
    "fallback_application_name", "keepalives", "keepalives_idle", "keepalives_interval",
    "keepalives_count", "tcp_user_timeout", "sslmode", "sslnegotiation", "sslcompression",
    "sslcert", "sslkey", "sslcertmode", "sslpassword", "sslrootcert", "sslcrl", "sslcrldir",
    "sslsni", "requirepeer", "require_auth", "min_protocol_version", "max_protocol_version",
    "ssl_min_protocol_version", "ssl_max_protocol_version", "gssencmode", "krbsrvname", "gsslib",
    "gssdelegation", "replication", "target_session_attrs", "load_balance_hosts",
    "scram_client_key", "scram_server_key", "oauth_issuer", "oauth_client_id",
    "oauth_client_secret", "oauth_scope", "sslkeylogfile", "servicefile",
];

/// What the options say; none is what was not said.
#[derive(Default)]
struct Options {
    connect: Option<bool>,
    enabled: Option<bool>,
    create_slot: Option<bool>,
    /// `Some(None)` is NONE.
    slot_name: Option<Option<String>>,
    copy_data: Option<bool>,
    refresh: Option<bool>,
    synchronous_commit: Option<String>,
    binary: Option<bool>,
    streaming: Option<u8>,
    two_phase: Option<bool>,
    disable_on_error: Option<bool>,
    password_required: Option<bool>,
    run_as_owner: Option<bool>,
    failover: Option<bool>,
    origin: Option<String>,
    lsn: Option<u64>,
}

/// Options that CREATE knows and those of them that SET does.
#[rustfmt::skip]
const AT_CREATE: &[&str] = &[
    "connect", "enabled", "create_slot", "slot_name", "copy_data", "synchronous_commit", "binary",
    "streaming", "two_phase", "disable_on_error", "password_required", "run_as_owner", "failover",
    "origin",
];
#[rustfmt::skip]
const AT_SET: &[&str] = &[
    "slot_name", "synchronous_commit", "binary", "streaming", "two_phase", "disable_on_error",
    "password_required", "run_as_owner", "failover", "origin",
];

fn check_slot_name(name: &str) -> Result<()> {
    if name.is_empty() {
        bail!(INVALID_NAME, "replication slot name \"{name}\" is too short");
    }
    if name.len() > 63 {
        bail!(NAME_TOO_LONG, "replication slot name \"{name}\" is too long");
    }
    let fine = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
    if !name.bytes().all(fine) {
        return Err(err!(
            INVALID_NAME,
            "replication slot name \"{name}\" contains invalid character"
        )
        .hint(
            "Replication slot names may only contain lower case letters, numbers, and the \
             underscore character.",
        ));
    }
    Ok(())
}

fn streaming_of(e: &DefElem) -> Result<u8> {
    let text = def_text(e).unwrap_or_else(|| "true".into()).to_ascii_lowercase();
    match text.as_str() {
        "true" | "on" | "1" => Ok(b't'),
        "false" | "off" | "0" => Ok(b'f'),
        "parallel" => Ok(b'p'),
        _ => bail!(SYNTAX_ERROR, "{} requires a Boolean value or \"parallel\"", e.name),
    }
}

fn lsn_of(e: &DefElem) -> Result<u64> {
    let text = def_text(e).unwrap_or_default();
    if text.eq_ignore_ascii_case("none") {
        return Ok(0);
    }
    let parsed = text.split_once('/').and_then(|(high, low)| {
        let part = |s: &str| match s.len() {
            1..=8 => u64::from_str_radix(s, 16).ok(),
            _ => None,
        };
        Some(part(high)? << 32 | part(low)?)
    });
    match parsed {
        None => {
            bail!(INVALID_TEXT_REPRESENTATION, "invalid input syntax for type pg_lsn: \"{text}\"")
        }
        Some(0) => bail!(INVALID_PARAMETER_VALUE, "invalid WAL location (LSN): {text}"),
        Some(lsn) => Ok(lsn),
    }
}

fn put<T>(place: &mut Option<T>, e: &DefElem, value: impl FnOnce() -> Result<T>) -> Result<()> {
    if place.is_some() {
        return Err(err!(SYNTAX_ERROR, "conflicting or redundant options").at(e.pos));
    }
    *place = Some(value()?);
    Ok(())
}

fn read_options(options: &[DefElem], known: &[&str]) -> Result<Options> {
    let mut o = Options::default();
    for e in options {
        if !known.contains(&e.name.as_str()) {
            bail!(SYNTAX_ERROR, "unrecognized subscription parameter: \"{}\"", e.name);
        }
        let bool = || bool_of(e);
        match e.name.as_str() {
            "connect" => put(&mut o.connect, e, bool)?,
            "enabled" => put(&mut o.enabled, e, bool)?,
            "create_slot" => put(&mut o.create_slot, e, bool)?,
            "copy_data" => put(&mut o.copy_data, e, bool)?,
            "refresh" => put(&mut o.refresh, e, bool)?,
            "binary" => put(&mut o.binary, e, bool)?,
            "two_phase" => put(&mut o.two_phase, e, bool)?,
            "disable_on_error" => put(&mut o.disable_on_error, e, bool)?,
            "password_required" => put(&mut o.password_required, e, bool)?,
            "run_as_owner" => put(&mut o.run_as_owner, e, bool)?,
            "failover" => put(&mut o.failover, e, bool)?,
            "streaming" => put(&mut o.streaming, e, || streaming_of(e))?,
            "lsn" => put(&mut o.lsn, e, || lsn_of(e))?,
            "slot_name" => put(&mut o.slot_name, e, || {
                let name = def_text(e).unwrap_or_default();
                if name == "none" {
                    return Ok(None);
                }
                check_slot_name(&name)?;
                Ok(Some(name))
            })?,
            "synchronous_commit" => put(&mut o.synchronous_commit, e, || {
                let text = def_text(e).unwrap_or_default();
                let all = ["local", "remote_write", "remote_apply", "on", "off"];
                let also = ["true", "false", "yes", "no", "1", "0"];
                let low = text.to_ascii_lowercase();
                if all.contains(&low.as_str()) || also.contains(&low.as_str()) {
                    return Ok(text);
                }
                Err(err!(
                    INVALID_PARAMETER_VALUE,
                    "invalid value for parameter \"synchronous_commit\": \"{text}\""
                )
                .hint("Available values: local, remote_write, remote_apply, on, off."))
            })?,
            _ => put(&mut o.origin, e, || {
                let text = def_text(e).unwrap_or_default();
                let low = text.to_ascii_lowercase();
                match low == "none" || low == "any" {
                    true => Ok(text),
                    false => {
                        bail!(INVALID_PARAMETER_VALUE, "unrecognized origin value: \"{text}\"")
                    }
                }
            })?,
        }
    }
    check_together(&mut o)?;
    Ok(o)
}

/// Options that cannot be had together, and what one says about others.
fn check_together(o: &mut Options) -> Result<()> {
    let exclusive =
        |a: &str, b: &str| err!(SYNTAX_ERROR, "{a} and {b} are mutually exclusive options");
    if o.connect == Some(false) {
        let others =
            [(o.enabled, "enabled"), (o.create_slot, "create_slot"), (o.copy_data, "copy_data")];
        for (value, name) in others {
            if value == Some(true) {
                return Err(exclusive("connect = false", &format!("{name} = true")));
            }
        }
        o.enabled = Some(false);
        o.create_slot = Some(false);
        o.copy_data = Some(false);
    }
    Ok(())
}

/// A subscription without a slot is neither enabled nor made with one.
fn check_no_slot(o: &Options) -> Result<()> {
    if o.slot_name != Some(None) {
        return Ok(());
    }
    for (value, name) in [(o.enabled, "enabled"), (o.create_slot, "create_slot")] {
        match value {
            Some(true) => bail!(
                SYNTAX_ERROR,
                "slot_name = NONE and {name} = true are mutually exclusive options"
            ),
            None => bail!(
                SYNTAX_ERROR,
                "subscription with slot_name = NONE must also set {name} = false"
            ),
            Some(false) => {}
        }
    }
    Ok(())
}

/// The words that a connection string sets, with their values.
fn connection_words(text: &str) -> std::result::Result<Vec<(String, String)>, String> {
    let mut found = Vec::new();
    if text.starts_with("postgresql://") || text.starts_with("postgres://") {
        let user = text.split("://").nth(1).unwrap_or("").split('/').next().unwrap_or("");
        if let Some((who, _)) = user.rsplit_once('@')
            && let Some((_, password)) = who.split_once(':')
        {
            found.push(("password".to_string(), password.to_string()));
        }
        return Ok(found);
    }
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let end = rest.find(|c: char| c == '=' || c.is_ascii_whitespace()).unwrap_or(rest.len());
        let word = &rest[..end];
        rest = rest[end..].trim_start();
        let Some(after) = rest.strip_prefix('=') else {
            return Err(format!("missing \"=\" after \"{word}\" in connection info string"));
        };
        rest = after.trim_start();
        let mut value = String::new();
        let quoted = rest.starts_with('\'');
        let mut chars = rest.char_indices().skip(usize::from(quoted));
        let mut stop = None;
        while let Some((i, c)) = chars.next() {
            match c {
                '\\' => value.extend(chars.next().map(|(_, c)| c)),
                '\'' if quoted => {
                    stop = Some(i + 1);
                    break;
                }
                c if !quoted && c.is_ascii_whitespace() => {
                    stop = Some(i);
                    break;
                }
                c => value.push(c),
            }
        }
        if quoted && stop.is_none() {
            return Err("unterminated quoted string in connection info string".to_string());
        }
        rest = rest[stop.unwrap_or(rest.len())..].trim_start();
        if !CONNECTION_WORDS.contains(&word) {
            return Err(format!("invalid connection option \"{word}\""));
        }
        found.push((word.to_string(), value));
    }
    Ok(found)
}

fn check_connection(text: &str, with_password: bool) -> Result<()> {
    let words = connection_words(text).map_err(|what| {
        // The message of the client library ends its line.
        err!(SYNTAX_ERROR, "invalid connection string syntax: {what}\n")
    })?;
    if with_password && !words.iter().any(|(w, v)| w == "password" && !v.is_empty()) {
        return Err(err!(S_R_E_PROHIBITED_SQL_STATEMENT_ATTEMPTED, "password is required")
            .detail("Non-superusers must provide a password in the connection string."));
    }
    Ok(())
}

fn check_duplicates(publications: &[String]) -> Result<()> {
    for (i, name) in publications.iter().enumerate() {
        if publications[..i].contains(name) {
            bail!(DUPLICATE_OBJECT, "publication name \"{name}\" used more than once");
        }
    }
    Ok(())
}

fn password_is_needed() -> Error {
    err!(INSUFFICIENT_PRIVILEGE, "password_required=false is superuser-only").hint(
        "Subscriptions with the password_required option set to false may only be created or \
         modified by the superuser.",
    )
}

fn no_connection() -> Error {
    Error::unsupported("connecting to a publisher")
}

/// What both CREATE and SET write.
fn set_options(row: &mut SysRow, o: &Options) -> Result<()> {
    let flags = [
        (o.enabled, "subenabled"),
        (o.binary, "subbinary"),
        (o.disable_on_error, "subdisableonerr"),
        (o.password_required, "subpasswordrequired"),
        (o.run_as_owner, "subrunasowner"),
        (o.failover, "subfailover"),
    ];
    for (value, column) in flags {
        if let Some(value) = value {
            row.set_bool(column, value)?;
        }
    }
    if let Some(streaming) = o.streaming {
        row.set_char("substream", streaming)?;
    }
    if let Some(two_phase) = o.two_phase {
        row.set_char("subtwophasestate", if two_phase { b'p' } else { b'd' })?;
    }
    if let Some(slot) = &o.slot_name {
        row.set_opt_text("subslotname", slot.as_deref())?;
    }
    if let Some(text) = &o.synchronous_commit {
        row.set_text("subsynccommit", text)?;
    }
    if let Some(origin) = &o.origin {
        row.set_text("suborigin", origin)?;
    }
    Ok(())
}

impl Ddl<'_> {
    /// The subscription of this name in the current database.
    pub(super) fn find_subscription(&self, name: &str) -> Result<Option<SysRow>> {
        let database = self.view.context().database;
        for row in self.rows.table_scan(oids::PG_SUBSCRIPTION)? {
            if row.oid("subdbid")? == database && *row.text("subname")? == *name {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    /// CREATE SUBSCRIPTION.
    pub fn create_subscription(&self, stmt: &SubscriptionStmt) -> Result<()> {
        let name = stmt.name.as_str();
        let mut o = read_options(&stmt.options, AT_CREATE)?;
        check_no_slot(&o)?;
        if o.create_slot.unwrap_or(true) {
            self.storage.prevent_in_block("CREATE SUBSCRIPTION ... WITH (create_slot = true)")?;
        }
        let superuser = self.is_superuser()?;
        if !self.has_rights_of(CREATE_SUBSCRIPTION)? {
            return Err(err!(INSUFFICIENT_PRIVILEGE, "permission denied to create subscription")
                .detail(
                    "Only roles with privileges of the \"pg_create_subscription\" role may create \
                 subscriptions.",
                ));
        }
        self.require_on_database(b'C')?;
        if o.password_required == Some(false) && !superuser {
            return Err(password_is_needed());
        }
        if self.find_subscription(name)?.is_some() {
            bail!(DUPLICATE_OBJECT, "subscription \"{name}\" already exists");
        }
        if o.slot_name.is_none() {
            o.slot_name = Some(Some(name.to_string()));
        }
        let connection = stmt.connection.as_deref().unwrap_or("");
        check_connection(connection, o.password_required != Some(false) && !superuser)?;
        check_duplicates(&stmt.publications)?;
        if o.connect != Some(false) {
            return Err(no_connection());
        }
        let oid = self.rows.new_oid(oids::PG_SUBSCRIPTION)?;
        let mut row = SysRow::new(oids::PG_SUBSCRIPTION)?;
        row.set_oid("oid", oid)?
            .set_oid("subdbid", self.view.context().database)?
            .set_i64("subskiplsn", 0)?
            .set_text("subname", name)?
            .set_oid("subowner", self.user())?
            .set_bool("subbinary", false)?
            .set_char("substream", b'p')?
            .set_char("subtwophasestate", b'd')?
            .set_bool("subdisableonerr", false)?
            .set_bool("subpasswordrequired", true)?
            .set_bool("subrunasowner", false)?
            .set_bool("subfailover", false)?
            .set_text("subconninfo", connection)?
            .set_text("subsynccommit", "off")?
            .set_text("suborigin", "any")?
            .set("subpublications", vector::from_texts(oids::TEXT, &stmt.publications))?;
        set_options(&mut row, &o)?;
        self.rows.insert(row)?;
        self.depend_owner(ObjectAddress::new(oids::PG_SUBSCRIPTION, oid), self.user())?;
        let text = "subscription was created, but is not connected";
        self.notice(
            Error::with_severity(base::Severity::Warning, SqlState::WARNING, text.to_string())
                .hint(
                    "To initiate replication, you must manually create the replication slot, \
                     enable the subscription, and refresh the subscription.",
                ),
        );
        Ok(())
    }

    /// ALTER SUBSCRIPTION.
    pub fn alter_subscription(&self, stmt: &SubscriptionStmt) -> Result<()> {
        let name = stmt.name.as_str();
        let Some(mut row) = self.find_subscription(name)? else {
            bail!(UNDEFINED_OBJECT, "subscription \"{name}\" does not exist");
        };
        self.require_owner(ObjectAddress::new(oids::PG_SUBSCRIPTION, row.oid("oid")?))?;
        let superuser = self.is_superuser()?;
        let with_password = row.bool("subpasswordrequired")?;
        if !superuser && !with_password {
            return Err(password_is_needed());
        }
        let enabled = row.bool("subenabled")?;
        match stmt.action {
            SubscriptionAction::Create => return Err(Error::internal("CREATE as ALTER")),
            SubscriptionAction::Options => self.set_subscription(&mut row, stmt, superuser)?,
            SubscriptionAction::Connection => {
                let connection = stmt.connection.as_deref().unwrap_or("");
                check_connection(connection, with_password && !superuser)?;
                row.set_text("subconninfo", connection)?;
            }
            SubscriptionAction::Enable => {
                if row.opt_text("subslotname")?.is_none() {
                    bail!(
                        OBJECT_NOT_IN_PREREQUISITE_STATE,
                        "cannot enable subscription that does not have a slot name"
                    );
                }
                row.set_bool("subenabled", true)?;
            }
            SubscriptionAction::Disable => {
                row.set_bool("subenabled", false)?;
            }
            SubscriptionAction::Skip => {
                if !superuser {
                    bail!(INSUFFICIENT_PRIVILEGE, "must be superuser to skip transaction");
                }
                let o = read_options(&stmt.options, &["lsn"])?;
                row.set_i64("subskiplsn", o.lsn.unwrap_or(0) as i64)?;
            }
            SubscriptionAction::Refresh => {
                if !enabled {
                    bail!(
                        OBJECT_NOT_IN_PREREQUISITE_STATE,
                        "ALTER SUBSCRIPTION ... REFRESH is not allowed for disabled subscriptions"
                    );
                }
                read_options(&stmt.options, &["copy_data"])?;
                self.storage.prevent_in_block("ALTER SUBSCRIPTION ... REFRESH")?;
                return Err(no_connection());
            }
            SubscriptionAction::SetPublication
            | SubscriptionAction::AddPublication
            | SubscriptionAction::DropPublication => {
                self.change_publications(&mut row, stmt, enabled)?
            }
        }
        self.rows.update(row)?;
        Ok(())
    }

    fn set_subscription(
        &self,
        row: &mut SysRow,
        stmt: &SubscriptionStmt,
        superuser: bool,
    ) -> Result<()> {
        let o = read_options(&stmt.options, AT_SET)?;
        let enabled = row.bool("subenabled")?;
        if o.slot_name == Some(None) && enabled {
            bail!(SYNTAX_ERROR, "cannot set slot_name = NONE for enabled subscription");
        }
        if o.password_required == Some(false) && !superuser {
            return Err(password_is_needed());
        }
        for (name, said) in [("two_phase", o.two_phase), ("failover", o.failover)] {
            if said.is_none() {
                continue;
            }
            // The slot has to say the same as the subscription.
            if enabled {
                bail!(
                    OBJECT_NOT_IN_PREREQUISITE_STATE,
                    "cannot set option \"{name}\" for enabled subscription"
                );
            }
            if row.opt_text("subslotname")?.is_none() {
                bail!(
                    OBJECT_NOT_IN_PREREQUISITE_STATE,
                    "cannot set option \"{name}\" for a subscription that does not have a slot name"
                );
            }
            let turned_off = name == "two_phase" && said == Some(false);
            if name == "failover" || turned_off {
                let what = format!("ALTER SUBSCRIPTION ... SET ({name})");
                self.storage.prevent_in_block(&what)?;
            }
            return Err(no_connection());
        }
        set_options(row, &o)
    }

    /// SET, ADD and DROP PUBLICATION.
    fn change_publications(
        &self,
        row: &mut SysRow,
        stmt: &SubscriptionStmt,
        enabled: bool,
    ) -> Result<()> {
        let word = match stmt.action {
            SubscriptionAction::AddPublication => "ADD",
            SubscriptionAction::DropPublication => "DROP",
            _ => "SET",
        };
        let known: &[&str] = match word {
            "DROP" => &["refresh"],
            _ => &["copy_data", "refresh"],
        };
        let o = read_options(&stmt.options, known)?;
        check_duplicates(&stmt.publications)?;
        let mut all = row.texts("subpublications")?.unwrap_or_default();
        let name = stmt.name.as_str();
        for p in &stmt.publications {
            match (word, all.iter().position(|a| a == p)) {
                ("SET", _) => {}
                ("ADD", None) => all.push(p.clone()),
                ("ADD", Some(_)) => bail!(
                    DUPLICATE_OBJECT,
                    "publication \"{p}\" is already in subscription \"{name}\""
                ),
                (_, Some(i)) => drop(all.remove(i)),
                (_, None) => {
                    bail!(
                        INVALID_OBJECT_DEFINITION,
                        "publication \"{p}\" is not in subscription \"{name}\""
                    )
                }
            }
        }
        if word == "SET" {
            all.clone_from(&stmt.publications);
        }
        if all.is_empty() {
            bail!(
                INVALID_OBJECT_DEFINITION,
                "cannot drop all the publications from a subscription"
            );
        }
        row.set("subpublications", vector::from_texts(oids::TEXT, &all))?;
        if o.refresh != Some(false) {
            if !enabled {
                return Err(err!(
                    OBJECT_NOT_IN_PREREQUISITE_STATE,
                    "ALTER SUBSCRIPTION with refresh is not allowed for disabled subscriptions"
                )
                .hint(match word {
                    "SET" => {
                        "Use ALTER SUBSCRIPTION ... SET PUBLICATION ... WITH (refresh = false)."
                            .to_string()
                    }
                    _ => format!(
                        "Use ALTER SUBSCRIPTION ... {word} PUBLICATION ... WITH (refresh = false) \
                         instead."
                    ),
                }));
            }
            self.storage.prevent_in_block("ALTER SUBSCRIPTION with refresh")?;
            return Err(no_connection());
        }
        Ok(())
    }

    /// DROP SUBSCRIPTION.
    pub fn drop_subscription(&self, name: &str, missing_ok: bool) -> Result<()> {
        let Some(row) = self.find_subscription(name)? else {
            let text = format!("subscription \"{name}\" does not exist");
            if !missing_ok {
                return Err(Error::new(SqlState::UNDEFINED_OBJECT, text));
            }
            self.notice(Error::notice(format!("{text}, skipping")));
            return Ok(());
        };
        let own = ObjectAddress::new(oids::PG_SUBSCRIPTION, row.oid("oid")?);
        self.require_owner(own)?;
        if !self.is_superuser()? && !row.bool("subpasswordrequired")? {
            return Err(password_is_needed());
        }
        if row.opt_text("subslotname")?.is_some() {
            self.storage.prevent_in_block("DROP SUBSCRIPTION")?;
            return Err(no_connection().hint(
                "Use ALTER SUBSCRIPTION ... DISABLE to disable the subscription, and then use \
                 ALTER SUBSCRIPTION ... SET (slot_name = NONE) to disassociate it from the slot.",
            ));
        }
        self.drop_objects(&[own], false)
    }

    /// Before a subscription gets another name: whoever does it may make one.
    pub(super) fn check_subscription_rename(&self, row: &SysRow) -> Result<()> {
        self.require_on_database(b'C')?;
        match self.is_superuser()? || row.bool("subpasswordrequired")? {
            true => Ok(()),
            false => Err(password_is_needed()),
        }
    }

    /// The address of a subscription that a statement names.
    pub(super) fn subscription_named(&self, name: &Name) -> Result<Option<ObjectAddress>> {
        let row = self.find_subscription(split(name).1)?;
        row.map(|r| Ok(ObjectAddress::new(oids::PG_SUBSCRIPTION, r.oid("oid")?))).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::connection_words;

    #[test]
    fn words_of_connection_strings() {
        let found = connection_words("dbname=a  host = 'b c' password=\\'x").unwrap_or_default();
        let shown: Vec<String> = found.iter().map(|(w, v)| format!("{w}:{v}")).collect();
        assert_eq!(shown, ["dbname:a", "host:b c", "password:'x"]);
        assert!(connection_words("testconn").is_err());
        assert!(connection_words("host='a").is_err());
        assert!(connection_words("nonsense=1").is_err());
    }
}
