//! Texts that nobody means well: every input function, pattern and template gives a value or an
//! error, in seconds for all of them.

use crate::{CallInfo, CallState, FnCtx, FnEnv, StaticEnv, builtin, lookup};
use std::time::{Duration, Instant};
use types::{Datum, oid};

/// No call takes longer, even unoptimised: there is no session here to end it.
const LONGEST: Duration = Duration::from_secs(10);

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

/// Functions by name and the types of their arguments; each argument is a text or 1.
const FUNCTIONS: &[(&str, &[base::Oid])] = &[
    ("to_date", &[oid::TEXT, oid::TEXT]),
    ("to_timestamp", &[oid::TEXT, oid::TEXT]),
    ("to_number", &[oid::TEXT, oid::TEXT]),
    ("to_char", &[oid::FLOAT8, oid::TEXT]),
    ("to_char", &[oid::TIMESTAMP, oid::TEXT]),
    ("to_char", &[oid::INTERVAL, oid::TEXT]),
    ("to_char", &[oid::INT8, oid::TEXT]),
    ("regexp_replace", &[oid::TEXT, oid::TEXT, oid::TEXT]),
    ("regexp_count", &[oid::TEXT, oid::TEXT]),
    ("similar_to_escape", &[oid::TEXT, oid::TEXT]),
    ("like", &[oid::TEXT, oid::TEXT]),
    ("decode", &[oid::TEXT, oid::TEXT]),
    ("unistr", &[oid::TEXT]),
    ("to_tsquery", &[oid::TEXT]),
    ("websearch_to_tsquery", &[oid::TEXT]),
    ("parse_ident", &[oid::TEXT, oid::BOOL]),
];

fn argument(ty: base::Oid, random: &mut Random) -> Datum {
    match ty {
        oid::FLOAT8 => Datum::F64([0.0, -1.5e300, f64::NAN, 12.34][random.next(4)]),
        oid::INT8 => Datum::I64([0, -5, i64::MIN, 1_000_000][random.next(4)]),
        oid::TIMESTAMP => Datum::I64([0, i64::MAX, -1, 1 << 58][random.next(4)]),
        oid::INTERVAL => {
            let i = types::datetime::Interval { micros: -1, days: i32::MAX, months: 3 };
            Datum::bytes(i.encode().to_vec())
        }
        oid::BOOL => Datum::Bool(true),
        _ => Datum::string(random.text()),
    }
}

#[test]
fn patterns_and_templates_are_read_or_refused() {
    let env = StaticEnv::new(0);
    let mut random = Random(42);
    for (name, types) in FUNCTIONS {
        let rows = builtin::procs().iter();
        let found = rows.filter(|p| p.proname == *name && p.proargtypes[..] == **types);
        for row in found {
            let Some(entry) = lookup(row.oid) else { continue };
            for _ in 0..200 {
                let args: Vec<Datum> = types.iter().map(|t| argument(*t, &mut random)).collect();
                let call = CallInfo::of(row.oid);
                let mut state = CallState::default();
                let mut cx = FnCtx { env: &env, call: &call, state: &mut state };
                let began = Instant::now();
                let _ = entry.call(&mut cx, &args);
                let took = began.elapsed();
                assert!(took < LONGEST, "{name} took {took:?}: {args:?}");
            }
        }
    }
}
