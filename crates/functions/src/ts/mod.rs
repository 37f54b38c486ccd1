//! Text search configurations: from the tokens of a text to lexemes, through dictionaries.
//!
//! [`tokens_to_lexemes`] is the one place where a document's or a query's words go through the
//! dictionaries of a configuration; [`Dictionary::build`] makes a dictionary of its options.

mod affix;
mod affix_file;
mod dictionary;
mod file;
pub(crate) mod headline;
mod stem;
mod thesaurus;

pub use dictionary::{Dictionary, Options, Sources};
pub use file::builtin_file;
pub use headline::options;

use crate::env::FnEnv;
use crate::scalar::ts_parse::{Token, parse};
use base::{Error, Oid, Result};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

/// The longest word that a document may have, in bytes.
pub(crate) const WORD_MAX: usize = 2046;

/// A configuration: the dictionaries of each type of token, in order.
#[derive(Clone, Debug, Default)]
pub struct TsConfig {
    /// By the number of the token's type.
    pub dictionaries: Vec<Vec<Oid>>,
}

impl TsConfig {
    /// A built-in configuration, by its rows.
    pub fn builtin(oid: Oid) -> Option<TsConfig> {
        let table = crate::builtin::table("pg_ts_config_map")?;
        let mut rows = Vec::new();
        for row in table.rows() {
            let number = |i: usize| match row.get(i) {
                Some(Some(text)) => text.parse::<u32>().ok(),
                _ => None,
            };
            if number(0) == Some(oid.0) {
                rows.push((number(1)? as usize, number(2)?, Oid(number(3)?)));
            }
        }
        if rows.is_empty() {
            return None;
        }
        Some(TsConfig::new(rows))
    }

    /// Of rows: type of the token, place among its dictionaries, dictionary.
    pub fn new(mut rows: Vec<(usize, u32, Oid)>) -> TsConfig {
        rows.sort();
        let mut dictionaries: Vec<Vec<Oid>> = Vec::new();
        for (kind, _, dictionary) in rows {
            if dictionaries.len() <= kind {
                dictionaries.resize(kind + 1, Vec::new());
            }
            dictionaries[kind].push(dictionary);
        }
        TsConfig { dictionaries }
    }
}

/// Dictionaries by what they are made of: a dictionary is a function of its template and options,
/// so that one is shared by all sessions and never out of date but for its files.
pub struct Cache(Mutex<HashMap<(Oid, String), Arc<Dictionary>>>);

impl Cache {
    /// The one of the process.
    pub fn global() -> &'static Cache {
        static CACHE: OnceLock<Cache> = OnceLock::new();
        CACHE.get_or_init(|| Cache(Mutex::new(HashMap::new())))
    }

    /// The dictionary of a template with these options, made by `make` if it is not there.
    pub fn get(
        &self,
        template: Oid,
        options: &str,
        make: impl FnOnce() -> Result<Dictionary>,
    ) -> Result<Arc<Dictionary>> {
        let key = (template, options.to_string());
        let lock = || self.0.lock().unwrap_or_else(|broken| broken.into_inner());
        if let Some(found) = lock().get(&key) {
            return Ok(found.clone());
        }
        let made = Arc::new(make()?);
        lock().insert(key, made.clone());
        Ok(made)
    }

    /// Forgets all, so that files are read again.
    pub fn clear(&self) {
        self.0.lock().unwrap_or_else(|broken| broken.into_inner()).clear();
    }
}

/// The number of a token type of the default parser, by its name.
pub fn token_kind(name: &str) -> Option<i32> {
    let all = crate::srf::tables::TOKEN_TYPES;
    all.iter().position(|t| t.0 == name).map(|i| i as i32 + 1)
}

/// What a dictionary makes of a word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Norm {
    /// The lexeme.
    pub word: String,
    /// Lexemes of the same variant belong together, those of different ones are alternatives.
    pub variant: u16,
    /// It is at the place after the lexeme before it.
    pub next_place: bool,
    /// Any word that begins so is meant.
    pub prefix: bool,
}

impl Norm {
    /// A lexeme and nothing else.
    pub fn of(word: impl Into<String>) -> Norm {
        Norm { word: word.into(), ..Norm::default() }
    }
}

/// A lexeme of a text with its place, from 1.
#[derive(Clone, Debug)]
pub(crate) struct Placed {
    pub norm: Norm,
    pub place: u32,
    /// The token it is of, by number.
    pub token: usize,
}

/// A configuration with its dictionaries, for one statement.
pub struct Lexer<'a> {
    env: &'a dyn FnEnv,
    config: Arc<TsConfig>,
    open: HashMap<Oid, Arc<Dictionary>>,
}

impl<'a> Lexer<'a> {
    /// Of a configuration.
    pub fn new(env: &'a dyn FnEnv, config: Oid) -> Result<Lexer<'a>> {
        let config = env.ts_config(config)?;
        Ok(Lexer { env, config, open: HashMap::new() })
    }

    fn of_kind(&self, kind: usize) -> &[Oid] {
        self.config.dictionaries.get(kind).map_or(&[], Vec::as_slice)
    }

    fn dictionary(&mut self, oid: Oid) -> Result<Arc<Dictionary>> {
        if let Some(found) = self.open.get(&oid) {
            return Ok(found.clone());
        }
        let made = self.env.ts_dictionary(oid)?;
        self.open.insert(oid, made.clone());
        Ok(made)
    }

    /// The lexemes of a text, counting places on from `place`. A stop word has a place, what no
    /// dictionary knows has none.
    pub(crate) fn lexemes(&mut self, text: &str, place: &mut u32) -> Result<Vec<Placed>> {
        let tokens = parse(text)?;
        self.token_lexemes(&tokens, place)
    }

    /// As [`Lexer::lexemes`], of tokens.
    pub(crate) fn token_lexemes(
        &mut self,
        tokens: &[Token],
        place: &mut u32,
    ) -> Result<Vec<Placed>> {
        let mut out = Vec::new();
        let mut at = 0;
        while at < tokens.len() {
            base::interrupt::step()?;
            let token = &tokens[at];
            let number = at;
            at += 1;
            let dictionaries = self.of_kind(token.kind as usize).to_vec();
            if dictionaries.is_empty() {
                continue;
            }
            if token.text.len() > WORD_MAX {
                self.env.notice(
                    Error::notice("word is too long to be indexed")
                        .detail("Words longer than 2047 characters are ignored."),
                );
                continue;
            }
            for oid in dictionaries {
                let dictionary = self.dictionary(oid)?;
                let found = match &*dictionary {
                    Dictionary::Thesaurus(t) => {
                        let rest = self.words_for(oid, &tokens[number..]);
                        let words: Vec<&str> = rest.iter().map(|r| r.1).collect();
                        t.longest(&words).map(|(used, norms)| {
                            at = number + rest[used - 1].0 + 1;
                            norms
                        })
                    }
                    other => other.lexize(token.text),
                };
                let Some(norms) = found else { continue };
                *place += 1;
                for norm in norms {
                    *place += u32::from(norm.next_place);
                    out.push(Placed { norm, place: *place, token: number });
                }
                break;
            }
        }
        Ok(out)
    }

    /// The words from here on that a dictionary of phrases gets, with the tokens' numbers.
    fn words_for<'t>(&self, dictionary: Oid, tokens: &[Token<'t>]) -> Vec<(usize, &'t str)> {
        let mut out = Vec::new();
        for (i, token) in tokens.iter().enumerate() {
            let of_kind = self.of_kind(token.kind as usize);
            if of_kind.is_empty() {
                continue;
            }
            if !of_kind.contains(&dictionary) || out.len() > 64 {
                break;
            }
            out.push((i, token.text));
        }
        out
    }
}
