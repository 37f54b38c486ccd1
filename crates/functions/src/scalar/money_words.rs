//! Money in words.

use crate::call::FnDef;

const SMALL: [&str; 21] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
    "twenty",
];
const TENS: [&str; 10] =
    ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
const SCALES: [(u64, &str); 5] = [
    (1_000_000_000_000_000, "quadrillion"),
    (1_000_000_000_000, "trillion"),
    (1_000_000_000, "billion"),
    (1_000_000, "million"),
    (1_000, "thousand"),
];

/// A number below one hundred.
fn below_hundred(n: u64) -> String {
    match n {
        0..=20 => SMALL[n as usize].to_string(),
        _ if n.is_multiple_of(10) => TENS[n as usize / 10].to_string(),
        _ => format!("{} {}", TENS[n as usize / 10], SMALL[n as usize % 10]),
    }
}

/// A number below one thousand.
fn below_thousand(n: u64) -> String {
    let (hundreds, rest) = (n / 100, n % 100);
    match (hundreds, rest) {
        (0, _) => below_hundred(rest),
        (_, 0) => format!("{} hundred", SMALL[hundreds as usize]),
        // Small numbers are joined by a word.
        (_, 1..20) => {
            let and = if rest == 10 {
                "and ten".to_string()
            } else {
                format!("and {}", below_hundred(rest))
            };
            format!("{} hundred {and}", SMALL[hundreds as usize])
        }
        _ => format!("{} hundred {}", SMALL[hundreds as usize], below_hundred(rest)),
    }
}

fn cash_words(cents: i64) -> String {
    let mut out = String::new();
    if cents < 0 {
        out.push_str("minus ");
    }
    let all = cents.unsigned_abs();
    let (dollars, cents) = (all / 100, all % 100);
    let mut rest = dollars;
    for (scale, word) in SCALES {
        if rest >= scale {
            out.push_str(&format!("{} {word} ", below_thousand(rest / scale)));
            rest %= scale;
        }
    }
    if rest > 0 {
        out.push_str(&below_thousand(rest));
    }
    if dollars == 0 {
        out.push_str("zero");
    }
    out.push_str(if dollars == 1 { " dollar and " } else { " dollars and " });
    out.push_str(&below_hundred(cents));
    out.push_str(if cents == 1 { " cent" } else { " cents" });
    let first = out.remove(0).to_ascii_uppercase();
    out.insert(0, first);
    out
}

pub(super) const FNS: &[&[FnDef]] = &[&[row!(cash_words(amount: i64) { cash_words(amount) })]];
