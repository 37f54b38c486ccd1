//! Which body serves which row.

use crate::builtin;
use crate::call::{Arg, BatchFn, FnCtx, FnDef, RowFn, Rows};
use crate::scalar;
use base::{Oid, Result, err};
use std::collections::HashMap;
use std::sync::OnceLock;
use types::{ColumnBuilder, Datum, PhysType};

/// A function that can be called.
pub struct FnEntry {
    /// Its OID.
    pub oid: Oid,
    /// A NULL argument makes the result NULL without a call.
    pub strict: bool,
    /// The body over single values.
    pub row: RowFn,
    /// The body over columns, if there is a better one than a loop over `row`.
    pub batch: Option<BatchFn>,
    /// False if the body is the session's or does not exist.
    pub has_body: bool,
}

impl FnEntry {
    /// Calls over single values, minding strictness.
    #[inline]
    pub fn call(&self, cx: &mut FnCtx, args: &[Datum]) -> Result<Datum> {
        if self.strict && args.iter().any(Datum::is_null) {
            return Ok(Datum::Null);
        }
        (self.row)(cx, args)
    }

    /// Calls over columns: by the batch kernel, else row by row.
    pub fn call_batch(
        &self,
        cx: &mut FnCtx,
        args: &[Arg],
        rows: Rows,
        out: &mut ColumnBuilder,
    ) -> Result<()> {
        match self.batch {
            Some(kernel) => kernel(cx, args, rows, out),
            None => call_row(self.row, self.strict, cx, args, rows, out),
        }
    }
}

/// Runs a row body over columns.
pub fn call_row(
    body: RowFn,
    strict: bool,
    cx: &mut FnCtx,
    args: &[Arg],
    rows: Rows,
    out: &mut ColumnBuilder,
) -> Result<()> {
    let mut values = vec![Datum::Null; args.len()];
    out.resize(rows.len);
    rows.each(|i| {
        if strict && args.iter().any(|a| a.is_null(i)) {
            out.set_null(i);
            return Ok(());
        }
        for (value, arg) in values.iter_mut().zip(args) {
            *value = arg.get(i);
        }
        let result = body(cx, &values)?;
        check_held(cx, &result, out.phys_type())?;
        out.set(i, &result);
        Ok(())
    })
}

/// What a value is worth counting from, in bytes.
const LONG: usize = 1 << 12;

/// A body that returns another kind of value than its row says is a bug; the statement fails, the
/// session lives on.
#[inline]
pub fn check_held(cx: &FnCtx, value: &Datum, phys: PhysType) -> Result<()> {
    match value.phys_type() {
        Some(held) if held != phys => Err(wrongly_held(cx, held, phys)),
        _ => match value {
            // Values that make a batch large before anybody looks at it as a whole.
            Datum::Bytes(bytes) if bytes.len() > LONG => crate::growth::made(bytes.len()),
            _ => Ok(()),
        },
    }
}

#[cold]
fn wrongly_held(cx: &FnCtx, held: PhysType, phys: PhysType) -> base::Error {
    let name = cx.env.catalog().proc_name(cx.call.fn_oid).unwrap_or_default();
    err!(INTERNAL_ERROR, "function {name} gave a value held as {held:?} rather than {phys:?}")
}

struct Registry {
    by_oid: Vec<Option<FnEntry>>,
    by_symbol: HashMap<&'static str, &'static FnDef>,
}

fn registry() -> &'static Registry {
    static REGISTRY: OnceLock<Registry> = OnceLock::new();
    REGISTRY.get_or_init(|| {
        let mut by_symbol = HashMap::new();
        for def in crate::scalar::all() {
            let earlier = by_symbol.insert(def.symbol, def);
            debug_assert!(earlier.is_none(), "two bodies for {}", def.symbol);
        }
        let rows = builtin::procs();
        let last = rows.last().map_or(0, |r| r.oid.0 as usize);
        let mut by_oid: Vec<Option<FnEntry>> = Vec::new();
        by_oid.resize_with(last + 1, || None);
        for row in rows {
            by_oid[row.oid.0 as usize] = Some(entry(row, &by_symbol));
        }
        Registry { by_oid, by_symbol }
    })
}

fn entry(row: &builtin::ProcRow, by_symbol: &HashMap<&'static str, &'static FnDef>) -> FnEntry {
    let def = match row.prolang {
        Oid(14) => by_symbol.get(row.oid.to_string().as_str()),
        _ => by_symbol.get(row.prosrc),
    };
    let generic: Option<RowFn> = if scalar::io::kind_of(row.oid).is_some() {
        Some(scalar::io::io_row)
    } else if scalar::io::is_typmod(row.oid) {
        Some(scalar::io::typmod_row)
    } else {
        None
    };
    let body = def.map(|d| d.row).or(generic);
    FnEntry {
        oid: row.oid,
        strict: row.proisstrict,
        row: body.unwrap_or(session_fn),
        batch: def.and_then(|d| d.batch),
        has_body: body.is_some(),
    }
}

/// A body for rows that have none here: the session's, if it has one.
fn session_fn(cx: &mut FnCtx, args: &[Datum]) -> Result<Datum> {
    if let Some(result) = cx.env.call_session_fn(cx.call, args) {
        return result;
    }
    let name = cx.env.catalog().proc_name(cx.call.fn_oid);
    let name = name.unwrap_or_else(|| cx.call.fn_oid.to_string());
    Err(err!(FEATURE_NOT_SUPPORTED, "function {name} is not supported yet"))
}

/// The built-in function of this OID. Every row of `pg_proc` has an entry; one without a body asks
/// the session, then fails with 0A000.
#[inline]
pub fn lookup(oid: Oid) -> Option<&'static FnEntry> {
    registry().by_oid.get(oid.0 as usize)?.as_ref()
}

/// The body for a collation that does more than compare bytes, if there is one of its own.
pub fn lookup_collated(oid: Oid) -> Option<&'static FnEntry> {
    static ENTRIES: OnceLock<HashMap<Oid, FnEntry>> = OnceLock::new();
    let entries = ENTRIES.get_or_init(|| {
        let defs: HashMap<&str, &FnDef> =
            scalar::collated::FNS.iter().flat_map(|l| l.iter()).map(|d| (d.symbol, d)).collect();
        let rows = builtin::procs().iter().filter(|r| r.prolang != Oid(14));
        let found = rows.filter_map(|row| {
            let def = defs.get(row.prosrc)?;
            let (strict, row_fn) = (row.proisstrict, def.row);
            let entry = FnEntry { oid: row.oid, strict, row: row_fn, batch: None, has_body: true };
            Some((row.oid, entry))
        });
        found.collect()
    });
    entries.get(&oid)
}

/// The body of a symbol, for `CREATE FUNCTION ... LANGUAGE internal`.
pub fn lookup_prosrc(symbol: &str) -> Option<&'static FnDef> {
    registry().by_symbol.get(symbol).copied()
}
