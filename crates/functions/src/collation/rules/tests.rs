//! Orders and failures are PostgreSQL's with ICU.

use super::{Failure, collator};
use std::cmp::Ordering;

/// Sorts words by rules over a locale; equal words are joined with `=`.
fn order(locale: &str, rules: &str, words: &str) -> String {
    let locale = icu_locale_core::Locale::try_from_str(locale).unwrap();
    let made = collator(&locale, rules).unwrap();
    let collator = made.as_borrowed();
    let mut words: Vec<&str> = words.split(' ').collect();
    words.sort_by(|a, b| collator.compare(a, b).then_with(|| a.cmp(b)));
    let mut out = String::new();
    for (n, word) in words.iter().enumerate() {
        let equal = n > 0 && collator.compare(words[n - 1], word) == Ordering::Equal;
        out += if n == 0 {
            ""
        } else if equal {
            "="
        } else {
            " "
        };
        out += word;
    }
    out
}

fn failure(rules: &str) -> Failure {
    let locale = icu_locale_core::Locale::try_from_str("und").unwrap();
    collator(&locale, rules).err().unwrap()
}

#[test]
fn relations_of_every_level() {
    assert_eq!(order("und", "&a < g", "h g f b a B ga ab"), "a ab g ga b B f h");
    assert_eq!(order("und", "&a << x <<< X", "ab xb Xa x b á"), "á x Xa ab xb b");
    assert_eq!(order("und", "&a = q", "q a b qb ab"), "a=q ab=qb b");
    assert_eq!(order("und", "&[before 1]b < x", "a x b ax"), "a ax x b");
    assert_eq!(order("und", "&[before 2]á << q", "á q a à b"), "a q á à b");
    assert_eq!(order("und", "&a <* c-eb", "a b c d e f"), "a c d e b f");
}

#[test]
fn contractions_expansions_and_prefixes() {
    assert_eq!(order("und", "&c < ch <<< Ch", "d ch cz Ch c chz czz"), "c cz czz ch Ch chz d");
    assert_eq!(order("und", "&ae << ä <<< Ä", "af ä ae ad Ä"), "ad ae ä Ä af");
    assert_eq!(order("und", "&a < ä", "b ä a\u{308} a ää az"), "a az a\u{308}=ä ää b");
    assert_eq!(order("und", "&a << b | '-'", "b- ba bab -"), "- ba b- bab");
    assert_eq!(order("und", "&a < b / cd", "acc ad b acd ace"), "acc acd ace ad b");
}

#[test]
fn rules_come_after_those_of_the_locale() {
    assert_eq!(order("sv", "&ö < x", "ö z x å ä y"), "y z å ä ö x");
    assert_eq!(order("da", "&[before 1]æ < x", "a z x æ y"), "a y z x æ");
    assert_eq!(order("und-u-ks-level1", "&a < g", "a A á g"), "a A á g");
}

#[test]
fn settings() {
    assert_eq!(order("und", "[caseFirst upper]&a < g", "g G a A"), "A a g G");
    assert_eq!(order("und", "[alternate shifted]&a < g", "a-g ag aa"), "aa a-g=ag");
    assert_eq!(order("und", "[numericOrdering on]&a < g", "a10 a9 g"), "a9 a10 g");
}

#[test]
fn accents_have_a_table_of_their_own() {
    assert_eq!(order("und", "&e << \u{308}", "a\u{301} a\u{300} a ä"), "a a\u{301} a\u{300} ä");
}

#[test]
fn what_rules_may_not_be() {
    for rules in ["a < b", "&a", "&a < 'b", "[foo on]", "&[before 1]a << b", "&a <* z-b", "&a < $"]
    {
        assert_eq!(failure(rules), Failure::Format, "{rules}");
    }
    assert_eq!(failure("&[last implicit] < a"), Failure::Unsupported);
    assert_eq!(failure("&[first primary ignorable] < a"), Failure::Unsupported);
    assert_eq!(failure("&[last trailing] < a"), Failure::Argument);
    assert_eq!(failure("&a <<<< b <<<< c <<<< d <<<< e"), Failure::NoRoom);
    assert_eq!(failure("[reorder Grek]"), Failure::NotYet("[reorder]"));
    assert_eq!(failure("&a < \u{1112}"), Failure::NotYet("Hangul"));
}
