//! Proving who one is: password exchanges by `pg_hba.conf`.

use super::{Conn, Phase, Socket};
use crate::hba::Method;
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
    Md5 { secret: Option<String>, salt: [u8; 4] },
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
            Method::Reject => return Err(failed(&conn.user)),
            Method::Password => {
                backend::authentication(out, Authentication::CleartextPassword);
                Step::Password
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
                    let server = scram::Server::new(secret.as_deref(), &random, &mock);
                    backend::authentication(out, Authentication::Sasl(&[scram::MECHANISM]));
                    Step::Sasl(server)
                }
            }
        };
        Ok(Some(Exchange { step, parameters }))
    }
}

/// The user at the other end of the socket must have the role's name.
fn peer(conn: &Conn) -> Result<()> {
    let Socket::Unix(socket) = conn.wire.socket() else {
        return Err(failed(&conn.user));
    };
    let name = os::process::peer_user(socket.as_raw_fd()).and_then(os::process::name_of_user);
    if name.as_deref() == Some(conn.user.as_str()) {
        return Ok(());
    }
    Err(err!(
        INVALID_AUTHORIZATION_SPECIFICATION,
        "Peer authentication failed for user \"{}\"",
        conn.user
    )
    .severity(Severity::Fatal))
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
            Step::Md5 { secret, salt } => {
                let given = frontend::password_text(body)?;
                if secret.is_none_or(|s| md5::response(&s, salt) != given) {
                    return Err(failed(&self.user));
                }
                self.authenticated(parameters)
            }
            Step::Sasl(mut server) => {
                let (mechanism, data) = frontend::sasl_initial(body)?;
                if mechanism != scram::MECHANISM {
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
