//! Collations that do more than compare bytes.
//!
//! A collation is found by its OID: the built-in ones by their rows, those that users made by
//! what the catalog has told with [`register`] when it read them.

mod rules;

use crate::builtin;
use crate::letters::Letters;
use base::{Error, Oid, Result, err};
use icu_collator::options::{AlternateHandling, CaseLevel, CollatorOptions, MaxVariable, Strength};
use icu_collator::preferences::{CollationCaseFirst, CollationNumericOrdering};
use icu_collator::{CollatorBorrowed, CollatorPreferences};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

/// What a row of `pg_collation` says.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// `c` libc, `i` ICU, `b` built in.
    pub provider: u8,
    /// Equal means the same bytes.
    pub deterministic: bool,
    /// The locale, by the provider's names.
    pub locale: String,
    /// Rules after those of an ICU locale.
    pub rules: Option<String>,
}

enum Order {
    Bytes,
    Icu(CollatorBorrowed<'static>),
    /// One with rules of its own.
    Rules(Box<icu_collator::Collator>),
}

/// A collation, ready for use.
pub struct Collator {
    order: Order,
    pub(crate) letters: Letters,
    /// Equal means the same bytes.
    pub deterministic: bool,
}

impl Collator {
    /// The order of two texts.
    pub fn compare(&self, a: &str, b: &str) -> Ordering {
        let order = match &self.order {
            Order::Bytes => return a.cmp(b),
            Order::Icu(c) => c.compare(a, b),
            Order::Rules(c) => c.as_borrowed().compare(a, b),
        };
        if self.deterministic { order.then_with(|| a.cmp(b)) } else { order }
    }

    /// Whether two texts are the same.
    pub fn equal(&self, a: &str, b: &str) -> bool {
        a == b || (!self.deterministic && self.compare(a, b).is_eq())
    }

    /// What is the same for equal texts, for hashing.
    pub fn key(&self, a: &str) -> Vec<u8> {
        let mut out = Vec::new();
        // Writing to a vector does not fail.
        let _ = match &self.order {
            Order::Icu(c) if !self.deterministic => c.write_sort_key_to(a, &mut out),
            Order::Rules(c) if !self.deterministic => {
                c.as_borrowed().write_sort_key_to(a, &mut out)
            }
            _ => {
                out.extend_from_slice(a.as_bytes());
                Ok(())
            }
        };
        out
    }
}

fn made() -> &'static RwLock<HashMap<u32, Arc<Collator>>> {
    static MADE: OnceLock<RwLock<HashMap<u32, Arc<Collator>>>> = OnceLock::new();
    MADE.get_or_init(RwLock::default)
}

fn known() -> &'static RwLock<HashMap<u32, Facts>> {
    static KNOWN: OnceLock<RwLock<HashMap<u32, Facts>>> = OnceLock::new();
    KNOWN.get_or_init(RwLock::default)
}

/// Tells of a collation that a user made.
pub fn register(oid: Oid, facts: Facts) {
    let mut all = known().write().unwrap_or_else(PoisonError::into_inner);
    if all.get(&oid.0) != Some(&facts) {
        all.insert(oid.0, facts);
        made().write().unwrap_or_else(PoisonError::into_inner).remove(&oid.0);
    }
}

/// The OIDs that stand for the default collations of databases, from here on.
const DEFAULTS: u32 = 0xffff_0000;

/// The collation that the default one of a database with this locale stands for.
pub fn default_of_database(facts: &Facts) -> Oid {
    let same = |name: &str| facts.locale == name;
    match facts.provider {
        b'b' if same("PG_UNICODE_FAST") => return oids::PG_UNICODE_FAST,
        b'b' if !same("C") => return oids::PG_C_UTF8,
        b'c' if make(facts).is_ok_and(|c| c.letters != Letters::Ascii) => {}
        b'i' => {}
        _ => return oids::C,
    }
    let mut all = known().write().unwrap_or_else(PoisonError::into_inner);
    let mine = all.iter().find(|(oid, f)| **oid >= DEFAULTS && *f == facts);
    if let Some((oid, _)) = mine {
        return Oid(*oid);
    }
    let oid = DEFAULTS + all.keys().filter(|oid| **oid >= DEFAULTS).count() as u32;
    all.insert(oid, facts.clone());
    Oid(oid)
}

/// The built-in collations that a database's default one may stand for.
mod oids {
    use base::Oid;
    pub(super) const C: Oid = Oid(950);
    pub(super) const PG_C_UTF8: Oid = Oid(811);
    pub(super) const PG_UNICODE_FAST: Oid = Oid(6411);
}

/// Whether this OID stands for the default collation of a database.
pub fn stands_for_default(oid: Oid) -> bool {
    oid.0 >= DEFAULTS
}

/// Whether a collation that is known here orders texts by their bytes.
pub fn compares_bytes(oid: Oid) -> bool {
    collator(oid).is_ok_and(|c| matches!(c.order, Order::Bytes))
}

/// What letters are to this collation.
pub(crate) fn letters(oid: Oid) -> Letters {
    match oid.0 {
        0 | 100 | 950 | 951 => Letters::Ascii,
        _ => collator(oid).map_or(Letters::Ascii, |c| c.letters),
    }
}

fn facts(oid: Oid) -> Option<Facts> {
    if let Some(row) = builtin::collations().iter().find(|c| c.oid == oid) {
        let locale = row.colllocale.or(row.collcollate).unwrap_or("C");
        return Some(Facts {
            provider: row.collprovider,
            deterministic: row.collisdeterministic,
            locale: locale.to_string(),
            rules: None,
        });
    }
    known().read().unwrap_or_else(PoisonError::into_inner).get(&oid.0).cloned()
}

/// The collation of this OID.
pub fn collator(oid: Oid) -> Result<Arc<Collator>> {
    if let Some(found) = made().read().unwrap_or_else(PoisonError::into_inner).get(&oid.0) {
        return Ok(Arc::clone(found));
    }
    let found = match oid.0 {
        0 | 100 | 950 | 951 => {
            Collator { order: Order::Bytes, letters: Letters::Ascii, deterministic: true }
        }
        _ => {
            let facts = facts(oid)
                .ok_or_else(|| err!(INTERNAL_ERROR, "cache lookup failed for collation {oid}"))?;
            make(&facts)?
        }
    };
    let found = Arc::new(found);
    made().write().unwrap_or_else(PoisonError::into_inner).insert(oid.0, Arc::clone(&found));
    Ok(found)
}

/// Makes a collation of what its row says; fails if there is no such locale.
pub fn make(facts: &Facts) -> Result<Collator> {
    let deterministic = facts.deterministic;
    match facts.provider {
        b'b' => {
            let letters = match facts.locale.as_str() {
                "C" => Letters::Ascii,
                "C.UTF-8" | "C.UTF8" => Letters::Simple,
                "PG_UNICODE_FAST" => Letters::Full,
                other => {
                    return Err(err!(
                        WRONG_OBJECT_TYPE,
                        "invalid locale name \"{other}\" for builtin provider"
                    ));
                }
            };
            Ok(Collator { order: Order::Bytes, letters, deterministic })
        }
        b'i' => icu(facts),
        _ => {
            let plain = facts.locale.split('@').next().unwrap_or("");
            let (language, charset) = plain.split_once('.').unwrap_or((plain, ""));
            let utf8 = charset.is_empty() || charset.replace('-', "").eq_ignore_ascii_case("utf8");
            match language {
                "C" | "POSIX" if charset.is_empty() => {
                    Ok(Collator { order: Order::Bytes, letters: Letters::Ascii, deterministic })
                }
                "C" if utf8 => {
                    Ok(Collator { order: Order::Bytes, letters: Letters::Libc, deterministic })
                }
                _ => Err(err!(
                    INVALID_PARAMETER_VALUE,
                    "could not create locale \"{}\": No such file or directory",
                    facts.locale
                )
                .detail(format!(
                    "The operating system could not find any locale data for the locale name \
                     \"{}\".",
                    facts.locale
                ))),
            }
        }
    }
}

/// A locale's name as a BCP 47 tag: ICU's own forms are rewritten.
pub fn language_tag(name: &str) -> String {
    let (base, keywords) = name.split_once('@').unwrap_or((name, ""));
    let base = base.split('.').next().unwrap_or("").replace('_', "-");
    let base = match base.as_str() {
        "" | "root" => "und".to_string(),
        other => other.to_string(),
    };
    let mut extension = Vec::new();
    for word in keywords.split(';').filter(|w| !w.is_empty()) {
        let (key, value) = word.split_once('=').unwrap_or((word, "yes"));
        let value = value.to_ascii_lowercase();
        let yes = |v: &str| if v == "no" { "false" } else { "" }.to_string();
        let pair = match key.to_ascii_lowercase().as_str() {
            "colstrength" => (
                "ks",
                match value.as_str() {
                    "primary" => "level1".into(),
                    "secondary" => "level2".into(),
                    "tertiary" => "level3".into(),
                    "quaternary" => "level4".into(),
                    _ => "identic".into(),
                },
            ),
            "collation" => {
                let short = match value.as_str() {
                    "phonebook" => "phonebk",
                    "traditional" => "trad",
                    "dictionary" => "dict",
                    other => other,
                };
                ("co", short.to_string())
            }
            "colnumeric" => ("kn", yes(&value)),
            "colcaselevel" => ("kc", yes(&value)),
            "colcasefirst" => ("kf", if value == "no" { "false".into() } else { value }),
            "colalternate" => {
                ("ka", if value == "shifted" { "shifted" } else { "noignore" }.to_string())
            }
            "colbackwards" => ("kb", yes(&value)),
            "colnormalization" => ("kk", yes(&value)),
            _ => continue,
        };
        extension.push(pair);
    }
    if extension.is_empty() {
        return base;
    }
    extension.sort();
    let words: Vec<String> = extension
        .into_iter()
        .map(|(k, v)| if v.is_empty() { k.to_string() } else { format!("{k}-{v}") })
        .collect();
    format!("{base}-u-{}", words.join("-"))
}

/// The standard form of a locale's name, `de-u-co-phonebk`; fails if ICU could not use it.
pub fn icu_locale(name: &str) -> Result<String> {
    let tag = language_tag(name);
    icu(&Facts { provider: b'i', deterministic: true, locale: tag.clone(), rules: None })?;
    Ok(icu_locale_core::Locale::try_from_str(&tag).map_or(tag, |l| l.to_string()))
}

/// The language of a locale's name if there are no rules for it: it will be sorted like any other.
pub fn unknown_language(tag: &str) -> Option<&str> {
    let language = tag.split('-').next().unwrap_or_default();
    let of_collation = |c: &crate::builtin::CollationRow| {
        c.collprovider == b'i'
            && c.collname
                .strip_suffix("-x-icu")
                .is_some_and(|l| l.split('-').next() == Some(language))
    };
    let known = matches!(language, "" | "root" | "und")
        || crate::builtin::collations().iter().any(of_collation);
    (!known).then_some(language)
}

fn unknown_locale(name: &str, why: &str) -> Error {
    err!(INVALID_PARAMETER_VALUE, "could not open collator for locale \"{name}\": {why}")
}

fn icu(facts: &Facts) -> Result<Collator> {
    let (name, deterministic) = (facts.locale.as_str(), facts.deterministic);
    let tag = language_tag(name);
    let locale = icu_locale_core::Locale::try_from_str(&tag)
        .map_err(|_| unknown_locale(name, "U_ILLEGAL_ARGUMENT_ERROR"))?;
    let mut options = CollatorOptions::default();
    let mut preferences = CollatorPreferences::from(&locale);
    let key = |k: &str| -> Option<String> {
        let key = icu_locale_core::extensions::unicode::Key::try_from_str(k).ok()?;
        locale.extensions.unicode.keywords.get(&key).map(ToString::to_string)
    };
    options.strength = key("ks").and_then(|v| match v.as_str() {
        "level1" => Some(Strength::Primary),
        "level2" => Some(Strength::Secondary),
        "level3" => Some(Strength::Tertiary),
        "level4" => Some(Strength::Quaternary),
        "identic" => Some(Strength::Identical),
        _ => None,
    });
    options.alternate_handling = key("ka").and_then(|v| match v.as_str() {
        "shifted" => Some(AlternateHandling::Shifted),
        "noignore" => Some(AlternateHandling::NonIgnorable),
        _ => None,
    });
    options.max_variable = key("kv").and_then(|v| match v.as_str() {
        "space" => Some(MaxVariable::Space),
        "punct" => Some(MaxVariable::Punctuation),
        "symbol" => Some(MaxVariable::Symbol),
        "currency" => Some(MaxVariable::Currency),
        _ => None,
    });
    options.case_level =
        key("kc").map(|v| if v == "false" { CaseLevel::Off } else { CaseLevel::On });
    preferences.numeric_ordering = key("kn").map(|v| match v.as_str() {
        "false" => CollationNumericOrdering::False,
        _ => CollationNumericOrdering::True,
    });
    preferences.case_first = key("kf").and_then(|v| match v.as_str() {
        "upper" => Some(CollationCaseFirst::Upper),
        "lower" => Some(CollationCaseFirst::Lower),
        "false" => Some(CollationCaseFirst::False),
        _ => None,
    });
    let collator = icu_collator::Collator::try_new(preferences, options)
        .map_err(|e| unknown_locale(name, &e.to_string()))?;
    let order = match &facts.rules {
        None => Order::Icu(collator),
        Some(text) => {
            let made = rules::collator(&locale, text).map_err(|e| e.error(name, text))?;
            Order::Rules(Box::new(made))
        }
    };
    let turkish = matches!(locale.id.language.as_str(), "tr" | "az");
    let letters = if turkish { Letters::Turkish } else { Letters::Icu };
    Ok(Collator { order, letters, deterministic })
}
