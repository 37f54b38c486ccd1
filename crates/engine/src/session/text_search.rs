//! Configurations and dictionaries of text search, as statements use them.

use super::{SessionCore, StatementEnv};
use crate::ddl::name::quote;
use base::{Error, Oid, Result, bail};
use catalog::{CatalogView, RowStore, SysRow};
use functions::ts::{Cache, Dictionary, Sources, TsConfig, builtin_file, options};
use std::path::PathBuf;
use std::sync::Arc;
use types::Datum;

const MAP_INDEX: Oid = Oid(3609);
const CONFIG_NAME_INDEX: Oid = Oid(3608);
const CONFIG_OID_INDEX: Oid = Oid(3712);
const DICT_NAME_INDEX: Oid = Oid(3604);
const DICT_OID_INDEX: Oid = Oid(3605);
const TEMPLATE_OID_INDEX: Oid = Oid(3767);

/// The OID of a configuration or dictionary by name, maybe with its schema.
pub(super) fn find_named(
    rows: &dyn RowStore,
    view: &CatalogView,
    (index, column): (Oid, &str),
    schema: Option<&str>,
    name: &str,
) -> Result<Option<Oid>> {
    let found = rows.index_scan(index, &[Datum::text(name)])?;
    let in_schema = |namespace: Oid| -> Result<Option<Oid>> {
        for row in &found {
            if row.oid(column)? == namespace {
                return Ok(Some(row.oid("oid")?));
            }
        }
        Ok(None)
    };
    if let Some(schema) = schema {
        return match view.namespace_named(schema)? {
            Some(n) => in_schema(n.oid),
            None => Ok(None),
        };
    }
    for namespace in view.search_path() {
        if let Some(oid) = in_schema(*namespace)? {
            return Ok(Some(oid));
        }
    }
    Ok(None)
}

fn one(rows: &dyn RowStore, index: Oid, oid: Oid, noun: &str) -> Result<SysRow> {
    let found = rows.index_scan(index, &[Datum::U32(oid.0)])?.into_iter().next();
    found.ok_or_else(|| Error::internal(format!("cache lookup failed for {noun} {oid}")))
}

impl SessionCore {
    /// A configuration's name with its schema; None if there is no such configuration.
    pub(crate) fn text_search_config(&self, name: &str) -> Result<Option<String>> {
        let Ok(name) = parser::parse_name(name) else { return Ok(None) };
        let (schema, name) = match name.parts.as_slice() {
            [name] => (None, name),
            [schema, name] => (Some(schema.as_str()), name),
            _ => return Ok(None),
        };
        let (store, view) = (&*self.store, self.view()?);
        let place = (CONFIG_NAME_INDEX, "cfgnamespace");
        let Some(oid) = find_named(store, &view, place, schema, name)? else { return Ok(None) };
        let row = one(store, CONFIG_OID_INDEX, oid, "text search configuration")?;
        let schema = view.namespace(row.oid("cfgnamespace")?)?;
        Ok(Some(format!("{}.{}", quote(&schema.name), quote(name))))
    }
}

/// A configuration's dictionaries.
pub(super) fn config(env: &StatementEnv<'_>, oid: Oid) -> Result<Arc<TsConfig>> {
    let store = &*env.core.store;
    one(store, CONFIG_OID_INDEX, oid, "text search configuration")?;
    let mut rows = Vec::new();
    for row in store.index_scan(MAP_INDEX, &[Datum::U32(oid.0)])? {
        let (kind, place) = (row.i32("maptokentype")?, row.i32("mapseqno")?);
        rows.push((kind.clamp(0, 255) as usize, place as u32, row.oid("mapdict")?));
    }
    Ok(Arc::new(TsConfig::new(rows)))
}

/// A dictionary by its OID.
pub(super) fn dictionary(env: &StatementEnv<'_>, oid: Oid) -> Result<Arc<Dictionary>> {
    let row = one(&*env.core.store, DICT_OID_INDEX, oid, "text search dictionary")?;
    let text = row.opt_text("dictinitoption")?.unwrap_or_else(|| "".into());
    dictionary_of(env, row.oid("dicttemplate")?, &text)
}

/// The dictionary that a template makes of these options.
pub(crate) fn dictionary_of(
    env: &StatementEnv<'_>,
    template: Oid,
    text: &str,
) -> Result<Arc<Dictionary>> {
    Cache::global().get(template, text, || {
        let row = one(&*env.core.store, TEMPLATE_OID_INDEX, template, "text search template")?;
        let lexize = row.oid("tmpllexize")?;
        let Some(symbol) = functions::builtin::proc(lexize).map(|p| p.prosrc) else {
            bail!(FEATURE_NOT_SUPPORTED, "a text search template with function {lexize}");
        };
        Dictionary::build(symbol, &options(text)?, &Files { env })
    })
}

struct Files<'a, 'e> {
    env: &'a StatementEnv<'e>,
}

impl Files<'_, '_> {
    /// Where files are looked for: beside the program, then in the data directory.
    fn folders(&self) -> Vec<PathBuf> {
        let settings = base::build::settings();
        let share = settings.into_iter().find(|s| s.0 == "SHAREDIR").map(|s| s.1);
        let mut out: Vec<PathBuf> = share.into_iter().map(PathBuf::from).collect();
        out.push(self.env.core.database.dir().to_path_buf());
        out.into_iter().map(|f| f.join("tsearch_data")).collect()
    }
}

impl Sources for Files<'_, '_> {
    fn file(&self, name: &str) -> Result<(Option<String>, String)> {
        let disk = self.env.core.database.disk();
        let folders = self.folders();
        for folder in &folders {
            let path = folder.join(name);
            if let Ok(bytes) = disk.read(&path) {
                return match String::from_utf8(bytes) {
                    Ok(text) => Ok((Some(text), path.display().to_string())),
                    Err(_) => bail!(
                        CHARACTER_NOT_IN_REPERTOIRE,
                        "invalid byte sequence for encoding \"UTF8\" in file \"{}\"",
                        path.display()
                    ),
                };
            }
        }
        let first = folders.first().map(|f| f.join(name).display().to_string());
        Ok((builtin_file(name).map(str::to_string), first.unwrap_or_default()))
    }

    fn dictionary(&self, name: &str) -> Result<Arc<Dictionary>> {
        let parts = parser::parse_name(name)?;
        let (schema, last) = crate::ddl::name::split(&parts);
        let place = (DICT_NAME_INDEX, "dictnamespace");
        let found = find_named(&*self.env.core.store, &self.env.view, place, schema, last)?;
        match found {
            Some(oid) => dictionary(self.env, oid),
            None => {
                bail!(UNDEFINED_OBJECT, "text search dictionary \"{name}\" does not exist")
            }
        }
    }
}
