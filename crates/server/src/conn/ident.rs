//! The protocol of RFC 1413: asking the client's own machine who a connection belongs to. Good
//! for closed networks only, where those machines are trusted.

use base::wait::WaitEvent;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// The port of ident servers.
const PORT: u16 = 113;
/// How long each step may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// The user that the server at the client's address names, or why there is none.
pub(super) fn ask(client: SocketAddr, server_port: u16) -> Result<String, String> {
    let place = SocketAddr::new(client.ip(), PORT);
    let shown = format!("Ident server at address \"{}\", port {PORT}", client.ip());
    let _wait = os::wait::begin(WaitEvent::ClientRead);
    let mut socket = TcpStream::connect_timeout(&place, PATIENCE)
        .map_err(|e| format!("could not connect to {shown}: {e}"))?;
    let mut talk = || -> std::io::Result<String> {
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.set_write_timeout(Some(PATIENCE))?;
        socket.write_all(format!("{},{server_port}\r\n", client.port()).as_bytes())?;
        let mut reply = Vec::new();
        // One line; nobody has more to say than this.
        while !reply.ends_with(b"\n") && reply.len() < 1000 {
            let mut byte = [0];
            match socket.read(&mut byte)? {
                0 => break,
                _ => reply.push(byte[0]),
            }
        }
        Ok(String::from_utf8_lossy(&reply).into_owned())
    };
    let reply = talk().map_err(|e| format!("could not receive response from {shown}: {e}"))?;
    user_in(&reply).ok_or_else(|| {
        format!("invalidly formatted response from Ident server: \"{}\"", reply.trim_end())
    })
}

/// `ports : USERID : system : user`
fn user_in(reply: &str) -> Option<String> {
    let mut fields = reply.trim_end_matches(['\r', '\n']).splitn(4, ':');
    fields.next()?;
    if fields.next()?.trim() != "USERID" {
        return None;
    }
    fields.next()?;
    let user = fields.next()?.trim_start_matches([' ', '\t']);
    (!user.is_empty()).then(|| user.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies() {
        assert_eq!(user_in("1, 2 : USERID : UNIX : ann\r\n").as_deref(), Some("ann"));
        assert_eq!(user_in("1,2:USERID:UNIX:a:b\r\n").as_deref(), Some("a:b"));
        assert_eq!(user_in("1, 2 : ERROR : NO-USER\r\n"), None);
        assert_eq!(user_in("1, 2 : USERID : UNIX :\r\n"), None);
        assert_eq!(user_in(""), None);
    }
}
