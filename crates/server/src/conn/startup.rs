//! The first packets of a connection, up to the first ReadyForQuery.

use super::auth::Exchange;
use super::{Conn, Phase};
use crate::backend::{Request, shutting_down};
use crate::hba::{Method, Who};
use crate::shared::State;
use base::{Result, Severity, err};
use pgwire::backend::{self, Authentication};
use pgwire::startup::{self, Parameters, Startup, VERSION_3_2};
use types::encoding::Encoding;

/// Bytes of a cancel key in protocol 3.0.
const SHORT_KEY: usize = 4;
/// Bytes of a cancel key in protocol 3.2.
const LONG_KEY: usize = 32;

impl Conn {
    /// Handles the packet that is next.
    pub(super) fn startup_packet(&mut self) -> Result<()> {
        let decoded = startup::decode(self.wire.pending());
        if let Err(e) = &decoded
            && self.wire.pending().get(4..6).is_some_and(|major| major < &[0, 3])
            && e.code() == base::SqlState::FEATURE_NOT_SUPPORTED
        {
            return self.refuse_old(e.message().to_string());
        }
        let Some((packet, len)) = decoded? else { return Ok(()) };
        let asked_before = match packet {
            Startup::Ssl => std::mem::replace(&mut self.asked_encryption.0, true),
            Startup::GssEnc => std::mem::replace(&mut self.asked_encryption.1, true),
            _ => false,
        };
        if asked_before {
            let minor = if packet == Startup::Ssl { 5679 } else { 5680 };
            return Err(err!(
                FEATURE_NOT_SUPPORTED,
                "unsupported frontend protocol 1234.{minor}: server supports 3.0 to 3.2"
            )
            .severity(Severity::Fatal));
        }
        self.wire.consume(len);
        let packet_is_ssl = packet == Startup::Ssl && self.wire.tls().is_none();
        match packet {
            Startup::Ssl | Startup::GssEnc => {
                let encrypts = packet_is_ssl && self.tls_config().is_some();
                if self.shared.traces_negotiation() {
                    let name = if packet_is_ssl { "SSLRequest" } else { "GSSENCRequest" };
                    let word = if encrypts { "accepted" } else { "rejected" };
                    self.log_line(&format!("{name} {word}"));
                }
                if encrypts && !self.wire.pending().is_empty() {
                    return Err(err!(
                        PROTOCOL_VIOLATION,
                        "received unencrypted data after SSL request"
                    )
                    .detail(
                        "This could be either a client-software bug or evidence of an attempted \
                         man-in-the-middle attack.",
                    ));
                }
                match (packet_is_ssl, self.tls_config()) {
                    (true, Some(tls)) => {
                        self.wire.out.push(b'S');
                        self.wire.send_blocking()?;
                        self.begin_tls(tls)
                    }
                    _ => {
                        self.wire.out.push(b'N');
                        Ok(())
                    }
                }
            }
            Startup::Cancel { pid, key } => {
                self.shared.backend.cancel(pid, &key);
                self.phase = Phase::Closing;
                Ok(())
            }
            Startup::Session(parameters) => self.begin_session(parameters),
        }
    }

    /// Clients of before protocol 3.0 are told so in their own way.
    fn refuse_old(&mut self, message: String) -> Result<()> {
        let e = err!(FEATURE_NOT_SUPPORTED, "{message}").severity(Severity::Fatal);
        self.shared.log.error(Some(&self.who), &e);
        self.wire.out.extend_from_slice(format!("EFATAL:  {message}\n\0").as_bytes());
        self.phase = Phase::Closing;
        Ok(())
    }

    /// How to encrypt this connection: TCP only.
    fn tls_config(&self) -> Option<crate::tls::Tls> {
        self.address?;
        self.shared.tls()
    }

    fn begin_tls(&mut self, tls: crate::tls::Tls) -> Result<()> {
        self.end_point = tls.end_point;
        self.wire.begin_tls(tls.config)
    }

    /// The client began to talk TLS without asking: it has to name the protocol inside.
    pub(super) fn direct_tls(&mut self) -> Result<()> {
        let Some(tls) = self.tls_config() else {
            self.phase = Phase::Closing;
            return Ok(());
        };
        self.direct = true;
        self.begin_tls(tls)
    }

    fn begin_session(&mut self, parameters: Parameters) -> Result<()> {
        let unknown = parameters.unknown_options();
        if parameters.version > VERSION_3_2 || !unknown.is_empty() {
            let version = parameters.version.min(VERSION_3_2);
            backend::negotiate_protocol_version(&mut self.wire.out, version, &unknown);
        }
        check_replication(parameters.get("replication"))?;
        self.shared.delay_authentication(false);
        let Some(user) = parameters.get("user").filter(|u| !u.is_empty()) else {
            return Err(err!(
                INVALID_AUTHORIZATION_SPECIFICATION,
                "no PostgreSQL user name specified in startup packet"
            ));
        };
        let named = |t: &rustls::ServerConnection| t.alpn_protocol() == Some(b"postgresql");
        if self.direct && !self.wire.tls().is_some_and(named) {
            return Err(err!(
                PROTOCOL_VIOLATION,
                "received direct SSL connection request without ALPN protocol negotiation \
                 extension"
            ));
        }
        let database = parameters.get("database").filter(|d| !d.is_empty()).unwrap_or(user);
        self.user = types::io::bytes::name(user).to_string();
        self.database = types::io::bytes::name(database).to_string();
        self.asked_at = os::clock::now_micros();
        self.who.set_names(|n| {
            n.user = self.user.clone();
            n.database = self.database.clone();
            n.backend_type = "client backend".into();
        });
        match self.shared.state() {
            State::Running => {}
            State::Starting => {
                return Err(err!(CANNOT_CONNECT_NOW, "the database system is starting up"));
            }
            State::Stopping => return Err(shutting_down()),
        }
        if let Some("true" | "on" | "yes" | "1" | "database") = parameters.get("replication") {
            return Err(base::Error::unsupported("replication"));
        }
        self.shared.backend.check_full()?;
        let hba = self.shared.hba();
        let roles = |role: &str| self.shared.backend.is_member(&self.user, role);
        let who = Who {
            address: self.address.map(|a| a.ip()),
            encrypted: self.wire.tls().is_some(),
            user: &self.user,
            database: Some(&self.database),
        };
        let rule = hba.find(&who, &roles).cloned();
        let (method, rule) = match rule {
            Some(rule) => (rule.method, rule),
            None => return Err(self.no_hba_entry("no pg_hba.conf entry for")),
        };
        if method == Method::Reject {
            return Err(self.no_hba_entry("pg_hba.conf rejects connection for"));
        }
        self.rule = Some(rule);
        self.check_certificate()?;
        let exchange = Exchange::begin(self, method, parameters)?;
        match exchange {
            Some(exchange) => self.phase = Phase::Authenticating(Box::new(exchange)),
            None => debug_assert!(!matches!(self.phase, Phase::Startup)),
        }
        Ok(())
    }

    pub(super) fn log_line(&self, text: &str) {
        self.shared.log.line(&self.who, Severity::Log, text);
    }

    fn no_hba_entry(&self, what: &str) -> base::Error {
        let host = self.address.map_or("[local]".to_string(), |a| a.ip().to_string());
        err!(
            INVALID_AUTHORIZATION_SPECIFICATION,
            "{what} host \"{host}\", user \"{}\", database \"{}\", {}",
            self.user,
            self.database,
            if self.wire.tls().is_some() { "SSL encryption" } else { "no encryption" }
        )
        .severity(Severity::Fatal)
    }

    /// The client has proved who it is: begins the session proper.
    pub(super) fn authenticated(&mut self, parameters: Parameters) -> Result<()> {
        self.log_authentication();
        self.proved = true;
        backend::authentication(&mut self.wire.out, Authentication::Ok);
        let mut settings = Vec::new();
        for (name, value) in &parameters.list {
            match name.as_str() {
                "user" | "database" | "replication" => {}
                "options" => settings.extend(crate::config::split_options(value)?),
                n if n.starts_with("_pq_.") => {}
                _ => settings.push((name.clone(), value.clone())),
            }
        }
        if self.shared.log.connections().authorization {
            let mut text =
                format!("connection authorized: user={} database={}", self.user, self.database);
            if let Some(name) = parameters.get("application_name").filter(|n| !n.is_empty()) {
                text.push_str(&format!(" application_name={name}"));
            }
            if let Some(ssl) = self.ssl_info() {
                text.push_str(&format!(
                    " SSL enabled (protocol={}, cipher={}, bits={})",
                    ssl.version, ssl.cipher, ssl.bits
                ));
            }
            self.log_line(&text);
        }
        let session = self.shared.backend.connect(Request {
            user: self.user.clone(),
            database: self.database.clone(),
            settings,
            address: self.address,
            host_name: self.host_name.clone(),
            server_address: self.wire.socket().server_address(),
            who: Some(self.who.clone()),
            system_user: self.system_user.clone(),
            ssl: self.ssl_info(),
            reactor: self.reactor,
        })?;
        self.shared.delay_authentication(true);
        self.wire.set_interrupts(session.interrupts());
        self.interrupts = Some(session.interrupts());
        let key_len = if parameters.version >= VERSION_3_2 { LONG_KEY } else { SHORT_KEY };
        let key = session.cancel_key(key_len);
        let reported = session.reported_settings();
        if let Some((_, name)) = reported.iter().find(|(name, _)| name == "client_encoding") {
            self.wire.encoding = Encoding::from_name(name).unwrap_or(Encoding::UTF8);
        }
        for notice in session.start_notices() {
            let start = self.wire.out.len();
            backend::error_or_notice(&mut self.wire.out, &notice);
            let _ = super::text::to_client(&mut self.wire.out, start, self.wire.encoding);
        }
        let out = &mut self.wire.out;
        for (name, value) in &reported {
            backend::parameter_status(out, name, value);
        }
        backend::backend_key_data(out, session.pid(), &key);
        backend::ready_for_query(out, session.transaction_status());
        self.session = Some(session);
        self.phase = Phase::Serving;
        if self.shared.log.connections().setup_durations {
            let ms = |since: i64| (os::clock::now_micros() - since) as f64 / 1000.0;
            let (total, proving) = (ms(self.who.start_micros), ms(self.asked_at));
            let text = format!(
                "connection ready: setup total={total:.3} ms, fork=0.000 ms, \
                 authentication={proving:.3} ms"
            );
            if let Some(session) = &self.session {
                session.log_error(&engine::log::message(text), None);
            }
        }
        Ok(())
    }
}

/// `replication` is a Boolean or the word "database".
fn check_replication(value: Option<&str>) -> Result<()> {
    const KNOWN: [&str; 17] = [
        "database", "true", "tru", "tr", "t", "yes", "ye", "y", "on", "1", "false", "fals", "fal",
        "fa", "f", "off", "0",
    ];
    let Some(value) = value else { return Ok(()) };
    let lower = value.to_ascii_lowercase();
    if KNOWN.contains(&lower.as_str()) || matches!(lower.as_str(), "no" | "n" | "of") {
        return Ok(());
    }
    Err(err!(INVALID_PARAMETER_VALUE, "invalid value for parameter \"replication\": \"{value}\"")
        .hint("Valid values are: \"false\", 0, \"true\", 1, \"database\".")
        .severity(Severity::Fatal))
}
