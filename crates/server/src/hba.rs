//! `pg_hba.conf`: who may connect from where, and how they prove who they are.

use crate::config::file_lines;
use base::{Result, err};
use std::net::IpAddr;
use std::path::Path;

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
}

#[derive(Clone, Debug, PartialEq)]
enum Origin {
    Local,
    /// By TCP, encrypted or not, from these addresses.
    Host(Addresses),
    /// Encrypted only: never matches, as nothing is encrypted.
    Encrypted,
}

#[derive(Clone, Debug, PartialEq)]
enum Addresses {
    All,
    SameHost,
    Net(IpAddr, u32),
    Name(String),
}

#[derive(Clone, Debug, PartialEq)]
struct Word {
    text: String,
    quoted: bool,
}

/// One line.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    origin: Origin,
    databases: Vec<Word>,
    users: Vec<Word>,
    /// What the client has to do.
    pub method: Method,
}

/// The file's lines, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hba {
    rules: Vec<Rule>,
}

impl Hba {
    /// Reads the file.
    pub fn read(path: &Path) -> Result<Hba> {
        let mut rules = Vec::new();
        for (number, line) in file_lines(path)? {
            let fields = split(&line);
            if fields.is_empty() {
                continue;
            }
            let rule = rule(&fields).map_err(|e| {
                let place = format!("line {number} of configuration file \"{}\"", path.display());
                e.context(place)
            })?;
            rules.push(rule);
        }
        Ok(Hba { rules })
    }

    /// The first line that fits a connection. `member_of` tells whether the user is a member of a
    /// role.
    pub fn find(
        &self,
        address: Option<IpAddr>,
        user: &str,
        database: &str,
        member_of: &dyn Fn(&str) -> bool,
    ) -> Option<&Rule> {
        self.rules.iter().find(|rule| {
            let from = match (&rule.origin, address) {
                (Origin::Local, None) => true,
                (Origin::Host(all), Some(ip)) => all.contain(ip),
                _ => false,
            };
            from && rule.databases.iter().any(|w| w.fits_database(database, user, member_of))
                && rule.users.iter().any(|w| w.fits_user(user, member_of))
        })
    }
}

impl Addresses {
    fn contain(&self, ip: IpAddr) -> bool {
        let ip = plain(ip);
        match self {
            Addresses::All => true,
            Addresses::SameHost => ip.is_loopback(),
            Addresses::Name(name) => name == "localhost" && ip.is_loopback(),
            Addresses::Net(net, bits) => match (net, ip) {
                (IpAddr::V4(a), IpAddr::V4(b)) => {
                    let mask = u32::MAX.checked_shl(32 - bits.min(&32)).unwrap_or(0);
                    a.to_bits() & mask == b.to_bits() & mask
                }
                (IpAddr::V6(a), IpAddr::V6(b)) => {
                    let mask = u128::MAX.checked_shl(128 - bits.min(&128)).unwrap_or(0);
                    a.to_bits() & mask == b.to_bits() & mask
                }
                _ => false,
            },
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

impl Word {
    fn fits_database(&self, database: &str, user: &str, member: &dyn Fn(&str) -> bool) -> bool {
        if !self.quoted {
            match self.text.as_str() {
                "all" => return true,
                "sameuser" => return database == user,
                "samerole" | "samegroup" => return database == user || member(database),
                "replication" => return false,
                _ => {}
            }
        }
        self.text == database
    }

    fn fits_user(&self, user: &str, member: &dyn Fn(&str) -> bool) -> bool {
        if !self.quoted && self.text == "all" {
            return true;
        }
        match self.text.strip_prefix('+').filter(|_| !self.quoted) {
            Some(role) => role == user || member(role),
            None => self.text == user,
        }
    }
}

/// Fields of a line; each is a list of words.
fn split(line: &str) -> Vec<Vec<Word>> {
    let mut fields: Vec<Vec<Word>> = Vec::new();
    let mut chars = line.chars().peekable();
    let mut more = false;
    loop {
        while chars.next_if(|c| c.is_whitespace()).is_some() {}
        match chars.peek() {
            None | Some('#') => return fields,
            Some(',') => {
                chars.next();
                more = true;
                continue;
            }
            _ => {}
        }
        let mut word = Word { text: String::new(), quoted: false };
        let mut inside = false;
        while let Some(&c) = chars.peek() {
            if !inside && (c.is_whitespace() || c == ',' || c == '#') {
                break;
            }
            chars.next();
            if c == '"' {
                inside = !inside;
                word.quoted = true;
            } else {
                word.text.push(c);
            }
        }
        match fields.last_mut() {
            Some(last) if more => last.push(word),
            _ => fields.push(vec![word]),
        }
        more = chars.next_if_eq(&',').is_some();
    }
}

fn rule(fields: &[Vec<Word>]) -> Result<Rule> {
    let word = |i: usize| fields.get(i).and_then(|f| f.first()).map(|w| w.text.as_str());
    let kind = word(0).unwrap_or_default();
    let (Some(databases), Some(users)) = (fields.get(1), fields.get(2)) else {
        return Err(err!(CONFIG_FILE_ERROR, "end-of-line before database or role specification"));
    };
    let mut next = 3;
    let origin = match kind {
        "local" => Origin::Local,
        "host" | "hostnossl" | "hostnogssenc" | "hostssl" | "hostgssenc" => {
            let text = word(3).ok_or_else(|| {
                err!(CONFIG_FILE_ERROR, "end-of-line before IP address specification")
            })?;
            next = 4;
            let addresses = addresses(text, word(4), &mut next)?;
            match kind {
                "hostssl" | "hostgssenc" => Origin::Encrypted,
                _ => Origin::Host(addresses),
            }
        }
        other => return Err(err!(CONFIG_FILE_ERROR, "invalid connection type \"{other}\"")),
    };
    let method = match word(next) {
        Some("trust") => Method::Trust,
        Some("reject") => Method::Reject,
        Some("password") => Method::Password,
        Some("md5") => Method::Md5,
        Some("scram-sha-256") => Method::Scram,
        Some("peer") if origin == Origin::Local => Method::Peer,
        Some("peer") => {
            return Err(err!(
                CONFIG_FILE_ERROR,
                "peer authentication is only supported on local sockets"
            ));
        }
        Some(known @ ("gss" | "sspi" | "ident" | "ldap" | "pam" | "radius" | "cert" | "oauth")) => {
            return Err(err!(
                CONFIG_FILE_ERROR,
                "invalid authentication method \"{known}\": not supported by this build"
            ));
        }
        Some(other) => {
            return Err(err!(CONFIG_FILE_ERROR, "invalid authentication method \"{other}\""));
        }
        None => return Err(err!(CONFIG_FILE_ERROR, "end-of-line before authentication method")),
    };
    Ok(Rule { origin, databases: databases.clone(), users: users.clone(), method })
}

fn addresses(text: &str, mask: Option<&str>, next: &mut usize) -> Result<Addresses> {
    match text {
        "all" => return Ok(Addresses::All),
        "samehost" | "samenet" => return Ok(Addresses::SameHost),
        _ => {}
    }
    let bad = || err!(CONFIG_FILE_ERROR, "invalid IP address \"{text}\"");
    if let Some((ip, bits)) = text.split_once('/') {
        let ip: IpAddr = ip.parse().map_err(|_| bad())?;
        let bits: u32 = bits
            .parse()
            .map_err(|_| err!(CONFIG_FILE_ERROR, "invalid CIDR mask in address \"{text}\""))?;
        return Ok(Addresses::Net(ip, bits));
    }
    let Ok(ip) = text.parse::<IpAddr>() else { return Ok(Addresses::Name(text.to_string())) };
    // The mask is a field of its own.
    *next += 1;
    let mask: IpAddr = mask.and_then(|m| m.parse().ok()).ok_or_else(bad)?;
    let bits = match mask {
        IpAddr::V4(m) => m.to_bits().count_ones(),
        IpAddr::V6(m) => m.to_bits().count_ones(),
    };
    Ok(Addresses::Net(ip, bits))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hba(text: &str) -> Hba {
        let rules = text.lines().map(split).filter(|f| !f.is_empty());
        Hba { rules: rules.map(|f| rule(&f).unwrap()).collect() }
    }

    #[test]
    fn first_line_that_fits() {
        let h = hba("# comment\nlocal all all peer\nhost \"all\",a  +grp 127.0.0.1/32 md5\n\
                     host all all 10.0.0.0 255.0.0.0 scram-sha-256 # x\nhost all bob ::1/128 trust");
        let find = |ip: Option<&str>, user: &str, db: &str| {
            h.find(ip.map(|i| i.parse().unwrap()), user, db, &|r| r == "grp" && user == "ann")
                .map(|r| r.method)
        };
        assert_eq!(find(None, "x", "y"), Some(Method::Peer));
        assert_eq!(find(Some("127.0.0.1"), "ann", "a"), Some(Method::Md5));
        assert_eq!(find(Some("127.0.0.1"), "ann", "b"), None);
        assert_eq!(find(Some("127.0.0.1"), "joe", "a"), None);
        assert_eq!(find(Some("10.9.8.7"), "joe", "a"), Some(Method::Scram));
        assert_eq!(find(Some("::1"), "bob", "a"), Some(Method::Trust));
    }

    #[test]
    fn errors() {
        assert!(rule(&split("host all all")).is_err());
        assert!(rule(&split("martian all all trust")).is_err());
        assert!(rule(&split("host all all all peer")).is_err());
    }
}
