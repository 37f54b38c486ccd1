//! The ispell dictionary: words with the affixes they may have, alone and in compounds.

use super::Norm;
use super::affix_file;
use base::Result;
use regex_automata::meta::Regex;
use std::collections::HashMap;

/// First of a compound.
pub(super) const BEGIN: u8 = 1;
/// In the middle of a compound.
pub(super) const MIDDLE: u8 = 2;
/// Last of a compound.
pub(super) const LAST: u8 = 4;
/// Anywhere in a compound.
pub(super) const ANYWHERE: u8 = BEGIN | MIDDLE | LAST;
/// Only in a compound.
pub(super) const ONLY: u8 = 8;
/// An affix that may be within a compound.
pub(super) const PERMIT: u8 = 16;
/// An affix that may not be in a compound.
pub(super) const FORBID: u8 = 32;

/// So many readings of a compound are found at most.
const READINGS_MAX: usize = 200;

/// How the flags of words are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum FlagForm {
    /// A character each.
    #[default]
    Char,
    /// Two characters each.
    Long,
    /// Numbers with commas between.
    Number,
}

/// A rule that takes an affix off.
pub(super) struct Affix {
    pub flag: String,
    pub suffix: bool,
    /// A prefix and a suffix that both are so may be at one word.
    pub cross: bool,
    /// What it has to do with compounds.
    pub compound: u8,
    /// What the word has for the affix.
    pub find: String,
    /// The affix.
    pub repl: String,
    /// What the word must look like; none if anything does.
    pub mask: Option<Regex>,
}

impl Affix {
    /// The word without the affix, if it has it.
    fn strip(&self, word: &str) -> Option<String> {
        let bare = match self.suffix {
            true => format!("{}{}", word.strip_suffix(self.repl.as_str())?, self.find),
            false => format!("{}{}", self.find, word.strip_prefix(self.repl.as_str())?),
        };
        let fits = self.mask.as_ref().is_none_or(|m| m.is_match(bare.as_bytes()));
        (fits && !bare.is_empty()).then_some(bare)
    }

    /// Whether it may be at a word in this place; 0 for a word alone.
    fn may_be(&self, place: u8) -> bool {
        match place {
            0 => self.compound & ONLY == 0,
            BEGIN => self.compound & FORBID == 0 && (!self.suffix || self.compound & BEGIN != 0),
            MIDDLE => self.compound & FORBID == 0 && self.compound & MIDDLE != 0,
            _ => self.compound & FORBID == 0 && (self.suffix || self.compound & LAST != 0),
        }
    }
}

/// The flags of a word.
#[derive(Default)]
struct Entry {
    flags: Vec<String>,
    compound: u8,
}

/// A list of words and affixes.
#[derive(Default)]
pub struct Affixes {
    words: HashMap<String, Vec<Entry>>,
    /// By the length of the affix, shortest first.
    prefixes: Vec<Affix>,
    suffixes: Vec<Affix>,
    /// Words may be put together.
    compounds: bool,
}

impl Affixes {
    /// Of the texts of a dictionary and an affix file.
    pub(super) fn load(dict: &str, rules: &str) -> Result<Affixes> {
        let rules = affix_file::read(rules)?;
        let mut out = Affixes { compounds: rules.uses_compounds, ..Affixes::default() };
        for (word, flags) in affix_file::words(dict, &rules)? {
            let compound = flags.iter().filter_map(|f| rules.compound.get(f)).fold(0, |a, b| a | b);
            out.words.entry(word).or_default().push(Entry { flags, compound });
        }
        for affix in rules.affixes {
            if affix.suffix { out.suffixes.push(affix) } else { out.prefixes.push(affix) }
        }
        out.suffixes.sort_by_key(|a| a.repl.len());
        out.prefixes.sort_by_key(|a| a.repl.len());
        Ok(out)
    }

    /// Whether the word is in the list, with the flag and fit for the place.
    fn knows(&self, word: &str, flag: Option<&str>, place: u8) -> bool {
        self.words.get(word).is_some_and(|entries| {
            entries.iter().any(|e| {
                let fits = match place {
                    0 => e.compound & ONLY == 0,
                    _ => e.compound & place != 0,
                };
                fits && flag.is_none_or(|f| e.flags.iter().any(|have| have == f))
            })
        })
    }

    /// The words that a word may be a form of.
    fn forms(&self, word: &str, place: u8) -> Vec<String> {
        let mut out: Vec<String> = Vec::new();
        let add = |form: &str, out: &mut Vec<String>| {
            if out.last().is_none_or(|last| last != form) {
                out.push(form.to_string());
            }
        };
        if self.knows(word, None, place) {
            add(word, &mut out);
        }
        for prefix in self.prefixes.iter().filter(|a| a.may_be(place)) {
            if let Some(bare) = prefix.strip(word)
                && self.knows(&bare, Some(&prefix.flag), place)
            {
                add(&bare, &mut out);
            }
        }
        for suffix in self.suffixes.iter().filter(|a| a.may_be(place)) {
            let Some(bare) = suffix.strip(word) else { continue };
            if self.knows(&bare, Some(&suffix.flag), place) {
                add(&bare, &mut out);
            }
            for prefix in self.prefixes.iter().filter(|a| a.may_be(place)) {
                let Some(inner) = prefix.strip(&bare) else { continue };
                let flag = if prefix.cross && suffix.cross { None } else { Some(&*prefix.flag) };
                if self.knows(&inner, flag, place) {
                    add(&inner, &mut out);
                }
            }
        }
        out
    }

    /// The lexemes of a word in lower case; none if it is not known.
    pub fn normalize(&self, word: &str) -> Vec<Norm> {
        let mut variant = 1;
        let mut out = Vec::new();
        for form in self.forms(word, 0) {
            out.push(Norm { variant, ..Norm::of(form) });
            variant += 1;
        }
        if self.compounds {
            let mut readings = Vec::new();
            let mut dead = vec![false; word.len() + 1];
            self.split(word, 0, &mut Vec::new(), &mut dead, &mut readings);
            for reading in readings {
                out.extend(reading.into_iter().map(|w| Norm { variant, ..Norm::of(w) }));
                variant += 1;
            }
        }
        out
    }

    /// The ways to take a word apart from `at` on; `dead` are the places from where there is none.
    fn split(
        &self,
        word: &str,
        at: usize,
        before: &mut Vec<String>,
        dead: &mut [bool],
        out: &mut Vec<Vec<String>>,
    ) -> bool {
        if dead[at] || out.len() >= READINGS_MAX {
            return false;
        }
        let mut found = false;
        let place = if at == 0 { BEGIN } else { MIDDLE };
        for (len, _) in word[at..].char_indices().skip(1) {
            for form in self.forms(&word[at..at + len], place) {
                before.push(form);
                found |= self.split(word, at + len, before, dead, out);
                before.pop();
            }
        }
        if at > 0 {
            for form in self.forms(&word[at..], LAST) {
                let mut reading = before.clone();
                reading.push(form);
                out.push(reading);
                found = true;
            }
        }
        dead[at] = !found && out.len() < READINGS_MAX;
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ISPELL: &str = "compoundwords controlled z\n\nprefixes\n\nflag *r:\n    . > RE\n\n\
                          suffixes\n\nflag *g:\n    [^E] > ING\nflag *s:\n    [^SXZHY] > S\n\
                          flag *y:\n    [^AEIOU]Y > -Y,IES\n";

    fn words(a: &Affixes, word: &str) -> Vec<(u16, String)> {
        a.normalize(word).into_iter().map(|n| (n.variant, n.word)).collect()
    }

    fn owned(list: &[(u16, &str)]) -> Vec<(u16, String)> {
        list.iter().map(|(v, w)| (*v, w.to_string())).collect()
    }

    #[test]
    fn ispell_rules_take_affixes_off() {
        let a = Affixes::load("paint/rgs\nsky/y\nrain/zs\ncoat/z\n", ISPELL).unwrap();
        assert_eq!(words(&a, "repainting"), owned(&[(1, "paint")]));
        assert_eq!(words(&a, "skies"), owned(&[(1, "sky")]));
        // Two affixes that may be together are not asked for the prefix's flag.
        assert_eq!(words(&a, "reskies"), owned(&[(1, "sky")]));
        assert_eq!(words(&a, "raincoat"), owned(&[(1, "rain"), (1, "coat")]));
    }

    #[test]
    fn hunspell_flags_may_be_numbers() {
        let rules = "FLAG num\nSFX 301 Y 1\nSFX 301 0 ing [^e]\n";
        let a = Affixes::load("walk/301\nsee/301\n", rules).unwrap();
        assert_eq!(words(&a, "walking"), owned(&[(1, "walk")]));
        assert_eq!(words(&a, "seeing"), owned(&[]));
        assert!(Affixes::load("walk/x\n", rules).is_err());
        assert!(Affixes::load("walk/70000\n", rules).is_err());
    }

    #[test]
    fn broken_files_are_no_panic() {
        for text in ["", "SFX", "PFX é 0 0", "SFX a Y 1\nSFX a 0 x [", "flag *", "flag:\n>", "AF"]
        {
            let _ = Affixes::load("é/é\n/\n//\n", text);
        }
    }
}
