//! The stemmers of the Snowball project.
//!
//! Two libraries hold them, each of which is exact for other languages: which one serves a
//! language was found by comparing with PostgreSQL over word lists.

use rust_stemmers as old;
use snowball_stemmers_rs as new;

/// A stemmer.
pub(super) enum Stem {
    Old(old::Stemmer),
    New(new::Stemmer),
}

impl Stem {
    /// Of a language by its name in lower case.
    pub fn of(language: &str) -> Option<Stem> {
        use new::Algorithm::*;
        use old::Algorithm as O;
        let old = |a| Some(Stem::Old(old::Stemmer::create(a)));
        let new = |a| Some(Stem::New(new::Stemmer::create(a)));
        match language {
            "arabic" => new(Arabic),
            "armenian" => new(Armenian),
            "basque" => new(Basque),
            "catalan" => new(Catalan),
            "danish" => old(O::Danish),
            "dutch" => old(O::Dutch),
            "english" => old(O::English),
            "estonian" => new(Estonian),
            "finnish" => new(Finnish),
            "french" => old(O::French),
            "german" => old(O::German),
            "greek" => new(Greek),
            "hindi" => new(Hindi),
            "hungarian" => old(O::Hungarian),
            "indonesian" => new(Indonesian),
            "irish" => new(Irish),
            "italian" => old(O::Italian),
            "lithuanian" => new(Lithuanian),
            "nepali" => new(Nepali),
            "norwegian" => old(O::Norwegian),
            "porter" => new(Porter),
            "portuguese" => old(O::Portuguese),
            "romanian" => new(Romanian),
            "russian" => new(Russian),
            "serbian" => new(Serbian),
            "spanish" => old(O::Spanish),
            "swedish" => old(O::Swedish),
            "tamil" => new(Tamil),
            "turkish" => new(Turkish),
            "yiddish" => new(Yiddish),
            _ => None,
        }
    }

    /// The stem of a word in lower case.
    pub fn stem(&self, word: &str) -> String {
        match self {
            Stem::Old(s) => s.stem(word).into_owned(),
            Stem::New(s) => s.stem(word).into_owned(),
        }
    }
}
