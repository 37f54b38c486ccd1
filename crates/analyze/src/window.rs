//! WINDOW and OVER.

use crate::coerce::base_type;
use crate::state::{Analyzer, Kind, loc};
use base::{Oid, Result, err};
use catalog::{CastContext, oids};
use ir::{
    CoercionForm, Expr, FrameBound, FrameExclusion, FrameMode, SortGroupClause, TargetEntry,
    WindowClause, WindowFrame,
};
use parser::ast;

impl Analyzer<'_> {
    /// The number of the window that a call's OVER means; it is noted if it is new.
    pub fn window_of_call(&mut self, over: &ast::WindowDef) -> Result<u32> {
        if let Some(name) = &over.name {
            let found = self.cur().windows.iter().position(|w| w.name.as_ref() == Some(name));
            return match found {
                Some(i) => Ok(i as u32 + 1),
                None => {
                    Err(err!(UNDEFINED_OBJECT, "window \"{name}\" does not exist")
                        .at(loc(over.pos)))
                }
            };
        }
        let same = |w: &ast::WindowDef| {
            w.name.is_none()
                && w.refname == over.refname
                && w.partition_by.len() == over.partition_by.len()
                && format!("{:?}", strip(w)) == format!("{:?}", strip(over))
        };
        let st = self.st();
        if let Some(i) = st.windows.iter().position(same) {
            return Ok(i as u32 + 1);
        }
        st.windows.push(over.clone());
        Ok(st.windows.len() as u32)
    }

    /// `transformWindowDefinitions`.
    pub fn window_clauses(&mut self, targets: &mut Vec<TargetEntry>) -> Result<Vec<WindowClause>> {
        let defs = self.cur().windows.clone();
        let mut result: Vec<WindowClause> = Vec::new();
        for (i, def) in defs.iter().enumerate() {
            let at = loc(def.pos);
            if let Some(name) = &def.name
                && result.iter().any(|w| w.name.as_ref() == Some(name))
            {
                return Err(err!(WINDOWING_ERROR, "window \"{name}\" is already defined").at(at));
            }
            let mut base: Option<WindowClause> = None;
            if let Some(name) = &def.refname {
                let found = result.iter().find(|w| w.name.as_ref() == Some(name)).cloned();
                if found.is_none() {
                    return Err(err!(UNDEFINED_OBJECT, "window \"{name}\" does not exist").at(at));
                }
                base = found;
            }
            let mut order = self.sort_clause(&def.order_by, targets, Kind::WindowOrder, true)?;
            let partition = self.partition_clause(&def.partition_by, targets)?;
            let mut copied_order = false;
            let mut made_partition = partition;
            if let (Some(base), Some(name)) = (&base, &def.refname) {
                if !made_partition.is_empty() {
                    return Err(err!(
                        WINDOWING_ERROR,
                        "cannot override PARTITION BY clause of window \"{name}\""
                    )
                    .at(at));
                }
                made_partition = base.partition.clone();
                if !order.is_empty() && !base.order.is_empty() {
                    return Err(err!(
                        WINDOWING_ERROR,
                        "cannot override ORDER BY clause of window \"{name}\""
                    )
                    .at(at));
                }
                if order.is_empty() {
                    order = base.order.clone();
                    copied_order = true;
                }
                if base.frame.given {
                    let plain =
                        def.name.is_none() && def.order_by.is_empty() && def.frame.is_none();
                    let error = err!(
                        WINDOWING_ERROR,
                        "cannot copy window \"{name}\" because it has a frame clause"
                    );
                    let error = if plain {
                        error.hint("Omit the parentheses in this OVER clause.")
                    } else {
                        error
                    };
                    return Err(error.at(at));
                }
            }
            let frame = self.window_frame(def, &order, targets)?;
            result.push(WindowClause {
                name: def.name.clone(),
                ref_name: def.refname.clone(),
                partition: made_partition,
                order,
                frame,
                ref_: i as u32 + 1,
                copied_order,
            });
        }
        Ok(result)
    }

    fn partition_clause(
        &mut self,
        exprs: &[ast::Expr],
        targets: &mut Vec<TargetEntry>,
    ) -> Result<Vec<SortGroupClause>> {
        let mut list: Vec<SortGroupClause> = Vec::new();
        for e in exprs {
            let i = self.target_for(e, targets, Kind::WindowPartition, true)?;
            let known = targets[i].sort_group_ref;
            if known > 0 && list.iter().any(|c| c.target_ref == known) {
                continue;
            }
            let place = loc(e.location());
            let clause = self.group_clause_for(targets, i).map_err(|e| e.at(place))?;
            list.push(clause);
        }
        Ok(list)
    }

    fn window_frame(
        &mut self,
        def: &ast::WindowDef,
        order: &[SortGroupClause],
        targets: &[TargetEntry],
    ) -> Result<WindowFrame> {
        let mut frame = WindowFrame {
            given: false,
            mode: FrameMode::Range,
            start: FrameBound::UnboundedPreceding,
            end: FrameBound::CurrentRow,
            exclusion: FrameExclusion::NoOthers,
            start_in_range: Oid::INVALID,
            end_in_range: Oid::INVALID,
            in_range_collation: Oid::INVALID,
            in_range_asc: false,
            in_range_nulls_first: false,
        };
        let Some(given) = &def.frame else { return Ok(frame) };
        let at = loc(def.pos);
        frame.given = true;
        frame.mode = match given.mode {
            ast::FrameMode::Range => FrameMode::Range,
            ast::FrameMode::Rows => FrameMode::Rows,
            ast::FrameMode::Groups => FrameMode::Groups,
        };
        frame.exclusion = match given.exclude {
            ast::FrameExclude::NoOthers => FrameExclusion::NoOthers,
            ast::FrameExclude::CurrentRow => FrameExclusion::CurrentRow,
            ast::FrameExclude::Group => FrameExclusion::Group,
            ast::FrameExclude::Ties => FrameExclusion::Ties,
        };
        if frame.mode == FrameMode::Groups && order.is_empty() {
            return Err(err!(WINDOWING_ERROR, "GROUPS mode requires an ORDER BY clause").at(at));
        }
        let offset = |b: &ast::FrameBound| {
            matches!(b, ast::FrameBound::Preceding(_) | ast::FrameBound::Following(_))
        };
        let mut sort_key = None;
        let ranged = offset(&given.start) || given.end.as_ref().is_some_and(offset);
        if frame.mode == FrameMode::Range && ranged {
            if order.len() != 1 {
                return Err(err!(
                    WINDOWING_ERROR,
                    "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column"
                )
                .at(at));
            }
            let clause = &order[0];
            let key = targets.iter().find(|t| t.sort_group_ref == clause.target_ref);
            let Some(key) = key else {
                return Err(base::Error::internal("window order without a target"));
            };
            sort_key = Some((key.expr.ty(), clause.clone()));
            frame.in_range_asc = !clause.descending;
            frame.in_range_nulls_first = clause.nulls_first;
            frame.in_range_collation = key.expr.collation();
        }
        let start = self.frame_bound(&given.start, &mut frame, true, &sort_key)?;
        frame.start = start;
        frame.end = match &given.end {
            Some(end) => self.frame_bound(end, &mut frame, false, &sort_key)?,
            None => FrameBound::CurrentRow,
        };
        Ok(frame)
    }

    fn frame_bound(
        &mut self,
        bound: &ast::FrameBound,
        frame: &mut WindowFrame,
        start: bool,
        sort_key: &Option<(Oid, SortGroupClause)>,
    ) -> Result<FrameBound> {
        Ok(match bound {
            ast::FrameBound::UnboundedPreceding => FrameBound::UnboundedPreceding,
            ast::FrameBound::UnboundedFollowing => FrameBound::UnboundedFollowing,
            ast::FrameBound::CurrentRow => FrameBound::CurrentRow,
            ast::FrameBound::Preceding(e) => {
                FrameBound::Preceding(self.frame_offset(e, frame, start, sort_key)?)
            }
            ast::FrameBound::Following(e) => {
                FrameBound::Following(self.frame_offset(e, frame, start, sort_key)?)
            }
        })
    }

    /// `transformFrameOffset`.
    fn frame_offset(
        &mut self,
        e: &ast::Expr,
        frame: &mut WindowFrame,
        start: bool,
        sort_key: &Option<(Oid, SortGroupClause)>,
    ) -> Result<Expr> {
        let (kind, construct) = match frame.mode {
            FrameMode::Rows => (Kind::WindowFrameRows, "ROWS"),
            FrameMode::Groups => (Kind::WindowFrameGroups, "GROUPS"),
            FrameMode::Range => (Kind::WindowFrameRange, "RANGE"),
        };
        let mut made = self.expr(e, kind)?;
        if frame.mode == FrameMode::Range {
            let Some((ty, _)) = sort_key else {
                return Err(base::Error::internal("RANGE offset without a sort key"));
            };
            let place = made.location();
            let (func, offset_type) = self.in_range(*ty, made.ty(), place)?;
            if start {
                frame.start_in_range = func;
            } else {
                frame.end_in_range = func;
            }
            made = self.coerce_to_specific(made, offset_type, construct)?;
        } else {
            made = self.coerce_to_specific(made, oids::INT8, construct)?;
        }
        let vars = ir::walk::any(&made, &mut |e| matches!(e, Expr::Var(v) if v.levels_up == 0));
        if vars {
            return Err(err!(
                INVALID_COLUMN_REFERENCE,
                "argument of {construct} must not contain variables"
            )
            .at(made.location()));
        }
        Ok(made)
    }

    /// The in_range support function for a sort key and an offset, and the offset's type.
    fn in_range(&self, key: Oid, offset: Oid, at: ir::Location) -> Result<(Oid, Oid)> {
        let catalog = self.catalog();
        let key = base_type(catalog, key)?;
        let Some(class) = catalog.default_opclass(key, oids::BTREE_AM)? else {
            return Err(base::Error::internal("sort key without an operator class"));
        };
        let input = class.input_type;
        let mut found: Vec<(Oid, Oid)> = Vec::new();
        for a in catalog.source().amprocs_of_family(class.family)?.iter() {
            if a.number != 3 || a.left != input {
                continue;
            }
            if a.right == offset {
                return Ok((a.function, a.right));
            }
            if offset == oids::UNKNOWN && a.right == input {
                return Ok((a.function, a.right));
            }
            let cx = CastContext::Implicit;
            if self.can_coerce(&[offset], &[a.right], cx)? {
                found.push((a.function, a.right));
            }
        }
        let _ = CoercionForm::ImplicitCast;
        // An interval for dates and times, the widest type else.
        let preferred = found
            .iter()
            .find(|f| self.type_desc(f.1).is_ok_and(|t| t.is_preferred))
            .or_else(|| found.iter().find(|f| f.1 == input))
            .or(found.first());
        if let Some(f) = preferred {
            return Ok(*f);
        }
        Err(err!(
            FEATURE_NOT_SUPPORTED,
            "RANGE with offset PRECEDING/FOLLOWING is not supported for column type {} and offset \
             type {}",
            self.type_shown(key),
            self.type_shown(offset)
        )
        .hint("Cast the offset value to an appropriate type.")
        .at(at))
    }
}

/// A definition whose place does not matter.
fn strip(def: &ast::WindowDef) -> ast::WindowDef {
    ast::WindowDef { pos: 0, ..def.clone() }
}
