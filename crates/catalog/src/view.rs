//! The catalog as one statement sees it: a source, the search path, the current user.

use crate::acl::bit;
use crate::desc::*;
use crate::oids;
use crate::privilege::{Grantable, Rights};
use crate::source::Source;
use base::{Oid, Result, err};
use std::sync::Arc;

/// What names mean depends on this.
#[derive(Clone, Debug, PartialEq)]
pub struct ViewContext {
    /// The database connected to.
    pub database: Oid,
    /// Its name.
    pub database_name: Arc<str>,
    /// The current user.
    pub user: Oid,
    /// Schemas to search, in order, implicit ones included (`pg_catalog`, the temporary schema).
    pub search_path: Vec<Oid>,
    /// The session's temporary schema, once it has one.
    pub temp_namespace: Option<Oid>,
    /// Where objects without a schema are made.
    pub creation_namespace: Option<Oid>,
    /// The collation that the database's default one stands for.
    pub default_collation: Oid,
    /// `row_security`: policies filter; without it a query that they would filter is refused.
    pub row_security: bool,
    /// `restrict_nonsystem_relation_kind`: views that are not the system's cannot be read.
    pub restrict_views: bool,
}

impl Default for ViewContext {
    fn default() -> ViewContext {
        ViewContext {
            database: oids::POSTGRES_DB,
            database_name: Arc::from("postgres"),
            user: oids::SUPERUSER,
            search_path: vec![oids::PG_CATALOG, oids::PUBLIC],
            temp_namespace: None,
            creation_namespace: Some(oids::PUBLIC),
            default_collation: oids::C_COLLATION,
            row_security: true,
            restrict_views: false,
        }
    }
}

/// The catalog as one statement sees it. Cheap to clone.
#[derive(Clone)]
pub struct CatalogView {
    source: Arc<dyn Source>,
    context: Arc<ViewContext>,
}

/// Makes the two lookups by OID: one that must find a row, one that may.
macro_rules! lookups {
    ($($doc:literal $get:ident $find:ident $source:ident $desc:ty, $what:literal;)*) => {$(
        #[doc = concat!($doc, ", by OID; an error if there is none.")]
        pub fn $get(&self, oid: Oid) -> Result<Arc<$desc>> {
            self.source.$source(oid)?.ok_or_else(|| {
                err!(INTERNAL_ERROR, concat!("cache lookup failed for ", $what, " {}"), oid)
            })
        }

        #[doc = concat!($doc, ", by OID, if there is one.")]
        pub fn $find(&self, oid: Oid) -> Result<Option<Arc<$desc>>> {
            self.source.$source(oid)
        }
    )*};
}

impl CatalogView {
    /// A view of `source` where names mean what `context` says.
    pub fn new(source: Arc<dyn Source>, context: ViewContext) -> CatalogView {
        CatalogView { source, context: Arc::new(context) }
    }

    /// The same source with another context.
    pub fn with_context(&self, context: ViewContext) -> CatalogView {
        CatalogView { source: self.source.clone(), context: Arc::new(context) }
    }

    /// What names mean.
    pub fn context(&self) -> &ViewContext {
        &self.context
    }

    /// The collation that this one stands for: the database's, for the default one.
    #[inline]
    pub fn concrete_collation(&self, collation: Oid) -> Oid {
        match collation {
            oids::DEFAULT_COLLATION => self.context.default_collation,
            other => other,
        }
    }

    /// Where rows come from.
    pub fn source(&self) -> &Arc<dyn Source> {
        &self.source
    }

    /// Changes whenever a descriptor got earlier may be stale. Plans remember it.
    pub fn generation(&self) -> u64 {
        self.source.generation()
    }

    /// Schemas to search, in order.
    pub fn search_path(&self) -> &[Oid] {
        &self.context.search_path
    }

    lookups! {
        "A relation" relation find_relation relation RelationDesc, "relation";
        "A type" type_ find_type type_ TypeDesc, "type";
        "A function" proc find_proc proc ProcDesc, "function";
        "An aggregate, by its function" aggregate find_aggregate aggregate AggregateDesc, "aggregate";
        "An operator" operator find_operator operator OperatorDesc, "operator";
        "An operator class" opclass find_opclass opclass OpclassDesc, "opclass";
        "An operator family" opfamily find_opfamily opfamily OpfamilyDesc, "operator family";
        "A collation" collation find_collation collation CollationDesc, "collation";
        "A schema" namespace find_namespace namespace NamespaceDesc, "namespace";
        "A role" role find_role role RoleDesc, "role";
        "A database" database find_database database DatabaseDesc, "database";
        "A sequence's parameters" sequence find_sequence sequence SequenceDesc, "sequence";
        "A constraint" constraint find_constraint constraint ConstraintDesc, "constraint";
    }

    /// The schema of this name; `pg_temp` is the session's own.
    pub fn namespace_named(&self, name: &str) -> Result<Option<Arc<NamespaceDesc>>> {
        if name == "pg_temp" {
            return match self.context.temp_namespace {
                Some(oid) => self.source.namespace(oid),
                None => Ok(None),
            };
        }
        self.source.namespace_named(name)
    }

    /// The schema of this name; 3F000 if there is none.
    pub fn require_namespace(&self, name: &str) -> Result<Arc<NamespaceDesc>> {
        self.namespace_named(name)?
            .ok_or_else(|| err!(INVALID_SCHEMA_NAME, "schema \"{name}\" does not exist"))
    }

    /// True if the user may find objects in the schema.
    pub fn has_usage(&self, user: Oid, schema: &NamespaceDesc) -> Result<bool> {
        if !user.is_valid() || Some(schema.oid) == self.context.temp_namespace {
            return Ok(true);
        }
        let acl = schema.acl.as_deref();
        let rights = Rights { kind: Grantable::Schema, owner: schema.owner, acl };
        Ok(rights.of(self, user, bit(b'U'))? != 0)
    }

    /// Fails if the user may not find objects in the schema.
    pub fn check_usage(&self, schema: &NamespaceDesc) -> Result<()> {
        if self.has_usage(self.context.user, schema)? {
            return Ok(());
        }
        Err(err!(INSUFFICIENT_PRIVILEGE, "permission denied for schema {}", schema.name))
    }

    /// The schemas to look for a name in: the one that is named, or those of the path.
    fn places(&self, schema: Option<&str>) -> Result<Vec<Oid>> {
        match schema {
            Some(s) => match self.namespace_named(s)? {
                Some(n) => {
                    self.check_usage(&n)?;
                    Ok(vec![n.oid])
                }
                None => Ok(Vec::new()),
            },
            None => Ok(self.context.search_path.clone()),
        }
    }

    /// As [`CatalogView::places`], for functions and operators: those of the temporary schema are
    /// found by its name only.
    fn places_of_code(&self, schema: Option<&str>) -> Result<Vec<Oid>> {
        let mut all = self.places(schema)?;
        if schema.is_none() {
            all.retain(|ns| Some(*ns) != self.context.temp_namespace);
        }
        Ok(all)
    }

    /// A relation's OID, by schema (or the search path) and name.
    pub fn relation_oid(&self, schema: Option<&str>, name: &str) -> Result<Option<Oid>> {
        if schema.is_none() {
            for ns in &self.context.search_path {
                if let Some(oid) = self.source.relation_oid(*ns, name)? {
                    return Ok(Some(oid));
                }
            }
            return Ok(None);
        }
        for ns in self.places(schema)? {
            if let Some(oid) = self.source.relation_oid(ns, name)? {
                return Ok(Some(oid));
            }
        }
        Ok(None)
    }

    /// A relation, by schema (or the search path) and name.
    pub fn relation_named(
        &self,
        schema: Option<&str>,
        name: &str,
    ) -> Result<Option<Arc<RelationDesc>>> {
        match self.relation_oid(schema, name)? {
            Some(oid) => self.source.relation(oid),
            None => Ok(None),
        }
    }

    /// A relation, by name; 42P01 if there is none.
    pub fn require_relation(&self, schema: Option<&str>, name: &str) -> Result<Arc<RelationDesc>> {
        if let Some(schema) = schema.filter(|s| *s != "pg_temp") {
            self.require_namespace(schema)?;
        }
        self.relation_named(schema, name)?.ok_or_else(|| match schema {
            Some(s) => err!(UNDEFINED_TABLE, "relation \"{s}.{name}\" does not exist"),
            None => err!(UNDEFINED_TABLE, "relation \"{name}\" does not exist"),
        })
    }

    /// A relation in one schema.
    pub fn relation_oid_in(&self, namespace: Oid, name: &str) -> Result<Option<Oid>> {
        self.source.relation_oid(namespace, name)
    }

    /// True if the relation is the first of its name in the search path.
    pub fn relation_is_visible(&self, rel: &RelationDesc) -> Result<bool> {
        Ok(self.relation_oid(None, &rel.name)? == Some(rel.oid))
    }

    /// Direct children of a table, by OID.
    pub fn children(&self, parent: Oid) -> Result<Vec<Oid>> {
        self.source.children(parent)
    }

    /// A column's statistics.
    pub fn statistic(
        &self,
        relation: Oid,
        attnum: i16,
        inherited: bool,
    ) -> Result<Option<Arc<StatisticDesc>>> {
        self.source.statistic(relation, attnum, inherited)
    }

    /// What is known of several columns of a table together.
    pub fn extended_statistics(&self, relation: Oid) -> Result<Arc<[Arc<ExtendedStatisticDesc>]>> {
        self.source.extended_statistics(relation)
    }

    /// The check constraints of a domain.
    pub fn domain_constraints(&self, type_oid: Oid) -> Result<Arc<[ConstraintDesc]>> {
        self.source.domain_constraints(type_oid)
    }

    /// A type, by schema (or the search path) and internal name (`int4`, `_text`).
    pub fn type_named(&self, schema: Option<&str>, name: &str) -> Result<Option<Arc<TypeDesc>>> {
        for ns in self.places(schema)? {
            if let Some(oid) = self.source.type_oid(ns, name)? {
                return self.source.type_(oid);
            }
        }
        Ok(None)
    }

    /// A type in one schema.
    pub fn type_oid_in(&self, namespace: Oid, name: &str) -> Result<Option<Oid>> {
        self.source.type_oid(namespace, name)
    }

    /// True if the type is the first of its name in the search path.
    pub fn type_is_visible(&self, t: &TypeDesc) -> Result<bool> {
        Ok(self.type_named(None, &t.name)?.is_some_and(|found| found.oid == t.oid))
    }

    /// The labels of an enum, in order.
    pub fn enum_labels(&self, type_oid: Oid) -> Result<Arc<[EnumLabel]>> {
        self.source.enum_labels(type_oid)
    }

    /// Functions, procedures and aggregates of a name, nearest schema first. One that another
    /// with the same arguments hides is left out.
    pub fn procs_named(&self, schema: Option<&str>, name: &str) -> Result<Vec<Arc<ProcDesc>>> {
        let all = self.source.procs_named(name)?;
        let mut found: Vec<Arc<ProcDesc>> = Vec::new();
        for ns in self.places_of_code(schema)? {
            for p in all.iter().filter(|p| p.namespace == ns) {
                let hidden = found.iter().any(|f| f.namespace != ns && f.arg_types == p.arg_types);
                if !hidden {
                    found.push(p.clone());
                }
            }
        }
        Ok(found)
    }

    /// All functions of a name in all schemas.
    pub fn all_procs_named(&self, name: &str) -> Result<Arc<[Arc<ProcDesc>]>> {
        self.source.procs_named(name)
    }

    /// True if the function is found by its name and arguments alone.
    pub fn proc_is_visible(&self, p: &ProcDesc) -> Result<bool> {
        Ok(self.procs_named(None, &p.name)?.iter().any(|f| f.oid == p.oid))
    }

    /// Operators of a name, nearest schema first. One that another hides is left out.
    pub fn operators_named(
        &self,
        schema: Option<&str>,
        name: &str,
    ) -> Result<Vec<Arc<OperatorDesc>>> {
        let all = self.source.operators_named(name)?;
        let mut found: Vec<Arc<OperatorDesc>> = Vec::new();
        for ns in self.places_of_code(schema)? {
            for o in all.iter().filter(|o| o.namespace == ns) {
                let hidden = found
                    .iter()
                    .any(|f| f.namespace != ns && f.left == o.left && f.right == o.right);
                if !hidden {
                    found.push(o.clone());
                }
            }
        }
        Ok(found)
    }

    /// The operator of exactly these operand types (`left` 0 for a prefix operator).
    pub fn operator_exact(
        &self,
        schema: Option<&str>,
        name: &str,
        left: Oid,
        right: Oid,
    ) -> Result<Option<Arc<OperatorDesc>>> {
        let all = self.source.operators_named(name)?;
        for ns in self.places(schema)? {
            let hit = all.iter().find(|o| o.namespace == ns && o.left == left && o.right == right);
            if let Some(o) = hit {
                return Ok(Some(o.clone()));
            }
        }
        Ok(None)
    }

    /// The cast from one type to another, as `pg_cast` has it.
    pub fn cast(&self, source: Oid, target: Oid) -> Result<Option<Arc<CastDesc>>> {
        self.source.cast(source, target)
    }

    /// The default operator class of an access method for a type. A domain's base, arrays, enums,
    /// ranges and records find the class of their pseudo-type, `varchar` that of `text`.
    pub fn default_opclass(&self, type_oid: Oid, am: Oid) -> Result<Option<Arc<OpclassDesc>>> {
        let mut oid = type_oid;
        let mut t = self.type_(oid)?;
        while t.kind == b'd' {
            oid = t.base_type;
            t = self.type_(oid)?;
        }
        let classes = self.source.opclasses_of(am)?;
        let find = |oid: Oid| classes.iter().find(|c| c.is_default && c.input_type == oid).cloned();
        if let Some(c) = find(oid) {
            return Ok(Some(c));
        }
        let stand_in = match t.kind {
            _ if oid == oids::VARCHAR => oids::TEXT,
            b'e' => oids::ANYENUM,
            b'r' => Oid(3831),
            b'm' => Oid(4537),
            b'c' => oids::RECORD,
            b'b' if t.is_array() => oids::ANYARRAY,
            _ => return self.coercible_opclass(oid, &classes),
        };
        Ok(find(stand_in))
    }

    /// The default class of a type that this one has the same bytes as, such as `oid` for
    /// `regclass`.
    fn coercible_opclass(
        &self,
        oid: Oid,
        classes: &[Arc<OpclassDesc>],
    ) -> Result<Option<Arc<OpclassDesc>>> {
        for class in classes.iter().filter(|c| c.is_default) {
            if let Some(cast) = self.cast(oid, class.input_type)?
                && cast.method == CastMethod::Binary
                && cast.context == CastContext::Implicit
            {
                return Ok(Some(class.clone()));
            }
        }
        Ok(None)
    }

    /// An operator class, by access method, schema (or the search path) and name.
    pub fn opclass_named(
        &self,
        am: Oid,
        schema: Option<&str>,
        name: &str,
    ) -> Result<Option<Arc<OpclassDesc>>> {
        let classes = self.source.opclasses_of(am)?;
        for ns in self.places(schema)? {
            let hit = classes.iter().find(|c| c.namespace == ns && &*c.name == name);
            if let Some(c) = hit {
                return Ok(Some(c.clone()));
            }
        }
        Ok(None)
    }

    /// The operator of a family for these types and this strategy.
    pub fn amop(&self, family: Oid, left: Oid, right: Oid, strategy: i16) -> Result<Option<Oid>> {
        let ops = self.source.amops_of_family(family)?;
        Ok(ops
            .iter()
            .find(|a| {
                a.left == left && a.right == right && a.strategy == strategy && a.purpose == b's'
            })
            .map(|a| a.operator))
    }

    /// The operators of a family.
    pub fn amops_of_family(&self, family: Oid) -> Result<Arc<[AmopDesc]>> {
        self.source.amops_of_family(family)
    }

    /// The families an operator is in.
    pub fn amops_of_operator(&self, operator: Oid) -> Result<Arc<[AmopDesc]>> {
        self.source.amops_of_operator(operator)
    }

    /// The operator's place in a family, if it is in it.
    pub fn operator_in_family(&self, operator: Oid, family: Oid) -> Result<Option<AmopDesc>> {
        let ops = self.source.amops_of_operator(operator)?;
        Ok(ops.iter().find(|a| a.family == family && a.purpose == b's').copied())
    }

    /// A support function of a family.
    pub fn amproc(&self, family: Oid, left: Oid, right: Oid, number: i16) -> Result<Option<Oid>> {
        let procs = self.source.amprocs_of_family(family)?;
        Ok(procs
            .iter()
            .find(|a| a.left == left && a.right == right && a.number == number)
            .map(|a| a.function))
    }

    /// A collation, by schema (or the search path) and name.
    pub fn collation_named(
        &self,
        schema: Option<&str>,
        name: &str,
    ) -> Result<Option<Arc<CollationDesc>>> {
        for ns in self.places(schema)? {
            if let Some(oid) = self.source.collation_oid(ns, name)? {
                return self.source.collation(oid);
            }
        }
        Ok(None)
    }

    /// A role, by name.
    pub fn role_named(&self, name: &str) -> Result<Option<Arc<RoleDesc>>> {
        self.source.role_named(name)
    }

    /// A role, by name; 42704 if there is none.
    pub fn require_role(&self, name: &str) -> Result<Arc<RoleDesc>> {
        self.role_named(name)?
            .ok_or_else(|| err!(UNDEFINED_OBJECT, "role \"{name}\" does not exist"))
    }

    /// A database, by name.
    pub fn database_named(&self, name: &str) -> Result<Option<Arc<DatabaseDesc>>> {
        self.source.database_named(name)
    }
}
