//! Which ciphers and groups connections may use: `ssl_ciphers`, `ssl_tls13_ciphers`,
//! `ssl_prefer_server_ciphers` and `ssl_groups`, in OpenSSL's words.
//!
//! Only strong ones are spoken at all, so that a class like HIGH means all there are.

use engine::settings::Defaults;
use rustls::crypto::{CryptoProvider, SupportedKxGroup};
use rustls::{CipherSuite, NamedGroup, SupportedCipherSuite};

/// OpenSSL's name of a suite.
fn name_of(suite: CipherSuite) -> &'static str {
    match suite {
        CipherSuite::TLS13_AES_256_GCM_SHA384 => "TLS_AES_256_GCM_SHA384",
        CipherSuite::TLS13_AES_128_GCM_SHA256 => "TLS_AES_128_GCM_SHA256",
        CipherSuite::TLS13_CHACHA20_POLY1305_SHA256 => "TLS_CHACHA20_POLY1305_SHA256",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 => "ECDHE-ECDSA-AES256-GCM-SHA384",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 => "ECDHE-ECDSA-AES128-GCM-SHA256",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 => {
            "ECDHE-ECDSA-CHACHA20-POLY1305"
        }
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 => "ECDHE-RSA-AES256-GCM-SHA384",
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 => "ECDHE-RSA-AES128-GCM-SHA256",
        CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256 => "ECDHE-RSA-CHACHA20-POLY1305",
        _ => "",
    }
}

fn is_tls13(suite: &SupportedCipherSuite) -> bool {
    matches!(suite, SupportedCipherSuite::Tls13(_))
}

/// Whether a word of a cipher list means this suite: its name, a class, or parts joined by `+`.
fn means(word: &str, name: &str) -> bool {
    word.split('+').filter(|w| !w.is_empty()).all(|w| match w {
        "ALL" | "DEFAULT" | "HIGH" | "COMPLEMENTOFDEFAULT" | "TLSv1.2" | "AEAD" => true,
        "kEECDH" | "kECDHE" | "ECDH" | "ECDHE" | "EECDH" => true,
        "aRSA" => name.contains("-RSA-"),
        "aECDSA" | "ECDSA" => name.contains("-ECDSA-"),
        "AES" => name.contains("AES"),
        "AES128" => name.contains("AES128"),
        "AES256" => name.contains("AES256"),
        "AESGCM" => name.contains("GCM"),
        "CHACHA20" => name.contains("CHACHA20"),
        "SHA256" | "SHA384" => name.ends_with(w),
        _ => w == name,
    })
}

/// The suites that a list of OpenSSL's form chooses, in its order.
fn chosen(list: &str, all: &[SupportedCipherSuite]) -> Vec<SupportedCipherSuite> {
    let mut out: Vec<SupportedCipherSuite> = Vec::new();
    let mut never: Vec<CipherSuite> = Vec::new();
    for word in list.split([':', ',', ' ']).filter(|w| !w.is_empty()) {
        let (sign, rest) = match word.as_bytes()[0] {
            sign @ (b'!' | b'-' | b'+') => (sign, &word[1..]),
            _ => (b' ', word),
        };
        let hit = |s: &SupportedCipherSuite| means(rest, name_of(s.suite()));
        match sign {
            b'!' => {
                never.extend(all.iter().filter(|s| hit(s)).map(SupportedCipherSuite::suite));
                out.retain(|s| !hit(s));
            }
            b'-' => out.retain(|s| !hit(s)),
            b'+' => {
                let (last, first) = out.into_iter().partition::<Vec<_>, _>(|s| hit(s));
                out = first;
                out.extend(last);
            }
            _ => {
                for s in all.iter().filter(|s| hit(s)) {
                    if !never.contains(&s.suite()) && !out.iter().any(|o| o.suite() == s.suite()) {
                        out.push(*s);
                    }
                }
            }
        }
    }
    out
}

/// The groups that a list names, in its order.
fn groups(
    list: &str,
    all: &[&'static dyn SupportedKxGroup],
) -> Option<Vec<&'static dyn SupportedKxGroup>> {
    let mut out = Vec::new();
    for word in list.split(':') {
        let wanted = match word.to_ascii_lowercase().as_str() {
            "x25519" => NamedGroup::X25519,
            "prime256v1" | "p-256" | "secp256r1" => NamedGroup::secp256r1,
            "secp384r1" | "p-384" => NamedGroup::secp384r1,
            // Groups that OpenSSL has and that are not spoken here.
            "secp521r1" | "p-521" | "x448" | "x25519mlkem768" => continue,
            _ => return None,
        };
        out.extend(all.iter().find(|g| g.name() == wanted));
    }
    (!out.is_empty()).then_some(out)
}

/// What the settings allow; the name of the setting that allows nothing if one does.
pub fn provider(d: &Defaults) -> Result<CryptoProvider, &'static str> {
    let mut provider = rustls::crypto::ring::default_provider();
    let (new, old): (Vec<_>, Vec<_>) = provider.cipher_suites.iter().partition(|s| is_tls13(s));
    let old = chosen(&d.show("ssl_ciphers"), &old);
    let list = d.show("ssl_tls13_ciphers");
    let new = if list.is_empty() { new } else { chosen(&list, &new) };
    if new.is_empty() {
        return Err("ssl_tls13_ciphers");
    }
    if old.is_empty() {
        return Err("ssl_ciphers");
    }
    provider.cipher_suites = new.into_iter().chain(old).collect();
    let named = groups(&d.show("ssl_groups"), &provider.kx_groups);
    provider.kx_groups = named.ok_or("ssl_groups")?;
    Ok(provider)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &str) -> Vec<&'static str> {
        let all = rustls::crypto::ring::default_provider().cipher_suites;
        let old: Vec<_> = all.into_iter().filter(|s| !is_tls13(s)).collect();
        chosen(list, &old).iter().map(|s| name_of(s.suite())).collect()
    }

    #[test]
    fn lists_choose_suites() {
        assert_eq!(names("HIGH:MEDIUM:+3DES:!aNULL").len(), 6);
        assert_eq!(names("ECDHE-RSA-AES128-GCM-SHA256"), ["ECDHE-RSA-AES128-GCM-SHA256"]);
        assert!(names("HIGH:!AESGCM").iter().all(|n| n.contains("CHACHA20")));
        assert_eq!(names("aRSA+AES256"), ["ECDHE-RSA-AES256-GCM-SHA384"]);
        assert_eq!(names("!AES:AES"), Vec::<&str>::new());
        assert!(names("nonsense").is_empty());
    }

    #[test]
    fn groups_are_named() {
        let all = rustls::crypto::ring::default_provider().kx_groups;
        let found = groups("X25519:prime256v1", &all).unwrap();
        let names: Vec<NamedGroup> = found.iter().map(|g| g.name()).collect();
        assert_eq!(names, [NamedGroup::X25519, NamedGroup::secp256r1]);
        assert!(groups("nonsense", &all).is_none());
    }
}
