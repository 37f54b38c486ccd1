//! What access methods and their indexes can do.

use super::SysSession;
use super::args::Args;
use base::{Oid, Result, bail};
use catalog::{IndexDesc, oids};
use types::Datum;

/// An access method's abilities.
struct Abilities {
    am: Oid,
    order: bool,
    unique: bool,
    multi_column: bool,
    /// Indexes give rows one by one, not only as bitmaps; exclusion constraints need that.
    one_by_one: bool,
    include: bool,
    cluster: bool,
    backward: bool,
    nulls: bool,
}

const HASH: Oid = Oid(405);
const GIST: Oid = Oid(783);
const GIN: Oid = Oid(2742);
const BRIN: Oid = Oid(3580);
const SPGIST: Oid = Oid(4000);

const NOTHING: Abilities = Abilities {
    am: Oid::INVALID,
    order: false,
    unique: false,
    multi_column: false,
    one_by_one: false,
    include: false,
    cluster: false,
    backward: false,
    nulls: false,
};

const ALL: &[Abilities] = &[
    Abilities {
        am: oids::BTREE_AM,
        order: true,
        unique: true,
        multi_column: true,
        one_by_one: true,
        include: true,
        cluster: true,
        backward: true,
        nulls: true,
    },
    Abilities { am: HASH, one_by_one: true, backward: true, ..NOTHING },
    Abilities {
        am: GIST,
        multi_column: true,
        one_by_one: true,
        include: true,
        cluster: true,
        nulls: true,
        ..NOTHING
    },
    Abilities { am: GIN, multi_column: true, ..NOTHING },
    Abilities { am: BRIN, multi_column: true, nulls: true, ..NOTHING },
    Abilities { am: SPGIST, one_by_one: true, include: true, nulls: true, ..NOTHING },
];

fn abilities(am: Oid) -> Option<&'static Abilities> {
    ALL.iter().find(|a| a.am == am)
}

pub(super) fn call(s: &dyn SysSession, name: &str, args: &Args) -> Option<Result<Datum>> {
    Some(match name {
        "pg_indexam_has_property" => of_method(args),
        "pg_index_has_property" => of_index(s, args),
        "pg_index_column_has_property" => of_column(s, args),
        "pg_indexam_progress_phasename" => phase(args),
        "amvalidate" => validate(s, args),
        _ => return None,
    })
}

fn truth(known: Option<bool>) -> Datum {
    known.map_or(Datum::Null, Datum::Bool)
}

fn of_method(args: &Args) -> Result<Datum> {
    let Some(a) = abilities(args.oid(0)?) else { return Ok(Datum::Null) };
    let property = args.text(1)?.to_ascii_lowercase();
    Ok(truth(match property.as_str() {
        "can_order" => Some(a.order),
        "can_unique" => Some(a.unique),
        "can_multi_col" => Some(a.multi_column),
        "can_exclude" => Some(a.one_by_one),
        "can_include" => Some(a.include),
        _ => None,
    }))
}

fn index(s: &dyn SysSession, args: &Args) -> Result<Option<std::sync::Arc<IndexDesc>>> {
    Ok(s.view().find_relation(args.oid(0)?)?.and_then(|r| r.index.clone()))
}

fn of_index(s: &dyn SysSession, args: &Args) -> Result<Datum> {
    let Some(index) = index(s, args)? else { return Ok(Datum::Null) };
    let Some(a) = abilities(index.am) else { return Ok(Datum::Null) };
    let property = args.text(1)?.to_ascii_lowercase();
    Ok(truth(match property.as_str() {
        "clusterable" => Some(a.cluster),
        "index_scan" => Some(a.one_by_one),
        "bitmap_scan" => Some(true),
        "backward_scan" => Some(a.backward),
        _ => None,
    }))
}

fn of_column(s: &dyn SysSession, args: &Args) -> Result<Datum> {
    let Some(index) = index(s, args)? else { return Ok(Datum::Null) };
    let Some(a) = abilities(index.am) else { return Ok(Datum::Null) };
    let column = usize::try_from(args.int(1)?).unwrap_or(0);
    if column == 0 || column > index.columns.len() {
        return Ok(Datum::Null);
    }
    let is_key = column <= usize::from(index.n_keys);
    let options = index.options.get(column - 1).copied().unwrap_or(0);
    let ordered = |bit: i16, set: bool| is_key.then_some(a.order && (options & bit != 0) == set);
    let property = args.text(2)?.to_ascii_lowercase();
    Ok(truth(match property.as_str() {
        "asc" => ordered(1, false),
        "desc" => ordered(1, true),
        "nulls_first" => ordered(2, true),
        "nulls_last" => ordered(2, false),
        "orderable" => Some(is_key && a.order),
        "distance_orderable" => match index.am {
            GIST | SPGIST if !is_key => None,
            GIST | SPGIST => Some(orders_by_distance(s, &index, column - 1)?),
            _ => Some(false),
        },
        "returnable" => returnable(s, &index, column - 1, is_key)?,
        "search_array" => is_key.then_some(index.am == oids::BTREE_AM),
        "search_nulls" => is_key.then_some(a.nulls),
        _ => None,
    }))
}

fn orders_by_distance(s: &dyn SysSession, index: &IndexDesc, i: usize) -> Result<bool> {
    let operators = s.view().amops_of_family(index.opfamilies[i])?;
    let input = index.opc_types[i];
    Ok(operators.iter().any(|o| o.purpose == b'o' && o.left == input))
}

/// Whether the value can be read off the index.
fn returnable(
    s: &dyn SysSession,
    index: &IndexDesc,
    i: usize,
    is_key: bool,
) -> Result<Option<bool>> {
    const COMPRESS: i16 = 3;
    const FETCH: i16 = 9;
    Ok(match index.am {
        oids::BTREE_AM => Some(true),
        GIST if !is_key => None,
        SPGIST if !is_key => Some(true),
        GIST => {
            let (family, t) = (index.opfamilies[i], index.opc_types[i]);
            let fetches = s.view().amproc(family, t, t, FETCH)?.is_some();
            Some(fetches || s.view().amproc(family, t, t, COMPRESS)?.is_none())
        }
        // Those that keep something else of a value cannot give it back.
        SPGIST => {
            let class = class(s, index.opclasses[i])?;
            Some(class.is_none_or(|(_, input, kept)| !kept.is_valid() || kept == input))
        }
        _ => Some(false),
    })
}

/// An operator class: its method, input type, and the type that it keeps.
fn class(s: &dyn SysSession, oid: Oid) -> Result<Option<(Oid, Oid, Oid)>> {
    for row in s.table_rows(oids::PG_OPCLASS)? {
        if row.oid("oid")? == oid {
            let of = (row.oid("opcmethod")?, row.oid("opcintype")?, row.oid("opckeytype")?);
            return Ok(Some(of));
        }
    }
    Ok(None)
}

/// The phases of building an index that a method tells.
fn phase(args: &Args) -> Result<Datum> {
    const BTREE: [&str; 5] = [
        "initializing",
        "scanning table",
        "sorting live tuples",
        "sorting dead tuples",
        "loading tuples in tree",
    ];
    if args.oid(0)? != oids::BTREE_AM {
        return Ok(Datum::Null);
    }
    let at = args.int(1)?.checked_sub(1).and_then(|n| usize::try_from(n).ok());
    Ok(at.and_then(|n| BTREE.get(n)).map_or(Datum::Null, |name| Datum::text(name)))
}

/// Whether an operator class has the support functions that its method cannot do without.
fn validate(s: &dyn SysSession, args: &Args) -> Result<Datum> {
    let oid = args.oid(0)?;
    let Some((am, input, _)) = class(s, oid)? else {
        bail!(INTERNAL_ERROR, "cache lookup failed for operator class {oid}");
    };
    let required: &[i16] = match am {
        oids::BTREE_AM => &[1],
        GIST => &[1, 2, 5, 6, 7],
        GIN => &[2],
        BRIN => &[1, 2, 3, 4],
        SPGIST => &[1, 2, 3, 4, 5],
        _ => &[],
    };
    let mut family = Oid::INVALID;
    for row in s.table_rows(oids::PG_OPCLASS)? {
        if row.oid("oid")? == oid {
            family = row.oid("opcfamily")?;
        }
    }
    for number in required {
        if s.view().amproc(family, input, input, *number)?.is_none() {
            return Ok(Datum::Bool(false));
        }
    }
    Ok(Datum::Bool(true))
}
