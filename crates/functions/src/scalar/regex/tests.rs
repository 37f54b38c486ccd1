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

#[test]
fn patterns_of_too_many_states_or_arcs_are_refused() {
    let refused = |pattern: &str| match compile(pattern, Flags::default()) {
        Ok(_) => false,
        Err(e) => {
            let text = "invalid regular expression: regular expression is too complex";
            assert_eq!(e.message(), text);
            true
        }
    };
    for (pattern, times, wanted) in [
        ("x*y*z*", 500, false),
        ("x*y*z*", 520, true),
        ("x?", 1540, false),
        ("x?", 1550, true),
        ("x", 45_000, true),
        ("(abcd){255,255}", 1, false),
        ("((x{1,180}){1,180})", 1, false),
        ("((x{0,20}){0,20}){0,20}", 1, true),
    ] {
        assert_eq!(refused(&pattern.repeat(times)), wanted, "{pattern} {times}");
    }
}

#[test]
fn the_end_of_a_text_is_not_tried_after_a_match_before_it_that_was_none() {
    for (pattern, text, wanted) in [
        (r"$()|^\1", "a", false),
        (r".. ()|\1", "a", false),
        (r"$()|^\1", "", true),
        (r"$()|^b\1", "a", true),
    ] {
        let found = compile(pattern, Flags::default()).unwrap().is_match(text).unwrap();
        assert_eq!(found, wanted, "{pattern} {text}");
    }
}
