//! Messages of clients, from a line of text.
//!
//! `Q "select 1"`, `P NAME "sql" 23 25`, `B PORTAL STATEMENT f=0,1 "a" null x0001 r=1`,
//! `D S NAME`, `D P NAME`, `E PORTAL ROWS`, `C S NAME`, `H`, `S`, `X`, `d "data"`, `c`,
//! `f "reason"`, `F OID f=1 "a" r=0`, `p "password"`, `startup VERSION key=value`, `ssl`, `gss`,
//! `hex 00ff`, and `end`, after which nothing more is sent.

use base::{Error, Result};

/// What a line says.
pub enum Sent {
    /// These bytes, after which the server says so many times that it is ready.
    Bytes(Vec<u8>, usize),
    /// These bytes, which a letter answers.
    Letter(Vec<u8>),
    /// No more.
    End,
}

/// One word of a line.
enum Word {
    Plain(String),
    Text(Vec<u8>),
}

fn words(line: &str) -> Result<Vec<Word>> {
    let bytes = line.as_bytes();
    let (mut at, mut out) = (0, Vec::new());
    while at < bytes.len() {
        if bytes[at] == b' ' {
            at += 1;
        } else if bytes[at] == b'"' {
            let (text, end) = quoted(bytes, at + 1)?;
            out.push(Word::Text(text));
            at = end;
        } else {
            let end = bytes[at..].iter().position(|b| *b == b' ').map_or(bytes.len(), |n| at + n);
            out.push(Word::Plain(line[at..end].to_string()));
            at = end;
        }
    }
    Ok(out)
}

fn quoted(bytes: &[u8], mut at: usize) -> Result<(Vec<u8>, usize)> {
    let unfinished = || Error::internal("a text without an end");
    let mut out = Vec::new();
    loop {
        match *bytes.get(at).ok_or_else(unfinished)? {
            b'"' => return Ok((out, at + 1)),
            b'\\' => {
                at += 1;
                match *bytes.get(at).ok_or_else(unfinished)? {
                    b'n' => out.push(b'\n'),
                    b't' => out.push(b'\t'),
                    b'x' => {
                        let digits = bytes.get(at + 1..at + 3).ok_or_else(unfinished)?;
                        out.extend(hex(&String::from_utf8_lossy(digits))?);
                        at += 2;
                    }
                    other => out.push(other),
                }
            }
            other => out.push(other),
        }
        at += 1;
    }
}

fn hex(text: &str) -> Result<Vec<u8>> {
    let pair = |i: usize| {
        let digits = text.get(i..i + 2).unwrap_or("?");
        u8::from_str_radix(digits, 16).map_err(|e| Error::internal(format!("{digits}: {e}")))
    };
    (0..text.len()).step_by(2).map(pair).collect()
}

impl Word {
    fn bytes(&self) -> Vec<u8> {
        match self {
            Word::Plain(text) => text.clone().into_bytes(),
            Word::Text(bytes) => bytes.clone(),
        }
    }

    fn plain(&self) -> &str {
        match self {
            Word::Plain(text) => text,
            Word::Text(_) => "",
        }
    }
}

/// True for what a connection can begin with.
pub fn opens(line: &str) -> bool {
    let first = line.trim_start().split(' ').next().unwrap_or_default();
    matches!(first, "startup" | "ssl" | "gss" | "hex" | "cancel")
}

/// A start-up packet.
pub fn startup(version: u32, options: &[(&str, &str)]) -> Vec<u8> {
    let mut body = version.to_be_bytes().to_vec();
    for (name, value) in options {
        for text in [name, value] {
            body.extend(text.as_bytes());
            body.push(0);
        }
    }
    body.push(0);
    let mut out = (body.len() as u32 + 4).to_be_bytes().to_vec();
    out.extend(body);
    out
}

fn framed(kind: u8, body: Vec<u8>) -> Vec<u8> {
    let mut out = vec![kind];
    out.extend((body.len() as u32 + 4).to_be_bytes());
    out.extend(body);
    out
}

fn text(word: Option<&Word>) -> Vec<u8> {
    let mut out = word.map_or_else(Vec::new, Word::bytes);
    out.push(0);
    out
}

fn numbers(list: &str) -> Vec<i16> {
    list.split(',').filter_map(|n| n.parse().ok()).collect()
}

fn put_numbers(out: &mut Vec<u8>, all: &[i16]) {
    out.extend((all.len() as u16).to_be_bytes());
    all.iter().for_each(|n| out.extend(n.to_be_bytes()));
}

/// Formats, values and formats of results, as Bind and FunctionCall have them.
fn values(words: &[Word]) -> Result<(Vec<u8>, Vec<i16>)> {
    let (mut formats, mut results, mut count, mut body) = (vec![], vec![], 0u16, Vec::new());
    for word in words {
        let value = match word {
            Word::Plain(p) if p.starts_with("f=") => {
                formats = numbers(&p[2..]);
                continue;
            }
            Word::Plain(p) if p.starts_with("r=") => {
                results = numbers(&p[2..]);
                continue;
            }
            Word::Plain(p) if p == "null" => None,
            Word::Plain(p) if p.starts_with('x') => Some(hex(&p[1..])?),
            other => Some(other.bytes()),
        };
        count += 1;
        match value {
            None => body.extend((-1i32).to_be_bytes()),
            Some(value) => {
                body.extend((value.len() as u32).to_be_bytes());
                body.extend(value);
            }
        }
    }
    let mut out = Vec::new();
    put_numbers(&mut out, &formats);
    out.extend(count.to_be_bytes());
    out.extend(body);
    Ok((out, results))
}

/// Reads one line.
pub fn read(line: &str, database: &str) -> Result<Sent> {
    let all = words(line)?;
    let Some((first, rest)) = all.split_first() else {
        return Ok(Sent::Bytes(Vec::new(), 0));
    };
    let number = |i: usize| rest.get(i).and_then(|w| w.plain().parse::<u32>().ok()).unwrap_or(0);
    let kind = first.plain();
    let letter = kind.as_bytes().first().copied().unwrap_or(0);
    let mut body = Vec::new();
    match kind {
        "end" => return Ok(Sent::End),
        "hex" => return Ok(Sent::Bytes(hex(rest.first().map_or("", Word::plain))?, 0)),
        "ssl" => return Ok(Sent::Letter(vec![0, 0, 0, 8, 4, 210, 22, 47])),
        "gss" => return Ok(Sent::Letter(vec![0, 0, 0, 8, 4, 210, 22, 48])),
        "startup" => {
            let options = rest.iter().skip(1).filter_map(|w| w.plain().split_once('='));
            let options = options.map(|(n, v)| (n, if v == "DATABASE" { database } else { v }));
            let options: Vec<(&str, &str)> = options.collect();
            return Ok(Sent::Bytes(startup(number(0), &options), 1));
        }
        "Q" | "f" | "p" => body = text(rest.first()),
        "d" => body = rest.first().map_or_else(Vec::new, Word::bytes),
        "P" => {
            body.extend(text(rest.first()));
            body.extend(text(rest.get(1)));
            let types = rest.get(2..).unwrap_or_default();
            body.extend((types.len() as u16).to_be_bytes());
            (2..rest.len()).for_each(|i| body.extend(number(i).to_be_bytes()));
        }
        "B" => {
            body.extend(text(rest.first()));
            body.extend(text(rest.get(1)));
            let (more, results) = values(rest.get(2..).unwrap_or_default())?;
            body.extend(more);
            put_numbers(&mut body, &results);
        }
        "F" => {
            body.extend(number(0).to_be_bytes());
            let (more, results) = values(rest.get(1..).unwrap_or_default())?;
            body.extend(more);
            body.extend(results.first().copied().unwrap_or(0).to_be_bytes());
        }
        "D" | "C" => {
            body.extend(rest.first().map_or_else(Vec::new, Word::bytes));
            body.extend(text(rest.get(1)));
        }
        "E" => {
            body.extend(text(rest.first()));
            body.extend(number(1).to_be_bytes());
        }
        "H" | "S" | "X" | "c" => {}
        other => return Err(Error::internal(format!("no such message: {other}"))),
    }
    let ready = usize::from(matches!(kind, "Q" | "S" | "F"));
    Ok(Sent::Bytes(framed(letter, body), ready))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(line: &str) -> Vec<u8> {
        match read(line, "db") {
            Ok(Sent::Bytes(bytes, _)) => bytes,
            _ => Vec::new(),
        }
    }

    #[test]
    fn lines_become_messages() {
        assert_eq!(bytes(r#" Q "a\x00\n""#), b"Q\0\0\0\x08a\0\n\0");
        assert_eq!(bytes("S"), b"S\0\0\0\x04");
        assert_eq!(bytes(r#"E "" 2"#), b"E\0\0\0\x09\0\0\0\0\x02");
        assert_eq!(
            bytes(r#"B "" "" f=1 x01 null "t" r=0"#),
            b"B\0\0\0\x1e\0\0\0\x01\0\x01\0\x03\0\0\0\x01\x01\xff\xff\xff\xff\0\0\0\x01t\0\x01\0\0"
        );
        assert!(read("Q \"x", "db").is_err());
        assert!(opens(" startup 196608"));
    }
}
