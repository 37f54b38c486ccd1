//! Phrases for phrases.

use super::Norm;
use super::dictionary::{Dictionary, Options, Sources, read};
use base::{Error, Result, bail, err};
use std::sync::Arc;

/// A word of a phrase that is looked for.
enum Sample {
    /// Any stop word.
    Stop,
    /// One of these lexemes.
    Lexemes(Vec<String>),
}

struct Rule {
    sample: Vec<Sample>,
    substitute: Vec<Norm>,
}

/// A thesaurus.
pub struct Thesaurus {
    rules: Vec<Rule>,
    words: Arc<Dictionary>,
}

impl Thesaurus {
    pub(super) fn build(options: &Options, sources: &dyn Sources) -> Result<Thesaurus> {
        let (mut file, mut dictionary) = (None, None);
        for (name, value) in options {
            let (slot, label) = match name.as_str() {
                "dictfile" => (&mut file, "DictFile"),
                "dictionary" => (&mut dictionary, "Dictionary"),
                _ => {
                    bail!(INVALID_PARAMETER_VALUE, "unrecognized Thesaurus parameter: \"{name}\"")
                }
            };
            if slot.is_some() {
                bail!(INVALID_PARAMETER_VALUE, "multiple {label} parameters");
            }
            *slot = Some(value);
        }
        let Some(file) = file else {
            bail!(INVALID_PARAMETER_VALUE, "missing DictFile parameter");
        };
        let Some(dictionary) = dictionary else {
            bail!(INVALID_PARAMETER_VALUE, "missing Dictionary parameter");
        };
        let text = read(file, "ths", "thesaurus", sources)?;
        let words = sources.dictionary(dictionary)?;
        let mut rules = Vec::new();
        for line in text.lines() {
            let line = line.trim_start();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            rules.push(rule(line, rules.len() + 1, &words)?);
        }
        Ok(Thesaurus { rules, words })
    }

    /// The longest phrase that these words begin with: how many words, and what is for it.
    pub(super) fn longest(&self, words: &[&str]) -> Option<(usize, Vec<Norm>)> {
        let mut known: Vec<Option<Vec<Norm>>> = Vec::new();
        let mut best: Option<&Rule> = None;
        for rule in &self.rules {
            let n = rule.sample.len();
            if n > words.len() || best.is_some_and(|b| b.sample.len() >= n) {
                continue;
            }
            let fits = rule.sample.iter().enumerate().all(|(i, sample)| {
                while known.len() <= i {
                    known.push(self.words.lexize(words[known.len()]));
                }
                match (sample, &known[i]) {
                    (_, None) => false,
                    (Sample::Stop, Some(norms)) => norms.is_empty(),
                    (Sample::Lexemes(l), Some(norms)) => norms.iter().any(|n| l.contains(&n.word)),
                }
            });
            if fits {
                best = Some(rule);
            }
        }
        best.map(|rule| (rule.sample.len(), rule.substitute.clone()))
    }
}

fn rule(line: &str, number: usize, words: &Dictionary) -> Result<Rule> {
    let wrong = |text: &str| -> Error { err!(CONFIG_FILE_ERROR, "{text}") };
    let Some((sample, substitute)) = line.split_once(':') else {
        return Err(wrong("unexpected end of line"));
    };
    if sample.trim().is_empty() || substitute.contains(':') {
        return Err(wrong("unexpected delimiter"));
    }
    let mut rule = Rule { sample: Vec::new(), substitute: Vec::new() };
    for word in sample.split_whitespace() {
        if word == "?" {
            rule.sample.push(Sample::Stop);
            continue;
        }
        match words.lexize(word) {
            None => bail!(
                CONFIG_FILE_ERROR,
                "thesaurus sample word \"{word}\" isn't recognized by subdictionary (rule {number})"
            ),
            Some(norms) if norms.is_empty() => {
                return Err(err!(
                    CONFIG_FILE_ERROR,
                    "thesaurus sample word \"{word}\" is a stop word (rule {number})"
                )
                .hint("Use \"?\" to represent a stop word within a sample phrase."));
            }
            Some(norms) => {
                rule.sample.push(Sample::Lexemes(norms.into_iter().map(|n| n.word).collect()));
            }
        }
    }
    for word in substitute.split_whitespace() {
        let mut norms = match word.strip_prefix('*') {
            Some(exact) => vec![Norm::of(exact)],
            None => match words.lexize(word) {
                None => bail!(
                    CONFIG_FILE_ERROR,
                    "thesaurus substitute word \"{word}\" isn't recognized by subdictionary (rule \
                     {number})"
                ),
                Some(norms) if norms.is_empty() => bail!(
                    CONFIG_FILE_ERROR,
                    "thesaurus substitute word \"{word}\" is a stop word (rule {number})"
                ),
                Some(norms) => norms,
            },
        };
        if !rule.substitute.is_empty()
            && let Some(first) = norms.first_mut()
        {
            first.next_place = true;
        }
        rule.substitute.append(&mut norms);
    }
    if rule.substitute.is_empty() {
        bail!(CONFIG_FILE_ERROR, "thesaurus substitute phrase is empty (rule {number})");
    }
    Ok(rule)
}
