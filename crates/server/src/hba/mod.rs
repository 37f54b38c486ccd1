//! `pg_hba.conf`: who may connect from where, and how they prove who they are; `pg_ident.conf` is
//! in [`ident`], words and included files are in [`tokens`].

pub mod ident;
mod ldap;
mod parse;
mod radius;
mod tokens;

pub use ldap::Ldap;
pub use radius::{Radius, RadiusServer};

use base::{Error, Result, SqlState};
use engine::HbaRule;
use engine::Regex;
use parse::{named, rule};
use std::net::IpAddr;
use std::path::Path;
use tokens::{Line, Word};

/// How a client proves who it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// Not at all.
    Trust,
    /// Not allowed in.
    Reject,
    /// Password as it is.
    Password,
    /// MD5, or SCRAM if the password is stored so.
    Md5,
    /// SCRAM-SHA-256.
    Scram,
    /// By the operating system's user at the other end of a unix socket.
    Peer,
    /// The user that the client's machine names.
    Ident,
    /// By the certificate that TLS has checked.
    Cert,
    /// Password, tried on an LDAP server.
    Ldap,
    /// Password, tried on RADIUS servers.
    Radius,
}

impl Method {
    /// As the file has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Method::Trust => "trust",
            Method::Reject => "reject",
            Method::Password => "password",
            Method::Md5 => "md5",
            Method::Scram => "scram-sha-256",
            Method::Peer => "peer",
            Method::Ident => "ident",
            Method::Cert => "cert",
            Method::Ldap => "ldap",
            Method::Radius => "radius",
        }
    }
}

/// `clientcert`
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClientCert {
    /// Not looked at.
    No,
    /// There has to be one.
    VerifyCa,
    /// And it has to have the user's name.
    VerifyFull,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Transport {
    /// A unix socket.
    Local,
    /// TCP.
    Any,
    /// TCP, encrypted.
    Ssl,
    /// TCP, not encrypted.
    Plain,
    /// By GSSAPI: there is none.
    Gss,
}

#[derive(Clone, Debug, PartialEq)]
enum Addresses {
    All,
    SameHost,
    SameNet,
    /// An address and its mask.
    Net(IpAddr, IpAddr),
    Name(String),
}

/// One line.
#[derive(Clone, Debug)]
pub struct Rule {
    transport: Transport,
    addresses: Addresses,
    databases: Vec<Pattern>,
    users: Vec<Pattern>,
    /// What the client has to do.
    pub method: Method,
    /// `map`
    pub map: Option<String>,
    /// `clientcert`
    pub client_cert: ClientCert,
    /// `clientname=DN`
    pub by_dn: bool,
    /// Options of the method `ldap`.
    pub ldap: Ldap,
    /// Options of the method `radius`.
    pub radius: Radius,
    options: Vec<String>,
    /// Where it is, as the log has it: `file:line`.
    pub place: String,
    /// The file, its line and what is written there, for the log.
    pub written: String,
}

/// A word that names databases or users.
#[derive(Clone, Debug)]
struct Pattern {
    word: Word,
    regex: Option<Regex>,
}

/// The file's lines, in order.
#[derive(Clone, Debug, Default)]
pub struct Hba {
    rules: Vec<Rule>,
}

/// Who connects.
pub struct Who<'a> {
    /// From where; None is a unix socket.
    pub address: Option<IpAddr>,
    /// By TLS.
    pub encrypted: bool,
    /// As whom.
    pub user: &'a str,
    /// To which database; None is physical replication.
    pub database: Option<&'a str>,
}

/// A line that cannot be used, as an error.
fn line_error(line: &Line, text: &str) -> Error {
    let place = format!("line {} of configuration file \"{}\"", line.number, line.file.display());
    let code = match text {
        t if t.starts_with("invalid regular expression") => SqlState::INVALID_REGULAR_EXPRESSION,
        t if t.starts_with("could not open file") => SqlState::UNDEFINED_FILE,
        _ => SqlState::CONFIG_FILE_ERROR,
    };
    Error::new(code, text).context(place)
}

/// What all lines of a file mean, or what is wrong with each of those that are.
fn all_of<T>(
    path: &Path,
    read: impl Fn(&Line) -> std::result::Result<T, String>,
) -> std::result::Result<Vec<T>, Vec<Error>> {
    let lines = tokens::read(path).map_err(|e| vec![e])?;
    let (mut all, mut errors) = (Vec::new(), Vec::new());
    for line in &lines {
        match read(line) {
            Ok(found) => all.push(found),
            Err(e) => errors.push(line_error(line, &e)),
        }
    }
    if errors.is_empty() { Ok(all) } else { Err(errors) }
}

impl Hba {
    /// Reads the file; a line that is wrong makes it unusable.
    pub fn read(path: &Path) -> std::result::Result<Hba, Vec<Error>> {
        let rules = all_of(path, rule)?;
        if rules.is_empty() {
            let path = path.display();
            let text = format!("configuration file \"{path}\" contains no entries");
            return Err(vec![Error::new(SqlState::CONFIG_FILE_ERROR, text)]);
        }
        Ok(Hba { rules })
    }

    /// The first line that fits a connection. `member_of` tells whether the user is a member of a
    /// role.
    pub fn find(&self, who: &Who<'_>, member_of: &dyn Fn(&str) -> bool) -> Option<&Rule> {
        self.rules.iter().find(|rule| {
            let from = match (rule.transport, who.address) {
                (Transport::Local, None) => true,
                (Transport::Local, _) | (_, None) | (Transport::Gss, _) => false,
                (Transport::Ssl, _) if !who.encrypted => false,
                (Transport::Plain, _) if who.encrypted => false,
                (_, Some(ip)) => rule.addresses.contain(ip),
            };
            from && rule.databases.iter().any(|p| p.fits_database(who, member_of))
                && rule.users.iter().any(|p| p.fits_user(who.user, member_of))
        })
    }
}

/// The lines as `pg_hba_file_rules` shows them.
pub fn rows(path: &Path) -> Result<Vec<HbaRule>> {
    let mut number = 0;
    Ok(tokens::read(path)?
        .into_iter()
        .map(|line| {
            let parsed = rule(&line);
            number += i32::from(parsed.is_ok());
            let mut row = HbaRule {
                file: line.file.display().to_string(),
                line: line.number as i32,
                ..HbaRule::default()
            };
            match parsed {
                Ok(rule) => rule.show(number, &mut row),
                Err(e) => row.error = Some(e),
            }
            row
        })
        .collect())
}

impl Rule {
    fn show(&self, number: i32, row: &mut HbaRule) {
        row.number = Some(number);
        row.kind = Some(
            match self.transport {
                Transport::Local => "local",
                Transport::Any => "host",
                Transport::Ssl => "hostssl",
                Transport::Plain => "hostnossl",
                Transport::Gss => "hostgssenc",
            }
            .to_string(),
        );
        let words = |all: &[Pattern]| all.iter().map(|p| p.word.text.clone()).collect();
        row.databases = words(&self.databases);
        row.users = words(&self.users);
        (row.address, row.netmask) = match (&self.addresses, self.transport) {
            (_, Transport::Local) => (None, None),
            (Addresses::All, _) => (Some("all".into()), None),
            (Addresses::SameHost, _) => (Some("samehost".into()), None),
            (Addresses::SameNet, _) => (Some("samenet".into()), None),
            (Addresses::Net(ip, mask), _) => (Some(ip.to_string()), Some(mask.to_string())),
            (Addresses::Name(name), _) => (Some(name.clone()), None),
        };
        row.method = Some(self.method.as_str().to_string());
        row.options = self.options.clone();
    }
}

fn within(net: IpAddr, mask: IpAddr, ip: IpAddr) -> bool {
    match (net, mask, ip) {
        (IpAddr::V4(a), IpAddr::V4(m), IpAddr::V4(b)) => {
            a.to_bits() & m.to_bits() == b.to_bits() & m.to_bits()
        }
        (IpAddr::V6(a), IpAddr::V6(m), IpAddr::V6(b)) => {
            a.to_bits() & m.to_bits() == b.to_bits() & m.to_bits()
        }
        _ => false,
    }
}

impl Addresses {
    fn contain(&self, ip: IpAddr) -> bool {
        let ip = plain(ip);
        let own = || os::process::interfaces().into_iter();
        match self {
            Addresses::All => true,
            Addresses::SameHost => own().any(|(own, _)| own == ip),
            Addresses::SameNet => own().any(|(own, mask)| within(own, mask, ip)),
            Addresses::Name(name) => named(name, ip),
            Addresses::Net(net, mask) => within(*net, *mask, ip),
        }
    }
}

/// An IPv4 address that came through an IPv6 socket, as what it is.
fn plain(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V6(six) => six.to_ipv4_mapped().map_or(ip, IpAddr::V4),
        four => four,
    }
}

impl Pattern {
    fn fits_database(&self, who: &Who<'_>, member: &dyn Fn(&str) -> bool) -> bool {
        let (word, special) = (self.word.text.as_str(), !self.word.quoted);
        let Some(database) = who.database else {
            return special && word == "replication";
        };
        if special {
            match word {
                "all" => return true,
                "sameuser" => return database == who.user,
                "samerole" | "samegroup" => return database == who.user || member(database),
                "replication" => return false,
                _ => {}
            }
        }
        match &self.regex {
            Some(regex) => regex.is_match(database),
            None => word == database,
        }
    }

    fn fits_user(&self, user: &str, member: &dyn Fn(&str) -> bool) -> bool {
        let (word, special) = (self.word.text.as_str(), !self.word.quoted);
        if special && word == "all" {
            return true;
        }
        if special && let Some(role) = word.strip_prefix('+') {
            return role == user || member(role);
        }
        match &self.regex {
            Some(regex) => regex.is_match(user),
            None => word == user,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hba(text: &str) -> std::result::Result<Hba, Vec<Error>> {
        use std::sync::atomic::{AtomicU32, Ordering};
        static N: AtomicU32 = AtomicU32::new(0);
        let n = N.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("olifant-hba-{}-{n}", os::process::id()));
        std::fs::write(&path, text).unwrap();
        let read = Hba::read(&path);
        std::fs::remove_file(&path).unwrap();
        read
    }

    #[test]
    fn first_line_that_fits() {
        let h = hba("# comment\nlocal all all peer map=m\n\
             host \"all\",a  +grp 127.0.0.1/32 md5\n\
             hostssl all all 10.0.0.0 255.0.0.0 scram-sha-256 # x\n\
             hostnossl all all 10.0.0.0/8 password\nhost /^x.* bob ::1/128 trust\n\
             host replication all all trust\nhost sameuser all samehost reject")
        .unwrap();
        let find = |ip: Option<&str>, encrypted: bool, user: &str, db: &str| {
            let address = ip.map(|i| i.parse().unwrap());
            let database = Some(db).filter(|d| !d.is_empty());
            let who = Who { address, encrypted, user, database };
            h.find(&who, &|r| r == "grp" && user == "ann").map(|r| r.method)
        };
        assert_eq!(find(None, false, "x", "y"), Some(Method::Peer));
        assert_eq!(find(Some("127.0.0.1"), false, "ann", "a"), Some(Method::Md5));
        assert_eq!(find(Some("127.0.0.1"), false, "ann", "b"), None);
        assert_eq!(find(Some("127.0.0.1"), false, "joe", "joe"), Some(Method::Reject));
        assert_eq!(find(Some("10.9.8.7"), true, "joe", "a"), Some(Method::Scram));
        assert_eq!(find(Some("10.9.8.7"), false, "joe", "a"), Some(Method::Password));
        assert_eq!(find(Some("::1"), false, "bob", "xyz"), Some(Method::Trust));
        assert_eq!(find(Some("::1"), false, "bob", "yz"), None);
        assert_eq!(find(Some("9.9.9.9"), false, "bob", ""), Some(Method::Trust));
    }

    #[test]
    fn errors() {
        for (text, message) in [
            ("host all all", "end-of-line before IP address specification"),
            ("martian all all trust", "invalid connection type \"martian\""),
            ("host all all all peer", "peer authentication is only supported on local sockets"),
            ("local all all cert", "cert authentication is only supported on hostssl connections"),
            ("local all all trust x", "authentication option not in name=value format: x"),
            ("local all all trust a=b", "unrecognized authentication option name: \"a\""),
            ("local a,b c,d trust,md5", "multiple values specified for authentication type"),
            ("host all all 1.2.3.4/33 md5", "invalid CIDR mask in address \"1.2.3.4/33\""),
        ] {
            assert_eq!(hba(text).unwrap_err()[0].fields().message, message, "{text}");
        }
    }
}
