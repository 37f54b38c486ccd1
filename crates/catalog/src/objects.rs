//! Objects other than relations in memory, with the ways to find them.

use crate::desc::*;
use base::Oid;
use foldhash::HashMap;
use std::sync::Arc;

/// A set of objects, found by OID and by name.
#[derive(Default, Clone)]
pub struct Objects {
    types: HashMap<Oid, Arc<TypeDesc>>,
    type_names: HashMap<(Oid, Arc<str>), Oid>,
    procs: HashMap<Oid, Arc<ProcDesc>>,
    proc_names: HashMap<Arc<str>, Vec<Arc<ProcDesc>>>,
    aggregates: HashMap<Oid, Arc<AggregateDesc>>,
    operators: HashMap<Oid, Arc<OperatorDesc>>,
    operator_names: HashMap<Arc<str>, Vec<Arc<OperatorDesc>>>,
    casts: HashMap<(Oid, Oid), Arc<CastDesc>>,
    opclasses: HashMap<Oid, Arc<OpclassDesc>>,
    opclasses_by_am: HashMap<Oid, Vec<Arc<OpclassDesc>>>,
    opfamilies: HashMap<Oid, Arc<OpfamilyDesc>>,
    amops_by_family: HashMap<Oid, Vec<AmopDesc>>,
    amops_by_operator: HashMap<Oid, Vec<AmopDesc>>,
    amprocs: HashMap<Oid, Vec<AmprocDesc>>,
    collations: HashMap<Oid, Arc<CollationDesc>>,
    collation_names: HashMap<(Oid, Arc<str>), Oid>,
    namespaces: HashMap<Oid, Arc<NamespaceDesc>>,
    namespace_names: HashMap<Arc<str>, Oid>,
}

impl Objects {
    /// Adds a type.
    pub fn add_type(&mut self, t: TypeDesc) {
        self.type_names.insert((t.namespace, t.name.clone()), t.oid);
        self.types.insert(t.oid, Arc::new(t));
    }

    /// Adds a function.
    pub fn add_proc(&mut self, p: ProcDesc) {
        let p = Arc::new(p);
        self.proc_names.entry(p.name.clone()).or_default().push(p.clone());
        self.procs.insert(p.oid, p);
    }

    /// Adds what makes a function an aggregate.
    pub fn add_aggregate(&mut self, a: AggregateDesc) {
        self.aggregates.insert(a.function, Arc::new(a));
    }

    /// Adds an operator.
    pub fn add_operator(&mut self, o: OperatorDesc) {
        let o = Arc::new(o);
        self.operator_names.entry(o.name.clone()).or_default().push(o.clone());
        self.operators.insert(o.oid, o);
    }

    /// Adds a cast.
    pub fn add_cast(&mut self, c: CastDesc) {
        self.casts.insert((c.source, c.target), Arc::new(c));
    }

    /// Adds an operator class.
    pub fn add_opclass(&mut self, c: OpclassDesc) {
        let c = Arc::new(c);
        self.opclasses_by_am.entry(c.am).or_default().push(c.clone());
        self.opclasses.insert(c.oid, c);
    }

    /// Adds an operator family.
    pub fn add_opfamily(&mut self, f: OpfamilyDesc) {
        self.opfamilies.insert(f.oid, Arc::new(f));
    }

    /// Adds an operator to its family.
    pub fn add_amop(&mut self, a: AmopDesc) {
        self.amops_by_family.entry(a.family).or_default().push(a);
        self.amops_by_operator.entry(a.operator).or_default().push(a);
    }

    /// Adds a support function to its family.
    pub fn add_amproc(&mut self, a: AmprocDesc) {
        self.amprocs.entry(a.family).or_default().push(a);
    }

    /// Adds a collation.
    pub fn add_collation(&mut self, c: CollationDesc) {
        self.collation_names.insert((c.namespace, c.name.clone()), c.oid);
        self.collations.insert(c.oid, Arc::new(c));
    }

    /// Adds a schema.
    pub fn add_namespace(&mut self, n: NamespaceDesc) {
        self.namespace_names.insert(n.name.clone(), n.oid);
        self.namespaces.insert(n.oid, Arc::new(n));
    }

    /// A type, by OID.
    pub fn type_(&self, oid: Oid) -> Option<Arc<TypeDesc>> {
        self.types.get(&oid).cloned()
    }

    /// A type's OID, by name.
    pub fn type_oid(&self, namespace: Oid, name: &str) -> Option<Oid> {
        self.type_names.get(&(namespace, Arc::from(name))).copied()
    }

    /// All types, in no order.
    pub fn types(&self) -> impl Iterator<Item = &Arc<TypeDesc>> {
        self.types.values()
    }

    /// A function, by OID.
    pub fn proc(&self, oid: Oid) -> Option<Arc<ProcDesc>> {
        self.procs.get(&oid).cloned()
    }

    /// Functions of a name.
    pub fn procs_named(&self, name: &str) -> &[Arc<ProcDesc>] {
        self.proc_names.get(name).map_or(&[], |v| v)
    }

    /// What makes a function an aggregate.
    pub fn aggregate(&self, proc: Oid) -> Option<Arc<AggregateDesc>> {
        self.aggregates.get(&proc).cloned()
    }

    /// An operator, by OID.
    pub fn operator(&self, oid: Oid) -> Option<Arc<OperatorDesc>> {
        self.operators.get(&oid).cloned()
    }

    /// Operators of a name.
    pub fn operators_named(&self, name: &str) -> &[Arc<OperatorDesc>] {
        self.operator_names.get(name).map_or(&[], |v| v)
    }

    /// A cast.
    pub fn cast(&self, source: Oid, target: Oid) -> Option<Arc<CastDesc>> {
        self.casts.get(&(source, target)).cloned()
    }

    /// An operator class.
    pub fn opclass(&self, oid: Oid) -> Option<Arc<OpclassDesc>> {
        self.opclasses.get(&oid).cloned()
    }

    /// Operator classes of an access method.
    pub fn opclasses_of(&self, am: Oid) -> &[Arc<OpclassDesc>] {
        self.opclasses_by_am.get(&am).map_or(&[], |v| v)
    }

    /// An operator family.
    pub fn opfamily(&self, oid: Oid) -> Option<Arc<OpfamilyDesc>> {
        self.opfamilies.get(&oid).cloned()
    }

    /// Operators of a family.
    pub fn amops_of_family(&self, family: Oid) -> &[AmopDesc] {
        self.amops_by_family.get(&family).map_or(&[], |v| v)
    }

    /// Families of an operator.
    pub fn amops_of_operator(&self, operator: Oid) -> &[AmopDesc] {
        self.amops_by_operator.get(&operator).map_or(&[], |v| v)
    }

    /// Support functions of a family.
    pub fn amprocs_of_family(&self, family: Oid) -> &[AmprocDesc] {
        self.amprocs.get(&family).map_or(&[], |v| v)
    }

    /// A collation, by OID.
    pub fn collation(&self, oid: Oid) -> Option<Arc<CollationDesc>> {
        self.collations.get(&oid).cloned()
    }

    /// A collation's OID, by name.
    pub fn collation_oid(&self, namespace: Oid, name: &str) -> Option<Oid> {
        self.collation_names.get(&(namespace, Arc::from(name))).copied()
    }

    /// A schema, by OID.
    pub fn namespace(&self, oid: Oid) -> Option<Arc<NamespaceDesc>> {
        self.namespaces.get(&oid).cloned()
    }

    /// A schema, by name.
    pub fn namespace_named(&self, name: &str) -> Option<Arc<NamespaceDesc>> {
        self.namespace_names.get(name).and_then(|o| self.namespace(*o))
    }
}
