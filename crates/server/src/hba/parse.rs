//! Lines of `pg_hba.conf` as rules.

use super::tokens::{Line, Word};
use super::{Addresses, ClientCert, Ldap, Method, Pattern, Radius, Rule, Transport, ident};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, ToSocketAddrs};

type Parsed<T> = std::result::Result<T, String>;

/// The only word of a field.
fn single<'a>(fields: &'a [Vec<Word>], at: usize, missing: &str, many: &str) -> Parsed<&'a Word> {
    match fields.get(at).map(Vec::as_slice) {
        Some([one]) => Ok(one),
        Some(_) => Err(format!("multiple values specified for {many}")),
        None => Err(format!("end-of-line before {missing}")),
    }
}

fn patterns(fields: &[Vec<Word>], at: usize, missing: &str) -> Parsed<Vec<Pattern>> {
    let words = fields.get(at).ok_or_else(|| format!("end-of-line before {missing}"))?;
    let one = |word: &Word| {
        let regex = match word.text.strip_prefix('/') {
            Some(text) => Some(ident::pattern(text)?),
            _ => None,
        };
        Ok(Pattern { word: word.clone(), regex })
    };
    words.iter().map(one).collect()
}

/// Reads a line.
pub fn rule(line: &Line) -> Parsed<Rule> {
    if let Some(e) = &line.error {
        return Err(e.clone());
    }
    let fields = &line.fields;
    let kind = single(fields, 0, "connection type", "connection type")?;
    let transport = match kind.text.as_str() {
        "local" => Transport::Local,
        "host" | "hostnogssenc" => Transport::Any,
        "hostssl" => Transport::Ssl,
        "hostnossl" => Transport::Plain,
        "hostgssenc" => Transport::Gss,
        other => return Err(format!("invalid connection type \"{other}\"")),
    };
    let databases = patterns(fields, 1, "database specification")?;
    let users = patterns(fields, 2, "role specification")?;
    let mut next = 3;
    let mut addresses = Addresses::All;
    if transport != Transport::Local {
        let word = single(fields, 3, "IP address specification", "host address")?;
        next = 4;
        addresses = address(word, fields, &mut next)?;
    }
    let method = single(fields, next, "authentication method", "authentication type")?;
    let method = method_named(&method.text, transport)?;
    let mut rule = Rule {
        transport,
        addresses,
        databases,
        users,
        method,
        map: None,
        client_cert: match method {
            Method::Cert => ClientCert::VerifyFull,
            _ => ClientCert::No,
        },
        by_dn: false,
        ldap: Ldap::default(),
        radius: Radius::default(),
        options: Vec::new(),
        place: format!("{}:{}", line.file.display(), line.number),
        written: format!(
            "Connection matched file \"{}\" line {}: \"{}\"",
            line.file.display(),
            line.number,
            line.raw
        ),
    };
    for word in fields[next + 1..].iter().flatten() {
        option(&mut rule, &word.text)?;
    }
    match method {
        Method::Ldap => {
            rule.ldap.check()?;
            rule.options.extend(rule.ldap.shown());
        }
        Method::Radius => {
            rule.radius.check()?;
            rule.options.extend(rule.radius.shown());
        }
        _ => {}
    }
    Ok(rule)
}

fn method_named(name: &str, transport: Transport) -> Parsed<Method> {
    let method = match name {
        "trust" => Method::Trust,
        "reject" => Method::Reject,
        "password" => Method::Password,
        "md5" => Method::Md5,
        "scram-sha-256" => Method::Scram,
        "peer" => Method::Peer,
        // On a unix socket that means the same.
        "ident" if transport == Transport::Local => Method::Peer,
        "ident" => Method::Ident,
        "cert" => Method::Cert,
        "ldap" => Method::Ldap,
        "radius" => Method::Radius,
        "gss" | "sspi" | "pam" | "bsd" | "oauth" => {
            return Err(format!(
                "invalid authentication method \"{name}\": not supported by this build"
            ));
        }
        other => return Err(format!("invalid authentication method \"{other}\"")),
    };
    if method == Method::Peer && transport != Transport::Local {
        return Err("peer authentication is only supported on local sockets".into());
    }
    if method == Method::Cert && transport != Transport::Ssl {
        return Err("cert authentication is only supported on hostssl connections".into());
    }
    Ok(method)
}

fn option(rule: &mut Rule, text: &str) -> Parsed<()> {
    let Some((name, value)) = text.split_once('=') else {
        return Err(format!("authentication option not in name=value format: {text}"));
    };
    let only = |valid: bool, methods: &str| match valid {
        true => Ok(()),
        false => Err(format!(
            "authentication option \"{name}\" is only valid for authentication methods {methods}"
        )),
    };
    match name {
        "map" => {
            let known = matches!(rule.method, Method::Ident | Method::Peer | Method::Cert);
            only(known, "ident, peer, gssapi, sspi, cert, and oauth")?;
            rule.map = Some(value.to_string());
        }
        "clientcert" => {
            if rule.transport != Transport::Ssl {
                return Err("clientcert can only be configured for \"hostssl\" rows".into());
            }
            rule.client_cert = match value {
                "verify-full" => ClientCert::VerifyFull,
                "verify-ca" if rule.method == Method::Cert => {
                    return Err("clientcert can only be set to \"verify-full\" when using \
                         \"cert\" authentication"
                        .into());
                }
                "verify-ca" => ClientCert::VerifyCa,
                other => return Err(format!("invalid value for clientcert: \"{other}\"")),
            };
        }
        "clientname" => {
            if rule.transport != Transport::Ssl {
                return Err("clientname can only be configured for \"hostssl\" rows".into());
            }
            rule.by_dn = match value {
                "CN" => false,
                "DN" => true,
                other => return Err(format!("invalid value for clientname: \"{other}\"")),
            };
        }
        name if name.starts_with("ldap") && rule.ldap.option(name, value)? => {
            return only(rule.method == Method::Ldap, "ldap");
        }
        name if name.starts_with("radius") && rule.radius.option(name, value)? => {
            return only(rule.method == Method::Radius, "radius");
        }
        other => return Err(format!("unrecognized authentication option name: \"{other}\"")),
    }
    rule.options.push(text.to_string());
    Ok(())
}

fn address(word: &Word, fields: &[Vec<Word>], next: &mut usize) -> Parsed<Addresses> {
    let text = word.text.as_str();
    if !word.quoted {
        match text {
            "all" => return Ok(Addresses::All),
            "samehost" => return Ok(Addresses::SameHost),
            "samenet" => return Ok(Addresses::SameNet),
            _ => {}
        }
    }
    if let Some((ip, bits)) = text.split_once('/') {
        let ip: IpAddr = match ip.parse() {
            Ok(ip) => ip,
            Err(_) => {
                return Err(format!(
                    "specifying both host name and CIDR mask is invalid: \"{text}\""
                ));
            }
        };
        let most = if ip.is_ipv4() { 32 } else { 128 };
        let bits = bits.parse::<u32>().ok().filter(|b| *b <= most);
        let bits = bits.ok_or_else(|| format!("invalid CIDR mask in address \"{text}\""))?;
        return Ok(Addresses::Net(ip, mask_of(ip, bits)));
    }
    let Ok(ip) = text.parse::<IpAddr>() else { return Ok(Addresses::Name(text.to_string())) };
    // The mask is a field of its own.
    let mask = single(fields, *next, "netmask specification", "netmask")?;
    *next += 1;
    let mask: IpAddr = mask
        .text
        .parse()
        .map_err(|_| format!("invalid IP mask \"{}\": Name or service not known", mask.text))?;
    if mask.is_ipv4() != ip.is_ipv4() {
        return Err("IP address and mask do not match".into());
    }
    Ok(Addresses::Net(ip, mask))
}

fn mask_of(ip: IpAddr, bits: u32) -> IpAddr {
    match ip {
        IpAddr::V4(_) => {
            IpAddr::V4(Ipv4Addr::from_bits(u32::MAX.checked_shl(32 - bits).unwrap_or(0)))
        }
        IpAddr::V6(_) => {
            IpAddr::V6(Ipv6Addr::from_bits(u128::MAX.checked_shl(128 - bits).unwrap_or(0)))
        }
    }
}

/// True if a host's name is that of an address; a name with a leading dot stands for a domain,
/// which cannot be asked for without the address's own name.
pub fn named(name: &str, ip: IpAddr) -> bool {
    if name.starts_with('.') {
        return false;
    }
    let found = (name, 0).to_socket_addrs();
    found.is_ok_and(|mut all| all.any(|a| super::plain(a.ip()) == ip))
}
