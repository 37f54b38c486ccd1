//! `pg_get_object_address`: an object by its kind, names and arguments.

use super::member::default_acl_objects;
use crate::ddl::Ddl;
use crate::ddl::describe::Found;
use base::{Error, Oid, Result, SqlState, bail, err};
use catalog::depend::ObjectAddress;
use catalog::{ProcDesc, RelKind, RelationDesc, indexes, oids};
use functions::FnEnv;
use parser::ast::{NO_POS, Name, Object, ObjectDetail, ObjectKind};
use std::sync::Arc;
use types::Datum;

/// Kinds that are called by one name.
const PLAIN: &[(&str, ObjectKind)] = &[
    ("language", ObjectKind::Language),
    ("schema", ObjectKind::Schema),
    ("role", ObjectKind::Role),
    ("database", ObjectKind::Database),
    ("tablespace", ObjectKind::Tablespace),
    ("foreign-data wrapper", ObjectKind::ForeignDataWrapper),
    ("server", ObjectKind::ForeignServer),
    ("extension", ObjectKind::Extension),
    ("event trigger", ObjectKind::EventTrigger),
    ("access method", ObjectKind::AccessMethod),
    ("publication", ObjectKind::Publication),
    ("subscription", ObjectKind::Subscription),
];

/// Kinds that are called by a name in a schema.
const QUALIFIED: &[(&str, ObjectKind)] = &[
    ("collation", ObjectKind::Collation),
    ("conversion", ObjectKind::Conversion),
    ("statistics object", ObjectKind::Statistics),
    ("text search parser", ObjectKind::TsParser),
    ("text search dictionary", ObjectKind::TsDictionary),
    ("text search template", ObjectKind::TsTemplate),
    ("text search configuration", ObjectKind::TsConfiguration),
];

/// Kinds that are called by a name among those of a relation.
const MEMBERS: &[(&str, ObjectKind)] = &[
    ("table constraint", ObjectKind::Constraint),
    ("rule", ObjectKind::Rule),
    ("trigger", ObjectKind::Trigger),
    ("policy", ObjectKind::Policy),
];

/// Kinds of relations, with the words for them in messages.
const RELATIONS: &[(&str, &str, &[RelKind])] = &[
    ("table", "a table", &[RelKind::Table, RelKind::Partitioned]),
    ("index", "an index", &[RelKind::Index, RelKind::PartitionedIndex]),
    ("sequence", "a sequence", &[RelKind::Sequence]),
    ("view", "a view", &[RelKind::View]),
    ("materialized view", "a materialized view", &[RelKind::MatView]),
    ("foreign table", "a foreign table", &[RelKind::Foreign]),
];

/// Kinds that have a name but cannot be found by it.
const UNSUPPORTED: &[&str] = &[
    "toast table",
    "composite type",
    "index column",
    "sequence column",
    "toast table column",
    "view column",
    "materialized view column",
    "composite type column",
    "role membership",
];

fn length(what: &str, rule: &str, count: usize) -> Error {
    err!(INVALID_PARAMETER_VALUE, "{what} list length must be {rule} {count}")
}

fn exactly(what: &str, list: &[String], count: usize) -> Result<()> {
    if list.len() == count { Ok(()) } else { Err(length(what, "exactly", count)) }
}

fn at_least(list: &[String], count: usize) -> Result<()> {
    if list.len() >= count { Ok(()) } else { Err(length("name", "at least", count)) }
}

fn name_of(parts: &[String]) -> Name {
    Name { parts: parts.to_vec(), pos: NO_POS }
}

fn lookup<T: Copy>(list: &[(&str, T)], kind: &str) -> Option<T> {
    list.iter().find(|k| k.0 == kind).map(|k| k.1)
}

/// Schema and name; there are no names in other databases.
fn qualified(parts: &[String]) -> Result<(Option<&str>, &str)> {
    match parts {
        [name] => Ok((None, name)),
        [schema, name] => Ok((Some(schema), name)),
        _ => bail!(
            FEATURE_NOT_SUPPORTED,
            "cross-database references are not implemented: {}",
            parts.join(".")
        ),
    }
}

impl Ddl<'_> {
    /// The object of a kind that these names and arguments mean.
    pub fn object_address(
        &self,
        kind: &str,
        names: &[Option<String>],
        args: &[Option<String>],
    ) -> Result<ObjectAddress> {
        let special = [
            "table column",
            "foreign table column",
            "default value",
            "type",
            "domain constraint",
            "cast",
            "transform",
            "large object",
            "aggregate",
            "function",
            "procedure",
            "routine",
            "operator",
            "operator class",
            "operator family",
            "operator of access method",
            "function of access method",
            "user mapping",
            "default acl",
            "parameter ACL",
            "publication relation",
            "publication namespace",
        ];
        let listed = [PLAIN, QUALIFIED, MEMBERS].iter().any(|l| lookup(l, kind).is_some());
        let relation = RELATIONS.iter().any(|r| r.0 == kind);
        if UNSUPPORTED.contains(&kind) {
            bail!(INVALID_PARAMETER_VALUE, "unsupported object type \"{kind}\"");
        }
        if !listed && !relation && !special.contains(&kind) {
            bail!(INVALID_PARAMETER_VALUE, "unrecognized object type \"{kind}\"");
        }
        let whole = |list: &[Option<String>]| -> Result<Vec<String>> {
            list.iter().cloned().collect::<Option<Vec<String>>>().ok_or_else(|| {
                err!(INVALID_PARAMETER_VALUE, "name or argument lists may not contain nulls")
            })
        };
        let (names, args) = (whole(names)?, whole(args)?);
        let by_one = ["type", "domain", "domain constraint", "cast", "transform", "large object"];
        match by_one.contains(&kind) {
            true => exactly("name", &names, 1)?,
            false => at_least(&names, 1)?,
        }
        if let Some(kind) = lookup(PLAIN, kind) {
            exactly("name", &names, 1)?;
            return self.found(kind, &names, ObjectDetail::None);
        }
        if let Some(kind) = lookup(QUALIFIED, kind) {
            qualified(&names)?;
            return self.found(kind, &names, ObjectDetail::None);
        }
        if let Some(kind) = lookup(MEMBERS, kind) {
            let Some((member, relation)) = names.split_last().filter(|s| !s.1.is_empty()) else {
                bail!(SYNTAX_ERROR, "must specify relation and object name");
            };
            return self.found(kind, relation, ObjectDetail::Member(member.clone()));
        }
        if let Some((_, word, kinds)) = RELATIONS.iter().find(|r| r.0 == kind) {
            let rel = self.named_relation(&names)?;
            if !kinds.contains(&rel.kind) {
                bail!(WRONG_OBJECT_TYPE, "\"{}\" is not {word}", rel.name);
            }
            return Ok(ObjectAddress::relation(rel.oid));
        }
        self.special_address(kind, &names, &args)
    }

    /// Kinds that have arguments or a form of their own.
    fn special_address(
        &self,
        kind: &str,
        names: &[String],
        args: &[String],
    ) -> Result<ObjectAddress> {
        match kind {
            "table column" | "foreign table column" | "default value" => {
                self.column_address(kind, names)
            }
            "type" | "domain" => {
                let oid = self.type_by_text(&names[0])?;
                if kind == "domain" && self.view.type_(oid)?.kind != b'd' {
                    bail!(WRONG_OBJECT_TYPE, "\"{}\" is not a domain", names[0]);
                }
                Ok(ObjectAddress::new(oids::PG_TYPE, oid))
            }
            "large object" => self.found(ObjectKind::LargeObject, names, ObjectDetail::None),
            "aggregate" | "function" | "procedure" | "routine" => {
                let types = self.types_by_text(args)?;
                self.routine_address(kind, names, &types)
            }
            "operator" => {
                exactly("argument", args, 2)?;
                self.operator_address(names, &self.types_by_text(args)?)
            }
            "operator class" | "operator family" => {
                at_least(names, 2)?;
                let kind = match kind {
                    "operator class" => ObjectKind::OpClass,
                    _ => ObjectKind::OpFamily,
                };
                self.of_method_address(kind, names)
            }
            "operator of access method" | "function of access method" => {
                at_least(names, 3)?;
                exactly("argument", args, 2)?;
                self.family_member_address(kind, names, args)
            }
            "parameter ACL" => {
                exactly("name", names, 1)?;
                let key = [Datum::text(&names[0])];
                let row = self.rows.index_scan(indexes::PG_PARAMETER_ACL_NAME, &key)?;
                match row.first() {
                    Some(row) => Ok(ObjectAddress::new(oids::PG_PARAMETER_ACL, row.oid("oid")?)),
                    None => {
                        bail!(UNDEFINED_OBJECT, "parameter ACL \"{}\" does not exist", names[0])
                    }
                }
            }
            _ => {
                if matches!(kind, "publication namespace" | "user mapping") {
                    exactly("name", names, 1)?;
                }
                exactly("argument", args, 1)?;
                self.paired_address(kind, names, &args[0])
            }
        }
    }

    /// Kinds that have one argument.
    fn paired_address(&self, kind: &str, names: &[String], arg: &str) -> Result<ObjectAddress> {
        match kind {
            "domain constraint" => {
                let domain = self.type_by_text(&names[0])?;
                if self.view.type_(domain)?.kind != b'd' {
                    bail!(WRONG_OBJECT_TYPE, "\"{}\" is not a domain", names[0]);
                }
                let all = self.view.domain_constraints(domain)?;
                match all.iter().find(|c| &*c.name == arg) {
                    Some(c) => Ok(ObjectAddress::new(oids::PG_CONSTRAINT, c.oid)),
                    None => bail!(
                        UNDEFINED_OBJECT,
                        "constraint \"{arg}\" for domain {} does not exist",
                        names[0]
                    ),
                }
            }
            "cast" => {
                let (from, to) = (self.type_by_text(&names[0])?, self.type_by_text(arg)?);
                let key = [Datum::U32(from.0), Datum::U32(to.0)];
                match self.rows.index_scan(indexes::PG_CAST_SOURCE, &key)?.first() {
                    Some(row) => Ok(ObjectAddress::new(oids::PG_CAST, row.oid("oid")?)),
                    None => bail!(
                        UNDEFINED_OBJECT,
                        "cast from type {} to type {} does not exist",
                        self.format_type(from, -1),
                        self.format_type(to, -1)
                    ),
                }
            }
            "transform" => self.transform_address(&names[0], arg),
            "user mapping" => self.user_mapping_address(&names[0], arg),
            "default acl" => self.default_acl_address(names, arg),
            _ => self.published_address(kind, names, arg),
        }
    }

    fn found(
        &self,
        kind: ObjectKind,
        names: &[String],
        detail: ObjectDetail,
    ) -> Result<ObjectAddress> {
        let object = Object { kind, name: name_of(names), only: false, detail };
        match self.find_object(&object, false).map_err(|e| e.placed(None))? {
            Found::Object(a) => Ok(a),
            Found::Missing(text) => Err(Error::new(SqlState::UNDEFINED_OBJECT, text)),
        }
    }

    fn type_by_text(&self, text: &str) -> Result<Oid> {
        self.env.catalog().types().reg_in(oids::REGTYPE, text)
    }

    fn types_by_text(&self, texts: &[String]) -> Result<Vec<Oid>> {
        texts.iter().map(|t| self.type_by_text(t)).collect()
    }

    fn named_relation(&self, names: &[String]) -> Result<Arc<RelationDesc>> {
        if names.len() > 2 {
            bail!(
                FEATURE_NOT_SUPPORTED,
                "cross-database references are not implemented: \"{}\"",
                names.join(".")
            );
        }
        let (schema, name) = qualified(names)?;
        let found = self.view.relation_named(schema, name)?;
        found
            .ok_or_else(|| err!(UNDEFINED_TABLE, "relation \"{}\" does not exist", names.join(".")))
    }

    fn column_address(&self, kind: &str, names: &[String]) -> Result<ObjectAddress> {
        let Some((column, relation)) = names.split_last().filter(|s| !s.1.is_empty()) else {
            bail!(SYNTAX_ERROR, "column name must be qualified");
        };
        let (schema, name) = qualified(relation)?;
        let rel = self.view.require_relation(schema, name).map_err(|e| e.placed(None))?;
        let number = crate::ddl::column::named(&rel, column)?;
        if kind != "default value" {
            return Ok(ObjectAddress::column(rel.oid, number));
        }
        for d in self.rows.table_scan(oids::PG_ATTRDEF)? {
            if d.oid("adrelid")? == rel.oid && d.i16("adnum")? == number {
                return Ok(ObjectAddress::new(oids::PG_ATTRDEF, d.oid("oid")?));
            }
        }
        bail!(
            UNDEFINED_COLUMN,
            "default value for column \"{column}\" of relation \"{}\" does not exist",
            rel.name
        )
    }

    fn routine_address(
        &self,
        kind: &str,
        names: &[String],
        types: &[Oid],
    ) -> Result<ObjectAddress> {
        let (schema, name) = qualified(names)?;
        let found = self.view.procs_named(schema, name)?;
        let found: Option<Arc<ProcDesc>> = found.into_iter().find(|p| p.arg_types == types);
        let shown = match kind {
            "aggregate" if types.is_empty() => format!("{}(*)", names.join(".")),
            _ => self.signature_text(&name_of(names), types),
        };
        let Some(found) = found else {
            bail!(UNDEFINED_FUNCTION, "{kind} {shown} does not exist");
        };
        match (kind, found.kind) {
            ("aggregate", k) if k != b'a' => {
                bail!(WRONG_OBJECT_TYPE, "function {shown} is not an aggregate")
            }
            ("procedure", k) if k != b'p' => {
                bail!(WRONG_OBJECT_TYPE, "{shown} is not a procedure")
            }
            ("function", b'p') => bail!(WRONG_OBJECT_TYPE, "{shown} is not a function"),
            _ => Ok(ObjectAddress::new(oids::PG_PROC, found.oid)),
        }
    }

    fn operator_address(&self, names: &[String], types: &[Oid]) -> Result<ObjectAddress> {
        let (schema, name) = qualified(names)?;
        let found = match schema {
            Some(s) if self.view.namespace_named(s)?.is_none() => None,
            _ => self.view.operator_exact(schema, name, types[0], types[1])?,
        };
        match found {
            Some(o) => Ok(ObjectAddress::new(oids::PG_OPERATOR, o.oid)),
            None => bail!(
                UNDEFINED_FUNCTION,
                "operator does not exist: {} {} {}",
                self.format_type(types[0], -1),
                names.join("."),
                self.format_type(types[1], -1)
            ),
        }
    }

    /// An operator class or family; the access method's name is first.
    fn of_method_address(&self, kind: ObjectKind, names: &[String]) -> Result<ObjectAddress> {
        let (method, name) = (&names[0], &names[1..]);
        if self.rows.index_scan(indexes::PG_AM_NAME, &[Datum::text(method)])?.is_empty() {
            bail!(UNDEFINED_OBJECT, "access method \"{method}\" does not exist");
        }
        qualified(name)?;
        let detail = ObjectDetail::Using(method.clone());
        self.found(kind, name, detail).map_err(|e| {
            let noun = match kind {
                ObjectKind::OpClass => "operator class",
                _ => "operator family",
            };
            match e.code() {
                SqlState::UNDEFINED_OBJECT => err!(
                    UNDEFINED_OBJECT,
                    "{noun} \"{}\" does not exist for access method \"{method}\"",
                    name.join(".")
                ),
                _ => e,
            }
        })
    }

    fn family_member_address(
        &self,
        kind: &str,
        names: &[String],
        args: &[String],
    ) -> Result<ObjectAddress> {
        let (number, family_name) = names.split_last().unwrap_or((&names[0], names));
        let (class, noun, prefix, column) = match kind {
            "operator of access method" => (oids::PG_AMOP, "operator", "amop", "amopstrategy"),
            _ => (oids::PG_AMPROC, "function", "amproc", "amprocnum"),
        };
        let types = self.types_by_text(args)?;
        let family = self.of_method_address(ObjectKind::OpFamily, family_name)?;
        let wanted: i16 = number.trim().parse().map_err(|_| {
            err!(
                INVALID_TEXT_REPRESENTATION,
                "invalid input syntax for type smallint: \"{number}\""
            )
        })?;
        for row in self.rows.table_scan(class)? {
            let is = |what: &str, oid: Oid| -> Result<bool> {
                Ok(row.oid(&format!("{prefix}{what}"))? == oid)
            };
            if is("family", family.object)?
                && is("lefttype", types[0])?
                && is("righttype", types[1])?
                && row.i16(column)? == wanted
            {
                return Ok(ObjectAddress::new(class, row.oid("oid")?));
            }
        }
        bail!(
            UNDEFINED_OBJECT,
            "{noun} {wanted} ({}) of {} does not exist",
            args.join(", "),
            self.describe(family)?
        )
    }

    fn transform_address(&self, of: &str, language: &str) -> Result<ObjectAddress> {
        let type_oid = self.type_by_text(of)?;
        let names = [language.to_string()];
        let found = self.found(ObjectKind::Language, &names, ObjectDetail::None)?;
        for row in self.rows.table_scan(oids::PG_TRANSFORM)? {
            if row.oid("trftype")? == type_oid && row.oid("trflang")? == found.object {
                return Ok(ObjectAddress::new(oids::PG_TRANSFORM, row.oid("oid")?));
            }
        }
        bail!(
            UNDEFINED_OBJECT,
            "transform for type {} language \"{language}\" does not exist",
            self.format_type(type_oid, -1)
        )
    }

    fn user_mapping_address(&self, user: &str, server: &str) -> Result<ObjectAddress> {
        let missing = || {
            err!(
                UNDEFINED_OBJECT,
                "user mapping for user \"{user}\" on server \"{server}\" does not exist"
            )
        };
        let role = match user {
            "public" => Oid::INVALID,
            name => self.view.role_named(name)?.ok_or_else(missing)?.oid,
        };
        let names = [server.to_string()];
        let found = self.found(ObjectKind::ForeignServer, &names, ObjectDetail::None)?;
        for row in self.rows.table_scan(oids::PG_USER_MAPPING)? {
            if row.oid("umuser")? == role && row.oid("umserver")? == found.object {
                return Ok(ObjectAddress::new(oids::PG_USER_MAPPING, row.oid("oid")?));
            }
        }
        Err(missing())
    }

    fn default_acl_address(&self, names: &[String], letter: &str) -> Result<ObjectAddress> {
        let byte = letter.bytes().next().unwrap_or(0);
        let Some(objects) = default_acl_objects(byte) else {
            return Err(err!(
                INVALID_PARAMETER_VALUE,
                "unrecognized default ACL object type \"{}\"",
                char::from(byte)
            )
            .hint("Valid object types are \"r\", \"S\", \"f\", \"T\", \"n\", \"L\"."));
        };
        let schema = names.get(1);
        let missing = || {
            let place = schema.map_or(String::new(), |s| format!(" in schema \"{s}\""));
            err!(
                UNDEFINED_OBJECT,
                "default ACL for user \"{}\"{place} on {objects} does not exist",
                names[0]
            )
        };
        let role = self.view.role_named(&names[0])?.ok_or_else(missing)?;
        let namespace = match schema {
            Some(s) => self.view.namespace_named(s)?.ok_or_else(missing)?.oid,
            None => Oid::INVALID,
        };
        let key = [Datum::U32(role.oid.0), Datum::U32(namespace.0), Datum::Char(byte)];
        match self.rows.index_scan(indexes::PG_DEFAULT_ACL_ROLE, &key)?.first() {
            Some(row) => Ok(ObjectAddress::new(oids::PG_DEFAULT_ACL, row.oid("oid")?)),
            None => Err(missing()),
        }
    }

    fn published_address(
        &self,
        kind: &str,
        names: &[String],
        publication: &str,
    ) -> Result<ObjectAddress> {
        let of = [publication.to_string()];
        let of = |ddl: &Self| ddl.found(ObjectKind::Publication, &of, ObjectDetail::None);
        let (class, target, shown) = match kind {
            "publication relation" => {
                let rel = self.named_relation(names)?;
                (oids::PG_PUBLICATION_REL, rel.oid, format!("relation \"{}\"", rel.name))
            }
            _ => {
                let schema = self.view.require_namespace(&names[0])?;
                let shown = format!("schema \"{}\"", schema.name);
                (oids::PG_PUBLICATION_NAMESPACE, schema.oid, shown)
            }
        };
        let (own, other) = match class {
            oids::PG_PUBLICATION_REL => ("prrelid", "prpubid"),
            _ => ("pnnspid", "pnpubid"),
        };
        let found = of(self)?;
        for row in self.rows.table_scan(class)? {
            if row.oid(own)? == target && row.oid(other)? == found.object {
                return Ok(ObjectAddress::new(class, row.oid("oid")?));
            }
        }
        bail!(
            UNDEFINED_OBJECT,
            "publication {shown} in publication \"{publication}\" does not exist"
        )
    }
}
