//! Passwords that another server knows: LDAP and RADIUS.

use super::Conn;
use super::radius::{self, Answer, LONGEST_PASSWORD};
use crate::hba::{Ldap, Method};
use crate::ldap::{Client, Protection};
use base::wait::WaitEvent;
use base::{Result, Severity, err};

impl Conn {
    /// Fails unless the password is right in the eyes of the servers that the rule names.
    pub(super) fn ask_outside(&mut self, method: Method, password: &str) -> Result<()> {
        if password.is_empty() {
            return Err(err!(INVALID_PASSWORD, "empty password returned by client")
                .severity(Severity::Fatal));
        }
        let Some(rule) = self.rule.clone() else { return Ok(()) };
        let (found, name) = match method {
            Method::Ldap => (self.ask_ldap(&rule.ldap, password), "LDAP"),
            _ => (self.ask_radius(&rule.radius.servers(), password), "RADIUS"),
        };
        match found {
            Ok(identity) => {
                self.system_user = Some(format!("{}:{identity}", method.as_str()));
                Ok(())
            }
            Err(why) => {
                if !why.is_empty() {
                    self.log_line(&why);
                }
                let user = &self.user;
                Err(err!(
                    INVALID_AUTHORIZATION_SPECIFICATION,
                    "{name} authentication failed for user \"{user}\""
                )
                .severity(Severity::Fatal))
            }
        }
    }

    /// The name of the user's entry, if its password is right; else why not, for the log.
    fn ask_ldap(&self, ldap: &Ldap, password: &str) -> std::result::Result<String, String> {
        let Some(server) = ldap.server.as_deref().filter(|s| !s.is_empty()) else {
            return Err("LDAP server not specified, and no DNS SRV records are looked up".into());
        };
        let hosts: Vec<&str> = server.split_whitespace().collect();
        let protection = match (ldap.is_ldaps(), ldap.starts_tls()) {
            (true, _) => Protection::Tls,
            (false, true) => Protection::StartTls,
            (false, false) => Protection::None,
        };
        let _wait = os::wait::begin(WaitEvent::ClientRead);
        let begin = match protection {
            Protection::None => "could not initialize LDAP",
            Protection::Tls | Protection::StartTls => "could not start LDAP TLS session",
        };
        let mut client = Client::connect(&hosts, ldap.any_port(), protection)
            .map_err(|why| format!("{begin}: {why}"))?;
        let name = match &ldap.base_dn {
            Some(base) => self.find_entry(&mut client, ldap, base, server)?,
            None => {
                let part = |p: &Option<String>| p.clone().unwrap_or_default();
                format!("{}{}{}", part(&ldap.prefix), self.user, part(&ldap.suffix))
            }
        };
        client.bind(&name, password).map_err(|why| {
            format!("LDAP login failed for user \"{name}\" on server \"{server}\": {why}")
        })?;
        Ok(name)
    }

    fn find_entry(
        &self,
        client: &mut Client,
        ldap: &Ldap,
        base: &str,
        server: &str,
    ) -> std::result::Result<String, String> {
        let filter = ldap
            .filter(&self.user)
            .ok_or("invalid character in user name for LDAP authentication")?;
        let (name, password) = (ldap.bind_dn.as_deref(), ldap.bind_password.as_deref());
        let name = name.unwrap_or_default();
        client.bind(name, password.unwrap_or_default()).map_err(|why| {
            format!(
                "could not perform initial LDAP bind for ldapbinddn \"{name}\" on server \
                 \"{server}\": {why}"
            )
        })?;
        let found = client.search(base, ldap.scope, &filter).map_err(|why| {
            format!("could not search LDAP for filter \"{filter}\" on server \"{server}\": {why}")
        })?;
        let user = &self.user;
        match found.as_slice() {
            [one] => Ok(one.clone()),
            [] => Err(format!("LDAP user \"{user}\" does not exist")),
            _ => Err(format!("LDAP user \"{user}\" is not unique")),
        }
    }

    /// The user, if one of the servers lets it in; the first that answers decides.
    fn ask_radius(
        &self,
        servers: &[crate::hba::RadiusServer],
        password: &str,
    ) -> std::result::Result<String, String> {
        if password.len() > LONGEST_PASSWORD {
            return Err(format!(
                "RADIUS authentication does not support passwords longer than {LONGEST_PASSWORD} \
                 characters"
            ));
        }
        for server in servers {
            match radius::ask(server, &self.user, password) {
                Answer::Accept => return Ok(self.user.clone()),
                Answer::Reject => return Err(String::new()),
                Answer::None(why) => self.log_line(&why),
            }
        }
        Err(String::new())
    }
}
