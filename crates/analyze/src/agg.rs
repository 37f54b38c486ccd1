//! Function calls: plain functions, aggregates, window functions, functions of rows.

use crate::coerce::{is_polymorphic, relabel};
use crate::func::{Candidate, FuncDetail, call_types};
use crate::state::{Analyzer, Kind, loc};
use base::{Error, Oid, Result, err};
use catalog::{CastContext, ProcDesc, oids};
use ir::{AggSplit, Aggref, CoercionForm, Expr, FuncExpr, Location, TargetEntry, WindowFunc};
use parser::ast::{self, ExprKind};

/// A call resolved to its function, before it becomes an expression.
struct Resolved {
    desc: std::sync::Arc<ProcDesc>,
    args: Vec<Expr>,
    result: Oid,
    expanded: usize,
}

impl Analyzer<'_> {
    /// A call as written.
    pub fn func_call(&mut self, call: &ast::FuncCall, at: Location) -> Result<Expr> {
        let mut args = Vec::with_capacity(call.args.len());
        let mut names: Vec<String> = Vec::new();
        for arg in &call.args {
            if let ExprKind::NamedArg { name, value } = &arg.kind {
                if names.contains(name) {
                    return Err(err!(SYNTAX_ERROR, "argument name \"{name}\" used more than once")
                        .at(loc(arg.pos)));
                }
                names.push(name.clone());
                args.push(self.transform(value)?);
            } else {
                if !names.is_empty() {
                    return Err(err!(
                        SYNTAX_ERROR,
                        "positional argument cannot follow named argument"
                    )
                    .at(loc(arg.location())));
                }
                args.push(self.transform(arg)?);
            }
        }
        if call.within_group {
            // The aggregated arguments of an ordered-set aggregate count as arguments too.
            for s in &call.order_by {
                let made = self.expr(&s.expr, Kind::OrderBy)?;
                args.push(made);
            }
        }
        if !call.within_group {
            // pgJDBC sends its output parameters along, as values of type void.
            args.retain(|a| !matches!(a, Expr::Param(p) if p.ty == types::oid::VOID));
        }
        self.resolve_call(call, args, names, at)
    }

    /// A call of a function in `pg_catalog` with arguments that are analysed already.
    pub fn builtin_call(&mut self, name: &str, args: Vec<Expr>, at: Location) -> Result<Expr> {
        let call = ast::FuncCall::new(ast::Name::system(name, ast::NO_POS), Vec::new());
        self.resolve_call(&call, args, Vec::new(), at)
    }

    pub fn resolve_call(
        &mut self,
        call: &ast::FuncCall,
        args: Vec<Expr>,
        names: Vec<String>,
        at: Location,
    ) -> Result<Expr> {
        let name = &call.name.parts;
        let is_window = call.over.is_some();
        let plain = !call.star
            && !call.distinct
            && !call.within_group
            && call.order_by.is_empty()
            && call.filter.is_none()
            && !is_window
            && !call.variadic
            && names.is_empty();
        // `f(row)` may be `row.f`.
        if plain && args.len() == 1 && name.len() == 1 {
            let ty = args[0].ty();
            let row = ty == oids::RECORD || self.is_composite(ty)?;
            if row && let Some(found) = self.row_field(&args[0], &name[0], at)? {
                return Ok(found);
            }
        }
        let detail = self.func_detail(name, &args, &names, !call.variadic, at)?;
        let (desc, candidate) = match detail {
            FuncDetail::Proc { desc, candidate } => (desc, candidate),
            FuncDetail::Coercion(target) if plain => {
                return self.coercion_call(args, target, at);
            }
            FuncDetail::Coercion(_) | FuncDetail::NotFound => {
                return Err(self.no_function(call, &args, &names, at));
            }
            FuncDetail::Many => {
                let shown = self.func_shown(name, &args, &names);
                let noun = if self.is_called(at) { "procedure" } else { "function" };
                return Err(err!(AMBIGUOUS_FUNCTION, "{noun} {shown} is not unique")
                    .hint(format!(
                        "Could not choose a best candidate {noun}. You might need to add \
                         explicit type casts."
                    ))
                    .at(at));
            }
        };
        self.check_routine(call, &desc, &args, &names, at)?;
        self.check_decorations(call, &desc, at)?;
        let resolved = self.finish_args(desc, candidate, args, names, call, at)?;
        match resolved.desc.kind {
            b'a' => self.aggregate(call, resolved, at),
            b'w' => self.window_function(call, resolved, at),
            // What such a function gives is no value that an expression could have.
            _ if resolved.desc.return_type == oids::INTERNAL => {
                let shown = "functions returning type \"internal\" cannot be called explicitly";
                Err(err!(FEATURE_NOT_SUPPORTED, "{shown}").at(at))
            }
            _ => self.plain_function(call, resolved, at),
        }
    }

    pub fn is_composite(&self, ty: Oid) -> Result<bool> {
        let base = crate::coerce::base_type(self.catalog(), ty)?;
        Ok(self.type_desc(base)?.relation.is_valid())
    }

    /// `type(value)`.
    fn coercion_call(&mut self, mut args: Vec<Expr>, target: Oid, at: Location) -> Result<Expr> {
        let Some(arg) = args.pop() else {
            return Err(Error::internal("a cast of nothing"));
        };
        let source = arg.ty();
        let form = CoercionForm::ExplicitCall;
        self.coerce(arg, source, target, -1, CastContext::Explicit, form, at)
    }

    fn no_function(
        &self,
        call: &ast::FuncCall,
        args: &[Expr],
        names: &[String],
        at: Location,
    ) -> Error {
        let shown = self.func_shown(&call.name.parts, args, names);
        if call.order_by.len() > 1 && !call.within_group {
            return err!(UNDEFINED_FUNCTION, "function {shown} does not exist")
                .hint(
                    "No aggregate function matches the given name and argument types. Perhaps \
                     you misplaced ORDER BY; ORDER BY must appear after all regular arguments of \
                     the aggregate.",
                )
                .at(at);
        }
        if self.is_called(at) {
            return err!(UNDEFINED_FUNCTION, "procedure {shown} does not exist")
                .hint(
                    "No procedure matches the given name and argument types. You might need to \
                     add explicit type casts.",
                )
                .at(at);
        }
        err!(UNDEFINED_FUNCTION, "function {shown} does not exist")
            .hint(
                "No function matches the given name and argument types. You might need to add \
                 explicit type casts.",
            )
            .at(at)
    }

    /// True of the call that is CALL's own.
    fn is_called(&self, at: Location) -> bool {
        at.is_some() && self.cur().called == at
    }

    /// CALL is for procedures, and they are for CALL.
    fn check_routine(
        &self,
        call: &ast::FuncCall,
        desc: &ProcDesc,
        args: &[Expr],
        names: &[String],
        at: Location,
    ) -> Result<()> {
        let shown = || self.func_shown(&call.name.parts, args, names);
        if self.is_called(at) && desc.kind != b'p' {
            let error = err!(WRONG_OBJECT_TYPE, "{} is not a procedure", shown());
            return Err(error.hint("To call a function, use SELECT.").at(at));
        }
        if desc.kind == b'p' && self.cur().kind != Kind::CallArgument {
            let error = err!(WRONG_OBJECT_TYPE, "{} is a procedure", shown());
            return Err(error.hint("To call a procedure, use CALL.").at(at));
        }
        Ok(())
    }

    /// What only aggregates or window functions may have.
    fn check_decorations(&self, call: &ast::FuncCall, desc: &ProcDesc, at: Location) -> Result<()> {
        let shown = call.name.parts.join(".");
        let wrong = |message: String| Err(err!(WRONG_OBJECT_TYPE, "{message}").at(at));
        match desc.kind {
            b'a' => {}
            b'w' => {
                if call.over.is_none() {
                    return wrong(format!("window function {shown} requires an OVER clause"));
                }
                if call.within_group {
                    return wrong(format!("window function {shown} cannot have WITHIN GROUP"));
                }
            }
            _ => {
                let aggregate_only = [
                    (
                        call.star,
                        format!("{shown}(*) specified, but {shown} is not an aggregate function"),
                    ),
                    (
                        call.distinct,
                        format!("DISTINCT specified, but {shown} is not an aggregate function"),
                    ),
                    (
                        call.within_group,
                        format!("WITHIN GROUP specified, but {shown} is not an aggregate function"),
                    ),
                    (
                        !call.order_by.is_empty(),
                        format!("ORDER BY specified, but {shown} is not an aggregate function"),
                    ),
                    (
                        call.filter.is_some(),
                        format!("FILTER specified, but {shown} is not an aggregate function"),
                    ),
                    (
                        call.over.is_some(),
                        format!(
                            "OVER specified, but {shown} is not a window function nor an aggregate function"
                        ),
                    ),
                ];
                for (present, message) in aggregate_only {
                    if present {
                        return wrong(message);
                    }
                }
            }
        }
        Ok(())
    }

    /// Arguments in the order and of the types that the function takes.
    fn finish_args(
        &mut self,
        desc: std::sync::Arc<ProcDesc>,
        candidate: Candidate,
        args: Vec<Expr>,
        names: Vec<String>,
        call: &ast::FuncCall,
        at: Location,
    ) -> Result<Resolved> {
        let mut args = args;
        let nargs = args.len();
        if let Some(order) = &candidate.order {
            // Arguments go to their places; gaps are filled from defaults below.
            let mut slots: Vec<Option<Expr>> = vec![None; desc.arg_types.len()];
            for (i, arg) in args.into_iter().enumerate() {
                slots[order[i]] = Some(arg);
            }
            let defaults = match desc.n_defaults {
                0 => Vec::new(),
                _ => self.defaults_of(&desc)?,
            };
            let first_default = desc.arg_types.len() - desc.n_defaults as usize;
            args = Vec::with_capacity(slots.len());
            for (i, slot) in slots.into_iter().enumerate() {
                args.push(match slot {
                    Some(arg) => arg,
                    None => {
                        let default = defaults.get(i.wrapping_sub(first_default));
                        default.cloned().ok_or_else(missing_default)?
                    }
                });
            }
        } else if candidate.defaults > 0 {
            let defaults = self.defaults_of(&desc)?;
            let skip = defaults.len().saturating_sub(candidate.defaults);
            args.extend(defaults.into_iter().skip(skip));
        }
        let _ = (names, call_types(&candidate, nargs));
        let mut declared = candidate.args.clone();
        if call.within_group && desc.kind == b'a' {
            self.unify_hypothetical(&desc, &mut args, &mut declared, call, at)?;
        }
        let actual: Vec<Oid> = args.iter().map(Expr::ty).collect();
        if actual.len() != declared.len() {
            return Err(missing_default());
        }
        let result = self
            .enforce_generic(&actual, &mut declared, desc.return_type, false)
            .map_err(|e| e.at(at))?;
        let expanded = candidate.expanded;
        if expanded > 0 && desc.variadic != oids::ANY && desc.kind != b'a' {
            args = self.gather_variadic(args, &mut declared, expanded)?;
        }
        if call.variadic && desc.variadic == oids::ANY {
            let last = args.last().map_or(oids::TEXT, Expr::ty);
            let array = crate::coerce::element_type(self.catalog(), last)?.is_valid();
            if !array && last != oids::UNKNOWN {
                let place = args.last().and_then(Expr::location);
                return Err(err!(DATATYPE_MISMATCH, "VARIADIC argument must be an array").at(place));
            }
        }
        let args = self.coerce_args(args, &declared)?;
        if expanded > 0 && desc.variadic != oids::ANY && desc.kind == b'a' {
            let mut declared = declared;
            let args = self.gather_variadic(args, &mut declared, expanded)?;
            return Ok(Resolved { desc, args, result, expanded });
        }
        Ok(Resolved { desc, args, result, expanded })
    }

    /// `unify_hypothetical_args`: a hypothetical row's values are of the types that the rows are
    /// sorted by.
    fn unify_hypothetical(
        &mut self,
        desc: &ProcDesc,
        args: &mut [Expr],
        declared: &mut [Oid],
        call: &ast::FuncCall,
        at: Location,
    ) -> Result<()> {
        let agg = self.catalog().aggregate(desc.oid)?;
        if agg.kind != b'h' || desc.variadic != oids::ANY {
            return Ok(());
        }
        let sorted = call.order_by.len();
        let direct = args.len() - sorted;
        if direct != sorted {
            let shown = args.iter().map(|a| self.type_shown(a.ty())).collect::<Vec<_>>();
            let name = call.name.parts.join(".");
            return Err(err!(
                UNDEFINED_FUNCTION,
                "function {name}({}) does not exist",
                shown.join(", ")
            )
            .hint(format!(
                "To use the hypothetical-set aggregate {name}, the number of hypothetical direct \
                 arguments (here {direct}) must match the number of ordering columns (here \
                 {sorted})."
            ))
            .at(at));
        }
        for i in 0..direct {
            let pair = [&args[direct + i], &args[i]];
            let ty = self.common_type(&pair, Some("WITHIN GROUP"))?.unwrap_or(oids::TEXT);
            for j in [i, direct + i] {
                let arg = std::mem::replace(&mut args[j], Expr::bool_const(false));
                let source = arg.ty();
                let form = CoercionForm::ImplicitCast;
                let cx = CastContext::Implicit;
                args[j] = self.coerce(arg, source, ty, -1, cx, form, None)?;
                declared[j] = ty;
            }
        }
        Ok(())
    }

    /// The default expressions of a function's last parameters.
    fn defaults_of(&mut self, desc: &ProcDesc) -> Result<Vec<Expr>> {
        let Some(text) = &desc.arg_defaults else {
            return Err(missing_default());
        };
        if text.starts_with('[') {
            return serde_json::from_str(text)
                .map_err(|e| Error::internal(format!("stored defaults: {e}")));
        }
        // Built-in rows have them as a list in SQL.
        let list = parser::parse_expr(&format!("ROW({text})"))?;
        let ExprKind::Row { fields, .. } = &list.kind else {
            return Err(missing_default());
        };
        let first = desc.arg_types.len() - fields.len().min(desc.arg_types.len());
        let mut made = Vec::with_capacity(fields.len());
        for (i, field) in fields.iter().enumerate() {
            let value = self.transform(&without_places(field))?;
            let target = desc.arg_types[first + i];
            let source = value.ty();
            let form = CoercionForm::ImplicitCast;
            made.push(if is_polymorphic(target) {
                value
            } else {
                self.coerce(value, source, target, -1, CastContext::Assignment, form, None)?
            });
        }
        Ok(made)
    }

    fn plain_function(&mut self, call: &ast::FuncCall, r: Resolved, at: Location) -> Result<Expr> {
        if r.desc.returns_set {
            self.check_srf(at)?;
        }
        let form =
            if call.sql_syntax { CoercionForm::SqlSyntax } else { CoercionForm::ExplicitCall };
        let variadic = call.variadic || (r.expanded > 0 && r.desc.variadic != oids::ANY);
        Ok(Expr::Func(FuncExpr {
            func: r.desc.oid,
            ret_type: r.result,
            ret_set: r.desc.returns_set,
            variadic,
            form,
            collation: Oid::INVALID,
            input_collation: Oid::INVALID,
            args: r.args,
            location: at,
        }))
    }

    /// `check_srf_call_placement`: where a function that returns a set may stand.
    pub fn check_srf(&mut self, at: Location) -> Result<()> {
        let kind = self.cur().kind;
        let refused = match kind {
            Kind::SelectTarget
            | Kind::FromFunction
            | Kind::OrderBy
            | Kind::GroupBy
            | Kind::DistinctOn
            | Kind::InsertTarget
            | Kind::ValuesSingle
            | Kind::WindowPartition
            | Kind::WindowOrder
            | Kind::None => {
                let st = self.st();
                st.has_srfs |= kind != Kind::FromFunction;
                st.srf_count += 1;
                st.last_srf = at;
                return Ok(());
            }
            Kind::JoinOn | Kind::JoinUsing => "JOIN conditions".to_owned(),
            Kind::Policy => "policy expressions".to_owned(),
            Kind::WindowFrameRange | Kind::WindowFrameRows | Kind::WindowFrameGroups => {
                "window definitions".to_owned()
            }
            Kind::MergeWhen => "MERGE WHEN conditions".to_owned(),
            _ => match kind.long_name() {
                Some(name) => name.to_owned(),
                None => kind.name().to_owned(),
            },
        };
        Err(err!(FEATURE_NOT_SUPPORTED, "set-returning functions are not allowed in {refused}")
            .at(at))
    }

    // Aggregates.

    fn aggregate(&mut self, call: &ast::FuncCall, r: Resolved, at: Location) -> Result<Expr> {
        let shown = call.name.parts.join(".");
        let agg = self.catalog().aggregate(r.desc.oid)?;
        let kind = agg.kind as char;
        let wrong = |message: String| Err(err!(WRONG_OBJECT_TYPE, "{message}").at(at));
        if agg.kind == b'n' {
            if call.within_group {
                return wrong(format!(
                    "{shown} is not an ordered-set aggregate, so it cannot have WITHIN GROUP"
                ));
            }
        } else {
            if !call.within_group {
                return wrong(format!(
                    "WITHIN GROUP is required for ordered-set aggregate {shown}"
                ));
            }
            if call.over.is_some() {
                return Err(err!(
                    FEATURE_NOT_SUPPORTED,
                    "OVER is not supported for ordered-set aggregate {shown}"
                )
                .at(at));
            }
        }
        if r.args.is_empty() && !call.star {
            return wrong(format!(
                "{shown}(*) must be used to call a parameterless aggregate function"
            ));
        }
        if call.over.is_some() {
            return self.window_function(call, r, at);
        }
        if r.args.iter().any(crate::coerce::returns_set) {
            return Err(err!(
                FEATURE_NOT_SUPPORTED,
                "aggregate function calls cannot contain set-returning function calls"
            )
            .hint("You might be able to move the set-returning function into a LATERAL FROM item.")
            .at(at));
        }
        let mut filter = None;
        if let Some(f) = &call.filter {
            let made = self.expr(f, Kind::Filter)?;
            filter = Some(Box::new(self.coerce_to_boolean(made, "FILTER")?));
        }
        let mut made = Aggref {
            agg: r.desc.oid,
            ty: r.result,
            collation: Oid::INVALID,
            input_collation: Oid::INVALID,
            trans_type: Oid::INVALID,
            arg_types: r.args.iter().map(Expr::ty).collect(),
            direct_args: Vec::new(),
            args: Vec::new(),
            order: Vec::new(),
            distinct: Vec::new(),
            filter,
            star: call.star,
            variadic: call.variadic,
            kind,
            levels_up: 0,
            presorted: false,
            split: AggSplit::Simple,
            location: at,
        };
        self.aggregate_args(call, r.args, &mut made)?;
        made.levels_up = self.check_aggregate_level(&made, at)?;
        Ok(Expr::Agg(Box::new(made)))
    }

    /// `transformAggregateCall`: arguments as target entries, sorted and made distinct.
    fn aggregate_args(
        &mut self,
        call: &ast::FuncCall,
        args: Vec<Expr>,
        made: &mut Aggref,
    ) -> Result<()> {
        if call.within_group {
            let direct = args.len() - call.order_by.len();
            let mut args = args;
            let aggregated = args.split_off(direct);
            made.direct_args = args;
            let mut targets = Vec::new();
            for (i, (arg, sort)) in aggregated.into_iter().zip(&call.order_by).enumerate() {
                targets.push(TargetEntry::new(arg, i as i16 + 1, None, false));
                self.add_sort(&mut targets, i, sort, &mut made.order)?;
            }
            made.args = targets;
            return Ok(());
        }
        let mut targets: Vec<TargetEntry> = args
            .into_iter()
            .enumerate()
            .map(|(i, a)| TargetEntry::new(a, i as i16 + 1, None, false))
            .collect();
        let next = std::mem::replace(&mut self.st().next_resno, targets.len() as i16 + 1);
        let sorted = self.sort_clause(&call.order_by, &mut targets, Kind::OrderBy, true);
        self.st().next_resno = next;
        made.order = sorted?;
        if call.distinct {
            made.distinct = self.distinct_clause(&mut targets, &made.order, true)?;
            // Every value must be sortable to be told apart.
            for d in &made.distinct {
                if d.sort_op.is_none() {
                    let entry = targets.iter().find(|t| t.sort_group_ref == d.target_ref);
                    let (ty, place) =
                        entry.map_or((oids::TEXT, None), |t| (t.expr.ty(), t.expr.location()));
                    return Err(err!(
                        UNDEFINED_FUNCTION,
                        "could not identify an ordering operator for type {}",
                        self.type_shown(ty)
                    )
                    .detail("Aggregates with DISTINCT must be able to sort their inputs.")
                    .at(place));
                }
            }
        }
        made.args = targets;
        Ok(())
    }

    /// `check_agglevels_and_constraints`: the query level that an aggregate belongs to.
    fn check_aggregate_level(&mut self, agg: &Aggref, at: Location) -> Result<u32> {
        let mut operands: Vec<&Expr> = agg.args.iter().map(|t| &t.expr).collect();
        operands.extend(agg.filter.as_deref());
        let level = min_level(&operands).unwrap_or(0);
        let direct: Vec<&Expr> = agg.direct_args.iter().collect();
        if level > min_level(&direct).unwrap_or(level) {
            let message = "outer-level aggregate cannot contain a lower-level variable in its \
                           direct arguments";
            let place = direct.iter().find_map(|e| e.location());
            return Err(err!(GROUPING_ERROR, "{message}").at(place));
        }
        operands.extend(direct);
        for e in &operands {
            if let Some((inner, place)) = find_aggregate(e, level) {
                let message = if inner {
                    "aggregate function calls cannot be nested"
                } else {
                    "aggregate function calls cannot contain window function calls"
                };
                return Err(err!(GROUPING_ERROR, "{message}").at(place));
            }
        }
        self.place_aggregate(level, "aggregate functions", at)?;
        Ok(level)
    }

    /// Marks the level as aggregating, unless an aggregate may not stand where we are in it.
    pub fn place_aggregate(&mut self, level: u32, what: &str, at: Location) -> Result<()> {
        let st = self.level(level);
        st.has_aggs = true;
        let kind = st.kind;
        let refused = match kind {
            Kind::None
            | Kind::Having
            | Kind::WindowPartition
            | Kind::WindowOrder
            | Kind::SelectTarget
            | Kind::OrderBy
            | Kind::DistinctOn => {
                return Ok(());
            }
            Kind::JoinOn | Kind::JoinUsing => "JOIN conditions",
            Kind::FromSubselect => "FROM clause of their own query level",
            Kind::FromFunction => "functions in FROM",
            Kind::Policy => "policy expressions",
            Kind::WindowFrameRange => "window RANGE",
            Kind::WindowFrameRows => "window ROWS",
            Kind::WindowFrameGroups => "window GROUPS",
            Kind::MergeWhen => "MERGE WHEN conditions",
            other => other.long_name().unwrap_or(other.name()),
        };
        let message = if what == "grouping" {
            format!("grouping operations are not allowed in {refused}")
        } else {
            format!("aggregate functions are not allowed in {refused}")
        };
        Err(err!(GROUPING_ERROR, "{message}").at(at))
    }

    // Window functions.

    fn window_function(&mut self, call: &ast::FuncCall, r: Resolved, at: Location) -> Result<Expr> {
        let shown = call.name.parts.join(".");
        let is_agg = r.desc.kind == b'a';
        let unsupported = |message: String| Err(err!(FEATURE_NOT_SUPPORTED, "{message}").at(at));
        if call.distinct {
            return unsupported("DISTINCT is not implemented for window functions".into());
        }
        if is_agg && r.args.is_empty() && !call.star {
            return Err(err!(
                WRONG_OBJECT_TYPE,
                "{shown}(*) must be used to call a parameterless aggregate function"
            )
            .at(at));
        }
        if !call.order_by.is_empty() {
            let message = "aggregate ORDER BY is not implemented for window functions";
            return unsupported(message.into());
        }
        if !is_agg && call.filter.is_some() {
            let message = "FILTER is not implemented for non-aggregate window functions";
            return unsupported(message.into());
        }
        if r.desc.returns_set {
            return Err(
                err!(INVALID_FUNCTION_DEFINITION, "window functions cannot return sets").at(at)
            );
        }
        if r.args.iter().any(crate::coerce::returns_set) {
            return Err(err!(
                FEATURE_NOT_SUPPORTED,
                "window function calls cannot contain set-returning function calls"
            )
            .hint("You might be able to move the set-returning function into a LATERAL FROM item.")
            .at(at));
        }
        let mut filter = None;
        if let Some(f) = &call.filter {
            let made = self.expr(f, Kind::Filter)?;
            filter = Some(Box::new(self.coerce_to_boolean(made, "FILTER")?));
        }
        for e in &r.args {
            let mut place = None;
            let nested = ir::walk::any(e, &mut |e| match e {
                Expr::Window(w) => {
                    place = w.location;
                    true
                }
                _ => false,
            });
            if nested {
                return Err(
                    err!(WINDOWING_ERROR, "window function calls cannot be nested").at(place)
                );
            }
        }
        self.place_window(at)?;
        let Some(over) = &call.over else {
            return Err(Error::internal("window function without OVER"));
        };
        let window = self.window_of_call(over)?;
        Ok(Expr::Window(Box::new(WindowFunc {
            func: r.desc.oid,
            ty: r.result,
            collation: Oid::INVALID,
            input_collation: Oid::INVALID,
            args: r.args,
            filter,
            window,
            star: call.star,
            is_agg,
            location: at,
        })))
    }

    fn place_window(&mut self, at: Location) -> Result<()> {
        let refused = match self.cur().kind {
            Kind::None | Kind::SelectTarget | Kind::OrderBy | Kind::DistinctOn => {
                self.st().has_windows = true;
                return Ok(());
            }
            Kind::JoinOn | Kind::JoinUsing => "JOIN conditions",
            Kind::FromFunction => "functions in FROM",
            Kind::Policy => "policy expressions",
            Kind::WindowPartition
            | Kind::WindowOrder
            | Kind::WindowFrameRange
            | Kind::WindowFrameRows
            | Kind::WindowFrameGroups => "window definitions",
            Kind::MergeWhen => "MERGE WHEN conditions",
            other => other.long_name().unwrap_or(other.name()),
        };
        Err(err!(WINDOWING_ERROR, "window functions are not allowed in {refused}").at(at))
    }

    // Fields of rows by function notation.

    /// `name(row)` or `row.name`: the field, or a call of a function with the row.
    pub fn func_of_row(&mut self, name: &str, row: Expr, at: Location) -> Result<Option<Expr>> {
        let ty = row.ty();
        if (ty == oids::RECORD || self.is_composite(ty)?)
            && let Some(found) = self.row_field(&row, name, at)?
        {
            return Ok(Some(found));
        }
        let parts = [name.to_owned()];
        let args = [row];
        let found = self.func_detail(&parts, &args, &[], true, at)?;
        let FuncDetail::Proc { desc, .. } = &found else { return Ok(None) };
        if desc.kind != b'f' {
            return Ok(None);
        }
        let [row] = args;
        let call =
            ast::FuncCall::new(ast::Name { parts: parts.to_vec(), pos: ast::NO_POS }, Vec::new());
        self.resolve_call(&call, vec![row], Vec::new(), at).map(Some)
    }

    /// `ParseComplexProjection`.
    fn row_field(&mut self, row: &Expr, name: &str, at: Location) -> Result<Option<Expr>> {
        // A whole-row Var gives the column itself.
        if let Expr::Var(v) = row
            && v.attno == 0
        {
            let level = self.states.len() - 1 - v.levels_up as usize;
            let item = self.states[level].namespace.iter().find(|i| i.rtindex == v.varno).cloned();
            if let Some(item) = item {
                return self.item_column(&item, v.levels_up, name, at);
            }
        }
        if let Expr::Row(r) = row {
            let found = r.names.iter().position(|n| n == name);
            if let Some(i) = found {
                return Ok(r.args.get(i).cloned());
            }
        }
        let base = crate::coerce::base_type(self.catalog(), row.ty())?;
        let relation = self.type_desc(base)?.relation;
        if !relation.is_valid() {
            return self.record_field(row, name);
        }
        let rel = self.catalog().relation(relation)?;
        let Some(number) = rel.column_number(name) else { return Ok(None) };
        let attr = &rel.tuple.attrs[number as usize - 1];
        let arg = if base == row.ty() {
            row.clone()
        } else {
            relabel(row.clone(), base, -1, CoercionForm::ImplicitCast, None)
        };
        Ok(Some(Expr::FieldSelect {
            arg: Box::new(arg),
            field: number,
            ty: attr.type_oid,
            typmod: attr.typmod,
            collation: attr.collation,
        }))
    }

    /// A field of an anonymous record that a function with OUT parameters gives.
    fn record_field(&mut self, row: &Expr, name: &str) -> Result<Option<Expr>> {
        let outs = match self.output_params(row)? {
            Some(outs) => outs,
            None => match self.record_fields(row) {
                Some(fields) => fields,
                None => return Ok(None),
            },
        };
        let found = outs.iter().position(|o| o.0 == name);
        Ok(found.map(|i| Expr::FieldSelect {
            arg: Box::new(row.clone()),
            field: i as i16 + 1,
            ty: outs[i].1,
            typmod: outs[i].2,
            collation: outs[i].3,
        }))
    }
}

fn missing_default() -> Error {
    Error::internal("not enough default arguments")
}

/// The innermost level (0 is the current one) of the columns and aggregates in these.
pub(crate) fn min_level(exprs: &[&Expr]) -> Option<u32> {
    let mut least: Option<u32> = None;
    for e in exprs {
        ir::walk::any_levels(e, 0, &mut |e, depth| {
            let up = match e {
                Expr::Var(v) => v.levels_up,
                Expr::Agg(a) => a.levels_up,
                Expr::Grouping(g) => g.levels_up,
                _ => return false,
            };
            if up >= depth {
                let relative = up - depth;
                least = Some(least.map_or(relative, |l| l.min(relative)));
            }
            false
        });
    }
    least
}

/// An aggregate of this level (true) or a window function in the expression, with its place.
fn find_aggregate(expr: &Expr, level: u32) -> Option<(bool, Location)> {
    let mut found = None;
    ir::walk::any_levels(expr, 0, &mut |e, depth| {
        match e {
            Expr::Agg(a) if a.levels_up >= depth && a.levels_up - depth == level => {
                found = Some((true, a.location));
            }
            Expr::Window(w) if depth == 0 => found = Some((false, w.location)),
            _ => {}
        }
        found.is_some()
    });
    found
}

/// A syntax tree whose places would mislead, since it was not in the statement.
fn without_places(expr: &ast::Expr) -> ast::Expr {
    ast::Expr { pos: ast::NO_POS, kind: expr.kind.clone() }
}
