//! Snapshots as values.

use crate::call::{FnCtx, FnDef};
use crate::srf::{RowSource, Rows};
use base::{Error, Result};
use types::Datum;
use types::snapshot::SnapshotValue;

fn snapshot(d: &Datum) -> Result<SnapshotValue> {
    SnapshotValue::decode(d.as_bytes()).ok_or_else(|| Error::internal("not a snapshot"))
}

/// The rows of `pg_snapshot_xip`.
pub(crate) fn running(_: &mut FnCtx, args: &[Datum]) -> Result<Box<dyn RowSource>> {
    let all = snapshot(&args[0])?.running;
    Ok(Rows::single(all.into_iter().map(|x| Datum::I64(x as i64)).collect()))
}

const LIST: &[FnDef] = &[
    row!(pg_snapshot_xmin(s: &Datum) { Ok(snapshot(s)?.xmin as i64) }),
    row!(pg_snapshot_xmax(s: &Datum) { Ok(snapshot(s)?.xmax as i64) }),
    row!(pg_visible_in_snapshot(xid: i64, s: &Datum) { Ok(snapshot(s)?.sees(xid as u64)) }),
];

pub(super) const FNS: &[&[FnDef]] = &[LIST];
