//! A source in memory: the built-in objects and what is added to it. For tests of the layers
//! above, and for `initdb` before there are tables.

use crate::builtin;
use crate::desc::*;
use crate::objects::Objects;
use crate::oids;
use crate::source::Source;
use base::{Oid, RelFile, Result};
use std::collections::BTreeMap;
use std::sync::Arc;
use types::tuple::TupleDesc;

/// The built-in objects plus relations, roles and databases that were added.
pub struct MemorySource {
    objects: Arc<Objects>,
    relations: BTreeMap<Oid, Arc<RelationDesc>>,
    statistics: BTreeMap<(Oid, i16), Arc<StatisticDesc>>,
    sequences: BTreeMap<Oid, Arc<SequenceDesc>>,
    enums: BTreeMap<Oid, Arc<[EnumLabel]>>,
    roles: Vec<Arc<RoleDesc>>,
    databases: Vec<Arc<DatabaseDesc>>,
}

impl Default for MemorySource {
    fn default() -> MemorySource {
        MemorySource::new()
    }
}

impl MemorySource {
    /// The built-in objects, the system tables, the role and the database `postgres`.
    pub fn new() -> MemorySource {
        MemorySource {
            objects: builtin::objects().clone(),
            relations: builtin::relations().clone(),
            statistics: BTreeMap::new(),
            sequences: BTreeMap::new(),
            enums: BTreeMap::new(),
            roles: vec![Arc::new(builtin::bootstrap_role("postgres"))],
            databases: vec![Arc::new(builtin::database(oids::POSTGRES_DB, "postgres"))],
        }
    }

    /// The objects other than relations, to add to.
    pub fn objects_mut(&mut self) -> &mut Objects {
        Arc::make_mut(&mut self.objects)
    }

    /// Adds a relation; an index is added to its table too, if that is there.
    pub fn add_relation(&mut self, rel: RelationDesc) {
        if let Some(index) = &rel.index
            && let Some(table) = self.relations.get(&index.table)
        {
            let mut table = (**table).clone();
            table.indexes.push(index.clone());
            self.relations.insert(table.oid, Arc::new(table));
        }
        self.relations.insert(rel.oid, Arc::new(rel));
    }

    /// Adds a plain table in `public` with these columns; gives its descriptor to change further.
    pub fn add_table(&mut self, oid: Oid, name: &str, tuple: TupleDesc) {
        self.add_relation(RelationDesc::plain_table(oid, name, Arc::new(tuple)));
    }

    /// Adds a column's statistics.
    pub fn add_statistic(&mut self, relation: Oid, attnum: i16, s: StatisticDesc) {
        self.statistics.insert((relation, attnum), Arc::new(s));
    }

    /// Adds a sequence's parameters.
    pub fn add_sequence(&mut self, s: SequenceDesc) {
        self.sequences.insert(s.oid, Arc::new(s));
    }

    /// Adds a role.
    pub fn add_role(&mut self, r: RoleDesc) {
        self.roles.push(Arc::new(r));
    }

    /// Adds the labels of an enum.
    pub fn add_enum_labels(&mut self, type_oid: Oid, labels: Vec<EnumLabel>) {
        self.enums.insert(type_oid, labels.into());
    }
}

impl RelationDesc {
    /// An ordinary permanent table in `public`, owned by the bootstrap superuser.
    pub fn plain_table(oid: Oid, name: &str, tuple: Arc<TupleDesc>) -> RelationDesc {
        RelationDesc {
            oid,
            name: Arc::from(name),
            namespace: oids::PUBLIC,
            row_type: Oid::INVALID,
            of_type: Oid::INVALID,
            owner: oids::SUPERUSER,
            am: oids::HEAP_AM,
            relfile: RelFile {
                tablespace: oids::PG_DEFAULT,
                database: oids::POSTGRES_DB,
                number: oid.0,
            },
            tablespace: Oid::INVALID,
            kind: RelKind::Table,
            persistence: Persistence::Permanent,
            shared: false,
            pages: 0,
            tuples: -1.0,
            all_visible: 0,
            all_frozen: 0,
            toast: Oid::INVALID,
            has_subclass: false,
            row_security: false,
            force_row_security: false,
            is_populated: true,
            replica_identity: b'd',
            is_partition: false,
            partition_bound: None,
            partition_key: None,
            tuple,
            defaults: Vec::new(),
            identities: Vec::new(),
            policies: Vec::new(),
            index: None,
            indexes: Vec::new(),
            constraints: Vec::new(),
            referenced_by: Vec::new(),
            triggers: Vec::new(),
            rules: Vec::new(),
            parents: Vec::new(),
            options: Vec::new(),
            acl: None,
            wrapper: None,
            column_acls: Vec::new(),
            opened: Default::default(),
        }
    }
}

impl Source for MemorySource {
    fn generation(&self) -> u64 {
        0
    }

    fn relation(&self, oid: Oid) -> Result<Option<Arc<RelationDesc>>> {
        Ok(self.relations.get(&oid).cloned())
    }

    fn relation_oid(&self, namespace: Oid, name: &str) -> Result<Option<Oid>> {
        let hit = |r: &&Arc<RelationDesc>| r.namespace == namespace && &*r.name == name;
        Ok(self.relations.values().find(hit).map(|r| r.oid))
    }

    fn children(&self, parent: Oid) -> Result<Vec<Oid>> {
        let child = |r: &&Arc<RelationDesc>| r.parents.contains(&parent);
        Ok(self.relations.values().filter(child).map(|r| r.oid).collect())
    }

    fn statistic(
        &self,
        relation: Oid,
        attnum: i16,
        inherited: bool,
    ) -> Result<Option<Arc<StatisticDesc>>> {
        let s = self.statistics.get(&(relation, attnum));
        Ok(s.filter(|s| s.inherited == inherited).cloned())
    }

    fn extended_statistics(&self, _: Oid) -> Result<Arc<[Arc<ExtendedStatisticDesc>]>> {
        Ok(Arc::default())
    }

    fn sequence(&self, oid: Oid) -> Result<Option<Arc<SequenceDesc>>> {
        Ok(self.sequences.get(&oid).cloned())
    }

    fn constraint(&self, oid: Oid) -> Result<Option<Arc<ConstraintDesc>>> {
        let mut all = self.relations.values().flat_map(|r| &r.constraints);
        Ok(all.find(|c| c.oid == oid).map(|c| Arc::new(c.clone())))
    }

    fn domain_constraints(&self, _type_oid: Oid) -> Result<Arc<[ConstraintDesc]>> {
        Ok(Arc::new([]))
    }

    fn type_(&self, oid: Oid) -> Result<Option<Arc<TypeDesc>>> {
        Ok(self.objects.type_(oid))
    }

    fn type_oid(&self, namespace: Oid, name: &str) -> Result<Option<Oid>> {
        Ok(self.objects.type_oid(namespace, name))
    }

    fn enum_labels(&self, type_oid: Oid) -> Result<Arc<[EnumLabel]>> {
        Ok(self.enums.get(&type_oid).cloned().unwrap_or_else(|| Arc::new([])))
    }

    fn enum_label(&self, oid: Oid) -> Result<Option<EnumLabel>> {
        let mut all = self.enums.values().flat_map(|l| l.iter());
        Ok(all.find(|l| l.oid == oid).cloned())
    }

    fn proc(&self, oid: Oid) -> Result<Option<Arc<ProcDesc>>> {
        Ok(self.objects.proc(oid))
    }

    fn procs_named(&self, name: &str) -> Result<Arc<[Arc<ProcDesc>]>> {
        Ok(self.objects.procs_named(name).into())
    }

    fn aggregate(&self, proc: Oid) -> Result<Option<Arc<AggregateDesc>>> {
        Ok(self.objects.aggregate(proc))
    }

    fn operator(&self, oid: Oid) -> Result<Option<Arc<OperatorDesc>>> {
        Ok(self.objects.operator(oid))
    }

    fn operators_named(&self, name: &str) -> Result<Arc<[Arc<OperatorDesc>]>> {
        Ok(self.objects.operators_named(name).into())
    }

    fn cast(&self, source: Oid, target: Oid) -> Result<Option<Arc<CastDesc>>> {
        Ok(self.objects.cast(source, target))
    }

    fn opclass(&self, oid: Oid) -> Result<Option<Arc<OpclassDesc>>> {
        Ok(self.objects.opclass(oid))
    }

    fn opclasses_of(&self, am: Oid) -> Result<Arc<[Arc<OpclassDesc>]>> {
        Ok(self.objects.opclasses_of(am).into())
    }

    fn opfamily(&self, oid: Oid) -> Result<Option<Arc<OpfamilyDesc>>> {
        Ok(self.objects.opfamily(oid))
    }

    fn amops_of_family(&self, family: Oid) -> Result<Arc<[AmopDesc]>> {
        Ok(self.objects.amops_of_family(family).into())
    }

    fn amops_of_operator(&self, operator: Oid) -> Result<Arc<[AmopDesc]>> {
        Ok(self.objects.amops_of_operator(operator).into())
    }

    fn amprocs_of_family(&self, family: Oid) -> Result<Arc<[AmprocDesc]>> {
        Ok(self.objects.amprocs_of_family(family).into())
    }

    fn collation(&self, oid: Oid) -> Result<Option<Arc<CollationDesc>>> {
        Ok(self.objects.collation(oid))
    }

    fn collation_oid(&self, namespace: Oid, name: &str) -> Result<Option<Oid>> {
        Ok(self.objects.collation_oid(namespace, name))
    }

    fn namespace(&self, oid: Oid) -> Result<Option<Arc<NamespaceDesc>>> {
        Ok(self.objects.namespace(oid))
    }

    fn namespace_named(&self, name: &str) -> Result<Option<Arc<NamespaceDesc>>> {
        Ok(self.objects.namespace_named(name))
    }

    fn role(&self, oid: Oid) -> Result<Option<Arc<RoleDesc>>> {
        Ok(self.roles.iter().find(|r| r.oid == oid).cloned())
    }

    fn role_named(&self, name: &str) -> Result<Option<Arc<RoleDesc>>> {
        Ok(self.roles.iter().find(|r| &*r.name == name).cloned())
    }

    fn database(&self, oid: Oid) -> Result<Option<Arc<DatabaseDesc>>> {
        Ok(self.databases.iter().find(|d| d.oid == oid).cloned())
    }

    fn database_named(&self, name: &str) -> Result<Option<Arc<DatabaseDesc>>> {
        Ok(self.databases.iter().find(|d| &*d.name == name).cloned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::{CatalogView, ViewContext};

    fn view() -> CatalogView {
        CatalogView::new(Arc::new(MemorySource::new()), ViewContext::default())
    }

    #[test]
    fn built_in_objects_are_found_by_name() {
        let v = view();
        let int4 = v.type_named(None, "int4").unwrap().unwrap();
        assert_eq!(int4.oid, oids::INT4);
        let plus = v.operator_exact(None, "+", oids::INT4, oids::INT4).unwrap().unwrap();
        assert_eq!(plus.oid, Oid(551));
        assert!(v.procs_named(None, "count").unwrap().len() == 2);
        let class = v.default_opclass(oids::VARCHAR, oids::BTREE_AM).unwrap().unwrap();
        assert_eq!(&*class.name, "text_ops");
        let lt = v.amop(class.family, oids::TEXT, oids::TEXT, 1).unwrap();
        assert_eq!(lt, Some(Oid(664)));
        let cast = v.cast(oids::INT4, oids::INT8).unwrap().unwrap();
        assert_eq!(cast.context, CastContext::Implicit);
    }

    #[test]
    fn system_tables_have_their_shape() {
        let v = view();
        let class = v.require_relation(None, "pg_class").unwrap();
        assert_eq!(class.oid, oids::PG_CLASS);
        assert_eq!(class.tuple.natts(), 34);
        assert_eq!(class.indexes.len(), 3);
        assert_eq!(class.column_number("relname"), Some(2));
        let db = v.require_relation(Some("pg_catalog"), "pg_database").unwrap();
        assert_eq!(db.relfile.to_string(), "global/1262");
        let e = v.require_relation(None, "nope").unwrap_err();
        assert_eq!(e.message(), "relation \"nope\" does not exist");
    }
}
