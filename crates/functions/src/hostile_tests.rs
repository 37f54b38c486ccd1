//! Texts that nobody means well: every input function gives a value or an error.

use crate::{FnEnv, StaticEnv, builtin};
use base::Oid;
use types::oid;

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

/// Values that are sent as bytes and received again, in each of the types that have a binary form
/// of their own.
const SENT: &[(Oid, &str)] = &[
    (oid::TSVECTOR, "'a':1A,2 'b' 'c d':3B"),
    (oid::TSQUERY, "'a':*AB & !( 'b' <2> 'c' | 'd' )"),
    (oid::NUMERIC, "-12345678901234567890.123"),
    (oid::INET, "2001:db8::1/64"),
    (oid::CIDR, "10.1.0.0/16"),
    (oid::VARBIT, "1011"),
    (oid::PATH, "[(1,2),(3,4)]"),
    (oid::POLYGON, "((1,2),(3,4),(5,6))"),
    (oid::BOX, "(3,4),(1,2)"),
    (oid::LINE, "{1,-1,0}"),
    (oid::TIMETZ, "12:34:56.789+05:30"),
    (oid::DATE, "2024-02-29"),
    (oid::PG_SNAPSHOT, "12:18:14,16"),
    (oid::MACADDR8, "08:00:2b:01:02:03:04:05"),
    (oid::INT4RANGE, "[1,5)"),
    (oid::OIDVECTOR, "1 2 3"),
    (oid::JSONB, "{\"a\": [1, null]}"),
    (oid::JSONPATH, "$.\"a\"[0]"),
];

#[test]
fn what_is_sent_is_received_and_what_is_cut_off_is_refused() {
    let env = StaticEnv::new(0);
    let text = |ty, value: &_| {
        let mut out = Vec::new();
        types::io::output(ty, value, &env.io(), &mut out).expect("a text");
        String::from_utf8(out).expect("UTF-8")
    };
    for (ty, shown) in SENT {
        let value = types::io::input(*ty, shown, -1, &env.io()).expect(shown);
        let mut sent = Vec::new();
        types::io::send(*ty, &value, &env.io(), &mut sent).expect(shown);
        let again = types::io::receive(*ty, &sent, -1, &env.io()).expect(shown);
        assert_eq!(text(*ty, &again), *shown);
        for end in 0..sent.len() {
            let cut = types::io::receive(*ty, &sent[..end], -1, &env.io());
            // Half of an address of eight bytes and of a text may be a value of its own.
            let whole = matches!(*ty, oid::MACADDR8 | oid::JSONPATH);
            assert!(cut.is_err() || whole, "{shown} cut off at {end}");
            for flip in [1, 0x80] {
                let mut harmed = sent.clone();
                harmed[end] ^= flip;
                let _ = types::io::receive(*ty, &harmed, -1, &env.io());
            }
        }
    }
}

/// Bytes that a type refuses, and with which words.
#[test]
fn counts_beyond_all_bounds_are_refused_by_name() {
    let env = StaticEnv::new(0);
    let refused = |ty, bytes: &[u8]| {
        types::io::receive(ty, bytes, -1, &env.io()).expect_err("refused").message().to_string()
    };
    assert_eq!(
        refused(oid::INT4_ARRAY, &[0, 0, 0, 127, 0, 0, 0, 0, 0, 0, 0, 23]),
        "number of array dimensions (127) exceeds the maximum allowed (6)"
    );
    assert_eq!(
        refused(oid::INT4_ARRAY, &[255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 23]),
        "invalid number of dimensions: -1"
    );
    assert_eq!(
        refused(oid::INT4MULTIRANGE, &[127, 0, 0, 0]),
        "invalid memory alloc request size 17045651456"
    );
    assert_eq!(
        refused(oid::TSVECTOR, &[0, 0, 0, 1, 0, 0, 1, 63, 255]),
        "invalid tsvector: empty lexeme"
    );
}
