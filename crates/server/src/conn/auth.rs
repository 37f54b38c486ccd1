//! Proving who one is: password exchanges by `pg_hba.conf`.

use super::{Conn, Phase, Socket};
use crate::hba::{ClientCert, Method};
use crate::tls::Subject;
use base::{Result, Severity, err};
use pgwire::backend::{self, Authentication};
use pgwire::startup::Parameters;
use pgwire::{frontend, md5, scram};
use std::os::fd::AsRawFd;

/// An exchange that waits for the client.
pub struct Exchange {
    step: Step,
    parameters: Parameters,
}

enum Step {
    Password,
    /// A password that somebody else knows.
    Outside(Method),
    Md5 {
        secret: Option<String>,
        salt: [u8; 4],
    },
    Sasl(scram::Server),
    SaslLast(scram::Server),
}

fn failed(user: &str) -> base::Error {
    err!(INVALID_PASSWORD, "password authentication failed for user \"{user}\"")
        .severity(Severity::Fatal)
}

impl Exchange {
    /// Begins authentication; None if nothing more is needed: then the session has begun.
    pub(super) fn begin(
        conn: &mut Conn,
        method: Method,
        parameters: Parameters,
    ) -> Result<Option<Exchange>> {
        let out = &mut conn.wire.out;
        let step = match method {
            Method::Trust => {
                conn.authenticated(parameters)?;
                return Ok(None);
            }
            Method::Peer => {
                peer(conn)?;
                conn.authenticated(parameters)?;
                return Ok(None);
            }
            Method::Ident => {
                ident(conn)?;
                conn.authenticated(parameters)?;
                return Ok(None);
            }
            Method::Cert => {
                conn.authenticated(parameters)?;
                return Ok(None);
            }
            Method::Reject => return Err(failed(&conn.user)),
            Method::Password => {
                backend::authentication(out, Authentication::CleartextPassword);
                Step::Password
            }
            Method::Ldap | Method::Radius => {
                backend::authentication(out, Authentication::CleartextPassword);
                Step::Outside(method)
            }
            Method::Md5 | Method::Scram => {
                let secret = conn.shared.backend.role_secret(&conn.user)?;
                // Clients that are asked for MD5 get SCRAM if that is how the secret is stored.
                let is_md5 = secret.as_deref().is_some_and(md5::is_secret);
                if method == Method::Md5 && is_md5 {
                    let mut salt = [0; 4];
                    os::random::fill(&mut salt);
                    backend::authentication(out, Authentication::Md5Password(salt));
                    Step::Md5 { secret, salt }
                } else {
                    let mut random = [0; 18];
                    os::random::fill(&mut random);
                    let mock = conn.shared.mock_secret(&conn.user);
                    let mut server = scram::Server::new(secret.as_deref(), &random, &mock);
                    let mut offered = vec![scram::MECHANISM];
                    if conn.wire.tls().is_some() {
                        server.bind_to(conn.end_point.clone());
                        offered.insert(0, scram::MECHANISM_PLUS);
                    }
                    let out = &mut conn.wire.out;
                    backend::authentication(out, Authentication::Sasl(&offered));
                    Step::Sasl(server)
                }
            }
        };
        Ok(Some(Exchange { step, parameters }))
    }
}

/// The user at the other end of the socket must be mapped to the role.
fn peer(conn: &mut Conn) -> Result<()> {
    let Socket::Unix(socket) = conn.wire.socket() else {
        return Err(failed(&conn.user));
    };
    let name = os::process::peer_user(socket.as_raw_fd()).and_then(os::process::name_of_user);
    let name = name.unwrap_or_default();
    conn.system_user = Some(format!("peer:{name}"));
    conn.must_map(&name, "Peer")
}

/// The user that the client's machine names must be mapped to the role.
fn ident(conn: &mut Conn) -> Result<()> {
    let own = match conn.wire.socket() {
        Socket::Tcp(socket) => socket.local_addr().ok(),
        Socket::Unix(_) => None,
    };
    let (Some(client), Some(own)) = (conn.address, own) else { return Err(failed(&conn.user)) };
    match super::ident::ask(client, own.port()) {
        Ok(name) => {
            conn.system_user = Some(format!("ident:{name}"));
            conn.must_map(&name, "Ident")
        }
        Err(why) => {
            conn.log_line(&why);
            let user = &conn.user;
            let what = format!("Ident authentication failed for user \"{user}\"");
            Err(err!(INVALID_AUTHORIZATION_SPECIFICATION, "{what}").severity(Severity::Fatal))
        }
    }
}

/// A cipher's name as OpenSSL has it.
fn cipher_name(name: &str) -> String {
    if let Some(rest) = name.strip_prefix("TLS13_") {
        return format!("TLS_{rest}");
    }
    let short = name.replacen("TLS_", "", 1).replacen("_WITH_", "-", 1);
    let short = short.replace("AES_", "AES").replace("POLY1305_SHA256", "POLY1305");
    short.replace('_', "-")
}

impl Conn {
    /// Fails unless the client's name outside may be the role.
    fn must_map(&self, outside: &str, method: &str) -> Result<()> {
        let map = self.rule.as_ref().and_then(|r| r.map.as_deref());
        let member = |role: &str| self.shared.backend.is_member(&self.user, role);
        if self.shared.ident().allows(map, outside, &self.user, &member) {
            return Ok(());
        }
        let user = &self.user;
        self.log_line(&match map {
            Some(map) => {
                format!("no match in usermap \"{map}\" for user \"{user}\" authenticated as \"{outside}\"")
            }
            None => format!(
                "provided user name ({user}) and authenticated user name ({outside}) do not match"
            ),
        });
        Err(err!(
            INVALID_AUTHORIZATION_SPECIFICATION,
            "{method} authentication failed for user \"{user}\""
        )
        .severity(Severity::Fatal))
    }

    fn subject(&self) -> Option<Subject> {
        let certificates = self.wire.tls()?.peer_certificates()?;
        Subject::of(certificates.first()?)
    }

    /// `clientcert` and the method `cert`.
    pub(super) fn check_certificate(&mut self) -> Result<()> {
        let Some(rule) = self.rule.clone() else { return Ok(()) };
        if rule.client_cert == ClientCert::No {
            return Ok(());
        }
        let Some(subject) = self.subject() else {
            return Err(err!(
                INVALID_AUTHORIZATION_SPECIFICATION,
                "connection requires a valid client certificate"
            )
            .severity(Severity::Fatal));
        };
        if rule.client_cert == ClientCert::VerifyCa {
            return Ok(());
        }
        let name = if rule.by_dn { &subject.rfc2253 } else { &subject.common_name };
        if name.is_empty() {
            return Err(failed(&self.user));
        }
        if rule.method == Method::Cert {
            self.system_user = Some(format!("cert:{}", subject.rfc2253));
        }
        self.must_map(name, "certificate")
    }

    /// How the connection is encrypted.
    pub(super) fn ssl_info(&self) -> Option<engine::SslInfo> {
        let tls = self.wire.tls()?;
        let version = match tls.protocol_version() {
            Some(rustls::ProtocolVersion::TLSv1_2) => "TLSv1.2",
            _ => "TLSv1.3",
        };
        let suite = tls.negotiated_cipher_suite()?.suite();
        let name = suite.as_str().unwrap_or_default();
        let bits = if name.contains("128_") { 128 } else { 256 };
        let client = self.subject().map(|s| (s.slashed, s.serial, s.issuer));
        let cipher = cipher_name(name);
        Some(engine::SslInfo { version: version.into(), cipher, bits, client })
    }

    /// `log_connections = authentication`
    pub(super) fn log_authentication(&mut self) {
        let Some(rule) = &self.rule else { return };
        let method = rule.method;
        if matches!(method, Method::Password | Method::Md5 | Method::Scram) {
            self.system_user = Some(format!("{}:{}", method.as_str(), self.user));
        }
        if !self.shared.log.connections().authentication {
            return;
        }
        let who = match &self.system_user {
            Some(name) => {
                let (_, identity) = name.split_once(':').unwrap_or_default();
                format!("identity=\"{identity}\"")
            }
            None => format!("user=\"{}\"", self.user),
        };
        let text =
            format!("connection authenticated: {who} method={} ({})", method.as_str(), rule.place);
        self.log_line(&text);
    }
}

impl Conn {
    /// Handles the password message of `len` bytes that is next.
    pub(super) fn password_message(&mut self, len: usize) -> Result<()> {
        let bytes = self.wire.pending()[..len].to_vec();
        self.wire.consume(len);
        if bytes[0] == b'X' {
            self.phase = Phase::Closing;
            return Ok(());
        }
        if bytes[0] != b'p' {
            let what = bytes[0];
            return Err(err!(
                PROTOCOL_VIOLATION,
                "expected password response, got message type {what}"
            )
            .severity(Severity::Fatal));
        }
        let body = &bytes[5..];
        let Phase::Authenticating(exchange) = std::mem::replace(&mut self.phase, Phase::Closing)
        else {
            return Ok(());
        };
        let Exchange { step, parameters } = *exchange;
        match step {
            Step::Password => {
                let given = frontend::password_text(body)?;
                let secret = self.shared.backend.role_secret(&self.user)?;
                if !secret.is_some_and(|s| fits(&s, given, &self.user)) {
                    return Err(failed(&self.user));
                }
                self.authenticated(parameters)
            }
            Step::Outside(method) => {
                let given = frontend::password_text(body)?;
                self.ask_outside(method, given)?;
                self.authenticated(parameters)
            }
            Step::Md5 { secret, salt } => {
                let given = frontend::password_text(body)?;
                if secret.is_none_or(|s| md5::response(&s, salt) != given) {
                    return Err(failed(&self.user));
                }
                self.authenticated(parameters)
            }
            Step::Sasl(mut server) => {
                let (mechanism, data) = frontend::sasl_initial(body)?;
                if !server.choose(mechanism) {
                    return Err(err!(
                        PROTOCOL_VIOLATION,
                        "client selected an invalid SASL authentication mechanism"
                    ));
                }
                let reply = server.first(data.unwrap_or(&[]))?;
                let message = Authentication::SaslContinue(reply.as_bytes());
                backend::authentication(&mut self.wire.out, message);
                let exchange = Exchange { step: Step::SaslLast(server), parameters };
                self.phase = Phase::Authenticating(Box::new(exchange));
                Ok(())
            }
            Step::SaslLast(mut server) => {
                let Some(reply) = server.last(body)? else { return Err(failed(&self.user)) };
                let message = Authentication::SaslFinal(reply.as_bytes());
                backend::authentication(&mut self.wire.out, message);
                self.authenticated(parameters)
            }
        }
    }
}

/// True if a stored secret is that of the password.
fn fits(secret: &str, password: &str, user: &str) -> bool {
    match scram::Secret::parse(secret) {
        Some(s) => s.matches(password),
        None => md5::is_secret(secret) && md5::secret(user, password) == secret,
    }
}

#[cfg(test)]
mod tests {
    use super::cipher_name;

    #[test]
    fn names_of_ciphers() {
        let all = [
            ("TLS13_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384"),
            ("TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "ECDHE-RSA-AES256-GCM-SHA384"),
            ("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"),
        ];
        for (name, openssl) in all {
            assert_eq!(cipher_name(name), openssl);
        }
    }
}
