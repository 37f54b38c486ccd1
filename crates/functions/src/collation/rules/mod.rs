//! Collations with rules of their own: `CREATE COLLATION ... (rules = '&a < g')`.
//!
//! The crate that compares texts reads tables that were built beforehand. This module builds such
//! a table when the server runs, in four steps:
//!
//! 1. `parse`: the text of the rules to steps;
//! 2. `root`: the collation elements of the locale that the rules start from;
//! 3. `order`: the steps to places among those elements, and places to weights;
//! 4. `table`: characters and weights to the trie and the lists that the crate reads.
//!
//! Positions, orders and failures are ICU's, as `docs/conformance.md` compares them. Not done, and
//! refused as not done: `[reorder ..]`, `[import ..]`, places for Hangul and its letters, and
//! prefixes of more than two characters.

mod order;
mod parse;
mod root;
mod table;
#[cfg(test)]
mod tests;

use base::{Error, err};
use icu_collator::options::{AlternateHandling, CaseLevel, CollatorOptions, MaxVariable, Strength};
use icu_collator::preferences::{CollationCaseFirst, CollationNumericOrdering};
use icu_collator::provider::{
    Baked, CollationDiacritics, CollationDiacriticsV1, CollationJamoV1, CollationMetadata,
    CollationMetadataV1, CollationReorderingV1, CollationRootV1, CollationSpecialPrimariesV1,
    CollationTailoringV1,
};
use icu_collator::{Collator, CollatorPreferences};
use icu_normalizer::provider::{NormalizerNfdDataV1, NormalizerNfdTablesV1};
use icu_provider::prelude::*;
use std::cell::RefCell;

/// Why rules make no collation.
#[derive(Debug, PartialEq)]
pub(super) enum Failure {
    /// They are not written as rules are.
    Format,
    /// A place that no rule may have.
    Unsupported,
    /// A position that rules may not name.
    Argument,
    /// There is no room between two weights.
    NoRoom,
    /// Something that is not done here.
    NotYet(&'static str),
}

type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    /// The error for rules of a locale.
    pub(super) fn error(&self, locale: &str, rules: &str) -> Error {
        let name = match self {
            Failure::Format => "U_INVALID_FORMAT_ERROR",
            Failure::Unsupported => "U_UNSUPPORTED_ERROR",
            Failure::Argument => "U_ILLEGAL_ARGUMENT_ERROR",
            Failure::NoRoom => "U_BUFFER_OVERFLOW_ERROR",
            Failure::NotYet(what) => {
                return Error::unsupported(format!("a collation with rules that have {what}"));
            }
        };
        err!(
            INVALID_PARAMETER_VALUE,
            "could not open collator for locale \"{locale}\" with rules \"{rules}\": {name}"
        )
    }
}

/// How strong a difference is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Primary,
    Secondary,
    Tertiary,
    Quaternary,
}

/// A place that a reset names by a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position {
    TertiaryIgnorable,
    FirstSecondaryIgnorable,
    LastSecondaryIgnorable,
    FirstPrimaryIgnorable,
    LastPrimaryIgnorable,
    FirstVariable,
    LastVariable,
    FirstRegular,
    LastRegular,
    FirstImplicit,
    LastImplicit,
    FirstTrailing,
    LastTrailing,
}

impl Position {
    fn named(words: &str) -> Option<Position> {
        Some(match words {
            "first tertiary ignorable" | "last tertiary ignorable" => Position::TertiaryIgnorable,
            "first secondary ignorable" => Position::FirstSecondaryIgnorable,
            "last secondary ignorable" => Position::LastSecondaryIgnorable,
            "first primary ignorable" => Position::FirstPrimaryIgnorable,
            "last primary ignorable" => Position::LastPrimaryIgnorable,
            "first variable" => Position::FirstVariable,
            "last variable" | "variable top" => Position::LastVariable,
            "first regular" => Position::FirstRegular,
            "last regular" | "top" => Position::LastRegular,
            "first implicit" => Position::FirstImplicit,
            "last implicit" => Position::LastImplicit,
            "first trailing" => Position::FirstTrailing,
            "last trailing" => Position::LastTrailing,
            _ => return None,
        })
    }
}

/// What rules set for the whole collation.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Settings {
    shifted: Option<bool>,
    max_variable: Option<u8>,
    backwards: Option<bool>,
    /// `caseFirst`: off, lower, upper.
    case_first: Option<u8>,
    case_level: Option<bool>,
    numeric: Option<bool>,
}

impl Settings {
    /// Takes what stands in brackets, `strength 2`.
    fn set(&mut self, words: &str) -> Result<()> {
        fn pick(value: &str, all: &[&str]) -> Result<u8> {
            all.iter().position(|v| *v == value).map(|n| n as u8).ok_or(Failure::Format)
        }
        let on = |value: &str| pick(value, &["off", "on"]).map(|n| n == 1);
        if words == "reorder" || words.starts_with("reorder ") {
            return Err(Failure::NotYet("[reorder]"));
        }
        let (name, value) = words.rsplit_once(' ').ok_or(Failure::Format)?;
        match name {
            "backwards" if value == "2" => self.backwards = Some(true),
            // It is opened with the tertiary strength whatever the rules say.
            "strength" => drop(pick(value, &["1", "2", "3", "4", "I"])?),
            "alternate" => {
                self.shifted = Some(pick(value, &["non-ignorable", "shifted"])? == 1);
            }
            "maxVariable" => {
                let groups = ["space", "punct", "symbol", "currency"];
                self.max_variable = Some(pick(value, &groups)?);
            }
            "caseFirst" => self.case_first = Some(pick(value, &["off", "lower", "upper"])?),
            "caseLevel" => self.case_level = Some(on(value)?),
            // Texts are always taken as if they were decomposed.
            "normalization" => drop(on(value)?),
            "numericOrdering" => self.numeric = Some(on(value)?),
            "hiraganaQ" if value == "off" => {}
            "import" => return Err(Failure::NotYet("[import]")),
            _ => return Err(Failure::Format),
        }
        Ok(())
    }

    /// The bits of a collation's metadata, from those of what it starts from.
    fn metadata(&self, base: CollationMetadata) -> CollationMetadata {
        const TAILORED: u32 = 1 << 3;
        const BACKWARDS: u32 = 1 << 7;
        const SHIFTED: u32 = 1 << 8;
        const CASE_FIRST: u32 = 1 << 9;
        const UPPER_FIRST: u32 = 1 << 10;
        let mut bits = base.bits | TAILORED;
        let mut put = |mask: u32, on: Option<bool>| match on {
            Some(true) => bits |= mask,
            Some(false) => bits &= !mask,
            None => {}
        };
        put(BACKWARDS, self.backwards);
        put(SHIFTED, self.shifted);
        put(CASE_FIRST, self.case_first.map(|c| c != 0));
        put(UPPER_FIRST, self.case_first.map(|c| c == 2));
        if let Some(group) = self.max_variable {
            bits = (bits & !3) | u32::from(group);
        }
        CollationMetadata { bits }
    }

    /// The options that a collator is opened with.
    fn options(&self, preferences: &mut CollatorPreferences) -> CollatorOptions {
        let mut options = CollatorOptions::default();
        options.strength = Some(Strength::Tertiary);
        options.alternate_handling = self.shifted.map(|shifted| match shifted {
            true => AlternateHandling::Shifted,
            false => AlternateHandling::NonIgnorable,
        });
        options.max_variable = self.max_variable.map(|n| match n {
            0 => MaxVariable::Space,
            1 => MaxVariable::Punctuation,
            2 => MaxVariable::Symbol,
            _ => MaxVariable::Currency,
        });
        options.case_level =
            self.case_level.map(|on| if on { CaseLevel::On } else { CaseLevel::Off });
        preferences.case_first = self.case_first.map(|n| match n {
            0 => CollationCaseFirst::False,
            1 => CollationCaseFirst::Lower,
            _ => CollationCaseFirst::Upper,
        });
        preferences.numeric_ordering = self.numeric.map(|on| match on {
            true => CollationNumericOrdering::True,
            false => CollationNumericOrdering::False,
        });
        options
    }
}

/// Gives the crate the tables it knows, and the one that is built from rules in place of its own.
struct Source {
    parsed: parse::Parsed,
    /// Whether the rules move the accents that have a table of their own.
    moves_accents: bool,
    base: RefCell<CollationMetadata>,
    failure: RefCell<Option<Failure>>,
}

/// The bit of metadata that says that there is a table of characters.
const TAILORED: u32 = 1 << 3;
/// The bit of metadata that says that there is a table of accents.
const TAILORED_ACCENTS: u32 = 1 << 4;

macro_rules! as_it_is {
    ($baked:expr; $($marker:ty),*) => {$(
        impl DataProvider<$marker> for Source {
            fn load(
                &self,
                req: DataRequest<'_>,
            ) -> std::result::Result<DataResponse<$marker>, DataError> {
                $baked.load(req)
            }
        }
    )*};
}
as_it_is!(
    Baked;
    CollationRootV1, CollationJamoV1, CollationSpecialPrimariesV1, CollationReorderingV1
);
as_it_is!(icu_normalizer::provider::Baked; NormalizerNfdDataV1, NormalizerNfdTablesV1);

type Loaded<M> = std::result::Result<DataResponse<M>, DataError>;

impl DataProvider<CollationMetadataV1> for Source {
    fn load(&self, req: DataRequest<'_>) -> Loaded<CollationMetadataV1> {
        let found: DataResponse<CollationMetadataV1> = Baked.load(req)?;
        let base = *found.payload.get();
        *self.base.borrow_mut() = base;
        let mut own = self.parsed.settings.metadata(base);
        if self.moves_accents {
            own.bits |= TAILORED_ACCENTS;
        }
        Ok(DataResponse { metadata: found.metadata, payload: DataPayload::from_owned(own) })
    }
}

impl DataProvider<CollationDiacriticsV1> for Source {
    fn load(&self, req: DataRequest<'_>) -> Loaded<CollationDiacriticsV1> {
        if !self.moves_accents {
            return Baked.load(req);
        }
        let none = CollationDiacritics { secondaries: zerovec::ZeroVec::new() };
        Ok(DataResponse { metadata: Default::default(), payload: DataPayload::from_owned(none) })
    }
}

impl DataProvider<CollationTailoringV1> for Source {
    fn load(&self, req: DataRequest<'_>) -> Loaded<CollationTailoringV1> {
        let bits = self.base.borrow().bits;
        let tailored: Option<DataPayload<CollationTailoringV1>> = match bits & TAILORED != 0 {
            true => Some(DataProvider::<CollationTailoringV1>::load(&Baked, req)?.payload),
            false => None,
        };
        let own_accents = bits & TAILORED_ACCENTS != 0;
        let accents: DataPayload<CollationDiacriticsV1> =
            Baked.load(if own_accents { req } else { DataRequest::default() })?.payload;
        let base = root::Base::new(tailored.as_ref().map(DataPayload::get), accents.get());
        let built = base.and_then(|base| order::Tailoring::of(&base, &self.parsed)?.table(&base));
        match built {
            Ok(data) => Ok(DataResponse {
                metadata: Default::default(),
                payload: DataPayload::from_owned(data),
            }),
            Err(failure) => {
                *self.failure.borrow_mut() = Some(failure);
                Err(DataError::custom("rules"))
            }
        }
    }
}

/// Makes the collation of a locale with rules after its own.
///
/// What the locale's keywords say (`-u-ks-level2`) does not hold with rules, as in ICU: a
/// collation of rules starts from the order of the locale only.
pub(super) fn collator(locale: &icu_locale_core::Locale, rules: &str) -> Result<Collator> {
    let parsed = parse::parse(rules)?;
    let mut preferences = CollatorPreferences::from(locale);
    let options = parsed.settings.options(&mut preferences);
    let moves_accents = order::moves_accents(&parsed);
    let source = Source {
        parsed,
        moves_accents,
        base: RefCell::new(CollationMetadata { bits: 0 }),
        failure: RefCell::new(None),
    };
    let made = Collator::try_new_unstable(&source, preferences, options);
    match source.failure.take() {
        Some(failure) => Err(failure),
        None => made.map_err(|_| Failure::Argument),
    }
}
