//! Frames: which rows of the partition a window function sees from a row.

use super::Partition;
use crate::expr::func::Callee;
use crate::expr::{ExprCompiler, Prog, RowInput, VarMap};
use crate::run::Run;
use base::{Error, Result, bail};
use ir::{FrameBound, FrameExclusion, FrameMode, Plan, WindowFrame};
use std::ops::Range;
use types::{Datum, oid};

enum Bound {
    UnboundedPreceding,
    Preceding(Prog),
    CurrentRow,
    Following(Prog),
    UnboundedFollowing,
}

/// A frame clause, compiled.
pub(crate) struct FrameSpec {
    mode: FrameMode,
    start: Bound,
    end: Bound,
    pub exclusion: FrameExclusion,
    /// The column that RANGE offsets are about, and how it is ordered.
    column: Option<usize>,
    ascending: bool,
    nulls_first: bool,
    start_in_range: Option<Callee>,
    end_in_range: Option<Callee>,
}

impl FrameSpec {
    pub fn compile(
        c: &mut ExprCompiler,
        f: &WindowFrame,
        column: Option<usize>,
        plan: &Plan,
    ) -> Result<FrameSpec> {
        let none = VarMap::default();
        let mut bound = |b: &FrameBound| -> Result<Bound> {
            Ok(match b {
                FrameBound::UnboundedPreceding => Bound::UnboundedPreceding,
                FrameBound::Preceding(e) => Bound::Preceding(c.expr(e, &none)?),
                FrameBound::CurrentRow => Bound::CurrentRow,
                FrameBound::Following(e) => Bound::Following(c.expr(e, &none)?),
                FrameBound::UnboundedFollowing => Bound::UnboundedFollowing,
            })
        };
        let (start, end) = (bound(&f.start)?, bound(&f.end)?);
        let ty = column
            .and_then(|n| plan.outer.as_ref().and_then(|p| p.target.get(n)))
            .map_or(oid::INT4, |t| t.expr.ty());
        let mut in_range = |func: base::Oid, b: &FrameBound| -> Result<Option<Callee>> {
            let (FrameBound::Preceding(e) | FrameBound::Following(e)) = b else { return Ok(None) };
            if !func.is_valid() {
                return Ok(None);
            }
            let types = vec![ty, ty, e.ty(), oid::BOOL, oid::BOOL];
            c.callee(func, f.in_range_collation, types, oid::BOOL).map(Some)
        };
        let start_in_range = in_range(f.start_in_range, &f.start)?;
        let end_in_range = in_range(f.end_in_range, &f.end)?;
        Ok(FrameSpec {
            mode: f.mode,
            start,
            end,
            exclusion: f.exclusion,
            column,
            ascending: f.in_range_asc,
            nulls_first: f.in_range_nulls_first,
            start_in_range,
            end_in_range,
        })
    }
}

/// The frames of a partition's rows, asked for in the order of the rows.
pub(crate) struct Frames<'a> {
    spec: &'a FrameSpec,
    partition: &'a Partition,
    start_offset: Datum,
    end_offset: Datum,
    start: usize,
    end: usize,
}

fn offset(run: &mut Run, bound: &Bound, mode: FrameMode, which: &str) -> Result<Datum> {
    let (Bound::Preceding(prog) | Bound::Following(prog)) = bound else { return Ok(Datum::Null) };
    let value = prog.eval(run, RowInput::None)?;
    if value.is_null() {
        bail!(NULL_VALUE_NOT_ALLOWED, "frame {which} offset must not be null");
    }
    if mode != FrameMode::Range && value.to_i64() < 0 {
        bail!(INVALID_PRECEDING_OR_FOLLOWING_SIZE, "frame {which} offset must not be negative");
    }
    Ok(value)
}

impl<'a> Frames<'a> {
    pub fn new(run: &mut Run, spec: &'a FrameSpec, partition: &'a Partition) -> Result<Frames<'a>> {
        Ok(Frames {
            start_offset: offset(run, &spec.start, spec.mode, "starting")?,
            end_offset: offset(run, &spec.end, spec.mode, "ending")?,
            spec,
            partition,
            start: 0,
            end: 0,
        })
    }

    /// Whether all frames begin with the partition, so that results can be carried on.
    pub fn grows(&self) -> bool {
        matches!(self.spec.start, Bound::UnboundedPreceding)
            && self.spec.exclusion == FrameExclusion::NoOthers
    }

    /// The frame of a row, exclusion aside.
    pub fn of(&mut self, run: &mut Run, row: usize) -> Result<Range<usize>> {
        let p = self.partition;
        let n = p.rows;
        let by_rows = self.spec.mode == FrameMode::Rows;
        let start = match &self.spec.start {
            Bound::UnboundedPreceding => 0,
            Bound::CurrentRow if by_rows => row,
            Bound::CurrentRow => p.peers_start(row),
            Bound::Preceding(_) => self.offset_start(run, row, true)?,
            Bound::Following(_) => self.offset_start(run, row, false)?,
            Bound::UnboundedFollowing => n,
        };
        let end = match &self.spec.end {
            Bound::UnboundedFollowing => n,
            Bound::CurrentRow if by_rows => row + 1,
            Bound::CurrentRow => p.peers_end[row] as usize,
            Bound::Preceding(_) => self.offset_end(run, row, true)?,
            Bound::Following(_) => self.offset_end(run, row, false)?,
            Bound::UnboundedPreceding => 0,
        };
        Ok(start.min(n)..end.min(n).max(start.min(n)))
    }

    fn offset_start(&mut self, run: &mut Run, row: usize, back: bool) -> Result<usize> {
        let p = self.partition;
        let by = self.start_offset.to_i64();
        Ok(match self.spec.mode {
            FrameMode::Rows => shift(row, by, back),
            FrameMode::Groups => {
                let wanted = shift_group(p.peer_group[row], by, back);
                p.peer_group.partition_point(|g| (*g as i64) < wanted)
            }
            FrameMode::Range => {
                while self.start < p.rows && !self.start_reached(run, row, back)? {
                    self.start += 1;
                }
                self.start
            }
        })
    }

    fn offset_end(&mut self, run: &mut Run, row: usize, back: bool) -> Result<usize> {
        let p = self.partition;
        let by = self.end_offset.to_i64();
        Ok(match self.spec.mode {
            FrameMode::Rows => match back {
                true => (row + 1).saturating_sub(usize::try_from(by).unwrap_or(usize::MAX)),
                false => shift(row, by, false).saturating_add(1),
            },
            FrameMode::Groups => {
                let wanted = shift_group(p.peer_group[row], by, back);
                p.peer_group.partition_point(|g| *g as i64 <= wanted)
            }
            FrameMode::Range => {
                while self.end < p.rows && self.within_end(run, row, back)? {
                    self.end += 1;
                }
                self.end
            }
        })
    }

    fn values(&self, row: usize, other: usize) -> Result<(Datum, Datum)> {
        match self.spec.column {
            Some(c) => Ok((self.partition.get(c, other), self.partition.get(c, row))),
            None => Err(Error::internal("RANGE offset without a sort column")),
        }
    }

    /// Whether row `self.start` is not before the frame of `row`.
    fn start_reached(&self, run: &mut Run, row: usize, back: bool) -> Result<bool> {
        let (value, current) = self.values(row, self.start)?;
        match (value.is_null(), current.is_null()) {
            (true, true) => return Ok(true),
            // NULLs stand together at one end.
            (true, false) => return Ok(!self.spec.nulls_first),
            (false, true) => return Ok(self.spec.nulls_first),
            (false, false) => {}
        }
        let sub = back == self.spec.ascending;
        let less = !self.spec.ascending;
        self.in_range(run, &self.spec.start_in_range, value, current, &self.start_offset, sub, less)
    }

    /// Whether row `self.end` is not after the frame of `row`.
    fn within_end(&self, run: &mut Run, row: usize, back: bool) -> Result<bool> {
        let (value, current) = self.values(row, self.end)?;
        match (value.is_null(), current.is_null()) {
            (true, true) => return Ok(true),
            (true, false) => return Ok(self.spec.nulls_first),
            (false, true) => return Ok(!self.spec.nulls_first),
            (false, false) => {}
        }
        let sub = back == self.spec.ascending;
        let less = self.spec.ascending;
        self.in_range(run, &self.spec.end_in_range, value, current, &self.end_offset, sub, less)
    }

    #[allow(clippy::too_many_arguments)]
    fn in_range(
        &self,
        run: &mut Run,
        func: &Option<Callee>,
        value: Datum,
        base: Datum,
        offset: &Datum,
        sub: bool,
        less: bool,
    ) -> Result<bool> {
        let Some(func) = func else {
            return Err(Error::internal("RANGE offset without a support function"));
        };
        let args = [value, base, offset.clone(), Datum::Bool(sub), Datum::Bool(less)];
        Ok(func.invoke(run, &args)?.as_bool())
    }

    /// The frame of a row as ranges, with what is excluded left out.
    pub fn ranges(&self, row: usize, frame: Range<usize>) -> Vec<Range<usize>> {
        let p = self.partition;
        let (from, to) = (p.peers_start(row), p.peers_end[row] as usize);
        let cut = |gap: Range<usize>| {
            let before = frame.start..gap.start.clamp(frame.start, frame.end);
            let after = gap.end.clamp(frame.start, frame.end)..frame.end;
            vec![before, after]
        };
        let mut out = match self.spec.exclusion {
            FrameExclusion::NoOthers => vec![frame.clone()],
            FrameExclusion::CurrentRow => cut(row..row + 1),
            FrameExclusion::Group => cut(from..to),
            FrameExclusion::Ties => {
                let mut parts = cut(from..to);
                if frame.contains(&row) {
                    parts.insert(1, row..row + 1);
                }
                parts
            }
        };
        out.retain(|r| r.start < r.end);
        out
    }
}

fn shift(row: usize, by: i64, back: bool) -> usize {
    let by = usize::try_from(by).unwrap_or(usize::MAX);
    if back { row.saturating_sub(by) } else { row.saturating_add(by) }
}

fn shift_group(group: u32, by: i64, back: bool) -> i64 {
    if back { (group as i64).saturating_sub(by) } else { (group as i64).saturating_add(by) }
}
