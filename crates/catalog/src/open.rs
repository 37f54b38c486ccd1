//! Relations opened: what the access methods need, made from descriptors once.

use crate::builtin;
use crate::desc::*;
use crate::oids;
use crate::vector;
use crate::view::CatalogView;
use access::Storage;
use access::heap::{AttrSet, HeapDesc, HeapRel};
use access::index::{IndexMethod, IndexRel, KeyCmp, KeyColumn};
use access::toast::ToastRel;
use base::{Error, Oid, Result};
use functions::{CallInfo, FnCtx, KnownTypes, StaticEnv};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock};
use types::Datum;
use types::io::TypeInfo;

/// A relation's files as the access methods see them.
pub struct OpenRelation {
    /// The rows.
    pub heap: Arc<HeapRel>,
    /// The indexes, in the order of [`RelationDesc::indexes`].
    pub indexes: Vec<Arc<IndexRel>>,
}

/// The place in a descriptor where its [`OpenRelation`] is kept. A copied descriptor starts
/// without: it may be changed.
#[derive(Default)]
pub struct Opened(OnceLock<Arc<OpenRelation>>);

impl Clone for Opened {
    fn clone(&self) -> Opened {
        Opened::default()
    }
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.get().is_some() { "open" } else { "not open" })
    }
}

/// Where operator families' support functions are found.
type Support<'a> = &'a dyn Fn(Oid, Oid, i16) -> Result<Option<Oid>>;

/// Where facts about types that users made are found: how values are held, and the values of
/// enum types in order.
type TypeSource<'a> = &'a dyn Fn(Oid) -> Option<(Arc<TypeInfo>, Vec<Oid>)>;

/// Facts about a type for reading, writing and comparing its values.
pub fn type_info(view: &CatalogView, oid: Oid) -> Option<Arc<TypeInfo>> {
    if let Some(info) = functions::builtin_type_info(oid) {
        return Some(Arc::new(info));
    }
    let t = view.find_type(oid).ok()??;
    let (mut base, mut base_typmod) = (t.clone(), t.typmod);
    while base.kind == b'd' {
        base = view.find_type(base.base_type).ok()??;
        if base_typmod < 0 {
            base_typmod = base.typmod;
        }
    }
    let like = match base.kind {
        b'b' => held_like(view, &base),
        _ => Oid::INVALID,
    };
    let held = if like.is_valid() { like } else { base.oid };
    Some(Arc::new(TypeInfo {
        oid,
        name: t.name.clone(),
        len: t.len,
        byval: t.by_val,
        align: builtin::align_bytes(t.align),
        storage: t.storage,
        phys: types::phys_type(held, t.len, t.by_val),
        typtype: t.kind,
        category: t.category,
        delim: t.delim,
        elem: if t.is_array() { t.elem } else { Oid::INVALID },
        array: t.array,
        base: match t.kind {
            b'd' => base.oid,
            b'r' | b'm' => t.range_subtype,
            b'b' => like,
            _ => Oid::INVALID,
        },
        base_typmod,
        relid: t.relation,
        collation: t.collation,
    }))
}

/// The built-in type whose input function a base type made by users has, by another name: its
/// values are held and written as those.
pub fn held_like(view: &CatalogView, t: &TypeDesc) -> Oid {
    if t.oid < Oid::FIRST_NORMAL || t.is_array() {
        return Oid::INVALID;
    }
    let Ok(Some(input)) = view.find_proc(t.input) else { return Oid::INVALID };
    match input.language == oids::INTERNAL_LANGUAGE {
        true => read_by(&input.source, t.len, t.by_val),
        false => Oid::INVALID,
    }
}

/// The built-in type that a function of the server reads, if its values are this long.
pub(crate) fn read_by(function: &str, len: i16, by_val: bool) -> Oid {
    static READ_BY: OnceLock<HashMap<&str, Oid>> = OnceLock::new();
    let types = READ_BY.get_or_init(|| {
        let mut found = HashMap::new();
        for ty in functions::builtin::types().iter().filter(|t| t.typtype == b'b') {
            if let Some(f) = functions::builtin::proc(ty.typinput) {
                found.entry(f.proname).or_insert(ty.oid);
            }
        }
        found
    });
    let like = types.get(function).copied().unwrap_or_default();
    let same = |l: &functions::builtin::TypeRow| l.typlen == len && l.typbyval == by_val;
    match functions::builtin::type_(like).is_some_and(same) {
        true => like,
        false => Oid::INVALID,
    }
}

/// See [`TypeSource`].
fn type_facts(view: &CatalogView, oid: Oid) -> Option<(Arc<TypeInfo>, Vec<Oid>)> {
    let info = type_info(view, oid)?;
    let values = match info.typtype {
        b'e' => view.enum_labels(oid).ok()?.iter().map(|l| l.oid).collect(),
        _ => Vec::new(),
    };
    Some((info, values))
}

/// Those of these types that users made, with those that they are made of.
fn known_types(mut left: Vec<Oid>, type_info: TypeSource<'_>) -> KnownTypes {
    let mut out = functions::TypeFacts::default();
    while let Some(oid) = left.pop() {
        if oid < Oid::FIRST_NORMAL || out.types.contains_key(&oid) {
            continue;
        }
        if let Some((info, values)) = type_info(oid) {
            left.extend([info.base, info.elem]);
            out.types.insert(oid, info);
            out.enums.insert(oid, values);
        }
    }
    Arc::new(out)
}

/// The support functions of built-in families.
pub fn builtin_support(family: Oid, type_oid: Oid, number: i16) -> Result<Option<Oid>> {
    let found = builtin::objects()
        .amprocs_of_family(family)
        .iter()
        .find(|a| a.left == type_oid && a.right == type_oid && a.number == number);
    Ok(found.map(|a| a.function))
}

impl RelationDesc {
    /// The relation opened; made on first use.
    pub fn open(&self, storage: &Arc<Storage>, view: &CatalogView) -> Result<&Arc<OpenRelation>> {
        if let Some(open) = self.opened.0.get() {
            return Ok(open);
        }
        let toast = match self.toast.is_valid() {
            true => Some(view.relation(self.toast)?),
            false => None,
        };
        let support = |family, type_oid, number| view.amproc(family, type_oid, type_oid, number);
        let type_info = |oid| type_facts(view, oid);
        let default = view.context().default_collation;
        let about = (&support as Support<'_>, &type_info as TypeSource<'_>, default);
        let open = open_relation_of(storage, self, toast.as_deref(), about)?;
        Ok(self.opened.0.get_or_init(|| Arc::new(open)))
    }
}

/// Opens a relation whose TOAST table, if it has one, is given.
pub fn open_relation(
    storage: &Arc<Storage>,
    rel: &RelationDesc,
    toast: Option<&RelationDesc>,
    support: Support<'_>,
) -> Result<OpenRelation> {
    open_relation_of(storage, rel, toast, (support, &|_| None, oids::C_COLLATION))
}

fn open_relation_of(
    storage: &Arc<Storage>,
    rel: &RelationDesc,
    toast: Option<&RelationDesc>,
    (support, type_info, default): (Support<'_>, TypeSource<'_>, Oid),
) -> Result<OpenRelation> {
    let toast = match toast {
        None => None,
        Some(t) => {
            let index = t
                .indexes
                .first()
                .ok_or_else(|| Error::internal(format!("TOAST table {} has no index", t.oid)))?;
            Some(Arc::new(ToastRel::new(
                HeapRel::open(storage, heap_desc(t), None),
                open_index(index, support)?,
            )))
        }
    };
    let heap = Arc::new(HeapRel::open(storage, heap_desc(rel), toast));
    let open = |i: &Arc<IndexDesc>| open_index_of(i, support, type_info, default);
    let indexes = rel.indexes.iter().map(open).collect::<Result<Vec<_>>>()?;
    Ok(OpenRelation { heap, indexes })
}

fn persistence(p: Persistence) -> buffer::Persistence {
    match p {
        Persistence::Permanent => buffer::Persistence::Permanent,
        Persistence::Unlogged => buffer::Persistence::Unlogged,
        Persistence::Temp => buffer::Persistence::Temp,
    }
}

impl Persistence {
    /// The same for the page cache.
    pub fn for_files(self) -> buffer::Persistence {
        persistence(self)
    }
}

/// What the heap needs of a table.
pub fn heap_desc(rel: &RelationDesc) -> HeapDesc {
    let mut desc = HeapDesc::new(rel.oid, rel.relfile, rel.tuple.clone());
    desc.persistence = persistence(rel.persistence);
    desc.name = rel.name.clone();
    if let Some(n) = rel.option("fillfactor").and_then(|v| v.parse().ok()) {
        desc.fillfactor = n;
    }
    for index in &rel.indexes {
        add_index_columns(&mut desc, rel, index);
    }
    desc
}

/// An index on an expression or with a predicate may depend on any column: the columns are found
/// in the stored text, where a column reads `"attno":n`.
fn add_index_columns(desc: &mut HeapDesc, rel: &RelationDesc, index: &IndexDesc) {
    let add = |set: &mut AttrSet, n: i16| {
        if n > 0 {
            set.insert(n as usize - 1);
        }
    };
    for n in &index.columns {
        add(&mut desc.indexed, *n);
    }
    for text in index.exprs.iter().chain(&index.predicate) {
        for part in text.split("\"attno\":").skip(1) {
            let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
            add(&mut desc.indexed, digits.parse().unwrap_or(0));
        }
    }
    let is_key =
        index.is_unique && index.is_immediate && index.predicate.is_none() && index.exprs.is_none();
    if is_key {
        for n in &index.columns[..usize::from(index.n_keys)] {
            add(&mut desc.keys, *n);
        }
    }
    let _ = rel;
}

/// What the index method needs of an index.
pub fn open_index(index: &IndexDesc, support: Support<'_>) -> Result<Arc<IndexRel>> {
    open_index_of(index, support, &|_| None, oids::C_COLLATION)
}

/// As [`open_index`], with the facts of types that users made and the collation that the
/// database's default one stands for.
fn open_index_of(
    index: &IndexDesc,
    support: Support<'_>,
    type_info: TypeSource<'_>,
    default: Oid,
) -> Result<Arc<IndexRel>> {
    let types = known_types(index.tuple.attrs.iter().map(|a| a.type_oid).collect(), type_info);
    if index.am != oids::BTREE_AM {
        return Err(Error::unsupported(format!("access method {}", index.am)));
    }
    let mut keys = Vec::new();
    let mut deduplicate = true;
    for i in 0..usize::from(index.n_keys) {
        let (family, input) = (index.opfamilies[i], index.opc_types[i]);
        let proc = support(family, input, 1)?.ok_or_else(|| {
            Error::internal(format!("missing support function 1 in opfamily {family}"))
        })?;
        deduplicate &= support(family, input, 4)?.is_some();
        let option = index.options.get(i).copied().unwrap_or(0);
        let collation = match index.collations.get(i).copied().unwrap_or_default() {
            oids::DEFAULT_COLLATION => default,
            other => other,
        };
        let stored = index.tuple.attrs.get(i).map_or(input, |a| a.type_oid);
        keys.push(KeyColumn {
            cmp: key_cmp_of(proc, (collation, stored), &types),
            desc: option & 1 != 0,
            nulls_first: option & 2 != 0,
        });
    }
    let option = |name: &str| index.rel_options.iter().find(|o| o.0 == name).map(|o| &*o.1);
    if option("deduplicate_items").is_some_and(|v| matches!(v, "off" | "false" | "0" | "no")) {
        deduplicate = false;
    }
    deduplicate &= usize::from(index.n_keys) == index.columns.len();
    Ok(Arc::new(IndexRel {
        oid: index.oid,
        name: index.name.to_string(),
        heap_oid: index.table,
        file: index.relfile,
        persistence: persistence(index.persistence),
        method: IndexMethod::Btree,
        desc: index.tuple.clone(),
        keys,
        unique: index.is_unique,
        nulls_not_distinct: index.nulls_not_distinct,
        fillfactor: option("fillfactor").and_then(|v| v.parse().ok()).unwrap_or(90),
        deduplicate,
        am_cache: Default::default(),
    }))
}

/// True for collations that compare bytes: C and its like.
pub fn compares_bytes(collation: Oid) -> bool {
    match collation {
        Oid::INVALID | oids::C_COLLATION | oids::POSIX_COLLATION => true,
        oid if functions::collation::stands_for_default(oid) => {
            functions::collation::compares_bytes(oid)
        }
        oid => builtin::objects().collation(oid).is_some_and(|c| {
            c.provider == b'b'
                || c.collate
                    .as_deref()
                    .is_some_and(|n| matches!(n, "C" | "POSIX" | "C.UTF-8" | "C.utf8"))
        }),
    }
}

/// How a btree comparison function orders values of a type.
pub fn key_cmp(view: &CatalogView, proc: Oid, collation: Oid, stored: Oid) -> KeyCmp {
    let types = known_types(vec![stored], &|oid| type_facts(view, oid));
    key_cmp_of(proc, (view.concrete_collation(collation), stored), &types)
}

/// As [`key_cmp`], with the type of the values, and what is known of types that users made.
fn key_cmp_of(proc: Oid, (collation, stored): (Oid, Oid), types: &KnownTypes) -> KeyCmp {
    let types = types.clone();
    // The values of a domain are those of its base type.
    let stored = match types.types.get(&stored) {
        Some(t) if t.typtype == b'd' => t.base,
        _ => stored,
    };
    match proc.0 {
        350 | 351 | 842 | 356 | 358 | 1693 | 1092 | 2045 | 1314 | 1107 | 377 | 3251 | 5096
        | 2188 | 2189 | 2190 | 2191 | 2192 | 2193 => KeyCmp::Int,
        354 | 355 | 2194 | 2195 => KeyCmp::Float,
        1954 | 2963 | 359 | 2187 => KeyCmp::Bytes,
        360 if compares_bytes(collation) => KeyCmp::Bytes,
        404 => KeyCmp::Custom(Arc::new(compare_oid_vectors)),
        _ => KeyCmp::Custom(Arc::new(move |a: &Datum, b: &Datum| {
            compare_by_proc(proc, (collation, stored, &types), a, b)
        })),
    }
}

/// Shorter vectors first, then element by element.
fn compare_oid_vectors(a: &Datum, b: &Datum) -> Result<Ordering> {
    let (a, b) = (vector::to_oids(a)?, vector::to_oids(b)?);
    Ok(a.len().cmp(&b.len()).then_with(|| a.cmp(&b)))
}

fn compare_by_proc(
    proc: Oid,
    (collation, stored, types): (Oid, Oid, &KnownTypes),
    a: &Datum,
    b: &Datum,
) -> Result<Ordering> {
    let collated = functions::lookup_collated(proc).filter(|_| !compares_bytes(collation));
    let entry = collated
        .or_else(|| functions::lookup(proc))
        .filter(|e| e.has_body)
        .ok_or_else(|| Error::unsupported(format!("comparing values with function {proc}")))?;
    let env = StaticEnv::with_types(types);
    let info = CallInfo { collation, arg_types: vec![stored; 2], ..CallInfo::of(proc) };
    let mut state = functions::CallState::default();
    let mut cx = FnCtx { env: &env, call: &info, state: &mut state };
    match entry.call(&mut cx, &[a.clone(), b.clone()])? {
        Datum::I32(n) => Ok(n.cmp(&0)),
        _ => Err(Error::internal(format!("function {proc} does not compare"))),
    }
}
