//! Messages of servers as lines of text, without what differs between servers that say the same:
//! secrets, numbers of processes and of tables, and where in its source an error was found.

/// Settings whose values are a server's own.
const OWN: [&str; 2] = ["server_version", "session_authorization"];

fn escaped(bytes: &[u8]) -> String {
    const LONGEST: usize = 400;
    let mut out = String::from("\"");
    for b in bytes.iter().take(LONGEST) {
        match b {
            b'"' | b'\\' => {
                out.push('\\');
                out.push(*b as char);
            }
            b'\n' => out.push_str("\\n"),
            b' '..=b'~' => out.push(*b as char),
            other => out.push_str(&format!("\\x{other:02x}")),
        }
    }
    out.push('"');
    if bytes.len() > LONGEST {
        out.push_str(&format!(" and {} more", bytes.len() - LONGEST));
    }
    out
}

/// Reads numbers and texts off the front of a message.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn i16(&mut self) -> i16 {
        self.take(2).try_into().map_or(0, i16::from_be_bytes)
    }

    fn i32(&mut self) -> i32 {
        self.take(4).try_into().map_or(0, i32::from_be_bytes)
    }

    fn take(&mut self, n: usize) -> &[u8] {
        let (first, rest) = self.0.split_at(n.min(self.0.len()));
        self.0 = rest;
        first
    }

    fn text(&mut self) -> String {
        let end = self.0.iter().position(|b| *b == 0).unwrap_or(self.0.len());
        let text = escaped(self.take(end));
        self.take(1);
        text
    }
}

/// An OID, if it is the same everywhere.
fn oid(n: i32) -> String {
    if (0..16_384).contains(&n) { n.to_string() } else { "new".into() }
}

fn columns(body: &[u8]) -> String {
    let mut r = Reader(body);
    let count = r.i16();
    let mut out = String::from("T");
    for _ in 0..count {
        let name = r.text();
        let (table, number) = (r.i32(), r.i16());
        let (kind, size, modifier, format) = (r.i32(), r.i16(), r.i32(), r.i16());
        let kind = oid(kind);
        out.push_str(&format!(
            " {name}:{}.{number}:{kind}:{size}:{modifier}:{format}",
            if table == 0 { "0".to_string() } else { oid(table) }
        ));
    }
    out
}

fn values(body: &[u8]) -> String {
    let mut r = Reader(body);
    let count = r.i16();
    let mut out = String::from("D");
    for _ in 0..count {
        let length = r.i32();
        match usize::try_from(length) {
            Ok(n) => out.push_str(&format!(" {}", escaped(r.take(n)))),
            Err(_) => out.push_str(" null"),
        }
    }
    out
}

fn fields(kind: u8, body: &[u8]) -> String {
    let shown = |f: &&[u8]| f.first().is_some_and(|c| !b"FLRV".contains(c));
    let all: Vec<String> = body
        .split(|b| *b == 0)
        .filter(shown)
        .map(|f| String::from_utf8_lossy(f).replace('\n', "\\n"))
        .collect();
    format!("{} {}", kind as char, all.join(" | "))
}

fn codes(kind: u8, body: &[u8]) -> String {
    let mut r = Reader(body);
    let format = r.take(1).first().copied().unwrap_or(0);
    let columns = r.i16();
    let each: Vec<String> = (0..columns).map(|_| r.i16().to_string()).collect();
    format!("{} {format} {}", kind as char, each.join(","))
}

/// One message; none if there is nothing to compare.
pub fn answer(kind: u8, body: &[u8]) -> Option<String> {
    let mut r = Reader(body);
    Some(match kind {
        b'T' => columns(body),
        b'D' => values(body),
        b'E' | b'N' => fields(kind, body),
        b'G' | b'H' | b'W' => codes(kind, body),
        b'K' => format!("K {} bytes", body.len()),
        b'C' => format!("C {}", r.text()),
        b'Z' => format!("Z {}", body.first().map_or('?', |b| *b as char)),
        b'S' => {
            let (name, value) = (r.text(), r.text());
            let own = OWN.iter().any(|own| name.trim_matches('"') == *own);
            format!("S {name} {}", if own { "*" } else { &value })
        }
        b't' => {
            let count = r.i16();
            let all: Vec<String> = (0..count).map(|_| oid(r.i32())).collect();
            format!("t {}", all.join(" "))
        }
        b'A' => {
            r.i32();
            format!("A {} {}", r.text(), r.text())
        }
        b'R' => match r.i32() {
            // What follows is random.
            11 => "R 11".into(),
            code => format!("R {code} {}", escaped(r.0)),
        },
        b'V' => match r.i32() {
            -1 => "V null".into(),
            _ => format!("V {}", escaped(r.0)),
        },
        super::LETTER => format!("letter {}", escaped(body)),
        b'n' | b's' | b'1' | b'2' | b'3' | b'c' | b'I' if body.is_empty() => {
            (kind as char).to_string()
        }
        other => format!("{} {}", other as char, escaped(body)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_told_without_what_differs() {
        let error = b"SERROR\0VERROR\0C22012\0Mdivision by zero\0Ffile.c\0L7\0Rint4div\0\0";
        let told = answer(b'E', error).unwrap_or_default();
        assert_eq!(told, "E SERROR | C22012 | Mdivision by zero");
        assert_eq!(answer(b'Z', b"I").as_deref(), Some("Z I"));
        assert_eq!(
            answer(b'D', b"\0\x02\0\0\0\x01a\xff\xff\xff\xff").as_deref(),
            Some("D \"a\" null")
        );
        assert_eq!(
            answer(b'S', b"server_version\x0018.6\0").as_deref(),
            Some("S \"server_version\" *")
        );
    }
}
