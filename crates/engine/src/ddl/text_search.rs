//! Text search: configurations, dictionaries, parsers and templates.

use super::Ddl;
use super::describe::Found;
use super::name::{quote, split};
use crate::session::text_search::dictionary_of;
use base::{Error, Oid, Result, SqlState, bail, err};
use catalog::depend::{self, DependKind, ObjectAddress};
use catalog::{SysRow, oids};
use parser::ast::{
    AlterTsConfigurationStmt, DefElem, DefValue, DefineStmt, Name, Object, ObjectDetail,
    ObjectKind, TsConfigAction,
};
use types::Datum;

/// `pg_ts_dict`
pub const PG_TS_DICT: Oid = Oid(3600);
/// `pg_ts_parser`
pub const PG_TS_PARSER: Oid = Oid(3601);
/// `pg_ts_config`
pub const PG_TS_CONFIG: Oid = Oid(3602);
/// `pg_ts_config_map`
pub const PG_TS_CONFIG_MAP: Oid = Oid(3603);
/// `pg_ts_template`
pub const PG_TS_TEMPLATE: Oid = Oid(3764);
/// Of `pg_ts_config_map`, on configuration, token type and place.
pub const MAP_INDEX: Oid = Oid(3609);

/// What is known of a kind of text search object.
pub struct TsClass {
    /// The system table.
    pub class: Oid,
    /// Its index on `oid`.
    pub by_oid: Oid,
    /// Its index on name and schema.
    pub by_name: Oid,
    /// Its column of names.
    pub name: &'static str,
    /// Its column of schemas.
    pub schema: &'static str,
    /// What messages call it.
    pub noun: &'static str,
}

const CLASSES: [TsClass; 4] = [
    TsClass {
        class: PG_TS_CONFIG,
        by_oid: Oid(3712),
        by_name: Oid(3608),
        name: "cfgname",
        schema: "cfgnamespace",
        noun: "text search configuration",
    },
    TsClass {
        class: PG_TS_DICT,
        by_oid: Oid(3605),
        by_name: Oid(3604),
        name: "dictname",
        schema: "dictnamespace",
        noun: "text search dictionary",
    },
    TsClass {
        class: PG_TS_PARSER,
        by_oid: Oid(3607),
        by_name: Oid(3606),
        name: "prsname",
        schema: "prsnamespace",
        noun: "text search parser",
    },
    TsClass {
        class: PG_TS_TEMPLATE,
        by_oid: Oid(3767),
        by_name: Oid(3766),
        name: "tmplname",
        schema: "tmplnamespace",
        noun: "text search template",
    },
];

/// The kind of object that a system table holds, if it is one of text search.
pub fn ts_class(class: Oid) -> Option<&'static TsClass> {
    CLASSES.iter().find(|c| c.class == class)
}

fn value(e: &DefElem) -> Result<Vec<String>> {
    Ok(match &e.value {
        Some(DefValue::String(s) | DefValue::Float(s)) => vec![s.clone()],
        Some(DefValue::Names(n)) => n.clone(),
        Some(DefValue::Type(t)) => t.names.clone(),
        Some(DefValue::Integer(n)) => vec![n.to_string()],
        Some(DefValue::Bool(b)) => vec![b.to_string()],
        _ => return Err(err!(SYNTAX_ERROR, "{} requires a parameter", e.name)),
    })
}

/// An option of a dictionary: its value, and whether it is written as a number.
type DictOption = (String, String, bool);

fn dict_option(e: &DefElem) -> Result<DictOption> {
    let number = matches!(e.value, Some(DefValue::Integer(_) | DefValue::Float(_)));
    Ok((e.name.clone(), value(e)?.join("."), number))
}

/// As `pg_ts_dict.dictinitoption` has them.
fn written(options: &[DictOption]) -> Option<String> {
    let one = |(name, value, number): &DictOption| {
        let name = quote(name);
        if *number {
            return format!("{name} = {value}");
        }
        let escape = if value.contains('\\') { "E" } else { "" };
        let value = value.replace('\\', "\\\\").replace('\'', "''");
        format!("{name} = {escape}'{value}'")
    };
    (!options.is_empty()).then(|| options.iter().map(one).collect::<Vec<_>>().join(", "))
}

impl Ddl<'_> {
    /// CREATE TEXT SEARCH ..; None if the statement is another.
    pub fn define_text_search(&self, stmt: &DefineStmt) -> Result<Option<&'static str>> {
        let options = stmt.definition.as_deref().unwrap_or(&[]);
        Ok(Some(match stmt.kind {
            ObjectKind::TsConfiguration => {
                self.create_ts_config(&stmt.name, options)?;
                "CREATE TEXT SEARCH CONFIGURATION"
            }
            ObjectKind::TsDictionary => {
                self.create_ts_dictionary(&stmt.name, options)?;
                "CREATE TEXT SEARCH DICTIONARY"
            }
            ObjectKind::TsParser => {
                self.create_ts_functions(&stmt.name, options, true)?;
                "CREATE TEXT SEARCH PARSER"
            }
            ObjectKind::TsTemplate => {
                self.create_ts_functions(&stmt.name, options, false)?;
                "CREATE TEXT SEARCH TEMPLATE"
            }
            _ => return Ok(None),
        }))
    }

    fn ts_object(&self, kind: ObjectKind, parts: &[String]) -> Result<Oid> {
        let name = Name { parts: parts.to_vec(), pos: 0 };
        let object = Object { kind, name, only: false, detail: ObjectDetail::None };
        match self.find_object(&object, false)? {
            Found::Object(a) => Ok(a.object),
            Found::Missing(text) => Err(Error::new(SqlState::UNDEFINED_OBJECT, text)),
        }
    }

    fn insert_ts(
        &self,
        class: Oid,
        name: &Name,
        owner: Option<&str>,
        fill: impl FnOnce(&mut SysRow) -> Result<()>,
    ) -> Result<ObjectAddress> {
        let facts = ts_class(class).ok_or_else(|| Error::internal("not of text search"))?;
        let (schema, last) = split(name);
        let namespace = self.creation_namespace(schema)?;
        let oid = self.rows.new_oid(class)?;
        let mut row = SysRow::new(class)?;
        row.set_oid("oid", oid)?.set_text(facts.name, last)?.set_oid(facts.schema, namespace)?;
        if let Some(owner) = owner {
            row.set_oid(owner, self.user())?;
        }
        fill(&mut row)?;
        self.check_ts_name(facts, namespace, last, true)?;
        self.rows.insert(row)?;
        let own = ObjectAddress::new(class, oid);
        let on = ObjectAddress::new(oids::PG_NAMESPACE, namespace);
        depend::record(self.rows, own, on, DependKind::Normal)?;
        if owner.is_some() {
            self.depend_owner(own, self.user())?;
        }
        Ok(own)
    }

    /// Fails if there is an object of this name. What CREATE finds is told as the index tells it.
    pub fn check_ts_name(
        &self,
        facts: &TsClass,
        namespace: Oid,
        name: &str,
        by_index: bool,
    ) -> Result<()> {
        let key = [Datum::text(name), Datum::U32(namespace.0)];
        if self.rows.index_scan(facts.by_name, &key)?.is_empty() {
            return Ok(());
        }
        if by_index {
            let index = catalog::rows::system_relation(facts.by_name)?;
            return Err(err!(
                UNIQUE_VIOLATION,
                "duplicate key value violates unique constraint \"{}\"",
                index.name
            )
            .detail(format!(
                "Key ({}, {})=({name}, {namespace}) already exists.",
                facts.name, facts.schema
            )));
        }
        let schema = self.view.namespace(namespace)?;
        bail!(
            DUPLICATE_OBJECT,
            "{} \"{name}\" already exists in schema \"{}\"",
            facts.noun,
            schema.name
        )
    }

    fn create_ts_config(&self, name: &Name, options: &[DefElem]) -> Result<()> {
        let (mut parser, mut copy) = (None, None);
        for e in options {
            match e.name.as_str() {
                "parser" => parser = Some(self.ts_object(ObjectKind::TsParser, &value(e)?)?),
                "copy" => copy = Some(self.ts_object(ObjectKind::TsConfiguration, &value(e)?)?),
                other => bail!(
                    SYNTAX_ERROR,
                    "text search configuration parameter \"{other}\" not recognized"
                ),
            }
        }
        if parser.is_some() && copy.is_some() {
            bail!(SYNTAX_ERROR, "cannot specify both PARSER and COPY options");
        }
        if let Some(copy) = copy {
            parser = Some(self.row_by_oid(Oid(3712), copy)?.oid("cfgparser")?);
        }
        let Some(parser) = parser else {
            bail!(INVALID_OBJECT_DEFINITION, "text search parser is required");
        };
        let own = self.insert_ts(PG_TS_CONFIG, name, Some("cfgowner"), |row| {
            row.set_oid("cfgparser", parser)?;
            Ok(())
        })?;
        let on = ObjectAddress::new(PG_TS_PARSER, parser);
        depend::record(self.rows, own, on, DependKind::Normal)?;
        if let Some(copy) = copy {
            for row in self.rows.index_scan(MAP_INDEX, &[Datum::U32(copy.0)])? {
                let place = (row.i32("maptokentype")?, row.i32("mapseqno")?);
                self.insert_mapping(own.object, place, row.oid("mapdict")?)?;
            }
        }
        self.depend_on_dictionaries(own)
    }

    fn insert_mapping(&self, config: Oid, (kind, place): (i32, i32), dict: Oid) -> Result<()> {
        let mut row = SysRow::new(PG_TS_CONFIG_MAP)?;
        row.set_oid("mapcfg", config)?
            .set_i32("maptokentype", kind)?
            .set_i32("mapseqno", place)?
            .set_oid("mapdict", dict)?;
        self.rows.insert(row)?;
        Ok(())
    }

    /// Records the dictionaries that a configuration uses, each once.
    fn depend_on_dictionaries(&self, config: ObjectAddress) -> Result<()> {
        for d in depend::dependencies_of(self.rows, config)? {
            if d.referenced.class == PG_TS_DICT {
                depend::forget_one(self.rows, config, d.referenced)?;
            }
        }
        let mut seen = Vec::new();
        for row in self.rows.index_scan(MAP_INDEX, &[Datum::U32(config.object.0)])? {
            let dict = row.oid("mapdict")?;
            if !seen.contains(&dict) {
                seen.push(dict);
                let on = ObjectAddress::new(PG_TS_DICT, dict);
                depend::record(self.rows, config, on, DependKind::Normal)?;
            }
        }
        Ok(())
    }

    fn create_ts_dictionary(&self, name: &Name, options: &[DefElem]) -> Result<()> {
        let (mut template, mut rest) = (None, Vec::new());
        for e in options {
            match e.name.as_str() {
                "template" => template = Some(self.ts_object(ObjectKind::TsTemplate, &value(e)?)?),
                _ => rest.push(dict_option(e)?),
            }
        }
        let Some(template) = template else {
            bail!(INVALID_OBJECT_DEFINITION, "text search template is required");
        };
        let text = written(&rest);
        dictionary_of(self.env, template, text.as_deref().unwrap_or(""))?;
        let own = self.insert_ts(PG_TS_DICT, name, Some("dictowner"), |row| {
            row.set_oid("dicttemplate", template)?;
            row.set_opt_text("dictinitoption", text.as_deref())?;
            Ok(())
        })?;
        let on = ObjectAddress::new(PG_TS_TEMPLATE, template);
        depend::record(self.rows, own, on, DependKind::Normal)
    }

    /// ALTER TEXT SEARCH DICTIONARY (options): a word without a value takes the option away.
    pub fn alter_ts_dictionary(&self, name: &Name, options: &[DefElem]) -> Result<()> {
        let oid = self.ts_object(ObjectKind::TsDictionary, &name.parts)?;
        self.require_owner(ObjectAddress::new(PG_TS_DICT, oid))?;
        let mut row = self.row_by_oid(Oid(3605), oid)?;
        let old = row.opt_text("dictinitoption")?.unwrap_or_else(|| "".into());
        let mut all: Vec<DictOption> = functions::ts::options(&old)?
            .into_iter()
            .map(|(name, value)| {
                let bare = format!("{} = {value}", quote(&name));
                let number = value.parse::<f64>().is_ok() && old.contains(&bare);
                (name, value, number)
            })
            .collect();
        for e in options {
            all.retain(|o| o.0 != e.name);
            if e.value.is_some() {
                all.push(dict_option(e)?);
            }
        }
        let text = written(&all);
        functions::ts::Cache::global().clear();
        dictionary_of(self.env, row.oid("dicttemplate")?, text.as_deref().unwrap_or(""))?;
        row.set_opt_text("dictinitoption", text.as_deref())?;
        self.rows.update(row)?;
        Ok(())
    }

    /// CREATE TEXT SEARCH PARSER and TEMPLATE: functions by their names.
    fn create_ts_functions(&self, name: &Name, options: &[DefElem], parser: bool) -> Result<()> {
        // Word, column, number of arguments of type internal, of which the second may be another.
        const PARSER: &[(&str, &str, &[u32], &str)] = &[
            ("start", "prsstart", &[2281, 23], "start"),
            ("gettoken", "prstoken", &[2281, 2281, 2281], "gettoken"),
            ("end", "prsend", &[2281], "end"),
            ("lextypes", "prslextype", &[2281], "lextypes"),
            ("headline", "prsheadline", &[2281, 2281, 3615], ""),
        ];
        const TEMPLATE: &[(&str, &str, &[u32], &str)] = &[
            ("init", "tmplinit", &[2281], ""),
            ("lexize", "tmpllexize", &[2281, 2281, 2281, 2281], "lexize"),
        ];
        let (noun, class, known) = match parser {
            true => ("parser", PG_TS_PARSER, PARSER),
            false => ("template", PG_TS_TEMPLATE, TEMPLATE),
        };
        if !self.is_superuser()? {
            bail!(INSUFFICIENT_PRIVILEGE, "must be superuser to create text search {noun}s");
        }
        let mut found: Vec<(&str, Oid)> = Vec::new();
        for e in options {
            let Some((_, column, args, _)) = known.iter().find(|k| k.0 == e.name) else {
                bail!(SYNTAX_ERROR, "text search {noun} parameter \"{}\" not recognized", e.name);
            };
            found.push((column, self.ts_function(&value(e)?, args)?));
        }
        for (_, column, _, needed) in known.iter().filter(|k| !k.3.is_empty()) {
            if !found.iter().any(|f| f.0 == *column) {
                bail!(INVALID_OBJECT_DEFINITION, "text search {noun} {needed} method is required");
            }
        }
        let own = self.insert_ts(class, name, None, |row| {
            for (column, oid) in &found {
                row.set_oid(column, *oid)?;
            }
            Ok(())
        })?;
        for (_, oid) in found {
            let on = ObjectAddress::new(oids::PG_PROC, oid);
            depend::record(self.rows, own, on, DependKind::Normal)?;
        }
        Ok(())
    }

    fn ts_function(&self, parts: &[String], args: &[u32]) -> Result<Oid> {
        let name = Name { parts: parts.to_vec(), pos: 0 };
        let (schema, last) = split(&name);
        let all = self.view.procs_named(schema, last)?;
        let fits = |types: &[Oid]| types.iter().map(|t| t.0).eq(args.iter().copied());
        match all.iter().find(|p| fits(&p.arg_types)) {
            Some(p) => Ok(p.oid),
            None => {
                let shown: Vec<String> =
                    args.iter().map(|t| self.format_type(Oid(*t), -1)).collect();
                bail!(
                    UNDEFINED_FUNCTION,
                    "function {}({}) does not exist",
                    parts.join("."),
                    shown.join(", ")
                )
            }
        }
    }

    /// ALTER TEXT SEARCH CONFIGURATION .. MAPPING.
    pub fn alter_ts_configuration(&self, stmt: &AlterTsConfigurationStmt) -> Result<()> {
        let oid = self.ts_object(ObjectKind::TsConfiguration, &stmt.name.parts)?;
        let own = ObjectAddress::new(PG_TS_CONFIG, oid);
        self.require_owner(own)?;
        match &stmt.action {
            TsConfigAction::Add { tokens, dicts } => self.map_tokens(oid, tokens, dicts, false)?,
            TsConfigAction::Alter { tokens, dicts } => self.map_tokens(oid, tokens, dicts, true)?,
            TsConfigAction::Replace { tokens, old, new } => {
                let kinds = token_kinds(tokens)?;
                let old = self.ts_object(ObjectKind::TsDictionary, &old.parts)?;
                let new = self.ts_object(ObjectKind::TsDictionary, &new.parts)?;
                for mut row in self.rows.index_scan(MAP_INDEX, &[Datum::U32(oid.0)])? {
                    let kind = row.i32("maptokentype")?;
                    let meant = kinds.is_empty() || kinds.iter().any(|k| k.0 == kind);
                    if meant && row.oid("mapdict")? == old {
                        row.set_oid("mapdict", new)?;
                        self.rows.update(row)?;
                    }
                }
            }
            TsConfigAction::Drop { tokens, missing_ok } => {
                for (kind, name) in token_kinds(tokens)? {
                    if self.unmap(oid, kind)? {
                        continue;
                    }
                    let text = format!("mapping for token type \"{name}\" does not exist");
                    if !missing_ok {
                        return Err(Error::new(SqlState::UNDEFINED_OBJECT, text));
                    }
                    self.notice(Error::notice(format!("{text}, skipping")));
                }
            }
        }
        self.depend_on_dictionaries(own)
    }

    fn unmap(&self, config: Oid, kind: i32) -> Result<bool> {
        let key = [Datum::U32(config.0), Datum::I32(kind)];
        let rows = self.rows.index_scan(MAP_INDEX, &key)?;
        for row in &rows {
            self.rows.delete(row)?;
        }
        Ok(!rows.is_empty())
    }

    fn map_tokens(
        &self,
        config: Oid,
        tokens: &[String],
        dicts: &[Name],
        replace: bool,
    ) -> Result<()> {
        let kinds = token_kinds(tokens)?;
        if replace {
            for (kind, _) in &kinds {
                self.unmap(config, *kind)?;
            }
        }
        let mut oids = Vec::new();
        for dict in dicts {
            oids.push(self.ts_object(ObjectKind::TsDictionary, &dict.parts)?);
        }
        for (kind, _) in kinds {
            for (i, dict) in oids.iter().enumerate() {
                let place = i as i32 + 1;
                let key = [Datum::U32(config.0), Datum::I32(kind), Datum::I32(place)];
                if !self.rows.index_scan(MAP_INDEX, &key)?.is_empty() {
                    return Err(err!(
                        UNIQUE_VIOLATION,
                        "duplicate key value violates unique constraint \"pg_ts_config_map_index\""
                    )
                    .detail(format!(
                        "Key (mapcfg, maptokentype, mapseqno)=({config}, {kind}, {place}) already \
                         exists."
                    )));
                }
                self.insert_mapping(config, (kind, place), *dict)?;
            }
        }
        Ok(())
    }

    /// Removes a configuration's mappings, which go with it.
    pub fn remove_ts_mappings(&self, config: Oid) -> Result<()> {
        for row in self.rows.index_scan(MAP_INDEX, &[Datum::U32(config.0)])? {
            self.rows.delete(&row)?;
        }
        Ok(())
    }

    /// A text search object as messages name it.
    pub fn describe_text_search(&self, facts: &TsClass, oid: Oid) -> Result<String> {
        let row = self.row_by_oid(facts.by_oid, oid)?;
        let (namespace, name) = (row.oid(facts.schema)?, row.text(facts.name)?);
        if self.view.search_path().contains(&namespace) {
            return Ok(format!("{} {}", facts.noun, quote(&name)));
        }
        let schema = self.view.namespace(namespace)?;
        Ok(format!("{} {}.{}", facts.noun, quote(&schema.name), quote(&name)))
    }
}

/// The numbers of token types by name, each once.
fn token_kinds(tokens: &[String]) -> Result<Vec<(i32, &str)>> {
    let mut out: Vec<(i32, &str)> = Vec::new();
    for token in tokens {
        let Some(kind) = functions::ts::token_kind(token) else {
            bail!(INVALID_PARAMETER_VALUE, "token type \"{token}\" does not exist");
        };
        if !out.iter().any(|o| o.0 == kind) {
            out.push((kind, token));
        }
    }
    Ok(out)
}
