//! Dictionaries, by template: simple, synonym, ispell, thesaurus, snowball.

use super::Norm;
use super::affix::Affixes;
use super::stem::Stem;
use super::thesaurus::Thesaurus;
use base::{Result, bail};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Options with their values, as in `pg_ts_dict.dictinitoption`.
pub type Options = [(String, String)];

/// Where dictionaries get their files and other dictionaries from.
pub trait Sources {
    /// A file of `tsearch_data`, None if there is none, with the path it was looked for at.
    fn file(&self, name: &str) -> Result<(Option<String>, String)>;
    /// A dictionary by its name, maybe with its schema.
    fn dictionary(&self, name: &str) -> Result<Arc<Dictionary>>;
}

/// Words that are not in documents.
#[derive(Default)]
pub struct StopWords(HashSet<String>);

impl StopWords {
    fn load(name: &str, sources: &dyn Sources) -> Result<StopWords> {
        let text = read(name, "stop", "stop-word", sources)?;
        let first = |line: &str| line.split_whitespace().next().map(str::to_lowercase);
        Ok(StopWords(text.lines().filter_map(first).collect()))
    }

    fn has(&self, word: &str) -> bool {
        self.0.contains(word)
    }
}

/// A dictionary.
pub enum Dictionary {
    /// Words as they are, in lower case.
    Simple {
        /// Words to drop.
        stop: StopWords,
        /// Knows all words; else only stop words.
        accept: bool,
    },
    /// Words for words.
    Synonym {
        /// By the word that is replaced.
        words: HashMap<String, Norm>,
        /// Letters' case counts.
        case_sensitive: bool,
    },
    /// A list of words with the affixes they may have.
    Ispell {
        /// The words and affixes.
        affixes: Box<Affixes>,
        /// Words to drop.
        stop: StopWords,
    },
    /// Phrases for phrases.
    Thesaurus(Box<Thesaurus>),
    /// Stems of a language.
    Snowball {
        /// The stemmer.
        stem: Stemmer,
        /// Words to drop.
        stop: StopWords,
    },
}

/// A stemmer of a language.
pub struct Stemmer(Stem);

/// A file that a dictionary needs.
pub(super) fn read(
    name: &str,
    extension: &str,
    what: &str,
    sources: &dyn Sources,
) -> Result<String> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if !name.chars().all(fits) {
        bail!(INVALID_PARAMETER_VALUE, "invalid text search configuration file name \"{name}\"");
    }
    match sources.file(&format!("{name}.{extension}"))? {
        (Some(text), _) => Ok(text),
        (None, path) => {
            bail!(
                CONFIG_FILE_ERROR,
                "could not open {what} file \"{path}\": No such file or directory"
            )
        }
    }
}

fn truth(name: &str, value: &str) -> Result<bool> {
    match value.to_ascii_lowercase().as_str() {
        "true" | "on" | "1" => Ok(true),
        "false" | "off" | "0" => Ok(false),
        _ => bail!(SYNTAX_ERROR, "{name} requires a Boolean value"),
    }
}

impl Dictionary {
    /// Makes a dictionary of a template, which is known by its lexize function.
    pub fn build(symbol: &str, options: &Options, sources: &dyn Sources) -> Result<Dictionary> {
        match symbol {
            "dsimple_lexize" => simple(options, sources),
            "dsynonym_lexize" => synonym(options, sources),
            "dispell_lexize" => ispell(options, sources),
            "thesaurus_lexize" => {
                Thesaurus::build(options, sources).map(|t| Dictionary::Thesaurus(Box::new(t)))
            }
            "dsnowball_lexize" => snowball(options, sources),
            other => bail!(FEATURE_NOT_SUPPORTED, "text search template with {other}"),
        }
    }

    /// What it makes of a word: None if it does not know it, nothing for a stop word.
    pub fn lexize(&self, word: &str) -> Option<Vec<Norm>> {
        // Locale C knows the case of ASCII letters only.
        let lower = word.to_ascii_lowercase();
        match self {
            Dictionary::Simple { stop, accept } => {
                if lower.is_empty() || stop.has(&lower) {
                    Some(Vec::new())
                } else {
                    accept.then(|| vec![Norm::of(lower)])
                }
            }
            Dictionary::Synonym { words, case_sensitive } => {
                let key = if *case_sensitive { word } else { &lower };
                words.get(key).map(|n| vec![n.clone()])
            }
            Dictionary::Ispell { affixes, stop } => {
                let found = affixes.normalize(&lower);
                if found.is_empty() {
                    return None;
                }
                Some(found.into_iter().filter(|n| !stop.has(&n.word)).collect())
            }
            Dictionary::Thesaurus(t) => t.longest(&[word]).map(|f| f.1),
            Dictionary::Snowball { stem, stop } => {
                if lower.is_empty() || stop.has(&lower) {
                    return Some(Vec::new());
                }
                // Such long words are no words of a language.
                Some(vec![Norm::of(if lower.len() > 1000 { lower } else { stem.0.stem(&lower) })])
            }
        }
    }
}

fn simple(options: &Options, sources: &dyn Sources) -> Result<Dictionary> {
    let (mut stop, mut accept) = (None, None);
    for (name, value) in options {
        match name.as_str() {
            "stopwords" if stop.is_some() => {
                bail!(INVALID_PARAMETER_VALUE, "multiple StopWords parameters")
            }
            "stopwords" => stop = Some(StopWords::load(value, sources)?),
            "accept" if accept.is_some() => {
                bail!(INVALID_PARAMETER_VALUE, "multiple Accept parameters")
            }
            "accept" => accept = Some(truth(name, value)?),
            _ => bail!(
                INVALID_PARAMETER_VALUE,
                "unrecognized simple dictionary parameter: \"{name}\""
            ),
        }
    }
    Ok(Dictionary::Simple { stop: stop.unwrap_or_default(), accept: accept.unwrap_or(true) })
}

fn synonym(options: &Options, sources: &dyn Sources) -> Result<Dictionary> {
    let (mut file, mut case_sensitive) = (None, false);
    for (name, value) in options {
        match name.as_str() {
            "synonyms" => file = Some(value),
            "casesensitive" => case_sensitive = truth(name, value)?,
            _ => bail!(INVALID_PARAMETER_VALUE, "unrecognized synonym parameter: \"{name}\""),
        }
    }
    let Some(file) = file else {
        bail!(INVALID_PARAMETER_VALUE, "missing Synonyms parameter");
    };
    let text = read(file, "syn", "synonym", sources)?;
    let mut words = HashMap::new();
    for line in text.lines() {
        let mut parts = line.split_whitespace();
        let (Some(from), Some(to)) = (parts.next(), parts.next()) else { continue };
        let (to, prefix) = match to.strip_suffix('*') {
            Some(to) => (to, true),
            None => (to, false),
        };
        let cased = |w: &str| if case_sensitive { w.to_string() } else { w.to_lowercase() };
        words.entry(cased(from)).or_insert(Norm { prefix, ..Norm::of(cased(to)) });
    }
    Ok(Dictionary::Synonym { words, case_sensitive })
}

fn ispell(options: &Options, sources: &dyn Sources) -> Result<Dictionary> {
    let (mut dict, mut aff, mut stop) = (None, None, None);
    for (name, value) in options {
        let (slot, label) = match name.as_str() {
            "dictfile" => (&mut dict, "DictFile"),
            "afffile" => (&mut aff, "AffFile"),
            "stopwords" => (&mut stop, "StopWords"),
            _ => bail!(INVALID_PARAMETER_VALUE, "unrecognized Ispell parameter: \"{name}\""),
        };
        if slot.is_some() {
            bail!(INVALID_PARAMETER_VALUE, "multiple {label} parameters");
        }
        *slot = Some(value);
    }
    let Some(aff) = aff else {
        bail!(INVALID_PARAMETER_VALUE, "missing AffFile parameter");
    };
    let Some(dict) = dict else {
        bail!(INVALID_PARAMETER_VALUE, "missing DictFile parameter");
    };
    let stop = stop.map(|s| StopWords::load(s, sources)).transpose()?.unwrap_or_default();
    let words = read(dict, "dict", "dictionary", sources)?;
    let rules = read(aff, "affix", "affix", sources)?;
    Ok(Dictionary::Ispell { affixes: Box::new(Affixes::load(&words, &rules)?), stop })
}

fn snowball(options: &Options, sources: &dyn Sources) -> Result<Dictionary> {
    let (mut language, mut stop) = (None, None);
    for (name, value) in options {
        match name.as_str() {
            "stopwords" if stop.is_some() => {
                bail!(INVALID_PARAMETER_VALUE, "multiple StopWords parameters")
            }
            "stopwords" => stop = Some(StopWords::load(value, sources)?),
            "language" if language.is_some() => {
                bail!(INVALID_PARAMETER_VALUE, "multiple Language parameters")
            }
            "language" => language = Some(value),
            _ => bail!(INVALID_PARAMETER_VALUE, "unrecognized Snowball parameter: \"{name}\""),
        }
    }
    let Some(language) = language else {
        bail!(INVALID_PARAMETER_VALUE, "missing Language parameter");
    };
    let Some(stem) = Stem::of(&language.to_lowercase()) else {
        bail!(
            UNDEFINED_OBJECT,
            "no Snowball stemmer available for language \"{language}\" and encoding \"UTF8\""
        );
    };
    Ok(Dictionary::Snowball { stem: Stemmer(stem), stop: stop.unwrap_or_default() })
}
