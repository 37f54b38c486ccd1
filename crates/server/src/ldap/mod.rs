//! A client of LDAP, for authentication: simple bind, search for one entry, TLS by `ldaps` or
//! StartTLS.
//!
//! It blocks; whoever calls it says so to `os::wait`. Certificates of servers are checked against
//! those in the file that the environment names in `LDAPTLS_CACERT`, else those of the system.

mod ber;
mod filter;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::io::{Error as IoError, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

/// How long each step may take.
const PATIENCE: Duration = Duration::from_secs(15);
/// Nobody has more to say in one message than this.
const LONGEST: usize = 1 << 20;

const BIND: u8 = 0x60;
const BIND_RESPONSE: u8 = 0x61;
const UNBIND: u8 = 0x42;
const SEARCH: u8 = 0x63;
const SEARCH_ENTRY: u8 = 0x64;
const SEARCH_DONE: u8 = 0x65;
const EXTENDED: u8 = 0x77;
const EXTENDED_RESPONSE: u8 = 0x78;
const START_TLS: &[u8] = b"1.3.6.1.4.1.1466.20037";

const SUCCESS: u32 = 0;
const SIZE_LIMIT_EXCEEDED: u32 = 4;

/// How far below the base a search looks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Scope {
    /// The base itself.
    #[default]
    Base = 0,
    /// One level below.
    One = 1,
    /// Everything below.
    Subtree = 2,
}

/// How a connection is protected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protection {
    /// Not at all.
    None,
    /// By TLS from its beginning.
    Tls,
    /// By TLS once the server has agreed.
    StartTls,
}

enum Stream {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

/// A connection to a server.
pub struct Client {
    stream: Stream,
    input: Vec<u8>,
    message: u32,
}

/// Why something did not work, in OpenLDAP's words where it has some.
pub type Why = String;

/// What a result code means.
fn result_text(code: u32) -> Why {
    match code {
        1 => "Operations error",
        2 => "Protocol error",
        3 => "Time limit exceeded",
        4 => "Size limit exceeded",
        7 => "Authentication method not supported",
        8 => "Strong(er) authentication required",
        10 => "Referral",
        11 => "Administrative limit exceeded",
        12 => "Critical extension is unavailable",
        13 => "Confidentiality required",
        16 => "No such attribute",
        18 => "Inappropriate matching",
        32 => "No such object",
        34 => "Invalid DN syntax",
        48 => "Inappropriate authentication",
        49 => "Invalid credentials",
        50 => "Insufficient access",
        51 => "Server is busy",
        52 => "Server is unavailable",
        53 => "Server is unwilling to perform",
        80 => "Other (e.g., implementation specific) error",
        code => return format!("Unknown error ({code})"),
    }
    .to_string()
}

fn unreachable(_: IoError) -> Why {
    "Can't contact LDAP server".to_string()
}

impl Client {
    /// Connects to the first of the servers that answers.
    pub fn connect(hosts: &[&str], port: u16, protection: Protection) -> Result<Client, Why> {
        let mut last = IoError::from(ErrorKind::NotFound);
        for host in hosts {
            // A host may bring a port of its own.
            let (host, port) = match host.rsplit_once(':') {
                Some((name, own)) if !name.contains(':') => (name, own.parse().unwrap_or(port)),
                _ => (*host, port),
            };
            match open(host, port) {
                Ok(stream) => return Client::protect(stream, host, protection),
                Err(e) => last = e,
            }
        }
        Err(unreachable(last))
    }

    fn protect(stream: TcpStream, host: &str, protection: Protection) -> Result<Client, Why> {
        let mut client = Client { stream: Stream::Plain(stream), input: Vec::new(), message: 0 };
        if protection == Protection::StartTls {
            let mut request = Vec::new();
            ber::put(&mut request, 0x80, START_TLS);
            let id = client.send(EXTENDED, &request).map_err(unreachable)?;
            client.expect(id, EXTENDED_RESPONSE)?;
        }
        if protection == Protection::None {
            return Ok(client);
        }
        let Stream::Plain(plain) = &client.stream else { return Ok(client) };
        let plain = plain.try_clone().map_err(unreachable)?;
        let name = ServerName::try_from(host.to_string()).map_err(|e| e.to_string())?;
        let tls = ClientConnection::new(tls_config()?, name).map_err(|e| e.to_string())?;
        let mut stream = StreamOwned::new(tls, plain);
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock).map_err(|e| e.to_string())?;
        }
        client.stream = Stream::Tls(Box::new(stream));
        // Nothing that was read before the handshake counts.
        client.input.clear();
        Ok(client)
    }

    /// Binds with a name and a password, both empty for nobody.
    pub fn bind(&mut self, name: &str, password: &str) -> Result<(), Why> {
        const VERSION: u32 = 3;
        const SIMPLE: u8 = 0x80;
        let mut request = Vec::new();
        ber::put_number(&mut request, ber::INTEGER, VERSION);
        ber::put(&mut request, ber::OCTETS, name.as_bytes());
        ber::put(&mut request, SIMPLE, password.as_bytes());
        let id = self.send(BIND, &request).map_err(unreachable)?;
        self.expect(id, BIND_RESPONSE)
    }

    /// Names of the entries that a filter lets through.
    pub fn search(&mut self, base: &str, scope: Scope, filter: &str) -> Result<Vec<String>, Why> {
        let filter = filter::encode(filter).ok_or("Bad search filter")?;
        let mut request = Vec::new();
        ber::put(&mut request, ber::OCTETS, base.as_bytes());
        ber::put_number(&mut request, ber::ENUMERATED, scope as u32);
        // Aliases are not followed; no limits of size and time; types and values.
        ber::put_number(&mut request, ber::ENUMERATED, 0);
        ber::put_number(&mut request, ber::INTEGER, 0);
        ber::put_number(&mut request, ber::INTEGER, 0);
        ber::put(&mut request, ber::BOOLEAN, &[0]);
        request.extend_from_slice(&filter);
        // No attributes: the name is all that is wanted.
        let mut attributes = Vec::new();
        ber::put(&mut attributes, ber::OCTETS, b"1.1");
        ber::put(&mut request, ber::SEQUENCE, &attributes);
        let id = self.send(SEARCH, &request).map_err(unreachable)?;
        let mut names = Vec::new();
        loop {
            let message = self.receive().map_err(unreachable)?;
            let (got, tag, body) = parse(&message).ok_or("Decoding error")?;
            match tag {
                _ if got != id => {}
                SEARCH_ENTRY => {
                    let name = ber::take_tagged(&mut &body[..], ber::OCTETS);
                    let name = name.ok_or("Decoding error")?;
                    names.push(String::from_utf8_lossy(name).into_owned());
                }
                SEARCH_DONE => match result_code(body) {
                    Some(SUCCESS | SIZE_LIMIT_EXCEEDED) => return Ok(names),
                    Some(code) => return Err(result_text(code)),
                    None => return Err("Decoding error".to_string()),
                },
                // References to other servers are not followed.
                _ => {}
            }
        }
    }

    /// The answer to a request, which has to be of this kind and a success.
    fn expect(&mut self, id: u32, tag: u8) -> Result<(), Why> {
        let message = self.receive().map_err(unreachable)?;
        match parse(&message) {
            Some((got, kind, body)) if got == id && kind == tag => match result_code(body) {
                Some(SUCCESS) => Ok(()),
                Some(code) => Err(result_text(code)),
                None => Err("Decoding error".to_string()),
            },
            _ => Err("Decoding error".to_string()),
        }
    }

    fn send(&mut self, tag: u8, request: &[u8]) -> Result<u32, IoError> {
        self.message += 1;
        let (mut message, mut out) = (Vec::new(), Vec::new());
        ber::put_number(&mut message, ber::INTEGER, self.message);
        ber::put(&mut message, tag, request);
        ber::put(&mut out, ber::SEQUENCE, &message);
        match &mut self.stream {
            Stream::Plain(s) => s.write_all(&out)?,
            Stream::Tls(s) => {
                s.write_all(&out)?;
                s.flush()?;
            }
        }
        Ok(self.message)
    }

    fn receive(&mut self) -> Result<Vec<u8>, IoError> {
        loop {
            if let Some(len) = ber::whole_len(&self.input) {
                if len > LONGEST {
                    return Err(ErrorKind::InvalidData.into());
                }
                if self.input.len() >= len {
                    let rest = self.input.split_off(len);
                    return Ok(std::mem::replace(&mut self.input, rest));
                }
            }
            let mut buffer = [0; 4096];
            let n = match &mut self.stream {
                Stream::Plain(s) => s.read(&mut buffer)?,
                Stream::Tls(s) => s.read(&mut buffer)?,
            };
            if n == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            self.input.extend_from_slice(&buffer[..n]);
        }
    }
}

impl Drop for Client {
    /// Says goodbye; nobody answers that.
    fn drop(&mut self) {
        let _ = self.send(UNBIND, &[]);
    }
}

fn open(host: &str, port: u16) -> Result<TcpStream, IoError> {
    let mut last = IoError::from(ErrorKind::NotFound);
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(stream) => {
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.set_write_timeout(Some(PATIENCE))?;
                return Ok(stream);
            }
            Err(e) => last = e,
        }
    }
    Err(last)
}

/// The number of a message, its operation and what is in that.
fn parse(message: &[u8]) -> Option<(u32, u8, &[u8])> {
    let mut body = ber::take_tagged(&mut &message[..], ber::SEQUENCE)?;
    let id = ber::number(ber::take_tagged(&mut body, ber::INTEGER)?)?;
    let operation = ber::take(&mut body)?;
    Some((id, operation.tag, operation.body))
}

fn result_code(mut body: &[u8]) -> Option<u32> {
    ber::number(ber::take_tagged(&mut body, ber::ENUMERATED)?)
}

fn tls_config() -> Result<Arc<ClientConfig>, Why> {
    const SYSTEM: &str = "/etc/ssl/certs/ca-certificates.crt";
    let file = std::env::var("LDAPTLS_CACERT").unwrap_or_else(|_| SYSTEM.to_string());
    let disk = os::Disk::real_in(std::path::PathBuf::from("/"));
    let bytes = disk.read(file.as_ref()).map_err(|e| e.to_string())?;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&bytes) {
        // What is not understood cannot have signed anything.
        let _ = certificate.map(|c| roots.add(c));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| e.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// A server that knows one entry, whose password is `right`, for as many connections.
    fn serve(connections: usize) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        os::thread::spawn("ldapd", move || {
            for _ in 0..connections {
                let (stream, _) = listener.accept().unwrap();
                let stream = Stream::Plain(stream);
                answer(Client { stream, input: Vec::new(), message: 0 });
            }
        })
        .unwrap();
        port
    }

    fn answer(mut peer: Client) {
        while let Ok(message) = peer.receive() {
            let (id, tag, mut body) = parse(&message).unwrap();
            peer.message = id - 1;
            let result = |code: u32| {
                let mut out = Vec::new();
                ber::put_number(&mut out, ber::ENUMERATED, code);
                ber::put(&mut out, ber::OCTETS, b"");
                ber::put(&mut out, ber::OCTETS, b"");
                out
            };
            match tag {
                BIND => {
                    ber::take(&mut body).unwrap();
                    let name = ber::take(&mut body).unwrap().body;
                    let password = ber::take(&mut body).unwrap().body;
                    let right = name.is_empty() || name == b"uid=ann,dc=x" && password == b"right";
                    peer.send(BIND_RESPONSE, &result(if right { 0 } else { 49 })).unwrap();
                }
                SEARCH => {
                    let wanted = filter::encode("(uid=ann)").unwrap();
                    if body.windows(wanted.len()).any(|w| w == wanted) {
                        let mut entry = Vec::new();
                        ber::put(&mut entry, ber::OCTETS, b"uid=ann,dc=x");
                        ber::put(&mut entry, ber::SEQUENCE, b"");
                        peer.send(SEARCH_ENTRY, &entry).unwrap();
                        peer.message = id - 1;
                    }
                    peer.send(SEARCH_DONE, &result(0)).unwrap();
                }
                _ => return,
            }
        }
    }

    #[test]
    fn binds_and_searches() {
        let port = serve(1);
        let mut client = Client::connect(&["127.0.0.1"], port, Protection::None).unwrap();
        client.bind("", "").unwrap();
        assert_eq!(client.search("dc=x", Scope::Subtree, "(uid=ann)").unwrap(), ["uid=ann,dc=x"]);
        assert!(client.search("dc=x", Scope::Subtree, "(uid=bob)").unwrap().is_empty());
        let why = client.search("dc=x", Scope::Subtree, "(uid").unwrap_err();
        assert_eq!(why, "Bad search filter");
        assert_eq!(client.bind("uid=ann,dc=x", "wrong").unwrap_err(), "Invalid credentials");
        client.bind("uid=ann,dc=x", "right").unwrap();
    }

    #[test]
    fn a_server_that_is_not_there() {
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let why = Client::connect(&["127.0.0.1"], free, Protection::None).err().unwrap();
        assert_eq!(why, "Can't contact LDAP server");
    }
}
