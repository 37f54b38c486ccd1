//! Conversations in the wire protocol, message by message, with the answers of a real PostgreSQL.
//!
//! A file holds conversations. Each begins with `--- NAME` and has a connection of its own, which
//! has said hello unless its first message is a start-up. Lines that begin with `>` are messages
//! (see [`message`]); a line with a dot sends those that have come together; lines that begin with
//! `<` are what was answered until the server was ready as often as it was asked to be, fell
//! silent, or ended the connection. What differs from server to server is left out, see [`show`].

mod message;
mod show;

use base::{Error, Result};
use message::{Sent, startup};
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

/// How long a server that says nothing is waited for, where it need not say that it is ready.
const SILENCE: Duration = Duration::from_millis(700);
/// How long it is waited for otherwise.
const PATIENCE: Duration = Duration::from_secs(20);

/// The kind given to an answer that is no message but a letter.
const LETTER: u8 = b'!';

/// One conversation.
struct Conversation {
    name: String,
    /// What is said at once, and what was answered.
    turns: Vec<Turn>,
}

#[derive(Default)]
struct Turn {
    /// The lines as they stand in the file, comments too.
    lines: Vec<String>,
    answers: Vec<String>,
}

fn parse(text: &str) -> (Vec<String>, Vec<Conversation>) {
    let (mut head, mut all): (Vec<String>, Vec<Conversation>) = (Vec::new(), Vec::new());
    let mut sent = false;
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("--- ") {
            all.push(Conversation { name: name.to_string(), turns: vec![Turn::default()] });
            sent = false;
            continue;
        }
        let Some(conversation) = all.last_mut() else {
            head.push(line.to_string());
            continue;
        };
        let Some(turn) = conversation.turns.last_mut() else { continue };
        if let Some(answer) = line.strip_prefix("< ") {
            turn.answers.push(answer.to_string());
        } else if line == "." {
            sent = true;
        } else if !line.is_empty() {
            let line = line.to_string();
            match std::mem::take(&mut sent) {
                true => conversation.turns.push(Turn { lines: vec![line], ..Turn::default() }),
                false => turn.lines.push(line),
            }
        }
    }
    (head, all)
}

struct Connection {
    socket: TcpStream,
    input: Vec<u8>,
    /// Requests for encryption, whose answers are letters.
    letters: usize,
}

fn failed(e: std::io::Error) -> Error {
    Error::internal(e.to_string())
}

impl Connection {
    fn open(port: u16) -> Result<Connection> {
        let socket = TcpStream::connect(("127.0.0.1", port)).map_err(failed)?;
        let _ = socket.set_nodelay(true);
        Ok(Connection { socket, input: Vec::new(), letters: 0 })
    }

    /// Answers until the server has been ready so many times.
    fn answers(&mut self, mut ready: usize) -> Result<Vec<String>> {
        let mut out = Vec::new();
        let patience = if ready > 0 { PATIENCE } else { SILENCE };
        self.socket.set_read_timeout(Some(patience)).map_err(failed)?;
        let mut buffer = vec![0; 1 << 16];
        loop {
            while let Some((kind, body)) = self.next() {
                out.extend(show::answer(kind, &body));
                if matches!(kind, b'Z' | LETTER) {
                    sort_reports(&mut out);
                    ready = ready.saturating_sub(1);
                    if ready == 0 {
                        return Ok(out);
                    }
                }
            }
            match self.socket.read(&mut buffer) {
                Ok(0) => {
                    out.push("end".into());
                    return Ok(out);
                }
                Ok(n) => self.input.extend_from_slice(&buffer[..n]),
                Err(e) if matches!(e.kind(), std::io::ErrorKind::ConnectionReset) => {
                    out.push("end".into());
                    return Ok(out);
                }
                Err(_) => {
                    if ready > 0 {
                        out.push("silence".into());
                    }
                    return Ok(out);
                }
            }
        }
    }

    fn next(&mut self) -> Option<(u8, Vec<u8>)> {
        // The answer to a request for encryption is a letter and no more.
        if self.letters > 0 && !self.input.is_empty() && self.input[0] != b'E' {
            self.letters -= 1;
            return Some((LETTER, vec![self.input.remove(0)]));
        }
        let length = u32::from_be_bytes(self.input.get(1..5)?.try_into().ok()?) as usize;
        if self.input.len() < length + 1 {
            return None;
        }
        let rest = self.input.split_off(length + 1);
        let message = std::mem::replace(&mut self.input, rest);
        Some((message[0], message[5..].to_vec()))
    }
}

/// Holds one conversation and gives what was answered in each turn.
fn hold(port: u16, database: &str, conversation: &Conversation) -> Result<Vec<Vec<String>>> {
    let mut connection = Connection::open(port)?;
    let first = conversation.turns.first().and_then(|t| t.lines.iter().find(|l| is_message(l)));
    if !first.is_some_and(|l| message::opens(&l[1..])) {
        let hello = startup(196_608, &[("user", "postgres"), ("database", database)]);
        connection.socket.write_all(&hello).map_err(failed)?;
        connection.answers(1)?;
    }
    let mut all = Vec::new();
    for turn in &conversation.turns {
        let (mut bytes, mut ready, mut ends) = (Vec::new(), 0, false);
        for line in turn.lines.iter().filter(|l| is_message(l)) {
            match message::read(&line[1..], database)? {
                Sent::Bytes(more, expected) => {
                    bytes.extend(more);
                    ready += expected;
                }
                Sent::Letter(more) => {
                    bytes.extend(more);
                    connection.letters += 1;
                    ready += 1;
                }
                Sent::End => ends = true,
            }
        }
        // A server that has hung up is heard all the same.
        let _ = connection.socket.write_all(&bytes);
        if ends {
            let _ = connection.socket.shutdown(Shutdown::Write);
            ready = ready.max(1);
        }
        all.push(connection.answers(ready)?);
    }
    Ok(all)
}

/// The order of settings that a client is told of means nothing.
fn sort_reports(answers: &mut [String]) {
    for run in answers.chunk_by_mut(|a, b| a.starts_with("S ") && b.starts_with("S ")) {
        run.sort();
    }
}

fn is_message(line: &str) -> bool {
    line.starts_with('>')
}

/// Compares a server's answers with those of a file; gives the differences.
pub fn run(port: u16, database: &str, name: &str, text: &str) -> Result<Vec<String>> {
    let mut differences = Vec::new();
    for conversation in parse(text).1 {
        let got = hold(port, database, &conversation)?;
        for (turn, got) in conversation.turns.iter().zip(got) {
            if turn.answers != got {
                differences.push(format!(
                    "{name}: {}\n{}\n--- expected\n{}\n--- got\n{}",
                    conversation.name,
                    turn.lines.join("\n"),
                    turn.answers.join("\n"),
                    got.join("\n")
                ));
            }
        }
    }
    Ok(differences)
}

/// The text of a file with the answers of a server.
pub fn record(port: u16, database: &str, text: &str) -> Result<String> {
    let (head, all) = parse(text);
    let mut out = head.join("\n");
    for conversation in &all {
        let _ = write!(out, "\n--- {}\n", conversation.name);
        let got = hold(port, database, conversation)?;
        for (turn, got) in conversation.turns.iter().zip(got) {
            turn.lines.iter().for_each(|l| {
                let _ = writeln!(out, "{l}");
            });
            out.push_str(".\n");
            got.iter().for_each(|l| {
                let _ = writeln!(out, "< {l}");
            });
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_in_turns() {
        let text = "# about\n--- one\n> Q \"select 1\"\n.\n< Z I\n> S\n.\n< Z I\n--- two\n> S\n.\n";
        let (head, all) = parse(text);
        assert_eq!(head, ["# about"]);
        assert_eq!(all.len(), 2);
        assert_eq!(all[0].turns.len(), 2);
        assert_eq!(all[0].turns[0].answers, ["Z I"]);
        assert!(all[1].turns[0].answers.is_empty());
    }
}
