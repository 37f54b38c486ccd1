//! Options of the method `ldap`.

use crate::ldap::Scope;

/// Where and how a password is tried.
#[derive(Clone, Debug, PartialEq)]
pub struct Ldap {
    /// Names of servers, separated by blanks.
    pub server: Option<String>,
    /// Their port, unless it is the scheme's own.
    pub port: Option<u16>,
    scheme: Option<String>,
    tls: bool,
    /// What stands before the user's name in that of the entry.
    pub prefix: Option<String>,
    /// What stands after it.
    pub suffix: Option<String>,
    /// Where entries are looked for.
    pub base_dn: Option<String>,
    /// Who looks for them; nobody in particular if that is not given.
    pub bind_dn: Option<String>,
    /// With which password.
    pub bind_password: Option<String>,
    search_attribute: Option<String>,
    search_filter: Option<String>,
    /// How far below the base.
    pub scope: Scope,
}

/// Characters with a meaning in filters.
const SPECIAL: [char; 5] = ['*', '(', ')', '\\', '/'];

impl Default for Ldap {
    fn default() -> Ldap {
        Ldap {
            server: None,
            port: None,
            scheme: None,
            tls: false,
            prefix: None,
            suffix: None,
            base_dn: None,
            bind_dn: None,
            bind_password: None,
            search_attribute: None,
            search_filter: None,
            scope: Scope::Subtree,
        }
    }
}

impl Ldap {
    /// Takes an option; false if it is none of these.
    pub fn option(&mut self, name: &str, value: &str) -> Result<bool, String> {
        let text = Some(value.to_string());
        match name {
            "ldapurl" => self.url(value)?,
            "ldaptls" => self.tls = value == "1",
            "ldapscheme" => self.scheme = text,
            "ldapserver" => self.server = text,
            "ldapport" => {
                let port = value.parse().ok().filter(|p| *p != 0);
                self.port =
                    Some(port.ok_or_else(|| format!("invalid LDAP port number: \"{value}\""))?);
            }
            "ldapbinddn" => self.bind_dn = text,
            "ldapbindpasswd" => self.bind_password = text,
            "ldapsearchattribute" => self.search_attribute = text,
            "ldapsearchfilter" => self.search_filter = text,
            "ldapbasedn" => self.base_dn = text,
            "ldapprefix" => self.prefix = text,
            "ldapsuffix" => self.suffix = text,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// `ldap://host:port/base?attribute?scope?filter`
    fn url(&mut self, url: &str) -> Result<(), String> {
        // The library's codes for these are those of other errors.
        let wrong = |why: &str| Err(format!("could not parse LDAP URL \"{url}\": {why}"));
        let (scheme, rest) = match url.split_once("://") {
            Some((scheme @ ("ldap" | "ldaps"), rest)) => (scheme, rest),
            Some((scheme @ "ldapi", _)) => {
                return Err(format!("unsupported LDAP URL scheme: {scheme}"));
            }
            _ => return wrong("Time limit exceeded"),
        };
        let (place, rest) = rest.split_once('/').unwrap_or((rest, ""));
        let (host, port) = match place.rsplit_once(':') {
            Some((host, port)) => match port.parse::<u16>() {
                Ok(port) => (host, port),
                Err(_) => return wrong("Compare True"),
            },
            None => (place, default_port(scheme)),
        };
        let mut parts = rest.split('?');
        let mut next = || parts.next().map(decode).filter(|p| !p.is_empty());
        let (base, attributes, scope, filter) = (next(), next(), next(), next());
        self.scheme = Some(scheme.to_string());
        self.server = Some(host.to_string()).filter(|h| !h.is_empty());
        self.port = Some(port);
        self.base_dn = base;
        self.search_attribute = attributes.and_then(|a| a.split(',').next().map(str::to_string));
        self.scope = match scope.as_deref() {
            None | Some("base") => Scope::Base,
            Some("one") => Scope::One,
            Some("sub") => Scope::Subtree,
            Some(_) => return wrong("Strong(er) authentication required"),
        };
        self.search_filter = filter;
        Ok(())
    }

    /// What has to be true of all options together.
    pub fn check(&self) -> Result<(), String> {
        if self.prefix.is_some() || self.suffix.is_some() {
            let searches = [
                &self.base_dn,
                &self.bind_dn,
                &self.bind_password,
                &self.search_attribute,
                &self.search_filter,
            ];
            if searches.iter().any(|o| o.is_some()) {
                return Err("cannot mix options for simple bind and search+bind modes".to_string());
            }
        } else if self.base_dn.is_none() {
            return Err("authentication method \"ldap\" requires argument \"ldapbasedn\", \
                        \"ldapprefix\", or \"ldapsuffix\" to be set"
                .to_string());
        }
        if self.search_attribute.is_some() && self.search_filter.is_some() {
            return Err("cannot use ldapsearchattribute together with ldapsearchfilter".to_string());
        }
        Ok(())
    }

    /// By TLS from the beginning.
    pub fn is_ldaps(&self) -> bool {
        self.scheme.as_deref() == Some("ldaps")
    }

    /// By TLS after a request for it.
    pub fn starts_tls(&self) -> bool {
        self.tls
    }

    /// The port to connect to.
    pub fn any_port(&self) -> u16 {
        self.port.unwrap_or_else(|| default_port(self.scheme.as_deref().unwrap_or("ldap")))
    }

    /// The filter that finds a user; None if the name could be more than one.
    pub fn filter(&self, user: &str) -> Option<String> {
        if user.contains(SPECIAL) {
            return None;
        }
        Some(match (&self.search_filter, &self.search_attribute) {
            (Some(filter), _) => filter.replace("$username", user),
            (None, Some(attribute)) => format!("({attribute}={user})"),
            (None, None) => format!("(uid={user})"),
        })
    }

    /// As `pg_hba_file_rules` shows them.
    pub fn shown(&self) -> Vec<String> {
        let mut all = Vec::new();
        let mut one = |name: &str, value: Option<String>| {
            all.extend(value.map(|v| format!("{name}={v}")));
        };
        one("ldapserver", self.server.clone());
        one("ldapport", self.port.map(|p| p.to_string()));
        one("ldapscheme", self.scheme.clone());
        one("ldaptls", self.tls.then(|| "true".to_string()));
        one("ldapprefix", self.prefix.clone());
        one("ldapsuffix", self.suffix.clone());
        one("ldapbasedn", self.base_dn.clone());
        one("ldapbinddn", self.bind_dn.clone());
        one("ldapbindpasswd", self.bind_password.clone());
        one("ldapsearchattribute", self.search_attribute.clone());
        one("ldapsearchfilter", self.search_filter.clone());
        let scope = self.scope as u32;
        one("ldapscope", (scope != 0).then(|| scope.to_string()));
        all
    }
}

fn default_port(scheme: &str) -> u16 {
    if scheme == "ldaps" { 636 } else { 389 }
}

/// `%20` and its like.
fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let (mut out, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while let Some(&b) = bytes.get(at) {
        let number = text.get(at + 1..at + 3).and_then(|h| u8::from_str_radix(h, 16).ok());
        match number {
            Some(n) if b == b'%' => {
                out.push(n);
                at += 3;
            }
            _ => {
                out.push(b);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(options: &[(&str, &str)]) -> Result<Ldap, String> {
        let mut ldap = Ldap::default();
        for (name, value) in options {
            assert!(ldap.option(name, value)?);
        }
        ldap.check().map(|()| ldap)
    }

    #[test]
    fn options_as_postgres_shows_them() {
        let shown = |options: &[(&str, &str)]| read(options).unwrap().shown().join(" ");
        assert_eq!(
            shown(&[("ldapserver", "a"), ("ldapprefix", "cn="), ("ldapsuffix", ", dc=x")]),
            "ldapserver=a ldapprefix=cn= ldapsuffix=, dc=x ldapscope=2"
        );
        assert_eq!(
            shown(&[("ldapurl", "ldap://h:389/dc=x,dc=y?uid?sub")]),
            "ldapserver=h ldapport=389 ldapscheme=ldap ldapbasedn=dc=x,dc=y \
             ldapsearchattribute=uid ldapscope=2"
        );
        assert_eq!(
            shown(&[("ldapurl", "ldap:///dc=x?uid,cn")]),
            "ldapport=389 ldapscheme=ldap ldapbasedn=dc=x ldapsearchattribute=uid"
        );
        assert_eq!(
            shown(&[("ldapbasedn", "x"), ("ldaptls", "1"), ("ldapserver", "a")]),
            "ldapserver=a ldaptls=true ldapbasedn=x ldapscope=2"
        );
    }

    #[test]
    fn errors_in_postgres_words() {
        for (options, message) in [
            (
                &[("ldapserver", "a")][..],
                "authentication method \"ldap\" requires argument \"ldapbasedn\", \
                 \"ldapprefix\", or \"ldapsuffix\" to be set",
            ),
            (
                &[("ldapprefix", "cn="), ("ldapbasedn", "x")],
                "cannot mix options for simple bind and search+bind modes",
            ),
            (
                &[("ldapurl", "ldaps://h/dc=x?uid?one?(a=b)")],
                "cannot use ldapsearchattribute together with ldapsearchfilter",
            ),
            (&[("ldapport", "0")], "invalid LDAP port number: \"0\""),
            (&[("ldapurl", "ldapi://h/x")], "unsupported LDAP URL scheme: ldapi"),
            (&[("ldapurl", "junk")], "could not parse LDAP URL \"junk\": Time limit exceeded"),
        ] {
            assert_eq!(read(options).unwrap_err(), message);
        }
    }

    #[test]
    fn filters() {
        let attribute = read(&[("ldapbasedn", "x"), ("ldapsearchattribute", "cn")]).unwrap();
        assert_eq!(attribute.filter("ann").unwrap(), "(cn=ann)");
        assert_eq!(attribute.filter("a*"), None);
        let filter =
            read(&[("ldapbasedn", "x"), ("ldapsearchfilter", "(|(a=$username)(b=$username))")]);
        assert_eq!(filter.unwrap().filter("ann").unwrap(), "(|(a=ann)(b=ann))");
        assert_eq!(read(&[("ldapbasedn", "x")]).unwrap().filter("ann").unwrap(), "(uid=ann)");
    }
}
