//! What an object is called wherever the search path points: `pg_identify_object`,
//! `pg_identify_object_as_address`, and back with `pg_get_object_address`.

mod address;
mod member;

use super::Ddl;
use super::name::quote;
use super::text_search::{PG_TS_PARSER, PG_TS_TEMPLATE};
use base::{Oid, Result, bail};
use catalog::depend::ObjectAddress;
use catalog::{RelKind, RelationDesc, SysRow, oids};

/// How a system table keeps its objects' names.
struct Class {
    /// The system table.
    table: Oid,
    /// What its objects are called.
    kind: &'static str,
    /// The column of names, if the rest is as simple as a name in a schema or in none.
    name: Option<&'static str>,
    /// The column of schemas.
    schema: Option<&'static str>,
}

macro_rules! classes {
    ($($table:expr, $kind:literal $(, $name:literal $(in $schema:literal)?)?;)*) => {
        &[$(Class {
            table: $table,
            kind: $kind,
            name: classes!(@opt $($name)?),
            schema: classes!(@opt $($($schema)?)?),
        },)*]
    };
    (@opt) => { None };
    (@opt $value:literal) => { Some($value) };
}

const CLASSES: &[Class] = classes! {
    oids::PG_CLASS, "relation";
    oids::PG_PROC, "routine";
    oids::PG_TYPE, "type";
    oids::PG_CAST, "cast";
    oids::PG_COLLATION, "collation", "collname" in "collnamespace";
    oids::PG_CONSTRAINT, "constraint";
    oids::PG_CONVERSION, "conversion", "conname" in "connamespace";
    oids::PG_ATTRDEF, "default value";
    oids::PG_LANGUAGE, "language", "lanname";
    oids::PG_LARGEOBJECT, "large object";
    oids::PG_OPERATOR, "operator";
    oids::PG_OPCLASS, "operator class";
    oids::PG_OPFAMILY, "operator family";
    oids::PG_AM, "access method", "amname";
    oids::PG_AMOP, "operator of access method";
    oids::PG_AMPROC, "function of access method";
    oids::PG_REWRITE, "rule";
    oids::PG_TRIGGER, "trigger";
    oids::PG_NAMESPACE, "schema";
    oids::PG_STATISTIC_EXT, "statistics object", "stxname" in "stxnamespace";
    PG_TS_PARSER, "text search parser", "prsname" in "prsnamespace";
    oids::PG_TS_DICT, "text search dictionary", "dictname" in "dictnamespace";
    PG_TS_TEMPLATE, "text search template", "tmplname" in "tmplnamespace";
    oids::PG_TS_CONFIG, "text search configuration", "cfgname" in "cfgnamespace";
    oids::PG_AUTHID, "role", "rolname";
    oids::PG_AUTH_MEMBERS, "role membership";
    oids::PG_DATABASE, "database", "datname";
    oids::PG_TABLESPACE, "tablespace", "spcname";
    oids::PG_FOREIGN_DATA_WRAPPER, "foreign-data wrapper", "fdwname";
    oids::PG_FOREIGN_SERVER, "server", "srvname";
    oids::PG_USER_MAPPING, "user mapping";
    oids::PG_DEFAULT_ACL, "default acl";
    oids::PG_EXTENSION, "extension", "extname";
    oids::PG_EVENT_TRIGGER, "event trigger", "evtname";
    oids::PG_PARAMETER_ACL, "parameter ACL";
    oids::PG_POLICY, "policy";
    oids::PG_PUBLICATION, "publication", "pubname";
    oids::PG_PUBLICATION_NAMESPACE, "publication namespace";
    oids::PG_PUBLICATION_REL, "publication relation";
    oids::PG_SUBSCRIPTION, "subscription", "subname";
    oids::PG_TRANSFORM, "transform";
};

/// What an object is called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// Its schema, quoted where needed.
    pub schema: Option<String>,
    /// Its name, quoted where needed, if it has one that nothing of its kind shares there.
    pub name: Option<String>,
    /// All that identifies it, as text.
    pub text: String,
    /// The same as `pg_get_object_address` takes it: names and arguments.
    pub names: Vec<String>,
    /// See `names`.
    pub args: Vec<String>,
}

/// The word for a relation of a kind.
fn relation_kind(kind: RelKind) -> &'static str {
    match kind {
        RelKind::Table | RelKind::Partitioned => "table",
        RelKind::Index | RelKind::PartitionedIndex => "index",
        RelKind::Sequence => "sequence",
        RelKind::Toast => "toast table",
        RelKind::View => "view",
        RelKind::MatView => "materialized view",
        RelKind::Composite => "composite type",
        RelKind::Foreign => "foreign table",
    }
}

/// Whether objects have addresses in this system table.
pub fn is_class(table: Oid) -> bool {
    CLASSES.iter().any(|c| c.table == table)
}

/// The name of a column, system columns too.
pub fn column_name(rel: &RelationDesc, number: i32) -> Option<String> {
    match usize::try_from(number) {
        Ok(n) => rel.tuple.attrs.get(n.checked_sub(1)?).map(|a| a.name.to_string()),
        Err(_) => {
            let system = super::column::SYSTEM_COLUMNS.iter();
            system.filter(|c| i32::from(c.1) == number).map(|c| c.0.to_string()).next()
        }
    }
}

impl Ddl<'_> {
    /// The row of an object in its system table.
    pub fn find_row(&self, class: Oid, oid: Oid) -> Result<Option<SysRow>> {
        let table = catalog::rows::system_relation(class)?;
        let by_oid = table.indexes.iter().find(|i| {
            i.is_unique && i.columns == [1] && table.tuple.attrs[0].name.as_ref() == "oid"
        });
        match by_oid {
            Some(index) => {
                let key = [types::Datum::U32(oid.0)];
                Ok(self.rows.index_scan(index.oid, &key)?.into_iter().next())
            }
            None => Ok(None),
        }
    }

    fn class_facts(&self, class: Oid) -> Result<&'static Class> {
        match CLASSES.iter().find(|c| c.table == class) {
            Some(facts) => Ok(facts),
            None => bail!(INTERNAL_ERROR, "unsupported object class: {class}"),
        }
    }

    /// What kind of object this is; said of one that is not there too.
    pub fn object_kind(&self, a: ObjectAddress) -> Result<String> {
        let facts = self.class_facts(a.class)?;
        Ok(match a.class {
            oids::PG_CLASS => {
                let rel = self.view.find_relation(a.object)?;
                let found = rel.is_some();
                let kind = rel.map_or(facts.kind, |r| relation_kind(r.kind));
                // Of what is not there, no more is told.
                let column = a.sub != 0 && found;
                if column { format!("{kind} column") } else { kind.to_string() }
            }
            oids::PG_PROC => match self.view.find_proc(a.object)?.map(|p| p.kind) {
                Some(b'a') => "aggregate".to_string(),
                Some(b'p') => "procedure".to_string(),
                Some(_) => "function".to_string(),
                None => facts.kind.to_string(),
            },
            oids::PG_CONSTRAINT => match self.find_row(a.class, a.object)? {
                Some(row) if row.oid("conrelid")?.is_valid() => "table constraint".to_string(),
                Some(_) => "domain constraint".to_string(),
                None => facts.kind.to_string(),
            },
            _ => facts.kind.to_string(),
        })
    }

    /// What an object is called; `None` if it is not there.
    pub fn identify(&self, a: ObjectAddress) -> Result<Option<Identity>> {
        let facts = self.class_facts(a.class)?;
        match a.class {
            oids::PG_CLASS => return self.identify_relation(a),
            oids::PG_TYPE => return self.identify_type(a.object),
            oids::PG_LARGEOBJECT => {
                let found = crate::large_object::exists(self.env.core, a.object)?;
                let number = a.object.to_string();
                return Ok(found.then(|| Identity {
                    text: number.clone(),
                    names: vec![number],
                    ..Default::default()
                }));
            }
            _ => {}
        }
        let Some(row) = self.find_row(a.class, a.object)? else { return Ok(None) };
        match facts.name {
            Some(column) => {
                let name = row.text(column)?;
                let schema = facts.schema.map(|s| row.oid(s)).transpose()?;
                self.simple_identity(schema, &name).map(Some)
            }
            None => self.identify_member(a.class, &row),
        }
    }

    /// The name of a schema; that of the session's temporary one is hidden.
    fn schema_name(&self, namespace: Oid) -> Result<String> {
        if Some(namespace) == self.view.context().temp_namespace {
            return Ok("pg_temp".to_string());
        }
        Ok(self.view.namespace(namespace)?.name.to_string())
    }

    /// A name, in a schema or in none.
    fn simple_identity(&self, namespace: Option<Oid>, name: &str) -> Result<Identity> {
        let Some(namespace) = namespace else {
            return Ok(Identity {
                name: Some(quote(name)),
                text: quote(name),
                names: vec![name.to_string()],
                ..Default::default()
            });
        };
        let schema = self.schema_name(namespace)?;
        Ok(Identity {
            schema: Some(quote(&self.view.namespace(namespace)?.name)),
            name: Some(quote(name)),
            text: format!("{}.{}", quote(&schema), quote(name)),
            names: vec![schema, name.to_string()],
            args: Vec::new(),
        })
    }

    fn identify_relation(&self, a: ObjectAddress) -> Result<Option<Identity>> {
        let Some(rel) = self.view.find_relation(a.object)? else { return Ok(None) };
        let mut identity = self.simple_identity(Some(rel.namespace), &rel.name)?;
        if a.sub != 0 {
            let Some(column) = column_name(&rel, a.sub) else { return Ok(None) };
            identity.text = format!("{}.{}", identity.text, quote(&column));
            identity.names.push(column);
        }
        Ok(Some(identity))
    }

    fn identify_type(&self, oid: Oid) -> Result<Option<Identity>> {
        let Some(t) = self.view.find_type(oid)? else { return Ok(None) };
        let text = self.qualified_type(oid)?;
        Ok(Some(Identity {
            schema: Some(quote(&self.view.namespace(t.namespace)?.name)),
            name: Some(quote(&t.name)),
            names: vec![text.clone()],
            text,
            args: Vec::new(),
        }))
    }

    /// A type's name with its schema, unless SQL has a name of its own for it.
    fn qualified_type(&self, oid: Oid) -> Result<String> {
        let t = self.view.type_(oid)?;
        if t.is_array() && t.storage != b'p' {
            return Ok(format!("{}[]", self.qualified_type(t.elem)?));
        }
        if let Some(name) = crate::describe::sql_name(oid) {
            return Ok(name.to_string());
        }
        Ok(format!("{}.{}", quote(&self.schema_name(t.namespace)?), quote(&t.name)))
    }

    fn qualified_types(&self, types: &[Oid]) -> Result<Vec<String>> {
        types.iter().map(|t| self.qualified_type(*t)).collect()
    }
}
