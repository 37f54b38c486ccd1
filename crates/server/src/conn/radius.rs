//! The question to a RADIUS server (RFC 2865): may this user in with this password?

use crate::hba::RadiusServer;
use pgwire::md5;
use std::net::{ToSocketAddrs, UdpSocket};
use std::time::{Duration, Instant};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(3);
/// Longest password that the protocol can carry.
pub(super) const LONGEST_PASSWORD: usize = 128;

const ACCESS_REQUEST: u8 = 1;
const ACCESS_ACCEPT: u8 = 2;
const ACCESS_REJECT: u8 = 3;
const USER_NAME: u8 = 1;
const PASSWORD: u8 = 2;
const SERVICE_TYPE: u8 = 6;
const NAS_IDENTIFIER: u8 = 32;
const AUTHENTICATE_ONLY: u32 = 8;

/// What a server says.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Answer {
    Accept,
    Reject,
    /// It cannot be asked, or says nothing that counts: why, for the log.
    None(String),
}

/// Asks one server.
pub(super) fn ask(server: &RadiusServer, user: &str, password: &str) -> Answer {
    let mut vector = [0; 16];
    os::random::fill(&mut vector);
    let mut id = [0];
    os::random::fill(&mut id);
    let request = request(id[0], vector, server, user, password);
    let _wait = os::wait::begin(base::wait::WaitEvent::ClientRead);
    match exchange(server, &request) {
        Ok(answer) => answer,
        Err(why) => Answer::None(why),
    }
}

fn request(id: u8, vector: [u8; 16], server: &RadiusServer, user: &str, password: &str) -> Vec<u8> {
    let mut out = vec![ACCESS_REQUEST, id, 0, 0];
    out.extend_from_slice(&vector);
    let mut attribute = |kind: u8, value: &[u8]| {
        // One byte tells the length.
        let value = &value[..value.len().min(253)];
        out.extend_from_slice(&[kind, value.len() as u8 + 2]);
        out.extend_from_slice(value);
    };
    attribute(SERVICE_TYPE, &AUTHENTICATE_ONLY.to_be_bytes());
    attribute(USER_NAME, user.as_bytes());
    attribute(NAS_IDENTIFIER, server.identifier.as_bytes());
    attribute(PASSWORD, &hidden(password.as_bytes(), server.secret.as_bytes(), vector));
    let len = (out.len() as u16).to_be_bytes();
    out[2..4].copy_from_slice(&len);
    out
}

/// The password in blocks of 16, each hidden by a hash of the secret and the block before.
fn hidden(password: &[u8], secret: &[u8], vector: [u8; 16]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut before = vector;
    let count = password.len().div_ceil(16).max(1);
    for i in 0..count {
        let mut block = md5::digest(&[secret, &before]);
        for (b, p) in block.iter_mut().zip(password.iter().skip(i * 16)) {
            *b ^= p;
        }
        out.extend_from_slice(&block);
        before = block;
    }
    out
}

fn exchange(server: &RadiusServer, request: &[u8]) -> Result<Answer, String> {
    let host = &server.host;
    let address = (host.as_str(), server.port).to_socket_addrs().ok().and_then(|mut a| a.next());
    let Some(address) = address else {
        return Err(format!(
            "could not translate RADIUS server name \"{host}\" to address: Name or service not \
             known"
        ));
    };
    let any = if address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let socket =
        UdpSocket::bind(any).map_err(|e| format!("could not bind local RADIUS socket: {e}"))?;
    let sent = socket.send_to(request, address);
    sent.map_err(|e| format!("could not send RADIUS packet: {e}"))?;
    let end = Instant::now() + PATIENCE;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(format!("timeout waiting for RADIUS response from {host}"));
        }
        let _ = socket.set_read_timeout(Some(left));
        let mut packet = [0; 4096];
        let (len, from) = match socket.recv_from(&mut packet) {
            Ok(got) => got,
            Err(e) if matches!(e.kind(), std::io::ErrorKind::WouldBlock) => continue,
            Err(e) => return Err(format!("could not read RADIUS response: {e}")),
        };
        // Anybody can send us packets: what is not the answer is as good as none.
        if from.port() != address.port() {
            continue;
        }
        if let Some(answer) = verdict(&packet[..len], request, server) {
            return Ok(answer);
        }
    }
}

/// What a packet says; None if it is not the answer to the request.
fn verdict(packet: &[u8], request: &[u8], server: &RadiusServer) -> Option<Answer> {
    let head = packet.get(..20)?;
    let told = usize::from(u16::from_be_bytes([head[2], head[3]]));
    if told != packet.len() || head[1] != request[1] {
        return None;
    }
    let secret = server.secret.as_bytes();
    let signed = md5::digest(&[&head[..4], &request[4..20], &packet[20..], secret]);
    if signed != head[4..20] {
        return None;
    }
    Some(match head[0] {
        ACCESS_ACCEPT => Answer::Accept,
        ACCESS_REJECT => Answer::Reject,
        code => {
            let host = &server.host;
            Answer::None(format!("RADIUS response from {host} has invalid code ({code})"))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that lets `ann` in with `right`, once.
    fn serve(secret: &'static str) -> RadiusServer {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = socket.local_addr().unwrap().port();
        let about = RadiusServer {
            host: "127.0.0.1".into(),
            secret: "testing".into(),
            identifier: "postgresql".into(),
            port,
        };
        os::thread::spawn("radiusd", move || {
            let mut packet = [0; 4096];
            let (len, from) = socket.recv_from(&mut packet).unwrap();
            let vector: [u8; 16] = packet[4..20].try_into().unwrap();
            let wanted = hidden(b"right", secret.as_bytes(), vector);
            let right = packet[..len].ends_with(&wanted);
            let code = if right { ACCESS_ACCEPT } else { ACCESS_REJECT };
            let mut reply = vec![code, packet[1], 0, 20];
            let signed = md5::digest(&[&reply, &vector, secret.as_bytes()]);
            reply.extend_from_slice(&signed);
            socket.send_to(&reply, from).unwrap();
        })
        .unwrap();
        about
    }

    #[test]
    fn asks_and_is_told() {
        assert_eq!(ask(&serve("testing"), "ann", "right"), Answer::Accept);
        assert_eq!(ask(&serve("testing"), "ann", "wrong"), Answer::Reject);
    }

    #[test]
    fn an_answer_with_another_secret_does_not_count() {
        let why = "timeout waiting for RADIUS response from 127.0.0.1";
        assert_eq!(ask(&serve("another"), "ann", "right"), Answer::None(why.into()));
    }

    #[test]
    fn long_passwords_are_hidden_block_by_block() {
        let vector = [7; 16];
        let shown = hidden(&[b'x'; 40], b"s", vector);
        assert_eq!(shown.len(), 48);
        assert_eq!(shown[..16], hidden(&[b'x'; 16], b"s", vector)[..]);
    }
}
