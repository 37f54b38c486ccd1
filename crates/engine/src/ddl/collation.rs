//! CREATE COLLATION.

use super::Ddl;
use super::index::with_code;
use super::name::split;
use base::{Error, Oid, Result, Severity, SqlState, bail, err};
use catalog::depend::{self, DependKind, ObjectAddress};
use catalog::{SysRow, oids};
use functions::collation::{Facts, language_tag, make};
use parser::ast::{DefElem, DefValue, DefineStmt, ObjectKind};

/// UTF8's number.
const UTF8: i32 = 6;

/// What the options say.
#[derive(Default)]
struct Options {
    provider: Option<String>,
    locale: Option<String>,
    collate: Option<String>,
    ctype: Option<String>,
    deterministic: Option<bool>,
    rules: Option<String>,
    version: Option<String>,
    from: Option<Vec<String>>,
}

/// The row to be.
struct NewCollation {
    facts: Facts,
    encoding: i32,
    collate: Option<String>,
    ctype: Option<String>,
    locale: Option<String>,
    version: Option<String>,
}

fn text(e: &DefElem) -> Result<String> {
    Ok(match &e.value {
        Some(DefValue::String(s)) => s.clone(),
        Some(DefValue::Names(n)) => n.join("."),
        Some(DefValue::Type(t)) => t.names.join("."),
        Some(DefValue::Integer(n)) => n.to_string(),
        Some(DefValue::Bool(b)) => b.to_string(),
        _ => return Err(err!(SYNTAX_ERROR, "{} requires a parameter", e.name).at(e.pos)),
    })
}

fn read(definition: &[DefElem]) -> Result<Options> {
    let mut o = Options::default();
    for e in definition {
        let again = || err!(SYNTAX_ERROR, "conflicting or redundant options").at(e.pos);
        let slot = match e.name.as_str() {
            "provider" => &mut o.provider,
            "locale" => &mut o.locale,
            "lc_collate" => &mut o.collate,
            "lc_ctype" => &mut o.ctype,
            "rules" => &mut o.rules,
            "version" => &mut o.version,
            "from" => {
                if o.from.is_some() {
                    return Err(again());
                }
                o.from = Some(match &e.value {
                    Some(DefValue::Type(t)) => t.names.clone(),
                    _ => vec![text(e)?],
                });
                continue;
            }
            "deterministic" => {
                if o.deterministic.is_some() {
                    return Err(again());
                }
                let word = match &e.value {
                    None => "true".to_string(),
                    Some(_) => text(e)?.to_ascii_lowercase(),
                };
                o.deterministic = Some(match word.as_str() {
                    "true" | "on" | "1" => true,
                    "false" | "off" | "0" => false,
                    _ => bail!(SYNTAX_ERROR, "deterministic requires a Boolean value"),
                });
                continue;
            }
            other => {
                return Err(
                    err!(SYNTAX_ERROR, "collation attribute \"{other}\" not recognized").at(e.pos)
                );
            }
        };
        if slot.is_some() {
            return Err(again());
        }
        *slot = Some(text(e)?);
    }
    Ok(o)
}

impl Ddl<'_> {
    /// CREATE of what has a list of attributes: the tag, or none for kinds that are not done.
    pub fn define(&self, stmt: &DefineStmt) -> Result<Option<&'static str>> {
        match (stmt.kind, &stmt.definition) {
            (ObjectKind::Type, None) => {
                self.create_shell_type(&stmt.name)?;
                Ok(Some("CREATE TYPE"))
            }
            (ObjectKind::Type, Some(options)) => {
                self.create_base_type(&stmt.name, options)?;
                Ok(Some("CREATE TYPE"))
            }
            (ObjectKind::Collation, _) => {
                self.create_collation(stmt)?;
                Ok(Some("CREATE COLLATION"))
            }
            (ObjectKind::Aggregate, _) => {
                self.create_aggregate(stmt)?;
                Ok(Some("CREATE AGGREGATE"))
            }
            (ObjectKind::Operator, _) => {
                self.create_operator(stmt)?;
                Ok(Some("CREATE OPERATOR"))
            }
            _ => self.define_text_search(stmt),
        }
    }

    /// CREATE COLLATION.
    pub fn create_collation(&self, stmt: &DefineStmt) -> Result<()> {
        let (schema, last) = split(&stmt.name);
        let namespace = self.creation_namespace(schema)?;
        let mut o = read(stmt.definition.as_deref().unwrap_or(&[]))?;
        if let Some(from) = &stmt.from {
            o.from = Some(from.parts.clone());
        }
        let new = match o.from.take() {
            Some(from) => {
                if stmt.definition.as_ref().is_some_and(|d| d.len() > 1) {
                    return Err(err!(SYNTAX_ERROR, "conflicting or redundant options")
                        .detail("FROM cannot be specified together with any other options."));
                }
                self.collation_from(&from)?
            }
            None => self.collation_of_options(o)?,
        };
        if self.view.source().collation_oid(namespace, last)?.is_some() {
            let whose = if new.encoding == UTF8 { " for encoding \"UTF8\"" } else { "" };
            let text = format!("collation \"{last}\"{whose} already exists");
            if !stmt.if_not_exists {
                return Err(Error::new(SqlState::DUPLICATE_OBJECT, text));
            }
            let e = Error::notice(format!("{text}, skipping"));
            self.notice(with_code(e, SqlState::DUPLICATE_OBJECT));
            return Ok(());
        }
        make(&new.facts)?;
        self.insert_collation(namespace, last, &new)
    }

    fn collation_from(&self, from: &[String]) -> Result<NewCollation> {
        let (schema, last) = match from {
            [last] => (None, last.as_str()),
            [.., schema, last] => (Some(schema.as_str()), last.as_str()),
            [] => bail!(SYNTAX_ERROR, "conflicting or redundant options"),
        };
        let Some(found) = self.view.collation_named(schema, last)? else {
            bail!(
                UNDEFINED_OBJECT,
                "collation \"{}\" for encoding \"UTF8\" does not exist",
                from.join(".")
            );
        };
        if found.provider == b'd' {
            bail!(INVALID_OBJECT_DEFINITION, "collation \"default\" cannot be copied");
        }
        let text = |t: &Option<std::sync::Arc<str>>| t.as_ref().map(ToString::to_string);
        let locale = text(&found.locale);
        Ok(NewCollation {
            facts: Facts {
                provider: found.provider,
                deterministic: found.is_deterministic,
                locale: locale.clone().or_else(|| text(&found.collate)).unwrap_or_default(),
                rules: text(&found.rules),
            },
            encoding: found.encoding,
            collate: text(&found.collate),
            ctype: text(&found.ctype),
            locale,
            version: None,
        })
    }

    fn collation_of_options(&self, o: Options) -> Result<NewCollation> {
        if o.locale.is_some() && (o.collate.is_some() || o.ctype.is_some()) {
            return Err(err!(SYNTAX_ERROR, "conflicting or redundant options")
                .detail("LOCALE cannot be specified together with LC_COLLATE or LC_CTYPE."));
        }
        let provider = match o.provider.as_deref().map(str::to_ascii_lowercase).as_deref() {
            None | Some("libc") => b'c',
            Some("icu") => b'i',
            Some("builtin") => b'b',
            Some(_) => {
                let given = o.provider.unwrap_or_default();
                bail!(INVALID_OBJECT_DEFINITION, "unrecognized collation provider: {given}");
            }
        };
        let missing =
            |what: &str| err!(INVALID_OBJECT_DEFINITION, "parameter \"{what}\" must be specified");
        let deterministic = o.deterministic.unwrap_or(true);
        let mut new = NewCollation {
            facts: Facts { provider, deterministic, locale: String::new(), rules: None },
            encoding: -1,
            collate: None,
            ctype: None,
            locale: None,
            version: o.version,
        };
        match provider {
            b'c' => {
                let collate = o.collate.or_else(|| o.locale.clone());
                let ctype = o.ctype.or(o.locale);
                new.facts.locale = collate.clone().ok_or_else(|| missing("lc_collate"))?;
                new.ctype = Some(ctype.ok_or_else(|| missing("lc_ctype"))?);
                new.collate = collate;
                new.encoding = UTF8;
            }
            b'b' => {
                let locale = o.locale.ok_or_else(|| missing("locale"))?;
                let known = match locale.as_str() {
                    "C" => "C",
                    "C.UTF-8" | "C.UTF8" => "C.UTF-8",
                    "PG_UNICODE_FAST" => "PG_UNICODE_FAST",
                    _ => {
                        bail!(
                            WRONG_OBJECT_TYPE,
                            "invalid locale name \"{locale}\" for builtin provider"
                        );
                    }
                };
                new.facts.locale = known.to_string();
                new.locale = Some(known.to_string());
                new.encoding = if known == "C" { -1 } else { UTF8 };
                new.version = new.version.or_else(|| Some("1".to_string()));
            }
            _ => {
                let given = o.locale.ok_or_else(|| missing("locale"))?;
                let tag = language_tag(&given);
                let shown = icu_form(&tag);
                if shown != given {
                    self.notice(Error::notice(format!(
                        "using standard form \"{shown}\" for ICU locale \"{given}\""
                    )));
                }
                if let Some(told) = validate_icu(&shown, self.settings.str("icu_validation_level"))
                {
                    match told.fields().severity {
                        Severity::Error => return Err(told),
                        _ => self.notice(told),
                    }
                }
                new.facts.locale = shown.clone();
                new.locale = Some(shown);
            }
        }
        if !deterministic && provider != b'i' {
            bail!(
                FEATURE_NOT_SUPPORTED,
                "nondeterministic collations not supported with this provider"
            );
        }
        if o.rules.is_some() {
            if provider != b'i' {
                bail!(
                    INVALID_OBJECT_DEFINITION,
                    "ICU rules cannot be specified unless locale provider is ICU"
                );
            }
            new.facts.rules = o.rules;
        }
        Ok(new)
    }

    fn insert_collation(&self, namespace: Oid, name: &str, new: &NewCollation) -> Result<()> {
        let oid = self.rows.new_oid(oids::PG_COLLATION)?;
        let mut row = SysRow::new(oids::PG_COLLATION)?;
        row.set_oid("oid", oid)?
            .set_text("collname", name)?
            .set_oid("collnamespace", namespace)?
            .set_oid("collowner", self.user())?
            .set_char("collprovider", new.facts.provider)?
            .set_bool("collisdeterministic", new.facts.deterministic)?
            .set_i32("collencoding", new.encoding)?;
        let texts = [
            ("collcollate", &new.collate),
            ("collctype", &new.ctype),
            ("colllocale", &new.locale),
            ("collicurules", &new.facts.rules),
            ("collversion", &new.version),
        ];
        for (column, value) in texts {
            if let Some(value) = value {
                row.set_text(column, value)?;
            }
        }
        self.rows.insert(row)?;
        let own = ObjectAddress::new(oids::PG_COLLATION, oid);
        let schema = ObjectAddress::new(oids::PG_NAMESPACE, namespace);
        depend::record(self.rows, own, schema, DependKind::Normal)?;
        self.depend_owner(own, self.user())
    }
}

/// The tag in its usual letters: `en-US-u-ks-level2`.
fn icu_form(tag: &str) -> String {
    icu_locale_core::Locale::try_from_str(tag).map_or_else(|_| tag.to_string(), |l| l.to_string())
}

/// What `icu_validation_level` has told of a locale in whose language nothing is known.
pub(crate) fn validate_icu(tag: &str, level: &str) -> Option<Error> {
    let severity = match level {
        "disabled" => return None,
        "error" => Severity::Error,
        "warning" => Severity::Warning,
        "notice" => Severity::Notice,
        "log" => Severity::Log,
        _ => Severity::Debug,
    };
    let language = functions::collation::unknown_language(tag)?;
    let text = format!("ICU locale \"{tag}\" has unknown language \"{language}\"");
    let code = base::SqlState::INVALID_PARAMETER_VALUE;
    Some(Error::with_severity(severity, code, text).hint(
        "To disable ICU locale validation, set the parameter \"icu_validation_level\" to \
         \"disabled\".",
    ))
}
