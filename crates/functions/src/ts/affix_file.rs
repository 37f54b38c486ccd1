//! Files of the ispell dictionary: words with flags, and rules in ispell's or hunspell's form.

use super::affix::{ANYWHERE, Affix, BEGIN, FORBID, FlagForm, LAST, MIDDLE, ONLY, PERMIT};
use base::{Result, bail};
use regex_automata::meta::Regex;
use std::collections::HashMap;

/// An affix file.
#[derive(Default)]
pub(super) struct Rules {
    pub affixes: Vec<Affix>,
    /// Flags that say what a word may do in a compound.
    pub compound: HashMap<String, u8>,
    pub uses_compounds: bool,
    form: FlagForm,
    /// Sets of flags, which words then name by number.
    aliases: Option<Vec<String>>,
}

/// Reads a file of either form.
pub(super) fn read(text: &str) -> Result<Rules> {
    let hunspell = text.lines().any(|line| {
        let first = line.split_whitespace().next().unwrap_or("");
        const WORDS: [&str; 9] = [
            "COMPOUNDFLAG",
            "COMPOUNDMIN",
            "PFX",
            "SFX",
            "COMPOUNDBEGIN",
            "COMPOUNDLAST",
            "COMPOUNDEND",
            "ONLYINCOMPOUND",
            "FLAG",
        ];
        WORDS.contains(&first)
    });
    if hunspell { read_hunspell(text) } else { read_ispell(text) }
}

/// The flags in a text, one after the other.
fn flags(text: &str, form: FlagForm) -> Result<Vec<String>> {
    Ok(match form {
        FlagForm::Char => text.chars().map(String::from).collect(),
        FlagForm::Long => {
            let chars: Vec<char> = text.chars().collect();
            chars.chunks(2).map(|c| c.iter().collect()).collect()
        }
        FlagForm::Number => {
            let mut out = Vec::new();
            for part in text.split(',').map(str::trim).filter(|p| !p.is_empty()) {
                let Ok(n) = part.parse::<i64>() else {
                    bail!(CONFIG_FILE_ERROR, "invalid affix flag \"{text}\"");
                };
                if !(0..=65535).contains(&n) {
                    bail!(CONFIG_FILE_ERROR, "affix flag \"{part}\" is out of range");
                }
                out.push(n.to_string());
            }
            out
        }
    })
}

impl Rules {
    /// The flags that a word's or an affix' flag text means.
    fn flags_of(&self, text: &str) -> Result<Vec<String>> {
        let Some(aliases) = &self.aliases else { return flags(text, self.form) };
        if text.is_empty() {
            return Ok(Vec::new());
        }
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let Ok(n) = text[..digits].parse::<usize>() else {
            bail!(CONFIG_FILE_ERROR, "invalid affix alias \"{text}\"");
        };
        match aliases.get(n.wrapping_sub(1)) {
            Some(set) => flags(set, self.form),
            None if n == 0 => Ok(Vec::new()),
            None => bail!(CONFIG_FILE_ERROR, "invalid affix alias \"{text}\""),
        }
    }

    fn add(
        &mut self,
        flag: &str,
        suffix: bool,
        (cross, compound): (bool, u8),
        (mask, find, repl): (&str, &str, &str),
    ) -> Result<()> {
        let mut compound = compound;
        // What may be in compounds only, and is not said where, may be anywhere in them.
        if compound & (ONLY | PERMIT) != 0 && compound & ANYWHERE == 0 {
            compound |= ANYWHERE;
        }
        let mask = match mask {
            "" | "." => None,
            _ => {
                let anchored = if suffix { format!("{mask}$") } else { format!("^{mask}") };
                match Regex::new(&anchored) {
                    Ok(r) => Some(r),
                    Err(_) => {
                        bail!(INVALID_REGULAR_EXPRESSION, "invalid regular expression: {mask}")
                    }
                }
            }
        };
        self.affixes.push(Affix {
            flag: flag.to_string(),
            suffix,
            cross,
            compound,
            find: find.to_string(),
            repl: repl.to_string(),
            mask,
        });
        Ok(())
    }
}

fn read_hunspell(text: &str) -> Result<Rules> {
    let mut rules = Rules::default();
    // What flags are written like must be known before the first of them.
    for line in text.lines() {
        let mut words = line.split_whitespace();
        if words.next() == Some("FLAG") {
            rules.form = match words.next().unwrap_or("") {
                "long" => FlagForm::Long,
                "num" => FlagForm::Number,
                "default" => FlagForm::Char,
                other => bail!(
                    CONFIG_FILE_ERROR,
                    "Ispell dictionary supports only \"default\", \"long\", and \"num\" flag \
                     values: \"{other}\""
                ),
            };
        }
    }
    for line in text.lines().filter(|l| !l.starts_with('#')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (Some(name), Some(value)) = (words.first(), words.get(1)) else { continue };
        let place = match *name {
            "COMPOUNDFLAG" => ANYWHERE,
            "COMPOUNDBEGIN" => BEGIN,
            "COMPOUNDLAST" | "COMPOUNDEND" => LAST,
            "COMPOUNDMIDDLE" => MIDDLE,
            "ONLYINCOMPOUND" => ONLY,
            "COMPOUNDPERMITFLAG" => PERMIT,
            "COMPOUNDFORBIDFLAG" => FORBID,
            _ => 0,
        };
        if place != 0 {
            for flag in flags(value, rules.form)?.into_iter().take(1) {
                *rules.compound.entry(flag).or_default() |= place;
            }
            rules.uses_compounds = true;
        }
        if *name == "AF" {
            match &mut rules.aliases {
                None => rules.aliases = Some(Vec::new()),
                Some(list) => list.push(value.to_string()),
            }
        }
    }
    hunspell_affixes(text, &mut rules)?;
    Ok(rules)
}

fn hunspell_affixes(text: &str, rules: &mut Rules) -> Result<()> {
    let mut cross = false;
    for line in text.lines().filter(|l| !l.starts_with('#')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let suffix = match words.first() {
            Some(w) if w.eq_ignore_ascii_case("SFX") => true,
            Some(w) if w.eq_ignore_ascii_case("PFX") => false,
            _ => continue,
        };
        let [_, flag, strip, add, rest @ ..] = words.as_slice() else { continue };
        let head = add.bytes().all(|b| b.is_ascii_digit())
            && matches!(*strip, "Y" | "y" | "N" | "n")
            && rest.first().is_none_or(|r| r.starts_with('#'));
        if head {
            cross = strip.eq_ignore_ascii_case("Y");
            continue;
        }
        let (add, flagged) = match add.split_once('/') {
            Some((add, flagged)) => (add, rules.flags_of(flagged)?),
            None => (*add, Vec::new()),
        };
        let compound = flagged.iter().filter_map(|f| rules.compound.get(f)).fold(0u8, |a, b| a | b);
        let plain = |s: &str| if s == "0" { String::new() } else { s.to_lowercase() };
        let mask = rest.first().copied().unwrap_or(".").to_lowercase();
        let flag = flags(flag, rules.form)?.into_iter().next().unwrap_or_default();
        let parts = (&*mask, &*plain(strip), &*plain(add));
        rules.add(&flag, suffix, (cross, compound), parts)?;
    }
    Ok(())
}

/// `flag *S:` and lines `mask > [-find,]repl` under it.
fn read_ispell(text: &str) -> Result<Rules> {
    let mut rules = Rules::default();
    let (mut suffix, mut affixes) = (false, false);
    let (mut flag, mut cross, mut compound) = (String::new(), false, 0);
    for line in text.lines() {
        let body = line.split('#').next().unwrap_or("").trim();
        let lower = body.to_lowercase();
        if lower.starts_with("compoundwords") {
            if let Some(c) = body.split_whitespace().last() {
                rules.compound.insert(c.to_string(), ANYWHERE);
                rules.uses_compounds = true;
            }
        } else if lower.starts_with("suffixes") {
            (suffix, affixes) = (true, true);
        } else if lower.starts_with("prefixes") {
            (suffix, affixes) = (false, true);
        } else if lower.starts_with("flag") {
            (cross, compound) = (false, 0);
            let mut rest = body[4..].trim_start();
            loop {
                rest = match rest.chars().next() {
                    Some('*') => {
                        cross = true;
                        &rest[1..]
                    }
                    Some('~') => {
                        compound |= ONLY;
                        &rest[1..]
                    }
                    Some('\\') => &rest[1..],
                    _ => break,
                };
            }
            flag = rest.chars().next().map(String::from).unwrap_or_default();
            if flag == ":" && body.contains('\\') {
                flag = "\\".to_string();
            }
        } else if affixes && !flag.is_empty() && lower.contains('>') {
            let Some((mask, change)) = lower.split_once('>') else { continue };
            let change: String = change.chars().filter(|c| !c.is_whitespace()).collect();
            let mask: String = mask.chars().filter(|c| !c.is_whitespace()).collect();
            let (find, repl) = match change.strip_prefix('-') {
                Some(rest) => rest.split_once(',').unwrap_or((rest, "")),
                None => ("", change.as_str()),
            };
            let repl = if repl == "-" { "" } else { repl };
            rules.add(&flag, suffix, (cross, compound), (&mask, find, repl))?;
        }
    }
    Ok(rules)
}

/// The words of a dictionary file with their flags, by word.
pub(super) fn words(text: &str, rules: &Rules) -> Result<Vec<(String, Vec<String>)>> {
    let mut raw: Vec<(String, &str)> = Vec::new();
    for line in text.lines() {
        let word = line.split_whitespace().next().unwrap_or("");
        let (word, flagged) = word.split_once('/').unwrap_or((word, ""));
        if !word.is_empty() {
            raw.push((word.to_lowercase(), flagged));
        }
    }
    // Aliases are looked up as they come, flags by the words' order: the first error is told.
    if rules.aliases.is_none() {
        raw.sort_by(|a, b| a.0.cmp(&b.0));
    }
    let mut out = Vec::with_capacity(raw.len());
    for (word, flagged) in raw {
        out.push((word, rules.flags_of(flagged)?));
    }
    Ok(out)
}
