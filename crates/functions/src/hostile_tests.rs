//! Texts that nobody means well: every input function gives a value or an error.

use crate::{FnEnv, StaticEnv, builtin};

/// What texts are made of: pieces that parsers look for, and some that they do not expect.
#[rustfmt::skip]
const PIECES: &[&str] = &[
    "{", "}", "[", "]", "(", ")", "<", ">", ",", ";", ":", "\"", "'", "\\", "$", "@", "?", "*",
    "+", "-", ".", "..", "/", "%", "^", "|", "&", "!", "~", "=", "#", "_", " ", "\t", "\n", "0",
    "1", "9", "1e400", "99999999999999999999", "-0", "NaN", "inf", "infinity", "null", "true",
    "\\x", "\\u0000", "\\ud800", "\\U0010FFFF", "é", "𝕏", "\u{feff}", "e", "T", "BC",
    "2024-02-30", "24:00:60.9999999", "+15:59:59", "P1Y", "day", "Europe/Paris", "10.0.0.0/33",
    "::ffff:1", "a:1A", "<->", ":*", "lax", "like_regex", ".**{2 to last}", ".type()", "exists",
    "empty", "{1000000}", "{0,255}", "(?=", "(?i)", "[[:alpha:]]", "\\1", "\\m", "a*?", "(a+)+",
    "YYYY", "FM", "TH", "MI", "J", "RN", "V9", "EEEE", "PL", "SG", "L", "\"x\"", "$1", "%s",
    "%1$I", "%-5L", "%*2$s", "<a>", "</a>", "&amp;", "<!--", "<?xml", "]]>",
];

struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below as u64) as usize
    }

    /// A text: pieces in any order, sometimes one piece very often.
    fn text(&mut self) -> String {
        if self.next(40) == 0 {
            return PIECES[self.next(PIECES.len())].repeat(5_000);
        }
        let n = 1 + self.next(9);
        (0..n).map(|_| PIECES[self.next(PIECES.len())]).collect()
    }
}

#[test]
fn every_type_reads_any_text() {
    let env = StaticEnv::new(0);
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    for ty in builtin::types().iter().filter(|t| matches!(t.typtype, b'b' | b'r' | b'm')) {
        for _ in 0..100 {
            let text = random.text();
            let read = types::io::input(ty.oid, &text, -1, &env.io());
            if let Ok(value) = read {
                let mut out = Vec::new();
                let _ = types::io::output(ty.oid, &value, &env.io(), &mut out);
            }
            let _ = types::io::receive(ty.oid, text.as_bytes(), -1, &env.io());
        }
    }
}
