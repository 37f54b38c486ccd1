//! The objects every database has, from the data files of `functions`.

use crate::desc::*;
use crate::objects::Objects;
use crate::oids;
use base::{Oid, RelFile, Result};
use functions::builtin as rows;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use types::tuple::{Attr, TupleDesc};

/// The built-in objects other than relations.
pub fn objects() -> &'static Arc<Objects> {
    static OBJECTS: OnceLock<Arc<Objects>> = OnceLock::new();
    OBJECTS.get_or_init(|| {
        let mut objects = Objects::default();
        add_names(&mut objects);
        add_procs(&mut objects);
        add_operators(&mut objects);
        Arc::new(objects)
    })
}

fn opt(text: Option<&'static str>) -> Option<Arc<str>> {
    text.map(Arc::from)
}

fn some<T: Clone>(list: &[T]) -> Option<Vec<T>> {
    (!list.is_empty()).then(|| list.to_vec())
}

/// Schemas, types, collations.
fn add_names(objects: &mut Objects) {
    for n in rows::namespaces() {
        objects.add_namespace(NamespaceDesc {
            oid: n.oid,
            name: Arc::from(n.nspname),
            owner: n.nspowner,
            acl: None,
        });
    }
    for t in rows::types() {
        objects.add_type(type_desc(t));
    }
    for c in rows::collations() {
        objects.add_collation(CollationDesc {
            oid: c.oid,
            name: Arc::from(c.collname),
            namespace: c.collnamespace,
            owner: c.collowner,
            provider: c.collprovider,
            is_deterministic: c.collisdeterministic,
            encoding: c.collencoding,
            collate: opt(c.collcollate),
            ctype: opt(c.collctype),
            locale: opt(c.colllocale),
            rules: None,
        });
    }
}

fn type_desc(t: &rows::TypeRow) -> TypeDesc {
    let range = rows::ranges().iter().find(|r| r.rngtypid == t.oid || r.rngmultitypid == t.oid);
    let own = range.filter(|r| r.rngtypid == t.oid);
    let field = |f: fn(&rows::RangeRow) -> Oid| own.map_or(Oid::INVALID, f);
    TypeDesc {
        oid: t.oid,
        name: Arc::from(t.typname),
        namespace: t.typnamespace,
        owner: t.typowner,
        len: t.typlen,
        by_val: t.typbyval,
        kind: t.typtype,
        category: t.typcategory,
        is_preferred: t.typispreferred,
        is_defined: t.typisdefined,
        delim: t.typdelim,
        relation: t.typrelid,
        subscript: t.typsubscript,
        elem: t.typelem,
        array: t.typarray,
        input: t.typinput,
        output: t.typoutput,
        receive: t.typreceive,
        send: t.typsend,
        modin: t.typmodin,
        modout: t.typmodout,
        analyze: t.typanalyze,
        align: t.typalign,
        storage: t.typstorage,
        not_null: t.typnotnull,
        base_type: t.typbasetype,
        typmod: t.typtypmod,
        ndims: t.typndims,
        collation: t.typcollation,
        default_expr: None,
        default: opt(t.typdefault),
        range_subtype: match range {
            Some(r) if r.rngtypid == t.oid => r.rngsubtype,
            Some(r) => r.rngtypid,
            None => Oid::INVALID,
        },
        multirange: field(|r| r.rngmultitypid),
        range_opclass: field(|r| r.rngsubopc),
        range_collation: field(|r| r.rngcollation),
        range_canonical: field(|r| r.rngcanonical),
        range_subdiff: field(|r| r.rngsubdiff),
        acl: None,
    }
}

/// Functions, aggregates, casts.
fn add_procs(objects: &mut Objects) {
    for p in rows::procs() {
        objects.add_proc(ProcDesc {
            oid: p.oid,
            name: Arc::from(p.proname),
            namespace: p.pronamespace,
            owner: p.proowner,
            language: p.prolang,
            cost: p.procost,
            rows: p.prorows,
            variadic: p.provariadic,
            support: p.prosupport,
            kind: p.prokind,
            security_definer: p.prosecdef,
            leakproof: p.proleakproof,
            strict: p.proisstrict,
            returns_set: p.proretset,
            volatility: p.provolatile,
            parallel: p.proparallel,
            n_defaults: p.pronargdefaults as u16,
            return_type: p.prorettype,
            arg_types: p.proargtypes.clone(),
            all_arg_types: some(&p.proallargtypes),
            arg_modes: some(&p.proargmodes),
            arg_names: some(&p.proargnames).map(|v| v.iter().map(|s| s.to_string()).collect()),
            arg_defaults: opt(p.proargdefaults),
            source: Arc::from(p.prosrc),
            binary: opt(p.probin),
            sql_body: opt(p.prosqlbody),
            config: None,
            acl: None,
        });
    }
    for a in rows::aggregates() {
        objects.add_aggregate(AggregateDesc {
            function: a.aggfnoid,
            kind: a.aggkind,
            n_direct_args: a.aggnumdirectargs,
            trans: a.aggtransfn,
            final_: a.aggfinalfn,
            combine: a.aggcombinefn,
            serial: a.aggserialfn,
            deserial: a.aggdeserialfn,
            m_trans: a.aggmtransfn,
            m_inv_trans: a.aggminvtransfn,
            m_final: a.aggmfinalfn,
            final_extra: a.aggfinalextra,
            final_modify: a.aggfinalmodify,
            sort_op: a.aggsortop,
            trans_type: a.aggtranstype,
            trans_space: a.aggtransspace,
            m_trans_type: a.aggmtranstype,
            init_value: opt(a.agginitval),
            m_init_value: opt(a.aggminitval),
        });
    }
    for c in rows::casts() {
        objects.add_cast(CastDesc {
            oid: c.oid,
            source: c.castsource,
            target: c.casttarget,
            function: c.castfunc,
            context: CastContext::from_u8(c.castcontext),
            method: CastMethod::from_u8(c.castmethod),
        });
    }
}

/// Operators, their classes and families.
fn add_operators(objects: &mut Objects) {
    for o in rows::operators() {
        objects.add_operator(OperatorDesc {
            oid: o.oid,
            name: Arc::from(o.oprname),
            namespace: o.oprnamespace,
            owner: o.oprowner,
            kind: o.oprkind,
            can_merge: o.oprcanmerge,
            can_hash: o.oprcanhash,
            left: o.oprleft,
            right: o.oprright,
            result: o.oprresult,
            commutator: o.oprcom,
            negator: o.oprnegate,
            function: o.oprcode,
            rest: o.oprrest,
            join: o.oprjoin,
        });
    }
    for c in rows::opclasses() {
        objects.add_opclass(OpclassDesc {
            oid: c.oid,
            am: c.opcmethod,
            name: Arc::from(c.opcname),
            namespace: c.opcnamespace,
            owner: c.opcowner,
            family: c.opcfamily,
            input_type: c.opcintype,
            is_default: c.opcdefault,
            key_type: c.opckeytype,
        });
    }
    for f in rows::opfamilies() {
        objects.add_opfamily(OpfamilyDesc {
            oid: f.oid,
            am: f.opfmethod,
            name: Arc::from(f.opfname),
            namespace: f.opfnamespace,
        });
    }
    for a in rows::amops() {
        objects.add_amop(AmopDesc {
            oid: a.oid,
            family: a.amopfamily,
            left: a.amoplefttype,
            right: a.amoprighttype,
            strategy: a.amopstrategy,
            purpose: a.amoppurpose,
            operator: a.amopopr,
            am: a.amopmethod,
            sort_family: a.amopsortfamily,
        });
    }
    for a in rows::amprocs() {
        objects.add_amproc(AmprocDesc {
            oid: a.oid,
            family: a.amprocfamily,
            left: a.amproclefttype,
            right: a.amprocrighttype,
            number: a.amprocnum,
            function: a.amproc,
        });
    }
}

/// The system tables, their indexes and TOAST tables, as in the database `postgres`. The files of
/// those that are not shared are in each database's own folder: see [`RelationDesc::in_database`].
/// Views are not among them: they are rows like those of users.
pub fn relations() -> &'static BTreeMap<Oid, Arc<RelationDesc>> {
    static RELATIONS: OnceLock<BTreeMap<Oid, Arc<RelationDesc>>> = OnceLock::new();
    RELATIONS.get_or_init(|| {
        let mut all: BTreeMap<Oid, RelationDesc> = rows::classes()
            .iter()
            .filter(|c| c.relkind != b'v')
            .map(|c| (c.oid, relation_desc(c)))
            .collect();
        for i in rows::indexes() {
            let Some(rel) = all.get(&i.indexrelid) else { continue };
            let index = Arc::new(index_desc(i, rel));
            if let Some(rel) = all.get_mut(&i.indexrelid) {
                rel.index = Some(index.clone());
            }
            if let Some(table) = all.get_mut(&i.indrelid) {
                table.indexes.push(index);
            }
        }
        for c in rows::constraints() {
            if let Some(rel) = all.get_mut(&c.conrelid) {
                rel.constraints.push(constraint_desc(c));
            }
        }
        all.into_iter().map(|(oid, rel)| (oid, Arc::new(rel))).collect()
    })
}

/// How values of a built-in type are held and aligned, as a column of a row.
fn attr(a: &rows::AttributeRow) -> Attr {
    let mut base = a.atttypid;
    while let Some(t) = rows::type_(base)
        && t.typtype == b'd'
    {
        base = t.typbasetype;
    }
    Attr {
        name: Arc::from(a.attname),
        type_oid: a.atttypid,
        typmod: a.atttypmod,
        phys: types::phys_type(base, a.attlen, a.attbyval),
        len: a.attlen,
        byval: a.attbyval,
        align: align_bytes(a.attalign),
        storage: a.attstorage,
        compression: a.attcompression,
        collation: a.attcollation,
        not_null: a.attnotnull,
        dropped: a.attisdropped,
        missing: None,
        generated: a.attgenerated,
        identity: a.attidentity,
    }
}

/// An alignment's letter in bytes.
pub fn align_bytes(letter: u8) -> u8 {
    match letter {
        b'c' => 1,
        b's' => 2,
        b'd' => 8,
        _ => 4,
    }
}

/// The columns of a built-in relation, system columns left out.
pub fn tuple_desc(relation: Oid) -> TupleDesc {
    let columns = rows::attributes_of(relation).iter().filter(|a| a.attnum > 0);
    TupleDesc::new(columns.map(attr).collect())
}

fn relation_desc(c: &rows::ClassRow) -> RelationDesc {
    let mut rel = RelationDesc::plain_table(c.oid, c.relname, Arc::new(tuple_desc(c.oid)));
    rel.namespace = c.relnamespace;
    rel.row_type = c.reltype;
    rel.owner = c.relowner;
    rel.am = c.relam;
    rel.tablespace = c.reltablespace;
    rel.shared = c.relisshared;
    rel.kind = RelKind::from_u8(c.relkind).unwrap_or(RelKind::Table);
    rel.toast = c.reltoastrelid;
    rel.replica_identity = c.relreplident;
    if c.relisshared {
        rel.relfile.tablespace = oids::PG_GLOBAL;
        rel.relfile.database = Oid::INVALID;
    }
    rel
}

fn index_desc(i: &rows::IndexRow, rel: &RelationDesc) -> IndexDesc {
    let classes: Vec<_> = i.indclass.iter().filter_map(|o| rows::opclass(*o)).collect();
    IndexDesc {
        oid: i.indexrelid,
        table: i.indrelid,
        name: rel.name.clone(),
        namespace: rel.namespace,
        am: rel.am,
        relfile: rel.relfile,
        persistence: rel.persistence,
        pages: 0,
        tuples: -1.0,
        columns: i.indkey.clone(),
        n_keys: i.indnkeyatts as u16,
        is_unique: i.indisunique,
        nulls_not_distinct: i.indnullsnotdistinct,
        is_primary: i.indisprimary,
        is_exclusion: i.indisexclusion,
        is_immediate: i.indimmediate,
        is_clustered: i.indisclustered,
        is_valid: i.indisvalid,
        is_ready: i.indisready,
        is_live: i.indislive,
        is_replica_identity: i.indisreplident,
        collations: i.indcollation.clone(),
        opclasses: i.indclass.clone(),
        opfamilies: classes.iter().map(|c| c.opcfamily).collect(),
        opc_types: classes.iter().map(|c| c.opcintype).collect(),
        options: i.indoption.clone(),
        exprs: None,
        predicate: None,
        tuple: rel.tuple.clone(),
        rel_options: Vec::new(),
    }
}

fn constraint_desc(c: &rows::ConstraintRow) -> ConstraintDesc {
    ConstraintDesc {
        oid: c.oid,
        name: Arc::from(c.conname),
        namespace: c.connamespace,
        kind: c.contype,
        deferrable: c.condeferrable,
        deferred: c.condeferred,
        enforced: c.conenforced,
        validated: c.convalidated,
        relation: c.conrelid,
        domain: c.contypid,
        index: c.conindid,
        parent: c.conparentid,
        is_local: c.conislocal,
        inherit_count: c.coninhcount,
        no_inherit: c.connoinherit,
        columns: c.conkey.clone(),
        foreign: None,
        exclusion_ops: Vec::new(),
        expr: None,
    }
}

impl RelationDesc {
    /// A system table as it is in this database: the same but for the folder of its files.
    pub fn in_database(&self, database: Oid) -> RelationDesc {
        let place = |f: RelFile| match f.database.is_valid() {
            true => RelFile { database, ..f },
            false => f,
        };
        let index =
            |i: &Arc<IndexDesc>| Arc::new(IndexDesc { relfile: place(i.relfile), ..(**i).clone() });
        let mut rel = self.clone();
        rel.relfile = place(rel.relfile);
        rel.index = rel.index.as_ref().map(index);
        rel.indexes = rel.indexes.iter().map(index).collect();
        rel
    }
}

impl RelationDesc {
    /// A relation with other files; `number` gives their numbers, None for those that stay.
    pub fn with_files(
        mut self,
        number: &dyn Fn(Oid) -> Result<Option<u32>>,
    ) -> Result<RelationDesc> {
        let index = |i: &Arc<IndexDesc>| -> Result<Arc<IndexDesc>> {
            let Some(number) = number(i.oid)? else { return Ok(i.clone()) };
            let relfile = RelFile { number, ..i.relfile };
            Ok(Arc::new(IndexDesc { relfile, ..(**i).clone() }))
        };
        if let Some(number) = number(self.oid)? {
            self.relfile.number = number;
        }
        self.index = self.index.as_ref().map(index).transpose()?;
        self.indexes = self.indexes.iter().map(index).collect::<Result<_>>()?;
        Ok(self)
    }
}

impl CastContext {
    /// The context of this letter.
    pub fn from_u8(c: u8) -> CastContext {
        match c {
            b'i' => CastContext::Implicit,
            b'a' => CastContext::Assignment,
            _ => CastContext::Explicit,
        }
    }
}

impl CastMethod {
    /// The method of this letter.
    pub fn from_u8(c: u8) -> CastMethod {
        match c {
            b'b' => CastMethod::Binary,
            b'i' => CastMethod::InOut,
            _ => CastMethod::Function,
        }
    }
}

/// The superuser that `initdb` makes.
pub fn bootstrap_role(name: &str) -> RoleDesc {
    RoleDesc {
        oid: oids::SUPERUSER,
        name: Arc::from(name),
        superuser: true,
        inherit: true,
        create_role: true,
        create_db: true,
        can_login: true,
        replication: true,
        bypass_rls: true,
        connection_limit: -1,
        password: None,
        valid_until: None,
        member_of: Vec::new(),
    }
}

/// A database as `initdb` makes it.
pub fn database(oid: Oid, name: &str) -> DatabaseDesc {
    DatabaseDesc {
        oid,
        name: Arc::from(name),
        owner: oids::SUPERUSER,
        encoding: 6,
        locale_provider: b'c',
        is_template: false,
        allow_connections: true,
        connection_limit: -1,
        tablespace: oids::PG_DEFAULT,
        collate: Arc::from("C"),
        ctype: Arc::from("C"),
        locale: None,
        rules: None,
        acl: None,
    }
}
