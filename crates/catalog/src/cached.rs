//! The source that sessions use: the built-in objects, the shared cache, the transaction's own
//! uncommitted changes, and behind them the tables.

use crate::acl::AclItem;
use crate::builtin;
use crate::cache::{Key, SharedCache, Value};
use crate::change::Change;
use crate::desc::*;
use crate::load_relation::Loader;
use crate::rows::RowStore;
use crate::source::Source;
use base::{Error, Oid, Result};
use foldhash::HashMap;
use os::sync::Mutex;
use std::sync::Arc;

/// What a transaction itself has changed and not committed.
#[derive(Default)]
pub struct Overlay {
    inner: Mutex<OverlayInner>,
}

#[derive(Default)]
struct OverlayInner {
    changes: Vec<Change>,
    entries: HashMap<Key, Value>,
    /// Changes with every change, so that the session's plans are looked at again; never 0 where
    /// there are changes.
    generation: u64,
}

impl Overlay {
    /// Takes note of changes just made.
    pub fn add(&self, changes: &[Change]) {
        let mut inner = self.inner.lock();
        for c in changes {
            if !inner.changes.contains(c) {
                inner.changes.push(*c);
            }
        }
        inner.entries.clear();
        inner.generation += 1;
    }

    /// All changes so far.
    pub fn changes(&self) -> Vec<Change> {
        self.inner.lock().changes.clone()
    }

    /// True if nothing was changed.
    pub fn is_empty(&self) -> bool {
        self.inner.lock().changes.is_empty()
    }

    /// Forgets what was read, as when a savepoint is rolled back.
    pub fn forget_entries(&self) {
        let mut inner = self.inner.lock();
        inner.entries.clear();
        inner.generation += 1;
    }

    /// At the end of the transaction.
    pub fn reset(&self) {
        let mut inner = self.inner.lock();
        if !inner.changes.is_empty() {
            inner.changes.clear();
            inner.entries.clear();
            inner.generation += 1;
        }
    }
}

/// The source of one session.
pub struct CachedSource {
    /// The rows as the transaction sees them now.
    pub rows: Arc<dyn RowStore>,
    /// The database's cache.
    pub shared: Arc<SharedCache>,
    /// The transaction's own changes.
    pub overlay: Arc<Overlay>,
    /// The database.
    pub database: Oid,
    /// Its default tablespace.
    pub tablespace: Oid,
}

impl CachedSource {
    fn loader(&self) -> Loader<'_> {
        Loader { rows: &*self.rows, database: self.database, tablespace: self.tablespace }
    }

    /// Who may call a function, if that is not everyone: its owner and its list.
    pub fn proc_acl(&self, oid: Oid) -> Result<Option<Arc<(Oid, Vec<AclItem>)>>> {
        self.cached(Key::ProcAcl(oid), |l| {
            let Some(row) = l.one(crate::indexes::PG_PROC_OID, oid)? else { return Ok(None) };
            let owner = row.oid("proowner")?;
            Ok(row.acl("proacl")?.map(|acl| Arc::new((owner, acl))))
        })
    }

    /// What is under the key: of the overlay if the transaction changed it, else of the cache.
    fn cached<T: Clone + Send + Sync + 'static>(
        &self,
        key: Key,
        load: impl FnOnce(&Loader<'_>) -> Result<T>,
    ) -> Result<T> {
        let own = {
            let inner = self.overlay.inner.lock();
            let own = inner.changes.iter().any(|c| c.concerns(&key));
            if own && let Some(value) = inner.entries.get(&key) {
                return downcast(value);
            }
            own
        };
        if own {
            let value = load(&self.loader())?;
            self.overlay.inner.lock().entries.insert(key, Arc::new(value.clone()));
            return Ok(value);
        }
        if let Some(value) = self.shared.get(&key) {
            return downcast(&value);
        }
        let since = self.shared.generation();
        let value = load(&self.loader())?;
        self.shared.store(key, Arc::new(value.clone()), since);
        Ok(value)
    }
}

fn downcast<T: Clone + 'static>(value: &Value) -> Result<T> {
    value
        .downcast_ref::<T>()
        .cloned()
        .ok_or_else(|| Error::internal("a cached descriptor is of another kind"))
}

fn arc<T>(value: Option<T>) -> Option<Arc<T>> {
    value.map(Arc::new)
}

/// True if the object is built in: its descriptor costs no reads.
fn fixed(oid: Oid) -> bool {
    oid < Oid::FIRST_NORMAL
}

impl Source for CachedSource {
    fn generation(&self) -> u64 {
        let inner = self.overlay.inner.lock();
        match inner.changes.is_empty() {
            true => self.shared.generation(),
            // The overlay's part is in the high bits: the two never cancel out.
            false => (inner.generation << 40) ^ self.shared.generation(),
        }
    }

    fn relation(&self, oid: Oid) -> Result<Option<Arc<RelationDesc>>> {
        self.cached(Key::Relation(oid), |l| Ok(arc(l.relation(oid)?)))
    }

    fn relation_oid(&self, namespace: Oid, name: &str) -> Result<Option<Oid>> {
        let key = Key::RelationName(namespace, Arc::from(name));
        self.cached(key, |l| l.relation_oid(namespace, name))
    }

    fn children(&self, parent: Oid) -> Result<Vec<Oid>> {
        self.cached(Key::Children(parent), |l| l.children(parent))
    }

    fn statistic(
        &self,
        relation: Oid,
        attnum: i16,
        inherited: bool,
    ) -> Result<Option<Arc<StatisticDesc>>> {
        let key = Key::Statistic(relation, attnum, inherited);
        self.cached(key, |l| Ok(arc(l.statistic(relation, attnum, inherited)?)))
    }

    fn extended_statistics(&self, relation: Oid) -> Result<Arc<[Arc<ExtendedStatisticDesc>]>> {
        let key = Key::ExtendedStatistics(relation);
        self.cached(key, |l| Ok(l.extended_statistics(relation)?.into()))
    }

    fn sequence(&self, oid: Oid) -> Result<Option<Arc<SequenceDesc>>> {
        self.cached(Key::Sequence(oid), |l| Ok(arc(l.sequence(oid)?)))
    }

    fn constraint(&self, oid: Oid) -> Result<Option<Arc<ConstraintDesc>>> {
        self.cached(Key::Constraint(oid), |l| Ok(arc(l.constraint(oid)?)))
    }

    fn domain_constraints(&self, oid: Oid) -> Result<Arc<[ConstraintDesc]>> {
        self.cached(Key::Domain(oid), |l| Ok(l.domain_constraints(oid)?.into()))
    }

    fn type_(&self, oid: Oid) -> Result<Option<Arc<TypeDesc>>> {
        if fixed(oid) {
            return Ok(builtin::objects().type_(oid));
        }
        self.cached(Key::Type(oid), |l| Ok(arc(l.type_(oid)?)))
    }

    fn type_oid(&self, namespace: Oid, name: &str) -> Result<Option<Oid>> {
        if let Some(oid) = builtin::objects().type_oid(namespace, name) {
            return Ok(Some(oid));
        }
        let key = Key::TypeName(namespace, Arc::from(name));
        self.cached(key, |l| l.type_oid(namespace, name))
    }

    fn enum_labels(&self, oid: Oid) -> Result<Arc<[EnumLabel]>> {
        self.cached(Key::Enum(oid), |l| Ok(l.enum_labels(oid)?.into()))
    }

    fn enum_label(&self, oid: Oid) -> Result<Option<EnumLabel>> {
        self.loader().enum_label(oid)
    }

    fn proc(&self, oid: Oid) -> Result<Option<Arc<ProcDesc>>> {
        if fixed(oid) {
            return Ok(builtin::objects().proc(oid));
        }
        self.cached(Key::Proc(oid), |l| Ok(arc(l.proc(oid)?)))
    }

    fn procs_named(&self, name: &str) -> Result<Arc<[Arc<ProcDesc>]>> {
        self.cached(Key::ProcName(Arc::from(name)), |l| {
            let mut all = builtin::objects().procs_named(name).to_vec();
            all.extend(l.procs_named(name)?);
            Ok(all.into())
        })
    }

    fn aggregate(&self, oid: Oid) -> Result<Option<Arc<AggregateDesc>>> {
        if fixed(oid) {
            return Ok(builtin::objects().aggregate(oid));
        }
        self.cached(Key::Aggregate(oid), |l| Ok(arc(l.aggregate(oid)?)))
    }

    fn operator(&self, oid: Oid) -> Result<Option<Arc<OperatorDesc>>> {
        if fixed(oid) {
            return Ok(builtin::objects().operator(oid));
        }
        self.cached(Key::Operator(oid), |l| Ok(arc(l.operator(oid)?)))
    }

    fn operators_named(&self, name: &str) -> Result<Arc<[Arc<OperatorDesc>]>> {
        self.cached(Key::OperatorName(Arc::from(name)), |l| {
            let mut all = builtin::objects().operators_named(name).to_vec();
            all.extend(l.operators_named(name)?);
            Ok(all.into())
        })
    }

    fn cast(&self, source: Oid, target: Oid) -> Result<Option<Arc<CastDesc>>> {
        if let Some(c) = builtin::objects().cast(source, target) {
            return Ok(Some(c));
        }
        self.cached(Key::Cast(source, target), |l| Ok(arc(l.cast(source, target)?)))
    }

    fn opclass(&self, oid: Oid) -> Result<Option<Arc<OpclassDesc>>> {
        if fixed(oid) {
            return Ok(builtin::objects().opclass(oid));
        }
        self.cached(Key::Opclass(oid), |l| Ok(arc(l.opclass_desc(oid)?)))
    }

    fn opclasses_of(&self, am: Oid) -> Result<Arc<[Arc<OpclassDesc>]>> {
        self.cached(Key::OpclassesOf(am), |l| {
            let mut all = builtin::objects().opclasses_of(am).to_vec();
            all.extend(l.opclasses_of(am)?);
            Ok(all.into())
        })
    }

    fn opfamily(&self, oid: Oid) -> Result<Option<Arc<OpfamilyDesc>>> {
        if fixed(oid) {
            return Ok(builtin::objects().opfamily(oid));
        }
        self.cached(Key::Opfamily(oid), |l| Ok(arc(l.opfamily(oid)?)))
    }

    fn amops_of_family(&self, family: Oid) -> Result<Arc<[AmopDesc]>> {
        self.cached(Key::AmopsOfFamily(family), |l| {
            let mut all = builtin::objects().amops_of_family(family).to_vec();
            all.extend(l.amops_of_family(family)?);
            Ok(all.into())
        })
    }

    fn amops_of_operator(&self, operator: Oid) -> Result<Arc<[AmopDesc]>> {
        self.cached(Key::AmopsOfOperator(operator), |l| {
            let mut all = builtin::objects().amops_of_operator(operator).to_vec();
            all.extend(l.amops_of_operator(operator)?);
            Ok(all.into())
        })
    }

    fn amprocs_of_family(&self, family: Oid) -> Result<Arc<[AmprocDesc]>> {
        self.cached(Key::Amprocs(family), |l| {
            let mut all = builtin::objects().amprocs_of_family(family).to_vec();
            all.extend(l.amprocs_of_family(family)?);
            Ok(all.into())
        })
    }

    fn collation(&self, oid: Oid) -> Result<Option<Arc<CollationDesc>>> {
        if fixed(oid) {
            return Ok(builtin::objects().collation(oid));
        }
        self.cached(Key::Collation(oid), |l| Ok(arc(l.collation(oid)?)))
    }

    fn collation_oid(&self, namespace: Oid, name: &str) -> Result<Option<Oid>> {
        if let Some(oid) = builtin::objects().collation_oid(namespace, name) {
            return Ok(Some(oid));
        }
        let key = Key::CollationName(namespace, Arc::from(name));
        self.cached(key, |l| l.collation_oid(namespace, name))
    }

    fn namespace(&self, oid: Oid) -> Result<Option<Arc<NamespaceDesc>>> {
        self.cached(Key::Namespace(oid), |l| Ok(arc(l.namespace(oid)?)))
    }

    fn namespace_named(&self, name: &str) -> Result<Option<Arc<NamespaceDesc>>> {
        let key = Key::NamespaceName(Arc::from(name));
        self.cached(key, |l| Ok(arc(l.namespace_named(name)?)))
    }

    fn role(&self, oid: Oid) -> Result<Option<Arc<RoleDesc>>> {
        self.cached(Key::Role(oid), |l| Ok(arc(l.role(oid)?)))
    }

    fn role_named(&self, name: &str) -> Result<Option<Arc<RoleDesc>>> {
        self.cached(Key::RoleName(Arc::from(name)), |l| Ok(arc(l.role_named(name)?)))
    }

    fn database(&self, oid: Oid) -> Result<Option<Arc<DatabaseDesc>>> {
        self.cached(Key::Database(oid), |l| Ok(arc(l.database(oid)?)))
    }

    fn database_named(&self, name: &str) -> Result<Option<Arc<DatabaseDesc>>> {
        self.cached(Key::DatabaseName(Arc::from(name)), |l| Ok(arc(l.database_named(name)?)))
    }
}
