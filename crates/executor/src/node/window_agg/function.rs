//! The window functions, and aggregates over frames.

use super::frame::Frames;
use super::{Partition, WindowSpec};
use crate::expr::agg::{AggCall, AggRun};
use crate::expr::{ExprCompiler, Prog, RowInput, VarMap};
use crate::run::Run;
use base::{Error, Result, bail};
use ir::WindowFunc;
use std::ops::Range;
use std::sync::Arc;
use types::{BATCH_ROWS, Batch, Column, ColumnBuilder, Datum, PhysType};

/// What a window function does.
enum Kind {
    RowNumber,
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
    Ntile,
    /// Rows away from the current one: forwards if true.
    Offset(bool),
    FirstValue,
    LastValue,
    NthValue,
    Aggregate(Box<AggCall>),
}

/// A window function call.
pub(crate) struct WindowCall {
    kind: Kind,
    args: Vec<Prog>,
}

impl WindowCall {
    pub fn compile(c: &mut ExprCompiler, f: &WindowFunc, map: &VarMap) -> Result<WindowCall> {
        if f.is_agg {
            let call = AggCall::of_window(c, f, map)?;
            return Ok(WindowCall { kind: Kind::Aggregate(Box::new(call)), args: Vec::new() });
        }
        let kind = match f.func.0 {
            3100 => Kind::RowNumber,
            3101 => Kind::Rank,
            3102 => Kind::DenseRank,
            3103 => Kind::PercentRank,
            3104 => Kind::CumeDist,
            3105 => Kind::Ntile,
            3106..=3108 => Kind::Offset(false),
            3109..=3111 => Kind::Offset(true),
            3112 => Kind::FirstValue,
            3113 => Kind::LastValue,
            3114 => Kind::NthValue,
            other => return Err(Error::unsupported(format!("window function {other}"))),
        };
        Ok(WindowCall { kind, args: c.list(&f.args, map)? })
    }

    /// The function's values, a column for each chunk of the partition.
    pub fn column(
        &self,
        run: &mut Run,
        spec: &WindowSpec,
        p: &Partition,
        mut frames: Frames<'_>,
        phys: PhysType,
    ) -> Result<Vec<Arc<Column>>> {
        let mut out = Values { phys, done: Vec::new(), open: ColumnBuilder::new(phys) };
        if let Kind::Aggregate(call) = &self.kind {
            aggregate(run, call, spec, p, &mut frames, &mut out)?;
            return Ok(out.finish());
        }
        // The number of buckets is that of the first row that has one.
        let mut tiles = None;
        for row in 0..p.rows {
            if row % BATCH_ROWS == 0 {
                run.check_interrupts()?;
            }
            let value = match &self.kind {
                Kind::RowNumber => Datum::I64(row as i64 + 1),
                Kind::Rank => Datum::I64(p.peers_start(row) as i64 + 1),
                Kind::DenseRank => Datum::I64(p.peer_group[row] as i64 + 1),
                Kind::PercentRank if p.rows == 1 => Datum::F64(0.0),
                Kind::PercentRank => Datum::F64(p.peers_start(row) as f64 / (p.rows as f64 - 1.0)),
                Kind::CumeDist => Datum::F64(p.peers_end[row] as f64 / p.rows as f64),
                Kind::Ntile => {
                    if tiles.is_none() {
                        tiles = self.tiles(run, p, row)?.map(|n| (row, n));
                    }
                    tiles.map_or(Datum::Null, |(from, n)| ntile(row - from, p.rows, n))
                }
                Kind::Offset(forwards) => self.offset(run, p, row, *forwards)?,
                _ => self.from_frame(run, p, &mut frames, row)?,
            };
            out.push(value);
        }
        Ok(out.finish())
    }

    fn arg(&self, run: &mut Run, p: &Partition, arg: usize, row: usize) -> Result<Datum> {
        let chunk = &p.chunks[row / BATCH_ROWS];
        self.args[arg].eval(run, RowInput::Batch(chunk, row % BATCH_ROWS))
    }

    fn tiles(&self, run: &mut Run, p: &Partition, row: usize) -> Result<Option<i64>> {
        let n = self.arg(run, p, 0, row)?;
        if n.is_null() {
            return Ok(None);
        }
        if n.to_i64() <= 0 {
            bail!(INVALID_ARGUMENT_FOR_NTILE, "argument of ntile must be greater than zero");
        }
        Ok(Some(n.to_i64()))
    }

    fn offset(&self, run: &mut Run, p: &Partition, row: usize, forwards: bool) -> Result<Datum> {
        let mut by = 1;
        if self.args.len() > 1 {
            let n = self.arg(run, p, 1, row)?;
            if n.is_null() {
                return Ok(Datum::Null);
            }
            by = n.to_i64();
        }
        let at = row as i64;
        let target = if forwards { at.saturating_add(by) } else { at.saturating_sub(by) };
        match usize::try_from(target) {
            Ok(t) if t < p.rows => self.arg(run, p, 0, t),
            _ if self.args.len() > 2 => self.arg(run, p, 2, row),
            _ => Ok(Datum::Null),
        }
    }

    fn from_frame(
        &self,
        run: &mut Run,
        p: &Partition,
        frames: &mut Frames<'_>,
        row: usize,
    ) -> Result<Datum> {
        let frame = frames.of(run, row)?;
        let ranges = frames.ranges(row, frame);
        let chosen = match self.kind {
            Kind::FirstValue => ranges.first().map(|r| r.start),
            Kind::LastValue => ranges.last().map(|r| r.end - 1),
            _ => {
                let n = self.arg(run, p, 1, row)?;
                if n.is_null() {
                    return Ok(Datum::Null);
                }
                if n.to_i64() <= 0 {
                    bail!(
                        INVALID_ARGUMENT_FOR_NTH_VALUE,
                        "argument of nth_value must be greater than zero"
                    );
                }
                let mut left = n.to_i64() as usize - 1;
                let mut found = None;
                for r in ranges {
                    if left < r.len() {
                        found = Some(r.start + left);
                        break;
                    }
                    left -= r.len();
                }
                found
            }
        };
        chosen.map_or(Ok(Datum::Null), |row| self.arg(run, p, 0, row))
    }
}

/// The bucket of a row: the first buckets are longer by one.
fn ntile(row: usize, rows: usize, buckets: i64) -> Datum {
    let (row, rows) = (row as i64, rows as i64);
    let (size, longer) = (rows / buckets, rows % buckets);
    let in_longer = longer * (size + 1);
    let bucket =
        if row < in_longer { row / (size + 1) } else { longer + (row - in_longer) / size.max(1) };
    Datum::I32(bucket as i32 + 1)
}

/// Collects values into a column for each chunk.
struct Values {
    phys: PhysType,
    done: Vec<Arc<Column>>,
    open: ColumnBuilder,
}

impl Values {
    fn push(&mut self, value: Datum) {
        self.open.push(value);
        if self.open.len() == BATCH_ROWS {
            let full = std::mem::replace(&mut self.open, ColumnBuilder::new(self.phys));
            self.done.push(Arc::new(full.finish()));
        }
    }

    fn finish(mut self) -> Vec<Arc<Column>> {
        if !self.open.is_empty() {
            self.done.push(Arc::new(self.open.finish()));
        }
        self.done
    }
}

/// Feeds rows of the partition to an aggregate of one group.
fn feed(
    run: &mut Run,
    call: &AggCall,
    agg: &mut AggRun,
    p: &Partition,
    rows: Range<usize>,
) -> Result<()> {
    let mut from = rows.start;
    while from < rows.end {
        let chunk = &p.chunks[from / BATCH_ROWS];
        let base = from - from % BATCH_ROWS;
        let to = rows.end.min(base + chunk.len);
        let sel = ((from - base) as u16..(to - base) as u16).collect();
        let part = Batch { len: chunk.len, columns: chunk.columns.clone(), sel: Some(sel) };
        call.update(run, agg, None, &part)?;
        from = to;
    }
    Ok(())
}

fn aggregate(
    run: &mut Run,
    call: &AggCall,
    _spec: &WindowSpec,
    p: &Partition,
    frames: &mut Frames<'_>,
    out: &mut Values,
) -> Result<()> {
    let mut agg = call.start()?;
    agg.states.resize(1);
    let mut last: Option<(Vec<Range<usize>>, Datum)> = None;
    let mut fed = 0;
    for row in 0..p.rows {
        if row % BATCH_ROWS == 0 {
            run.check_interrupts()?;
        }
        let frame = frames.of(run, row)?;
        let ranges = frames.ranges(row, frame.clone());
        if let Some((same, value)) = &last
            && *same == ranges
        {
            out.push(value.clone());
            continue;
        }
        if frames.grows() && frame.end >= fed {
            feed(run, call, &mut agg, p, fed..frame.end)?;
            fed = frame.end;
        } else {
            agg.states.reset(0);
            for r in &ranges {
                feed(run, call, &mut agg, p, r.clone())?;
            }
        }
        let value = call.finish(run, &agg, 0)?;
        out.push(value.clone());
        last = Some((ranges, value));
        run.check_interrupts()?;
    }
    Ok(())
}
