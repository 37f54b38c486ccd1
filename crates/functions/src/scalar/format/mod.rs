//! `to_char`, `to_timestamp`, `to_date`, `to_number`: values through a template.

mod date_in;
mod date_out;
mod number_in;
mod number_out;
mod number_template;
mod template;

pub(crate) use date_in::read_by_template;

use crate::call::FnDef;

pub(crate) const FNS: &[&[FnDef]] = &[date_out::FNS, date_in::FNS, number_out::FNS, number_in::FNS];

use types::datetime::{DAY_NAMES as DAYS, MONTH_NAMES as MONTHS};

const ROMAN_MONTHS: [&str; 12] =
    ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"];

/// The ending of an ordinal number.
fn ordinal(digits: &str, upper: bool) -> &'static str {
    let b = digits.as_bytes();
    let last = b.last().copied().unwrap_or(b'0');
    // Eleventh, twelfth and thirteenth are not as their last digits say.
    let teen = b.len() > 1 && b[b.len() - 2] == b'1';
    match (teen, last, upper) {
        (false, b'1', true) => "ST",
        (false, b'2', true) => "ND",
        (false, b'3', true) => "RD",
        (_, _, true) => "TH",
        (false, b'1', false) => "st",
        (false, b'2', false) => "nd",
        (false, b'3', false) => "rd",
        (_, _, false) => "th",
    }
}
