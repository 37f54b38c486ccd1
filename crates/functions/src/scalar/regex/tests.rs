//! Matches as PostgreSQL has them.

use super::{Flags, compile};

fn groups(pattern: &str, text: &str) -> Option<Vec<Option<String>>> {
    let p = compile(pattern, Flags::default()).expect(pattern);
    let spans = p.captures_at(text, 0).expect(pattern)?;
    assert!(p.is_match(text).expect(pattern));
    Some(spans.iter().map(|s| s.map(|(a, b)| text[a..b].to_string())).collect())
}

fn check(pattern: &str, text: &str, expected: &[&str]) {
    let found = groups(pattern, text);
    let found: Option<Vec<String>> =
        found.map(|f| f.into_iter().map(|s| s.unwrap_or_else(|| "-".into())).collect());
    assert_eq!(found.unwrap_or_default(), expected, "{pattern} on {text}");
}

#[test]
fn the_longest_match_and_its_groups() {
    check("(a|ab)(c|bcd)(d*)", "abcd", &["abcd", "ab", "c", "d"]);
    check("(a*)*", "b", &["", ""]);
    check("((a)|(b))*", "ab", &["ab", "b", "-", "b"]);
    check("a|ab", "xab", &["ab"]);
    check("(a*?)(a*)", "aaa", &["", "", ""]);
    check("X*?(.*)", "abc", &["", ""]);
    check("(?:X*?.*)(b)", "abab", &["ab", "b"]);
    check("a{2,3}", "aaaa", &["aaa"]);
}

#[test]
fn back_references_and_lookaround() {
    check(r"(\w+) \1", "is is it", &["is is", "is"]);
    check(r"(a*)*b\1", "aaaaaaaaaaaaaaaaaaaaaaaaaaaab", &["b", ""]);
    check("a(?=b)", "acab", &["a"]);
    check("a(?!c)", "acab", &["a"]);
    check("(?<=c)a", "aca", &["a"]);
    check("(?<!c)a.", "caxab", &["ab"]);
    check(r"\mfoo\M", "a foo", &["foo"]);
}

#[test]
fn mistakes_are_told() {
    for (pattern, message) in [
        ("(", "parentheses () not balanced"),
        (")", "parentheses () not balanced"),
        ("[", "brackets [] not balanced"),
        ("a{1", "braces {} not balanced"),
        ("a{2,1}", "invalid repetition count(s)"),
        ("a**", "quantifier operand invalid"),
        ("*", "quantifier operand invalid"),
        (r"\q", "invalid escape \\ sequence"),
        (r"\1", "invalid backreference number"),
        ("[b-a]", "invalid character range"),
        ("[[:foo:]]", "invalid character class"),
        ("[[.foo.]]", "invalid collating element"),
    ] {
        let e = compile(pattern, Flags::default()).err().expect(pattern);
        assert_eq!(e.message(), format!("invalid regular expression: {message}"), "{pattern}");
    }
}
