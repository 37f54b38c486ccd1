//! TLS: the server's certificate and key, who may sign clients' certificates, and what a
//! certificate says.

use crate::passphrase::{self, When};
use base::{Error, Result, Severity, err};
use engine::settings::Defaults;
use os::Disk;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use sha2::{Digest, Sha256, Sha384, Sha512};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What connections need.
#[derive(Clone)]
pub struct Tls {
    /// How to talk.
    pub config: Arc<ServerConfig>,
    /// The hash of the certificate that SCRAM binds to.
    pub end_point: Vec<u8>,
}

fn fatal(text: String) -> Error {
    err!(CONFIG_FILE_ERROR, "{text}").severity(Severity::Fatal)
}

fn path_of(data: &Path, d: &Defaults, name: &str) -> Option<PathBuf> {
    let set = d.show(name);
    (!set.is_empty()).then(|| data.join(set))
}

fn read(what: &str, path: &Path) -> Result<Vec<u8>> {
    Disk::real_in(std::env::current_dir().unwrap_or_default()).read(path).map_err(|e| {
        let reason = e.to_string();
        fatal(format!("could not load {what} \"{}\": {reason}", path.display()))
    })
}

/// A key that others may read is no secret.
fn check_key_file(path: &Path) -> Result<()> {
    let Some((mode, owner)) = os::process::mode_and_owner(path) else { return Ok(()) };
    let most = if owner == 0 { 0o640 } else { 0o600 };
    if mode & 0o777 & !most == 0 {
        return Ok(());
    }
    let e = fatal(format!("private key file \"{}\" has group or world access", path.display()));
    Err(e.detail(
        "File must have permissions u=rw (0600) or less if owned by the database user, or \
         permissions u=rw,g=r (0640) or less if owned by root.",
    ))
}

impl Tls {
    /// As the settings have it; None if `ssl` is off. At the server's start a pass phrase may be
    /// asked for at the terminal.
    pub fn load(data: &Path, d: &Defaults, at: When) -> Result<Option<Tls>> {
        if d.show("ssl") != "on" {
            return Ok(None);
        }
        let cert_path = path_of(data, d, "ssl_cert_file").unwrap_or_default();
        let key_path = path_of(data, d, "ssl_key_file").unwrap_or_default();
        let chain = certificates("server certificate file", &cert_path)?;
        let Some(own) = chain.first() else {
            return Err(fatal(format!(
                "could not load server certificate file \"{}\": no start line",
                cert_path.display()
            )));
        };
        let end_point = end_point_hash(own);
        check_key_file(&key_path)?;
        let key = private_key(&key_path, d, at)?;
        if let Some(path) = path_of(data, d, "ssl_dh_params_file") {
            check_dh_params(&path)?;
        }
        let provider = crate::ciphers::provider(d).map_err(|setting| match setting {
            "ssl_groups" => fatal(format!(
                "could not set group names specified in ssl_groups: {}",
                d.show(setting)
            )),
            "ssl_tls13_ciphers" => {
                fatal("could not set the TLSv1.3 cipher suites (no valid ciphers available)".into())
            }
            _ => fatal("could not set the TLSv1.2 cipher list (no valid ciphers available)".into()),
        })?;
        let provider = Arc::new(provider);
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&versions(d)?)
            .map_err(|e| fatal(format!("could not set SSL protocol versions: {e}")))?;
        let builder = match path_of(data, d, "ssl_ca_file") {
            None => builder.with_no_client_auth(),
            Some(ca) => {
                let mut roots = RootCertStore::empty();
                for cert in certificates("root certificate file", &ca)? {
                    roots.add(cert).map_err(|e| {
                        let path = ca.display();
                        fatal(format!("could not load root certificate file \"{path}\": {e}"))
                    })?;
                }
                let crls = revoked(data, d)?;
                let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider)
                    .allow_unauthenticated()
                    .with_crls(crls)
                    .allow_unknown_revocation_status()
                    .build()
                    .map_err(|e| fatal(format!("could not use root certificates: {e}")))?;
                builder.with_client_cert_verifier(verifier)
            }
        };
        let mut config = builder
            .with_single_cert(chain.clone(), key)
            .map_err(|e| fatal(format!("check of private key failed: {e}")))?;
        config.ignore_client_order = d.show("ssl_prefer_server_ciphers") == "on";
        config.alpn_protocols = vec![b"postgresql".to_vec()];
        Ok(Some(Tls { config: Arc::new(config), end_point }))
    }
}

/// The server's key, decrypted if it has to be.
fn private_key(path: &Path, d: &Defaults, at: When) -> Result<PrivateKeyDer<'static>> {
    let failed = |why: String| {
        fatal(format!("could not load private key file \"{}\": {why}", path.display()))
    };
    let pem = read("private key file", path)?;
    if !passphrase::is_encrypted(&pem) {
        return PrivateKeyDer::from_pem_slice(&pem).map_err(|e| failed(e.to_string()));
    }
    let Some(phrase) = passphrase::ask(d, at)? else {
        let path = path.display();
        return Err(fatal(format!(
            "private key file \"{path}\" cannot be reloaded because it requires a passphrase"
        )));
    };
    passphrase::decrypt(&pem, &phrase).map_err(|why| failed(why.to_string()))
}

/// Parameters for key exchanges by finite fields. Those that the server speaks go over elliptic
/// curves (`ssl_groups`), so the file is only looked at: one that is wrong is told of.
fn check_dh_params(path: &Path) -> Result<()> {
    let text = Disk::real_in(PathBuf::from("/")).read(path).map_err(|e| {
        let reason = e.to_string();
        let reason = reason.rsplit_once("\": ").map_or(reason.as_str(), |(_, reason)| reason);
        fatal(format!("could not open DH parameters file \"{}\": {reason}", path.display()))
    })?;
    let wrong = |why: &str| fatal(format!("could not load DH parameters file: {why}"));
    let der = pkcs8::der::pem::decode_vec(text.trim_ascii());
    let Ok(("DH PARAMETERS", der)) = der else { return Err(wrong("no start line")) };
    let numbers = element(&der).filter(|(tag, ..)| *tag == 0x30).and_then(|(_, both, _)| {
        let (_, prime, rest) = element(both).filter(|(tag, ..)| *tag == 2)?;
        let (_, generator, _) = element(rest).filter(|(tag, ..)| *tag == 2)?;
        Some((prime, generator))
    });
    match numbers {
        // An even number is no prime, and what has one bit generates nothing.
        Some((prime, _)) if prime.last().is_some_and(|b| b & 1 == 0) => {
            Err(fatal("invalid DH parameters: p is not prime".into()))
        }
        Some((_, generator)) if decimal(generator).parse().is_ok_and(|n: u64| n < 2) => {
            Err(fatal("invalid DH parameters: neither suitable generator or safe prime".into()))
        }
        Some(_) => Ok(()),
        None => Err(wrong("bad base64 decode")),
    }
}

fn certificates(what: &str, path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let bytes = read(what, path)?;
    CertificateDer::pem_slice_iter(&bytes)
        .collect::<std::result::Result<_, _>>()
        .map_err(|e| fatal(format!("could not load {what} \"{}\": {e}", path.display())))
}

fn revoked(data: &Path, d: &Defaults) -> Result<Vec<CertificateRevocationListDer<'static>>> {
    let mut files: Vec<PathBuf> = path_of(data, d, "ssl_crl_file").into_iter().collect();
    if let Some(dir) = path_of(data, d, "ssl_crl_dir") {
        let entries = Disk::real_in(PathBuf::from("/")).list(&dir)?;
        files.extend(entries.into_iter().map(|e| dir.join(e.name)));
    }
    let mut all = Vec::new();
    for path in files {
        let bytes = read("SSL certificate revocation list file", &path)?;
        for crl in CertificateRevocationListDer::pem_slice_iter(&bytes) {
            all.push(crl.map_err(|e| {
                let path = path.display();
                let what = "SSL certificate revocation list file";
                fatal(format!("could not load {what} \"{path}\": {e}"))
            })?);
        }
    }
    Ok(all)
}

/// The versions between `ssl_min_protocol_version` and `ssl_max_protocol_version`; older ones than
/// 1.2 are not spoken.
fn versions(d: &Defaults) -> Result<Vec<&'static rustls::SupportedProtocolVersion>> {
    let rank = |name: &str, otherwise: u32| match d.show(name).as_str() {
        "TLSv1" => 10,
        "TLSv1.1" => 11,
        "TLSv1.2" => 12,
        "TLSv1.3" => 13,
        _ => otherwise,
    };
    let (min, max) = (rank("ssl_min_protocol_version", 12), rank("ssl_max_protocol_version", 13));
    let all = [(13, &rustls::version::TLS13), (12, &rustls::version::TLS12)];
    let chosen: Vec<_> =
        all.into_iter().filter(|(n, _)| (min..=max).contains(n)).map(|(_, v)| v).collect();
    match chosen.is_empty() {
        true => Err(fatal("could not set SSL protocol version range".into()).detail(
            "\"ssl_min_protocol_version\" cannot be higher than \"ssl_max_protocol_version\"",
        )),
        false => Ok(chosen),
    }
}

/// The certificate's hash by its signature's hash function, SHA-256 instead of weaker ones.
fn end_point_hash(cert: &[u8]) -> Vec<u8> {
    let oid = signature_algorithm(cert).unwrap_or_default();
    match oid {
        // sha384WithRSAEncryption, ecdsa-with-SHA384
        [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 1, 12]
        | [0x2A, 0x86, 0x48, 0xCE, 0x3D, 4, 3, 3] => Sha384::digest(cert).to_vec(),
        // sha512WithRSAEncryption, ecdsa-with-SHA512
        [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 1, 13]
        | [0x2A, 0x86, 0x48, 0xCE, 0x3D, 4, 3, 4] => Sha512::digest(cert).to_vec(),
        _ => Sha256::digest(cert).to_vec(),
    }
}

/// One element: its tag, its contents, and what follows.
fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = bytes.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (len, rest) = match first {
        0..=0x7F => (usize::from(first), rest),
        0x81..=0x84 => {
            let (number, rest) = rest.split_at_checked(usize::from(first & 0x7F))?;
            (number.iter().fold(0, |n, b| n << 8 | usize::from(*b)), rest)
        }
        _ => return None,
    };
    let (contents, rest) = rest.split_at_checked(len)?;
    Some((tag, contents, rest))
}

fn signature_algorithm(cert: &[u8]) -> Option<&[u8]> {
    let (_, whole, _) = element(cert)?;
    let (_, _, rest) = element(whole)?;
    let (_, algorithm, _) = element(rest)?;
    let (_, oid, _) = element(algorithm)?;
    Some(oid)
}

/// What a client's certificate says about it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Subject {
    /// The common name.
    pub common_name: String,
    /// The distinguished name, as `/CN=...`.
    pub slashed: String,
    /// The same as RFC 2253 has it, last part first.
    pub rfc2253: String,
    /// Of who signed it, as `/CN=...`.
    pub issuer: String,
    /// The serial number in decimal digits.
    pub serial: String,
}

impl Subject {
    /// Reads a certificate.
    pub fn of(cert: &[u8]) -> Option<Subject> {
        let (_, whole, _) = element(cert)?;
        let (_, mut rest, _) = element(whole)?;
        if let (0xA0, _, after) = element(rest)? {
            rest = after;
        }
        let (_, serial, rest) = element(rest)?;
        let (_, _, rest) = element(rest)?;
        let (_, issuer, rest) = element(rest)?;
        let (_, _, rest) = element(rest)?;
        let (_, subject, _) = element(rest)?;
        let parts = name_parts(subject);
        let common = parts.iter().rev().find(|(k, _)| k == "CN").map(|(_, v)| v.clone());
        let slashed = |parts: &[(String, String)]| -> String {
            parts.iter().map(|(k, v)| format!("/{k}={v}")).collect()
        };
        let last_first: Vec<String> =
            parts.iter().rev().map(|(k, v)| format!("{k}={}", escaped(v))).collect();
        Some(Subject {
            common_name: common.unwrap_or_default(),
            slashed: slashed(&parts),
            rfc2253: last_first.join(","),
            issuer: slashed(&name_parts(issuer)),
            serial: decimal(serial),
        })
    }
}

fn escaped(value: &str) -> String {
    let mut out = String::new();
    for c in value.chars() {
        if matches!(c, ',' | '+' | '"' | '\\' | '<' | '>' | ';') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

fn name_parts(mut name: &[u8]) -> Vec<(String, String)> {
    let mut out = Vec::new();
    while let Some((_, set, rest)) = element(name) {
        name = rest;
        let part = element(set).and_then(|(_, pair, _)| {
            let (_, oid, rest) = element(pair)?;
            let (_, value, _) = element(rest)?;
            Some((attribute(oid), String::from_utf8_lossy(value).into_owned()))
        });
        out.extend(part);
    }
    out
}

fn attribute(oid: &[u8]) -> String {
    let name = match oid {
        [0x55, 4, 3] => "CN",
        [0x55, 4, 4] => "SN",
        [0x55, 4, 6] => "C",
        [0x55, 4, 7] => "L",
        [0x55, 4, 8] => "ST",
        [0x55, 4, 10] => "O",
        [0x55, 4, 11] => "OU",
        [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 9, 1] => "emailAddress",
        [9, 0x92, 0x26, 0x89, 0x93, 0xF2, 0x2C, 0x64, 1, 25] => "DC",
        [9, 0x92, 0x26, 0x89, 0x93, 0xF2, 0x2C, 0x64, 1, 1] => "UID",
        _ => "UNDEF",
    };
    name.to_string()
}

/// A big-endian number in decimal digits.
fn decimal(bytes: &[u8]) -> String {
    let mut digits = vec![0u8];
    for byte in bytes {
        let mut carry = u32::from(*byte);
        for digit in &mut digits {
            carry += u32::from(*digit) << 8;
            *digit = (carry % 10) as u8;
            carry /= 10;
        }
        while carry > 0 {
            digits.push((carry % 10) as u8);
            carry /= 10;
        }
    }
    digits.iter().rev().map(|d| char::from(b'0' + d)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_elements() {
        assert_eq!(decimal(&[0x01, 0x00]), "256");
        assert_eq!(decimal(&[0xFF; 9]), "4722366482869645213695");
        assert_eq!(element(&[0x30, 2, 5, 0, 9]), Some((0x30, &[5, 0][..], &[9][..])));
        assert_eq!(element(&[0x30, 0x81, 1, 7]), Some((0x30, &[7][..], &[][..])));
        assert_eq!(element(&[0x30, 5, 0]), None);
        assert_eq!(Subject::of(&[0x30; 64]), None);
    }
}
