//! JSON values as text, in jsonb's form: a space after each colon and comma.

use super::Json;

/// Appends a string with quotes and escapes.
pub fn escape(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let bytes = text.as_bytes();
    let mut from = 0;
    for (i, &b) in bytes.iter().enumerate() {
        let plain: &[u8] = match b {
            b'"' => b"\\\"",
            b'\\' => b"\\\\",
            0x08 => b"\\b",
            0x0c => b"\\f",
            b'\n' => b"\\n",
            b'\r' => b"\\r",
            b'\t' => b"\\t",
            0..=0x1f => b"",
            _ => continue,
        };
        out.extend_from_slice(&bytes[from..i]);
        if plain.is_empty() {
            out.extend_from_slice(format!("\\u{b:04x}").as_bytes());
        } else {
            out.extend_from_slice(plain);
        }
        from = i + 1;
    }
    out.extend_from_slice(&bytes[from..]);
    out.push(b'"');
}

/// A string with quotes and escapes.
pub fn quoted(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len() + 2);
    escape(text, &mut out);
    // What was text stays text.
    String::from_utf8(out).unwrap_or_default()
}

fn scalar(value: &Json, out: &mut Vec<u8>) {
    match value {
        Json::Null => out.extend_from_slice(b"null"),
        Json::Bool(true) => out.extend_from_slice(b"true"),
        Json::Bool(false) => out.extend_from_slice(b"false"),
        Json::Number(n) => n.write(out),
        Json::String(s) => escape(s, out),
        Json::Array(_) | Json::Object(_) => {}
    }
}

/// Appends a value.
pub fn write(value: &Json, out: &mut Vec<u8>) {
    match value {
        Json::Array(items) => {
            out.push(b'[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.extend_from_slice(b", ");
                }
                write(item, out);
            }
            out.push(b']');
        }
        Json::Object(members) => {
            out.push(b'{');
            for (i, (key, item)) in members.iter().enumerate() {
                if i > 0 {
                    out.extend_from_slice(b", ");
                }
                escape(key, out);
                out.extend_from_slice(b": ");
                write(item, out);
            }
            out.push(b'}');
        }
        other => scalar(other, out),
    }
}

/// Appends a value with a line for each item, indented by four spaces a level.
pub fn write_pretty(value: &Json, level: usize, out: &mut Vec<u8>) {
    let line = |level: usize, out: &mut Vec<u8>| {
        out.push(b'\n');
        out.extend(std::iter::repeat_n(b' ', level * 4));
    };
    match value {
        Json::Array(items) => {
            out.push(b'[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                line(level + 1, out);
                write_pretty(item, level + 1, out);
            }
            line(level, out);
            out.push(b']');
        }
        Json::Object(members) => {
            out.push(b'{');
            for (i, (key, item)) in members.iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                line(level + 1, out);
                escape(key, out);
                out.extend_from_slice(b": ");
                write_pretty(item, level + 1, out);
            }
            line(level, out);
            out.push(b'}');
        }
        other => scalar(other, out),
    }
}
