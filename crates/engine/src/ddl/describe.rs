//! Objects found by what a statement says, and named in messages.

use super::Ddl;
use super::name::{quote, split};
use base::{Error, Oid, Result, bail, err};
use catalog::depend::ObjectAddress;
use catalog::{ProcDesc, RelKind, RelationDesc, indexes, oids};
use parser::ast::{FuncSignature, Name, Object, ObjectDetail, ObjectKind, ParamMode, TypeName};
use std::sync::Arc;
use types::Datum;

/// What a statement's object turned out to be.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// It is there.
    Object(ObjectAddress),
    /// It is not; the notice says so for IF EXISTS.
    Missing(String),
}

/// Where objects of a kind are found by name.
struct NamedKind {
    table: Oid,
    name: &'static str,
    schema: Option<&'static str>,
    method: Option<&'static str>,
    noun: &'static str,
}

fn named_kind(kind: ObjectKind) -> Option<NamedKind> {
    let plain = |table, name, noun| NamedKind { table, name, schema: None, method: None, noun };
    let in_schema = |table, name, schema, noun| NamedKind {
        table,
        name,
        schema: Some(schema),
        method: None,
        noun,
    };
    Some(match kind {
        ObjectKind::AccessMethod => plain(oids::PG_AM, "amname", "access method"),
        ObjectKind::Language => plain(oids::PG_LANGUAGE, "lanname", "language"),
        ObjectKind::EventTrigger => plain(oids::PG_EVENT_TRIGGER, "evtname", "event trigger"),
        ObjectKind::ForeignDataWrapper => {
            plain(oids::PG_FOREIGN_DATA_WRAPPER, "fdwname", "foreign-data wrapper")
        }
        ObjectKind::ForeignServer => plain(oids::PG_FOREIGN_SERVER, "srvname", "server"),
        ObjectKind::Publication => plain(oids::PG_PUBLICATION, "pubname", "publication"),
        ObjectKind::Conversion => {
            in_schema(oids::PG_CONVERSION, "conname", "connamespace", "conversion")
        }
        ObjectKind::Statistics => {
            in_schema(oids::PG_STATISTIC_EXT, "stxname", "stxnamespace", "statistics object")
        }
        ObjectKind::TsParser => {
            in_schema(Oid(3601), "prsname", "prsnamespace", "text search parser")
        }
        ObjectKind::TsDictionary => {
            in_schema(Oid(3600), "dictname", "dictnamespace", "text search dictionary")
        }
        ObjectKind::TsTemplate => {
            in_schema(Oid(3764), "tmplname", "tmplnamespace", "text search template")
        }
        ObjectKind::TsConfiguration => {
            in_schema(Oid(3602), "cfgname", "cfgnamespace", "text search configuration")
        }
        ObjectKind::OpClass => NamedKind {
            table: oids::PG_OPCLASS,
            name: "opcname",
            schema: Some("opcnamespace"),
            method: Some("opcmethod"),
            noun: "operator class",
        },
        ObjectKind::OpFamily => NamedKind {
            table: oids::PG_OPFAMILY,
            name: "opfname",
            schema: Some("opfnamespace"),
            method: Some("opfmethod"),
            noun: "operator family",
        },
        _ => return None,
    })
}

/// The word for a kind of relation in a statement.
fn relation_word(kind: ObjectKind) -> Option<(&'static str, &'static [RelKind])> {
    Some(match kind {
        ObjectKind::Table => ("table", &[RelKind::Table, RelKind::Partitioned]),
        ObjectKind::Index => ("index", &[RelKind::Index, RelKind::PartitionedIndex]),
        ObjectKind::Sequence => ("sequence", &[RelKind::Sequence]),
        ObjectKind::View => ("view", &[RelKind::View]),
        ObjectKind::MatView => ("materialized view", &[RelKind::MatView]),
        ObjectKind::ForeignTable => ("foreign table", &[RelKind::Foreign]),
        _ => return None,
    })
}

impl Ddl<'_> {
    /// A type's name for messages.
    pub fn format_type(&self, oid: Oid, typmod: i32) -> String {
        crate::describe::format_type(&self.view, oid, typmod)
    }

    /// Finds the object a statement names. With `missing_ok` one that is not there is no error.
    pub fn find_object(&self, object: &Object, missing_ok: bool) -> Result<Found> {
        if relation_word(object.kind).is_some() {
            return self.find_relation_object(object, missing_ok);
        }
        let class = |class: Oid, found: Option<Oid>, text: String| match found {
            Some(oid) => Ok(Found::Object(ObjectAddress::new(class, oid))),
            None if missing_ok => Ok(Found::Missing(text)),
            None => Err(Error::new(undefined_code(object.kind), text)),
        };
        let last = object.name.last();
        match object.kind {
            ObjectKind::Schema => {
                let found = self.view.namespace_named(last)?.map(|n| n.oid);
                class(oids::PG_NAMESPACE, found, format!("schema \"{last}\" does not exist"))
            }
            ObjectKind::Role => {
                let found = self.view.role_named(last)?.map(|n| n.oid);
                class(oids::PG_AUTHID, found, format!("role \"{last}\" does not exist"))
            }
            ObjectKind::Database => {
                let found = self.view.database_named(last)?.map(|n| n.oid);
                class(oids::PG_DATABASE, found, format!("database \"{last}\" does not exist"))
            }
            ObjectKind::Type | ObjectKind::Domain => self.find_type_object(object, missing_ok),
            ObjectKind::Column => self.find_column_object(object),
            ObjectKind::Constraint
            | ObjectKind::Trigger
            | ObjectKind::Rule
            | ObjectKind::Policy => self.find_member(object, missing_ok),
            ObjectKind::Extension => {
                let found = self.oid_by_name(indexes::PG_EXTENSION_NAME, last)?;
                class(oids::PG_EXTENSION, found, format!("extension \"{last}\" does not exist"))
            }
            ObjectKind::Tablespace => {
                let found = self.oid_by_name(indexes::PG_TABLESPACE_NAME, last)?;
                class(oids::PG_TABLESPACE, found, format!("tablespace \"{last}\" does not exist"))
            }
            ObjectKind::Collation => {
                let (schema, last) = split(&object.name);
                if missing_ok && let Some(text) = self.missing_schema(schema)? {
                    return Ok(Found::Missing(text));
                }
                let found = self.view.collation_named(schema, last)?.map(|c| c.oid);
                let text = match missing_ok {
                    true => format!("collation \"{last}\" does not exist"),
                    false => format!("collation \"{last}\" for encoding \"UTF8\" does not exist"),
                };
                class(oids::PG_COLLATION, found, text)
            }
            ObjectKind::Function
            | ObjectKind::Procedure
            | ObjectKind::Routine
            | ObjectKind::Aggregate => self.find_routine(object, missing_ok),
            ObjectKind::LargeObject => self.find_large_object(object),
            ObjectKind::Operator => self.find_operator_object(object, missing_ok),
            ObjectKind::Cast => self.find_cast_object(object, missing_ok),
            ObjectKind::Transform => self.find_transform_object(object, missing_ok),
            ObjectKind::Subscription => {
                let found = self.subscription_named(&object.name)?.map(|a| a.object);
                let text = format!("subscription \"{last}\" does not exist");
                class(oids::PG_SUBSCRIPTION, found, text)
            }
            ObjectKind::DomainConstraint => self.find_domain_constraint(object, missing_ok),
            other => match named_kind(other) {
                Some(kind) => self.find_named(object, &kind, missing_ok),
                None => Err(Error::unsupported(format!("naming an object of kind {other:?}"))),
            },
        }
    }

    /// An object that its table holds by name and, if it is in a schema, schema.
    fn find_named(&self, object: &Object, kind: &NamedKind, missing_ok: bool) -> Result<Found> {
        let (schema, last) = split(&object.name);
        let schema = match schema {
            Some(s) => match self.view.namespace_named(s)? {
                Some(n) => Some(n.oid),
                None if missing_ok => {
                    return Ok(Found::Missing(format!("schema \"{s}\" does not exist")));
                }
                None => bail!(INVALID_SCHEMA_NAME, "schema \"{s}\" does not exist"),
            },
            None => None,
        };
        let method = match &object.detail {
            ObjectDetail::Using(am) => {
                let Some(oid) = self.oid_by_name(indexes::PG_AM_NAME, am)? else {
                    bail!(UNDEFINED_OBJECT, "access method \"{am}\" does not exist");
                };
                Some((oid, am))
            }
            _ => None,
        };
        let path = self.view.search_path();
        for row in self.rows.table_scan(kind.table)? {
            if *row.text(kind.name)? != *last {
                continue;
            }
            if let (Some(column), Some((oid, _))) = (kind.method, method)
                && row.oid(column)? != oid
            {
                continue;
            }
            if let Some(column) = kind.schema {
                let own = row.oid(column)?;
                let wanted = schema.map_or(path.contains(&own), |s| s == own);
                if !wanted {
                    continue;
                }
            }
            return Ok(Found::Object(ObjectAddress::new(kind.table, row.oid("oid")?)));
        }
        let shown = object.name.parts.join(".");
        let mut text = format!("{} \"{shown}\" does not exist", kind.noun);
        if let Some((_, am)) = method {
            text.push_str(&format!(" for access method \"{am}\""));
        }
        match missing_ok {
            true => Ok(Found::Missing(text)),
            false => Err(Error::new(base::SqlState::UNDEFINED_OBJECT, text)),
        }
    }

    fn find_domain_constraint(&self, object: &Object, missing_ok: bool) -> Result<Found> {
        let mut own = object.clone();
        let member = match &own.detail {
            ObjectDetail::Member(m) => m.clone(),
            _ => own.name.parts.pop().unwrap_or_default(),
        };
        own.kind = ObjectKind::Domain;
        own.detail = ObjectDetail::None;
        let a = match self.find_type_object(&own, missing_ok)? {
            Found::Object(a) => a,
            missing => return Ok(missing),
        };
        let all = self.view.domain_constraints(a.object)?;
        match all.iter().find(|c| *c.name == *member) {
            Some(c) => Ok(Found::Object(ObjectAddress::new(oids::PG_CONSTRAINT, c.oid))),
            None => bail!(
                UNDEFINED_OBJECT,
                "constraint \"{member}\" for domain {} does not exist",
                self.format_type(a.object, -1)
            ),
        }
    }

    fn find_large_object(&self, object: &Object) -> Result<Found> {
        let text = object.name.last();
        let oid = Oid(text.parse().map_err(|_| {
            err!(INVALID_TEXT_REPRESENTATION, "invalid input syntax for type oid: \"{text}\"")
        })?);
        let index = indexes::PG_LARGEOBJECT_METADATA_OID;
        if self.rows.index_scan(index, &[Datum::U32(oid.0)])?.is_empty() {
            bail!(UNDEFINED_OBJECT, "large object {oid} does not exist");
        }
        Ok(Found::Object(ObjectAddress::new(oids::PG_LARGEOBJECT, oid)))
    }

    pub(super) fn oid_by_name(&self, index: Oid, name: &str) -> Result<Option<Oid>> {
        let found = self.rows.index_scan(index, &[Datum::text(name)])?;
        found.first().map(|row| row.oid("oid")).transpose()
    }

    fn find_relation_object(&self, object: &Object, missing_ok: bool) -> Result<Found> {
        let Some((word, kinds)) = relation_word(object.kind) else {
            return Err(Error::internal("not a relation"));
        };
        let (schema, last) = split(&object.name);
        if let Some(s) = schema
            && self.view.namespace_named(s)?.is_none()
        {
            let text = format!("schema \"{s}\" does not exist");
            return match missing_ok {
                true => Ok(Found::Missing(text)),
                false => Err(Error::new(base::SqlState::INVALID_SCHEMA_NAME, text)),
            };
        }
        let Some(rel) = self.view.relation_named(schema, last)? else {
            let shown = object.name.parts.join(".");
            let noun = if object.kind == ObjectKind::Index { "index" } else { word };
            return match missing_ok {
                true => Ok(Found::Missing(format!("{noun} \"{shown}\" does not exist"))),
                false => {
                    let code = undefined_code(object.kind);
                    Err(Error::new(code, format!("{noun} \"{shown}\" does not exist")))
                }
            };
        };
        if !kinds.contains(&rel.kind) {
            return Err(wrong_kind(&rel, word));
        }
        Ok(Found::Object(ObjectAddress::relation(rel.oid)))
    }

    fn find_type_object(&self, object: &Object, missing_ok: bool) -> Result<Found> {
        let (schema, last) = match &object.detail {
            ObjectDetail::Type(t) => {
                let n = t.names.len();
                let schema = if n >= 2 { Some(t.names[n - 2].as_str()) } else { None };
                (schema, t.names.last().map_or("", String::as_str))
            }
            _ => split(&object.name),
        };
        if missing_ok && let Some(text) = self.missing_schema(schema)? {
            return Ok(Found::Missing(text));
        }
        match self.view.type_named(schema, last)? {
            Some(t) => {
                if object.kind == ObjectKind::Domain && t.kind != b'd' {
                    bail!(WRONG_OBJECT_TYPE, "\"{last}\" is not a domain");
                }
                Ok(Found::Object(ObjectAddress::new(oids::PG_TYPE, t.oid)))
            }
            None => {
                let shown = match schema {
                    Some(s) => format!("{s}.{last}"),
                    None => last.to_string(),
                };
                let text = format!("type \"{shown}\" does not exist");
                match missing_ok {
                    true => Ok(Found::Missing(text)),
                    false => Err(Error::new(base::SqlState::UNDEFINED_OBJECT, text)),
                }
            }
        }
    }

    /// The relation whose column, constraint, trigger or rule is named, and the member's name.
    fn member_relation<'o>(&self, object: &'o Object) -> Result<(Arc<RelationDesc>, &'o str)> {
        let parts = &object.name.parts;
        let (table, member) = match &object.detail {
            ObjectDetail::Member(m) => (parts.as_slice(), m.as_str()),
            _ => (&parts[..parts.len().saturating_sub(1)], object.name.last()),
        };
        let name = Name { parts: table.to_vec(), pos: object.name.pos };
        let (schema, last) = split(&name);
        Ok((self.view.require_relation(schema, last)?, member))
    }

    fn find_column_object(&self, object: &Object) -> Result<Found> {
        let (rel, column) = self.member_relation(object)?;
        let n = super::column::named(&rel, column)?;
        Ok(Found::Object(ObjectAddress::column(rel.oid, n)))
    }

    fn find_member(&self, object: &Object, missing_ok: bool) -> Result<Found> {
        let (rel, name) = match self.member_relation(object) {
            Err(e)
                if missing_ok
                    && matches!(
                        e.code(),
                        base::SqlState::UNDEFINED_TABLE | base::SqlState::INVALID_SCHEMA_NAME
                    ) =>
            {
                return Ok(Found::Missing(e.message().to_string()));
            }
            other => other?,
        };
        let (class, found, word) = match object.kind {
            ObjectKind::Constraint => {
                let found = rel.constraints.iter().find(|c| &*c.name == name).map(|c| c.oid);
                (oids::PG_CONSTRAINT, found, "constraint")
            }
            ObjectKind::Trigger => {
                let found = rel.triggers.iter().find(|t| &*t.name == name).map(|t| t.oid);
                (oids::PG_TRIGGER, found, "trigger")
            }
            ObjectKind::Policy => (oids::PG_POLICY, self.find_policy(&rel, name)?, "policy"),
            _ => {
                let found = rel.rules.iter().find(|r| &*r.name == name).map(|r| r.oid);
                (oids::PG_REWRITE, found, "rule")
            }
        };
        match found {
            Some(oid) => Ok(Found::Object(ObjectAddress::new(class, oid))),
            None => {
                let of = match object.kind {
                    ObjectKind::Rule => format!("for relation \"{}\"", rel.name),
                    ObjectKind::Trigger => format!("for table \"{}\"", rel.name),
                    _ => format!("for table \"{}\"", rel.name),
                };
                let text = format!("{word} \"{name}\" {of} does not exist");
                match missing_ok {
                    true => Ok(Found::Missing(format!(
                        "{word} \"{name}\" for relation \"{}\" does not exist",
                        rel.name
                    ))),
                    false => Err(Error::new(base::SqlState::UNDEFINED_OBJECT, text)),
                }
            }
        }
    }

    fn find_routine(&self, object: &Object, missing_ok: bool) -> Result<Found> {
        let (schema, last) = split(&object.name);
        let signature = match &object.detail {
            ObjectDetail::Params(Some(s)) => Some(s),
            _ => None,
        };
        if missing_ok && let Some(text) = self.missing_name(schema, signature)? {
            return Ok(Found::Missing(text));
        }
        let mut all = self.view.procs_named(schema, last)?;
        let word = match object.kind {
            ObjectKind::Procedure => "procedure",
            ObjectKind::Aggregate => "aggregate",
            ObjectKind::Routine => "routine",
            _ => "function",
        };
        if signature.is_none() {
            all.retain(|p| match object.kind {
                ObjectKind::Procedure => p.kind == b'p',
                ObjectKind::Function => p.kind != b'p',
                _ => true,
            });
        }
        let found = match signature {
            None if all.len() > 1 => {
                return Err(err!(AMBIGUOUS_FUNCTION, "{word} name \"{last}\" is not unique").hint(
                    format!("Specify the argument list to select the {word} unambiguously."),
                ));
            }
            None => all.first().cloned(),
            Some(s) => {
                let mut args = Vec::new();
                let mut every = Vec::new();
                for p in &s.params {
                    let ty = super::type_name::resolve(&self.view, &p.type_name)?.oid;
                    every.push(ty);
                    if !matches!(p.mode, ParamMode::Out | ParamMode::Table) {
                        args.push(ty);
                    }
                }
                // A procedure may be named with its outputs among plain types.
                let whole = |p: &&Arc<ProcDesc>| {
                    p.kind == b'p' && p.all_arg_types.as_ref().is_some_and(|t| *t == every)
                };
                let inputs = all.iter().find(|p| p.arg_types == args);
                inputs.or_else(|| all.iter().find(whole)).cloned()
            }
        };
        match found {
            Some(p) => {
                self.check_routine_kind(object, &p)?;
                Ok(Found::Object(ObjectAddress::new(oids::PG_PROC, p.oid)))
            }
            None => {
                let text = match signature {
                    Some(s) => {
                        let mut shown = Vec::new();
                        for p in &s.params {
                            let t = super::type_name::resolve(&self.view, &p.type_name)?;
                            shown.push(match missing_ok {
                                true => type_shown(&p.type_name),
                                false => self.format_type(t.oid, -1),
                            });
                        }
                        if word == "aggregate" && shown.is_empty() && !missing_ok {
                            shown.push("*".into());
                        }
                        let comma = if missing_ok { "," } else { ", " };
                        let name = object.name.parts.join(".");
                        format!("{word} {name}({}) does not exist", shown.join(comma))
                    }
                    None if missing_ok => {
                        format!("{word} {}() does not exist", object.name.parts.join("."))
                    }
                    None => {
                        let what = if word == "procedure" { word } else { "function" };
                        format!("could not find a {what} named \"{last}\"")
                    }
                };
                match missing_ok {
                    true => Ok(Found::Missing(text)),
                    false => Err(Error::new(base::SqlState::UNDEFINED_FUNCTION, text)),
                }
            }
        }
    }

    /// For IF EXISTS: what is missing of the schema of an object and the types it is named with.
    fn missing_name(
        &self,
        schema: Option<&str>,
        signature: Option<&FuncSignature>,
    ) -> Result<Option<String>> {
        let params = signature.into_iter().flat_map(|s| &s.params);
        for p in params {
            if let Some(text) = self.missing_type(&p.type_name)? {
                return Ok(Some(text));
            }
        }
        self.missing_schema(schema)
    }

    /// For IF EXISTS: what to say if there is no schema of this name.
    pub(super) fn missing_schema(&self, schema: Option<&str>) -> Result<Option<String>> {
        match schema {
            Some(s) if self.view.namespace_named(s)?.is_none() => {
                Ok(Some(format!("schema \"{s}\" does not exist")))
            }
            _ => Ok(None),
        }
    }

    /// For IF EXISTS: what to say if there is no type of this name, or no such schema.
    pub(super) fn missing_type(&self, name: &TypeName) -> Result<Option<String>> {
        let n = name.names.len();
        let schema = if n >= 2 { Some(name.names[n - 2].as_str()) } else { None };
        if let Some(text) = self.missing_schema(schema)? {
            return Ok(Some(text));
        }
        match super::type_name::resolve(&self.view, name) {
            Err(e) if e.code() == base::SqlState::UNDEFINED_OBJECT => {
                Ok(Some(format!("type \"{}\" does not exist", type_shown(name))))
            }
            Err(e) => Err(e),
            Ok(_) => Ok(None),
        }
    }

    /// Fails if a routine is of another kind than the statement says.
    fn check_routine_kind(&self, object: &Object, p: &ProcDesc) -> Result<()> {
        let word = match (object.kind, p.kind) {
            (ObjectKind::Aggregate, k) if k != b'a' => "an aggregate",
            (ObjectKind::Procedure, k) if k != b'p' => "a procedure",
            (ObjectKind::Function, b'p') => "a function",
            _ => return Ok(()),
        };
        bail!(
            WRONG_OBJECT_TYPE,
            "{}{} is not {word}",
            if object.kind == ObjectKind::Aggregate { "function " } else { "" },
            self.signature_text(&object.name, &p.arg_types)
        )
    }

    /// As [`Ddl::require_owner`]; of a part of a relation told is that it is the relation's owner
    /// who may do that, whatever its kind.
    pub fn require_owner_of_part(&self, a: ObjectAddress) -> Result<()> {
        let of = match a.class {
            oids::PG_CLASS if a.sub != 0 => a.object,
            oids::PG_POLICY => {
                self.row_by_oid(indexes::PG_POLICY_OID, a.object)?.oid("polrelid")?
            }
            oids::PG_TRIGGER => {
                self.row_by_oid(indexes::PG_TRIGGER_OID, a.object)?.oid("tgrelid")?
            }
            oids::PG_REWRITE => {
                self.row_by_oid(indexes::PG_REWRITE_OID, a.object)?.oid("ev_class")?
            }
            oids::PG_CONSTRAINT => {
                let c = self.view.constraint(a.object)?;
                if !c.relation.is_valid() {
                    return self.require_owner(ObjectAddress::new(oids::PG_TYPE, c.domain));
                }
                c.relation
            }
            _ => return self.require_owner(a),
        };
        let rel = self.view.relation(of)?;
        let owner = self.require_owner_of_relation(&rel);
        owner.map_err(|e| match self.has_rights_of(rel.owner) {
            Ok(false) => {
                err!(INSUFFICIENT_PRIVILEGE, "must be owner of relation {}", rel.name)
            }
            _ => e,
        })
    }

    /// Fails unless the current user owns the object.
    pub fn require_owner(&self, a: ObjectAddress) -> Result<()> {
        if a.class == oids::PG_CLASS {
            let rel = self.view.relation(a.object)?;
            return self.require_owner_of_relation(&rel);
        }
        let (owner, what) = match a.class {
            oids::PG_TYPE => {
                let t = self.view.type_(a.object)?;
                (t.owner, format!("type {}", t.name))
            }
            oids::PG_NAMESPACE => {
                let n = self.view.namespace(a.object)?;
                (n.owner, format!("schema {}", n.name))
            }
            oids::PG_PROC => {
                let p = self.view.proc(a.object)?;
                let noun = match p.kind {
                    b'p' => "procedure",
                    b'a' => "aggregate",
                    _ => "function",
                };
                (p.owner, format!("{noun} {}", p.name))
            }
            oids::PG_DATABASE => {
                let d = self.view.database(a.object)?;
                (d.owner, format!("database {}", d.name))
            }
            oids::PG_POLICY | oids::PG_TRIGGER | oids::PG_REWRITE => {
                let (index, column) = match a.class {
                    oids::PG_POLICY => (indexes::PG_POLICY_OID, "polrelid"),
                    oids::PG_TRIGGER => (indexes::PG_TRIGGER_OID, "tgrelid"),
                    _ => (indexes::PG_REWRITE_OID, "ev_class"),
                };
                let rel = self.row_by_oid(index, a.object)?.oid(column)?;
                return self.require_owner(ObjectAddress::relation(rel));
            }
            oids::PG_CONSTRAINT => {
                let c = self.view.constraint(a.object)?;
                if c.relation.is_valid() {
                    return self.require_owner(ObjectAddress::relation(c.relation));
                }
                return Ok(());
            }
            oids::PG_AUTHID => return self.check_admin(a.object),
            _ if self.is_superuser()? => return Ok(()),
            oids::PG_LARGEOBJECT => {
                let row = self.row_by_oid(indexes::PG_LARGEOBJECT_METADATA_OID, a.object)?;
                (row.oid("lomowner")?, format!("large object {}", a.object))
            }
            class => match super::grant::acl_class(class) {
                Some(class) => {
                    let row = self.row_by_oid(class.index, a.object)?;
                    (row.oid(class.owner)?, format!("{} {}", class.noun, row.text(class.name)?))
                }
                None => bail!(INSUFFICIENT_PRIVILEGE, "must be owner of the object"),
            },
        };
        if self.has_rights_of(owner)? {
            return Ok(());
        }
        bail!(INSUFFICIENT_PRIVILEGE, "must be owner of {what}")
    }

    /// An object as messages name it: `table t`, `column a of table t`.
    pub fn describe(&self, a: ObjectAddress) -> Result<String> {
        Ok(match a.class {
            oids::PG_CLASS => {
                let Some(rel) = self.view.find_relation(a.object)? else {
                    return Ok(format!("relation {}", a.object));
                };
                let name = self.relation_label(&rel)?;
                match a.sub {
                    0 => format!("{} {name}", rel.kind.noun()),
                    n => {
                        let column = super::identity::column_name(&rel, n).ok_or_else(|| {
                            err!(INTERNAL_ERROR, "cache lookup failed for attribute {n}")
                        })?;
                        format!("column {column} of {} {name}", rel.kind.noun())
                    }
                }
            }
            oids::PG_TYPE => format!("type {}", self.format_type(a.object, -1)),
            oids::PG_NAMESPACE => format!("schema {}", self.view.namespace(a.object)?.name),
            oids::PG_CONSTRAINT => {
                let c = self.view.constraint(a.object)?;
                match c.relation.is_valid() {
                    false => format!("constraint {}", c.name),
                    true => {
                        let of = self.describe(ObjectAddress::relation(c.relation))?;
                        format!("constraint {} on {of}", c.name)
                    }
                }
            }
            oids::PG_ATTRDEF => {
                let row = self.row_by_oid(Oid(2657), a.object)?;
                let column = ObjectAddress::column(row.oid("adrelid")?, row.i16("adnum")?);
                format!("default value for {}", self.describe(column)?)
            }
            oids::PG_REWRITE => {
                let row = self.row_by_oid(indexes::PG_REWRITE_OID, a.object)?;
                let of = self.describe(ObjectAddress::relation(row.oid("ev_class")?))?;
                format!("rule {} on {of}", row.text("rulename")?)
            }
            oids::PG_POLICY => {
                let row = self.row_by_oid(indexes::PG_POLICY_OID, a.object)?;
                let of = self.describe(ObjectAddress::relation(row.oid("polrelid")?))?;
                format!("policy {} on {of}", row.text("polname")?)
            }
            oids::PG_TRIGGER => {
                let row = self.row_by_oid(indexes::PG_TRIGGER_OID, a.object)?;
                let of = self.describe(ObjectAddress::relation(row.oid("tgrelid")?))?;
                format!("trigger {} on {of}", row.text("tgname")?)
            }
            oids::PG_PROC => {
                let p = self.view.proc(a.object)?;
                let args: Vec<String> =
                    p.arg_types.iter().map(|t| self.format_type(*t, -1)).collect();
                let schema = match self.view.proc_is_visible(&p)? {
                    true => String::new(),
                    false => format!("{}.", quote(&self.view.namespace(p.namespace)?.name)),
                };
                format!("function {schema}{}({})", quote(&p.name), args.join(","))
            }
            class if let Some(facts) = super::text_search::ts_class(class) => {
                self.describe_text_search(facts, a.object)?
            }
            oids::PG_LANGUAGE => {
                let row = self.row_by_oid(Oid(2682), a.object)?;
                format!("language {}", quote(&row.text("lanname")?))
            }
            oids::PG_DEFAULT_ACL => self.describe_default_acl(a.object)?,
            oids::PG_PARAMETER_ACL => {
                let row = self.row_by_oid(indexes::PG_PARAMETER_ACL_OID, a.object)?;
                format!("parameter {}", row.text("parname")?)
            }
            oids::PG_DATABASE => format!("database {}", quote(&self.view.database(a.object)?.name)),
            oids::PG_AUTHID => format!("role {}", quote(&self.view.role(a.object)?.name)),
            oids::PG_AUTH_MEMBERS => {
                let row = self.row_by_oid(indexes::PG_AUTH_MEMBERS_OID, a.object)?;
                let name = |column| -> Result<String> {
                    Ok(quote(&self.view.role(row.oid(column)?)?.name))
                };
                format!("membership of role {} in role {}", name("member")?, name("roleid")?)
            }
            oids::PG_COLLATION => match self.view.find_collation(a.object)? {
                Some(c) => {
                    let near = self.view.collation_named(None, &c.name)?;
                    match near.is_some_and(|n| n.oid == c.oid) {
                        true => format!("collation {}", quote(&c.name)),
                        false => {
                            let schema = self.view.namespace(c.namespace)?;
                            format!("collation {}.{}", quote(&schema.name), quote(&c.name))
                        }
                    }
                }
                None => format!("collation {}", a.object),
            },
            _ => self.describe_other(a)?,
        })
    }

    /// Kinds of objects that have a line of their own in few places.
    fn describe_other(&self, a: ObjectAddress) -> Result<String> {
        let in_schema = |name: &str, namespace: Oid| -> Result<String> {
            let visible = self.view.search_path().contains(&namespace);
            Ok(match visible {
                true => quote(name),
                false => {
                    format!("{}.{}", quote(&self.view.namespace(namespace)?.name), quote(name))
                }
            })
        };
        let named = |noun: &str, column: &str| -> Result<String> {
            let row = self.row_of(a.class, a.object)?;
            Ok(format!("{noun} {}", quote(&row.text(column)?)))
        };
        Ok(match a.class {
            oids::PG_OPERATOR => {
                let o = self.view.operator(a.object)?;
                let visible = self.view.operator_exact(None, &o.name, o.left, o.right)?;
                let schema = match visible.is_some_and(|v| v.oid == o.oid) {
                    true => String::new(),
                    false => format!("{}.", quote(&self.view.namespace(o.namespace)?.name)),
                };
                let left = match o.left.is_valid() {
                    true => self.format_type(o.left, -1),
                    false => "NONE".to_string(),
                };
                format!("operator {schema}{}({left},{})", o.name, self.format_type(o.right, -1))
            }
            oids::PG_CAST => {
                let row = self.row_of(a.class, a.object)?;
                format!(
                    "cast from {} to {}",
                    self.format_type(row.oid("castsource")?, -1),
                    self.format_type(row.oid("casttarget")?, -1)
                )
            }
            oids::PG_CONVERSION => {
                let row = self.row_of(a.class, a.object)?;
                let name = in_schema(&row.text("conname")?, row.oid("connamespace")?)?;
                format!("conversion {name}")
            }
            oids::PG_STATISTIC_EXT => {
                let row = self.row_of(a.class, a.object)?;
                let name = in_schema(&row.text("stxname")?, row.oid("stxnamespace")?)?;
                format!("statistics object {name}")
            }
            oids::PG_OPCLASS => {
                let c = self.view.opclass(a.object)?;
                let name = in_schema(&c.name, c.namespace)?;
                format!("operator class {name} for access method {}", self.method_name(c.am)?)
            }
            oids::PG_OPFAMILY => format!("operator family {}", self.opfamily_label(a.object)?),
            oids::PG_AMOP | oids::PG_AMPROC => self.describe_member(a)?,
            oids::PG_LARGEOBJECT => format!("large object {}", a.object),
            oids::PG_SUBSCRIPTION => named("subscription", "subname")?,
            oids::PG_TRANSFORM => {
                let row = self.row_of(a.class, a.object)?;
                let language = self.row_of(oids::PG_LANGUAGE, row.oid("trflang")?)?;
                format!(
                    "transform for {} language {}",
                    self.format_type(row.oid("trftype")?, -1),
                    language.text("lanname")?
                )
            }
            oids::PG_AM => named("access method", "amname")?,
            oids::PG_TABLESPACE => named("tablespace", "spcname")?,
            oids::PG_EVENT_TRIGGER => named("event trigger", "evtname")?,
            oids::PG_FOREIGN_DATA_WRAPPER => named("foreign-data wrapper", "fdwname")?,
            oids::PG_FOREIGN_SERVER => named("server", "srvname")?,
            oids::PG_PUBLICATION => named("publication", "pubname")?,
            oids::PG_EXTENSION => named("extension", "extname")?,
            oids::PG_USER_MAPPING => {
                let row = self.row_of(a.class, a.object)?;
                let user = match row.oid("umuser")? {
                    Oid(0) => "public".to_string(),
                    role => self.view.role(role)?.name.to_string(),
                };
                let server = self.row_of(oids::PG_FOREIGN_SERVER, row.oid("umserver")?)?;
                format!("user mapping for {user} on server {}", server.text("srvname")?)
            }
            oids::PG_PUBLICATION_REL | oids::PG_PUBLICATION_NAMESPACE => {
                self.describe_published(a)?
            }
            _ => format!("object {} of class {}", a.object, a.class),
        })
    }

    /// A member of an operator family.
    fn describe_member(&self, a: ObjectAddress) -> Result<String> {
        Ok(match a.class {
            oids::PG_AMOP => {
                let row = self.row_of(a.class, a.object)?;
                let op = ObjectAddress::new(oids::PG_OPERATOR, row.oid("amopopr")?);
                format!(
                    "operator {} ({}, {}) of operator family {}: {}",
                    row.i16("amopstrategy")?,
                    self.format_type(row.oid("amoplefttype")?, -1),
                    self.format_type(row.oid("amoprighttype")?, -1),
                    self.opfamily_label(row.oid("amopfamily")?)?,
                    self.describe(op)?.trim_start_matches("operator ")
                )
            }
            _ => {
                let row = self.row_of(a.class, a.object)?;
                let f = ObjectAddress::new(oids::PG_PROC, row.oid("amproc")?);
                format!(
                    "function {} ({}, {}) of operator family {}: {}",
                    row.i16("amprocnum")?,
                    self.format_type(row.oid("amproclefttype")?, -1),
                    self.format_type(row.oid("amprocrighttype")?, -1),
                    self.opfamily_label(row.oid("amprocfamily")?)?,
                    self.describe(f)?.trim_start_matches("function ")
                )
            }
        })
    }

    /// A table or schema of a publication.
    fn describe_published(&self, a: ObjectAddress) -> Result<String> {
        Ok(match a.class {
            oids::PG_PUBLICATION_REL => {
                let row = self.row_of(a.class, a.object)?;
                let rel = self.view.relation(row.oid("prrelid")?)?;
                let publication = self.row_of(oids::PG_PUBLICATION, row.oid("prpubid")?)?;
                let label = self.relation_label(&rel)?;
                format!(
                    "publication of table {label} in publication {}",
                    publication.text("pubname")?
                )
            }
            _ => {
                let row = self.row_of(a.class, a.object)?;
                let schema = self.view.namespace(row.oid("pnnspid")?)?;
                let publication = self.row_of(oids::PG_PUBLICATION, row.oid("pnpubid")?)?;
                format!(
                    "publication of schema {} in publication {}",
                    schema.name,
                    publication.text("pubname")?
                )
            }
        })
    }

    fn method_name(&self, am: Oid) -> Result<String> {
        Ok(self.row_of(oids::PG_AM, am)?.text("amname")?.to_string())
    }

    /// `integer_ops for access method btree`
    fn opfamily_label(&self, oid: Oid) -> Result<String> {
        let row = self.row_by_oid(indexes::PG_OPFAMILY_OID, oid)?;
        let namespace = row.oid("opfnamespace")?;
        let name = match self.view.search_path().contains(&namespace) {
            true => quote(&row.text("opfname")?),
            false => {
                let schema = self.view.namespace(namespace)?;
                format!("{}.{}", quote(&schema.name), quote(&row.text("opfname")?))
            }
        };
        Ok(format!("{name} for access method {}", self.method_name(row.oid("opfmethod")?)?))
    }

    /// A system table's row by its OID index.
    pub fn row_by_oid(&self, index: Oid, oid: Oid) -> Result<catalog::SysRow> {
        let found = self.rows.index_scan(index, &[Datum::U32(oid.0)])?;
        let row = found.into_iter().next();
        row.ok_or_else(|| err!(INTERNAL_ERROR, "cache lookup failed for object {oid}"))
    }

    /// A relation's name, qualified unless it is visible.
    pub fn relation_label(&self, rel: &RelationDesc) -> Result<String> {
        if self.view.relation_is_visible(rel)? {
            return Ok(quote(&rel.name));
        }
        let schema = self.view.namespace(rel.namespace)?;
        Ok(format!("{}.{}", quote(&schema.name), quote(&rel.name)))
    }
}

/// `"t" is not an index`, with what to use instead.
fn wrong_kind(rel: &RelationDesc, word: &str) -> Error {
    let article = if word.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    let e = err!(WRONG_OBJECT_TYPE, "\"{}\" is not {article} {word}", rel.name);
    let (own, noun) = match rel.kind {
        RelKind::Table | RelKind::Partitioned => ("TABLE", "table"),
        RelKind::Index | RelKind::PartitionedIndex => ("INDEX", "an index"),
        RelKind::Sequence => ("SEQUENCE", "sequence"),
        RelKind::View => ("VIEW", "view"),
        RelKind::MatView => ("MATERIALIZED VIEW", "materialized view"),
        RelKind::Foreign => ("FOREIGN TABLE", "foreign table"),
        RelKind::Composite => return e.hint("Use DROP TYPE to remove a type."),
        RelKind::Toast => return e,
    };
    let noun = match noun {
        "an index" => noun.to_string(),
        noun => format!("a {noun}"),
    };
    e.hint(format!("Use DROP {own} to remove {noun}."))
}

/// A type's name as it was written.
fn type_shown(name: &TypeName) -> String {
    format!("{}{}", name.names.join("."), "[]".repeat(name.array_bounds.len()))
}

fn undefined_code(kind: ObjectKind) -> base::SqlState {
    match kind {
        ObjectKind::Table | ObjectKind::Sequence | ObjectKind::View | ObjectKind::MatView => {
            base::SqlState::UNDEFINED_TABLE
        }
        ObjectKind::Schema => base::SqlState::INVALID_SCHEMA_NAME,
        ObjectKind::Database => base::SqlState::INVALID_CATALOG_NAME,
        _ => base::SqlState::UNDEFINED_OBJECT,
    }
}
