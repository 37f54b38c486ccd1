//! The options of CREATE DATABASE, and what they have to do with those of the template.

use crate::Session;
use crate::ddl::option::{bool_of, conflicting, integer, oid, once, text_of};
use crate::sysfn::{encoding_name, encoding_number};
use base::{Error, Oid, Result, SqlState, bail, err};
use catalog::DatabaseDesc;
use functions::collation::icu_locale;
use parser::ast::{DefElem, DefValue};
use std::sync::Arc;

const UTF8: i32 = 6;

/// The options as they are written, each at most once.
#[derive(Default)]
pub(super) struct Written<'a> {
    pub owner: Option<&'a DefElem>,
    pub template: Option<&'a DefElem>,
    pub encoding: Option<&'a DefElem>,
    pub strategy: Option<&'a DefElem>,
    pub locale: Option<&'a DefElem>,
    pub builtin_locale: Option<&'a DefElem>,
    pub collate: Option<&'a DefElem>,
    pub ctype: Option<&'a DefElem>,
    pub icu_locale: Option<&'a DefElem>,
    pub icu_rules: Option<&'a DefElem>,
    pub provider: Option<&'a DefElem>,
    pub collation_version: Option<&'a DefElem>,
    pub tablespace: Option<&'a DefElem>,
    pub is_template: Option<&'a DefElem>,
    pub allow_connections: Option<&'a DefElem>,
    pub connection_limit: Option<&'a DefElem>,
    pub oid: Option<&'a DefElem>,
}

impl<'a> Written<'a> {
    pub(super) fn read(session: &Session, options: &'a [DefElem]) -> Result<Written<'a>> {
        let mut all = Written::default();
        for option in options {
            let slot = match option.name.as_str() {
                "owner" => &mut all.owner,
                "template" => &mut all.template,
                "encoding" => &mut all.encoding,
                "strategy" => &mut all.strategy,
                "locale" => &mut all.locale,
                "builtin_locale" => &mut all.builtin_locale,
                "lc_collate" => &mut all.collate,
                "lc_ctype" => &mut all.ctype,
                "icu_locale" => &mut all.icu_locale,
                "icu_rules" => &mut all.icu_rules,
                "locale_provider" => &mut all.provider,
                "collation_version" => &mut all.collation_version,
                "tablespace" => &mut all.tablespace,
                "is_template" => &mut all.is_template,
                "allow_connections" => &mut all.allow_connections,
                "connection_limit" => &mut all.connection_limit,
                "oid" => &mut all.oid,
                "location" => {
                    let text = "LOCATION is not supported anymore";
                    let code = SqlState::FEATURE_NOT_SUPPORTED;
                    let warning = Error::with_severity(base::Severity::Warning, code, text);
                    let hint = "Consider using tablespaces instead.";
                    session.core.notice(warning.hint(hint).at(option.pos));
                    continue;
                }
                name => {
                    let e = err!(SYNTAX_ERROR, "option \"{name}\" not recognized");
                    return Err(e.at(option.pos));
                }
            };
            if slot.is_some() {
                return Err(conflicting(option));
            }
            *slot = Some(option);
        }
        Ok(all)
    }
}

/// What a new database will be like.
pub(super) struct New {
    pub encoding: i32,
    pub provider: u8,
    pub collate: Arc<str>,
    pub ctype: Arc<str>,
    pub locale: Option<Arc<str>>,
    pub rules: Option<Arc<str>>,
    pub is_template: bool,
    pub allow_connections: bool,
    pub connection_limit: i32,
    pub oid: Option<Oid>,
}

/// An option's text, if it has one: DEFAULT is as if it were not there.
pub(super) fn text(option: Option<&DefElem>) -> Result<Option<String>> {
    match option {
        Some(o) if o.value.is_some() => Ok(Some(text_of(o)?)),
        _ => Ok(None),
    }
}

fn truth(option: Option<&DefElem>) -> Result<Option<bool>> {
    option.filter(|o| o.value.is_some()).map(bool_of).transpose()
}

/// CONNECTION LIMIT.
pub(super) fn connection_limit(option: &DefElem) -> Result<i32> {
    match integer(option)? {
        n if n < -1 => bail!(INVALID_PARAMETER_VALUE, "invalid connection limit: {n}"),
        n => Ok(n),
    }
}

fn encoding(option: &DefElem) -> Result<i32> {
    let (number, wrong) = match &option.value {
        Some(DefValue::Integer(n)) => {
            let known = !encoding_name(i64::from(*n)).is_empty();
            (if known { *n } else { -1 }, format!("{n} is not a valid encoding code"))
        }
        _ => {
            let name = text_of(option)?;
            (encoding_number(&name), format!("{name} is not a valid encoding name"))
        }
    };
    match number {
        // Those after SJIS' predecessor are for clients only.
        0..=34 => Ok(number),
        _ => Err(Error::new(SqlState::UNDEFINED_OBJECT, wrong).at(option.pos)),
    }
}

fn provider(option: Option<&DefElem>) -> Result<Option<u8>> {
    Ok(match text(option)?.map(|t| t.to_ascii_lowercase()).as_deref() {
        None => None,
        Some("libc") => Some(b'c'),
        Some("builtin") => Some(b'b'),
        Some("icu") => Some(b'i'),
        Some(other) => {
            bail!(INVALID_OBJECT_DEFINITION, "unrecognized locale provider: {other}")
        }
    })
}

/// Locales of the C library that there are: its bytes compared as they are.
fn known_locale(name: &str) -> bool {
    matches!(name, "C" | "POSIX" | "C.UTF-8" | "C.utf8" | "en_US.UTF-8" | "en_US.utf8")
}

impl New {
    pub(super) fn decide(
        session: &Session,
        w: &Written<'_>,
        template: &DatabaseDesc,
    ) -> Result<New> {
        let strategy = text(w.strategy)?;
        if let Some(s) = &strategy
            && !matches!(s.to_ascii_lowercase().as_str(), "wal_log" | "file_copy")
        {
            return Err(err!(INVALID_PARAMETER_VALUE, "invalid create database strategy \"{s}\"")
                .hint("Valid strategies are \"wal_log\" and \"file_copy\"."));
        }
        let encoding = match w.encoding.filter(|o| o.value.is_some()) {
            Some(option) => encoding(option)?,
            None => template.encoding,
        };
        let mut new = New {
            encoding,
            provider: provider(w.provider)?.unwrap_or(template.locale_provider),
            collate: template.collate.clone(),
            ctype: template.ctype.clone(),
            locale: template.locale.clone(),
            rules: text(w.icu_rules)?.map(Arc::from),
            is_template: truth(w.is_template)?.unwrap_or(false),
            allow_connections: truth(w.allow_connections)?.unwrap_or(true),
            connection_limit: -1,
            oid: None,
        };
        if let Some(option) = w.connection_limit.filter(|o| o.value.is_some()) {
            new.connection_limit = connection_limit(option)?;
        }
        if let Some(option) = w.oid.filter(|o| o.value.is_some()) {
            let oid = oid(option)?;
            if oid < Oid::FIRST_NORMAL {
                bail!(
                    INVALID_PARAMETER_VALUE,
                    "OIDs less than {} are reserved for system objects",
                    Oid::FIRST_NORMAL
                );
            }
            new.oid = Some(oid);
        }
        new.take_locale(session, w, template)?;
        new.compare(template)?;
        Ok(new)
    }

    fn take_locale(
        &mut self,
        session: &Session,
        w: &Written<'_>,
        template: &DatabaseDesc,
    ) -> Result<()> {
        let locale = text(w.locale)?;
        let set = |slot: &mut Arc<str>, given: Option<String>| {
            if let Some(name) = given {
                *slot = Arc::from(name);
            }
        };
        set(&mut self.collate, locale.clone());
        set(&mut self.ctype, locale.clone());
        set(&mut self.collate, text(w.collate)?);
        set(&mut self.ctype, text(w.ctype)?);
        if self.provider != template.locale_provider {
            self.locale = None;
        }
        if let Some(name) = &locale
            && self.provider != b'c'
        {
            self.locale = Some(Arc::from(name.as_str()));
        }
        let builtin = text(w.builtin_locale)?;
        let icu = text(w.icu_locale)?;
        for (name, what) in [(&self.collate, "LC_COLLATE"), (&self.ctype, "LC_CTYPE")] {
            if !known_locale(name) {
                let e = err!(WRONG_OBJECT_TYPE, "invalid {what} locale name: \"{name}\"");
                return Err(match self.provider {
                    b'b' => e.hint(
                        "If the locale name is specific to the builtin provider, use \
                         BUILTIN_LOCALE.",
                    ),
                    b'i' => e.hint(
                        "If the locale name is specific to the ICU provider, use ICU_LOCALE.",
                    ),
                    _ => e,
                });
            }
        }
        if builtin.is_some() && self.provider != b'b' {
            bail!(
                INVALID_OBJECT_DEFINITION,
                "BUILTIN_LOCALE cannot be specified unless locale provider is builtin"
            );
        }
        if icu.is_some() && self.provider != b'i' {
            bail!(
                INVALID_OBJECT_DEFINITION,
                "ICU locale cannot be specified unless locale provider is ICU"
            );
        }
        if self.rules.is_some() && self.provider != b'i' {
            bail!(
                INVALID_OBJECT_DEFINITION,
                "ICU rules cannot be specified unless locale provider is ICU"
            );
        }
        if self.rules.is_none() && self.provider == b'i' {
            self.rules = template.rules.clone();
        }
        match self.provider {
            b'b' => {
                if let Some(name) = builtin {
                    self.locale = Some(Arc::from(name));
                }
                let Some(name) = &self.locale else {
                    bail!(INVALID_PARAMETER_VALUE, "LOCALE or BUILTIN_LOCALE must be specified");
                };
                if !matches!(&**name, "C" | "C.UTF-8" | "C.UTF8" | "PG_UNICODE_FAST") {
                    bail!(WRONG_OBJECT_TYPE, "invalid locale name \"{name}\" for builtin provider");
                }
            }
            b'i' => {
                if let Some(name) = icu {
                    self.locale = Some(Arc::from(name));
                }
                let Some(name) = &self.locale else {
                    bail!(INVALID_PARAMETER_VALUE, "LOCALE or ICU_LOCALE must be specified");
                };
                let standard = icu_locale(name)?;
                if standard != **name {
                    session.core.notice(Error::notice(format!(
                        "using standard form \"{standard}\" for ICU locale \"{name}\""
                    )));
                    self.locale = Some(Arc::from(standard.as_str()));
                }
                let level = session.core.settings.lock().str("icu_validation_level").to_string();
                if let Some(told) = crate::ddl::collation::validate_icu(&standard, &level) {
                    match told.fields().severity {
                        base::Severity::Error => return Err(told),
                        _ => session.core.notice(told),
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The rows of a template with other rules would be in the wrong order: only `template0`,
    /// which has none, may be copied under other rules.
    fn compare(&self, template: &DatabaseDesc) -> Result<()> {
        if template.oid != catalog::oids::TEMPLATE0 {
            let different = |what: &str, new: &str, old: &str, noun: &str| {
                err!(
                    INVALID_PARAMETER_VALUE,
                    "new {what} ({new}) is incompatible with the {what} of the template \
                     database ({old})"
                )
                .hint(format!(
                    "Use the same {noun} as in the template database, or use template0 as \
                     template."
                ))
            };
            if self.encoding != template.encoding {
                let name = |n: i32| encoding_name(i64::from(n));
                let (new, old) = (name(self.encoding), name(template.encoding));
                return Err(different("encoding", new, old, "encoding"));
            }
            if self.collate != template.collate {
                return Err(different("collation", &self.collate, &template.collate, "collation"));
            }
            if self.ctype != template.ctype {
                return Err(different("LC_CTYPE", &self.ctype, &template.ctype, "LC_CTYPE"));
            }
            if self.provider != template.locale_provider {
                let name = |p: u8| match p {
                    b'b' => "builtin",
                    b'i' => "icu",
                    _ => "libc",
                };
                let (new, old) = (name(self.provider), name(template.locale_provider));
                return Err(different("locale provider", new, old, "locale provider"));
            }
            if self.provider == b'i' && self.rules != template.rules {
                let (new, old) = (self.rules.as_deref(), template.rules.as_deref());
                let what = "ICU collation rules";
                let (new, old) = (new.unwrap_or_default(), old.unwrap_or_default());
                return Err(err!(
                    INVALID_PARAMETER_VALUE,
                    "new {what} ({new}) are incompatible with the {what} of the template \
                     database ({old})"
                )
                .hint(format!(
                    "Use the same {what} as in the template database, or use template0 as \
                     template."
                )));
            }
        }
        if self.encoding != UTF8 {
            let name = encoding_name(i64::from(self.encoding));
            return Err(Error::unsupported(format!("databases with encoding {name}")));
        }
        Ok(())
    }
}

/// The options of ALTER DATABASE.
#[derive(Default)]
pub(super) struct Changes {
    pub is_template: Option<bool>,
    pub allow_connections: Option<bool>,
    pub connection_limit: Option<i32>,
    pub tablespace: Option<String>,
}

impl Changes {
    pub(super) fn read(options: &[DefElem]) -> Result<Changes> {
        let (mut template, mut allow, mut limit, mut tablespace) = (None, None, None, None);
        for option in options {
            let slot = match option.name.as_str() {
                "is_template" => &mut template,
                "allow_connections" => &mut allow,
                "connection_limit" => &mut limit,
                "tablespace" => &mut tablespace,
                name => {
                    let e = err!(SYNTAX_ERROR, "option \"{name}\" not recognized");
                    return Err(e.at(option.pos));
                }
            };
            once(slot, option)?;
        }
        if let Some(option) = tablespace
            && options.len() > 1
        {
            let text = "option \"tablespace\" cannot be specified with other options";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, text).at(option.pos));
        }
        Ok(Changes {
            is_template: truth(template)?,
            allow_connections: truth(allow)?,
            connection_limit: limit
                .filter(|o| o.value.is_some())
                .map(connection_limit)
                .transpose()?,
            tablespace: text(tablespace)?,
        })
    }
}
