//! After analysis: defaults and generated columns of modified rows, views as subqueries.

use crate::rewrite_rule::{Fired, Product, Source, check_returning, choose_tag, fire, has_rules};
use crate::{Env, Params};
use base::{Error, Oid, Result, bail, err};
use catalog::{RelKind, RelationDesc, oids};
use ir::{CmdType, Expr, Overriding, Query, RteKind, TargetEntry};
use std::sync::Arc;

/// How deep views may be nested.
const MAX_DEPTH: u32 = 100;

/// Makes a query ready for the planner: one or, with rules, several or none.
pub fn rewrite(env: &Env, query: Query) -> Result<Vec<Query>> {
    crate::policy::reset();
    if query.result_relation == 0 {
        let mut query = query;
        rewrite_query(env, &mut query, 0)?;
        return Ok(vec![query]);
    }
    let (command, with) = (query.command, !query.ctes.is_empty());
    let mut products = Vec::with_capacity(1);
    rewrite_statement(env, query, Source::Original, &mut Vec::new(), &mut products)?;
    if products.len() != 1 || products[0].source != Source::Original {
        choose_tag(command, &mut products);
    }
    if with && products.iter().filter(|p| p.query.command != CmdType::Nothing).count() > 1 {
        return Err(err!(
            FEATURE_NOT_SUPPORTED,
            "WITH cannot be used in a query that is rewritten by rules into multiple queries"
        ));
    }
    let mut made = Vec::with_capacity(products.len());
    for mut p in products {
        rewrite_query(env, &mut p.query, 0)?;
        made.push(p.query);
    }
    Ok(made)
}

/// A stored expression (`pg_node_tree`).
pub fn stored_expr(text: &str) -> Result<Expr> {
    serde_json::from_str(text).map_err(|e| Error::internal(format!("stored expression: {e}")))
}

fn rewrite_query(env: &Env, query: &mut Query, depth: u32) -> Result<()> {
    base::stack::check()?;
    if depth > MAX_DEPTH {
        return Err(base::stack::too_deep());
    }
    for cte in &mut query.ctes {
        if cte.query.result_relation > 0 {
            rewrite_modifying_cte(env, &mut cte.query)?;
        }
        rewrite_query(env, &mut cte.query, depth)?;
    }
    for i in 0..query.rtable.len() {
        let is_target = i as u32 + 1 == query.result_relation;
        let in_from = query.rtable[i].in_from;
        match &mut query.rtable[i].kind {
            RteKind::Subquery { query: inner, .. } => rewrite_query(env, inner, depth)?,
            RteKind::Relation { relid, relkind: 'v', .. } if !is_target && in_from => {
                let relid = *relid;
                expand_view(env, query, i, relid, depth)?;
            }
            RteKind::Relation { relkind: 'r' | 'p', .. } if !is_target && in_from => {
                if let Some(mut inner) = crate::policy::secure_source(env, query, i)? {
                    // The table itself stands in the subquery; its entry there is done.
                    let result = rewrite_conditions(env, &mut inner, depth + 1);
                    crate::policy::leave();
                    result?;
                    let rte = &mut query.rtable[i];
                    rte.perms = None;
                    rte.kind =
                        RteKind::Subquery { query: Box::new(inner), view: None, barrier: true };
                }
            }
            RteKind::Relation { relid, relkind: 'm', .. } => {
                let rel = env.catalog.relation(*relid)?;
                if !rel.is_populated && query.rtable[i].in_from {
                    return Err(err!(
                        OBJECT_NOT_IN_PREREQUISITE_STATE,
                        "materialized view \"{}\" has not been populated",
                        rel.name
                    )
                    .hint("Use the REFRESH MATERIALIZED VIEW command."));
                }
            }
            _ => {}
        }
    }
    rewrite_conditions(env, query, depth)
}

/// The queries within a query's expressions, and columns that are computed.
pub(crate) fn rewrite_conditions(env: &Env, query: &mut Query, depth: u32) -> Result<()> {
    let mut result = Ok(());
    ir::walk::own_exprs_mut(query, &mut |e| {
        ir::walk::transform(e, &mut |e| {
            if let Expr::SubLink(s) = e
                && result.is_ok()
            {
                result = rewrite_query(env, &mut s.query, depth);
            }
        });
    });
    result?;
    expand_virtual(env, query)
}

/// Columns that are computed when read become their expressions.
fn expand_virtual(env: &Env, query: &mut Query) -> Result<()> {
    for i in 0..query.rtable.len() {
        let RteKind::Relation { relid, .. } = query.rtable[i].kind else { continue };
        let rel = env.catalog.relation(relid)?;
        let Some(computed) = catalog::computed::Computed::of(&rel)? else { continue };
        let varno = i as u32 + 1;
        let sets = !query.grouping_sets.is_empty();
        ir::walk::rewrite_query(query, 0, &mut |e, level| match e {
            Expr::Var(v) if v.varno == varno && v.levels_up == level => match sets {
                true => computed.value_to_group(v),
                false => computed.value_of(v),
            },
            _ => None,
        });
    }
    Ok(())
}

/// The query of a view.
pub fn view_query(env: &Env, view: &RelationDesc) -> Result<Query> {
    let Some(text) = view.view_query() else {
        return Err(Error::internal(format!("view \"{}\" has no query", view.name)));
    };
    if text.starts_with('[') || text.starts_with('{') {
        let parsed: std::result::Result<Vec<Query>, _> = serde_json::from_str(text);
        let first = parsed.map(|list| list.into_iter().next());
        return match first {
            Ok(Some(query)) => Ok(query),
            Ok(None) => Err(Error::internal("a view's rule without an action")),
            Err(e) => Err(Error::internal(format!("stored view: {e}"))),
        };
    }
    // A built-in view is text; its names are those of pg_catalog.
    let stmts = parser::parse(text)?;
    let Some(stmt) = stmts.first() else {
        return Err(Error::internal("a built-in view without a query"));
    };
    let mut context = env.catalog.context().clone();
    context.search_path = vec![oids::PG_CATALOG];
    if view.namespace != oids::PG_CATALOG {
        context.search_path.insert(0, view.namespace);
    }
    let catalog = env.catalog.with_context(context);
    let inner = Env { catalog: &catalog, io: env.io, told: env.told };
    let mut query = crate::analyze(&inner, stmt, Params::None)?;
    clear_places(&mut query);
    Ok(query)
}

/// Places in a view's own text mean nothing in the statement that uses it.
pub fn clear_places(query: &mut Query) {
    query.location = None;
    query.length = 0;
    ir::walk::own_exprs_mut(query, &mut |e| {
        *e = crate::clause::unplaced_keeping(e);
        ir::walk::transform(e, &mut |e| {
            if let Expr::SubLink(s) = e {
                clear_places(&mut s.query);
            }
        });
    });
    for inner in ir::walk::nested_queries_mut(query) {
        clear_places(inner);
    }
}

/// Fails if views that are not the system's may not be used.
pub(crate) fn check_restricted(env: &Env, view: &RelationDesc) -> Result<()> {
    if env.catalog.context().restrict_views && view.oid >= Oid::FIRST_NORMAL {
        bail!(
            OBJECT_NOT_IN_PREREQUISITE_STATE,
            "access to non-system view \"{}\" is restricted",
            view.name
        );
    }
    Ok(())
}

/// A view in FROM becomes a subquery.
fn expand_view(env: &Env, query: &mut Query, index: usize, relid: Oid, depth: u32) -> Result<()> {
    let view = env.catalog.relation(relid)?;
    check_restricted(env, &view)?;
    let mut inner = view_query(env, &view)?;
    if !has_invokers_rights(&view) {
        check_as(&mut inner, view.owner);
    }
    if let Some(mark) = query.row_marks.iter().find(|m| m.rtindex as usize == index + 1).cloned() {
        lock_view(&mut inner, &mark);
    }
    rewrite_query(env, &mut inner, depth + 1)?;
    let barrier = view.option("security_barrier").is_some_and(|v| v == "true" || v == "on");
    query.rtable[index].kind =
        RteKind::Subquery { query: Box::new(inner), view: Some(relid), barrier };
    Ok(())
}

/// Whether who reads the view needs the rights on what it reads, and not the view's owner.
pub(crate) fn has_invokers_rights(view: &RelationDesc) -> bool {
    view.option("security_invoker").is_some_and(|v| matches!(v, "true" | "on"))
}

/// The rights that a view or a rule's action needs, in queries inside it too, are its owner's.
pub(crate) fn check_as(query: &mut Query, owner: Oid) {
    for perms in query.rtable.iter_mut().filter_map(|r| r.perms.as_mut()) {
        perms.check_as = perms.check_as.or(Some(owner));
    }
    ir::walk::own_exprs_mut(query, &mut |e| {
        ir::walk::transform(e, &mut |e| {
            if let Expr::SubLink(s) = e {
                check_as(&mut s.query, owner);
            }
        });
    });
    ir::walk::nested_queries_mut(query).into_iter().for_each(|q| check_as(q, owner));
}

/// FOR UPDATE of a view locks the tables in it.
fn lock_view(inner: &mut Query, mark: &ir::RowMark) {
    for (i, rte) in inner.rtable.iter_mut().enumerate() {
        if !rte.in_from || !matches!(rte.kind, RteKind::Relation { .. }) {
            continue;
        }
        let mark = ir::RowMark { rtindex: i as u32 + 1, pushed_down: true, ..mark.clone() };
        inner.row_marks.push(mark);
    }
}

// Modified rows.

/// Rewrites a statement in WITH that changes rows; rules may make one statement of it.
fn rewrite_modifying_cte(env: &Env, query: &mut Query) -> Result<()> {
    let whole = std::mem::replace(query, Query::new(CmdType::Nothing));
    let mut products = Vec::with_capacity(1);
    rewrite_statement(env, whole, Source::Original, &mut Vec::new(), &mut products)?;
    let what = match products.as_slice() {
        [one] if one.query.command != CmdType::Nothing => None,
        [_] => Some("DO INSTEAD NOTIFY rules"),
        [] => Some("DO INSTEAD NOTHING rules"),
        many if many.iter().any(|p| p.source == Source::Original) => {
            match many.iter().any(|p| p.source == Source::Also) {
                true => Some("DO ALSO rules"),
                false => Some("conditional DO INSTEAD rules"),
            }
        }
        _ => Some("multi-statement DO INSTEAD rules"),
    };
    if let Some(what) = what {
        return Err(err!(
            FEATURE_NOT_SUPPORTED,
            "{what} are not supported for data-modifying statements in WITH"
        ));
    }
    if let Some(one) = products.pop() {
        *query = one.query;
    }
    Ok(())
}

/// A statement that changes rows as what is done: rules applied, views replaced by their tables.
fn rewrite_statement(
    env: &Env,
    mut query: Query,
    source: Source,
    active: &mut Vec<(Oid, CmdType)>,
    out: &mut Vec<Product>,
) -> Result<()> {
    base::stack::check()?;
    if query.result_relation == 0 {
        out.push(Product { query, source });
        return Ok(());
    }
    let RteKind::Relation { relid, .. } = query.rte(query.result_relation).kind else {
        return Err(Error::internal("the target is not a relation"));
    };
    let rel = env.catalog.relation(relid)?;
    fill_target(env, &mut query, &rel)?;
    let mut fired = Fired::default();
    if has_rules(&rel, None) {
        refuse_with_rules(&query, &rel)?;
        if has_rules(&rel, Some(query.command)) {
            fired = fire(env, &query, &rel)?;
        }
    }
    let first = query.command == CmdType::Insert;
    let command = query.command;
    let mut left = None;
    let mut products = std::mem::take(&mut fired.products);
    // What a view's columns default to is the view's affair: a rule takes a DEFAULT left as NULL.
    products.iter_mut().for_each(|p| null_unused(&mut p.query));
    if rel.kind == RelKind::View && !fired.instead {
        if fired.remainder.is_some() {
            return Err(crate::rewrite_view::conditional_rules(&rel, command));
        }
        crate::rewrite_view::refuse_instead_triggers(env, &query, &rel)?;
        crate::rewrite_view::rewrite_target_view(env, &mut query, &rel)?;
        let whole = Product { query, source };
        products.insert(if first { 0 } else { products.len() }, whole);
    } else {
        check_returning(&query, &rel, &fired)?;
        if !fired.instead {
            left = Some(fired.remainder.take().unwrap_or(query));
        }
    }
    let mut made = Vec::new();
    if !products.is_empty() {
        if active.contains(&(relid, command)) {
            return Err(err!(
                INVALID_OBJECT_DEFINITION,
                "infinite recursion detected in rules for relation \"{}\"",
                rel.name
            ));
        }
        active.push((relid, command));
        for p in products {
            rewrite_statement(env, p.query, p.source, active, &mut made)?;
        }
        active.pop();
    }
    if let Some(mut query) = left {
        crate::policy::secure_target(env, &mut query, &rel)?;
        made.insert(if first { 0 } else { made.len() }, Product { query, source });
    }
    out.append(&mut made);
    Ok(())
}

/// What cannot be done with a table that has rules.
fn refuse_with_rules(query: &Query, rel: &RelationDesc) -> Result<()> {
    if query.command == CmdType::Merge {
        return Err(err!(
            FEATURE_NOT_SUPPORTED,
            "cannot execute MERGE on relation \"{}\"",
            rel.name
        )
        .detail("MERGE is not supported for relations with rules."));
    }
    let rules = |c| has_rules(rel, Some(c));
    if query.on_conflict.is_some() && (rules(CmdType::Insert) || rules(CmdType::Update)) {
        return Err(err!(
            FEATURE_NOT_SUPPORTED,
            "INSERT with ON CONFLICT clause cannot be used with table that has INSERT or UPDATE \
             rules"
        ));
    }
    Ok(())
}

/// Completes what is assigned: defaults, identity and generated columns.
fn fill_target(env: &Env, query: &mut Query, rel: &Arc<RelationDesc>) -> Result<()> {
    match query.command {
        CmdType::Insert => {
            let list = std::mem::take(&mut query.target_list);
            query.target_list = fill_insert(env, rel, list, query.overriding, query)?;
            rewrite_values(env, query, rel)?;
            if let Some(mut conflict) = query.on_conflict.take() {
                let set = std::mem::take(&mut conflict.set);
                conflict.set = fill_update(env, rel, set)?;
                query.on_conflict = Some(conflict);
            }
        }
        CmdType::Update => {
            let list = std::mem::take(&mut query.target_list);
            query.target_list = fill_update(env, rel, list)?;
        }
        CmdType::Merge => {
            let mut actions = std::mem::take(&mut query.merge_actions);
            for action in &mut actions {
                let list = std::mem::take(&mut action.target_list);
                action.target_list = match action.command {
                    CmdType::Insert => fill_insert(env, rel, list, action.overriding, query)?,
                    CmdType::Update => fill_update(env, rel, list)?,
                    _ => list,
                };
            }
            query.merge_actions = actions;
        }
        _ => {}
    }
    Ok(())
}

/// The value of a column that a statement does not give: its default, or its type's.
pub fn default_of(env: &Env, rel: &RelationDesc, number: i16) -> Result<Option<Expr>> {
    let attr = &rel.tuple.attrs[number as usize - 1];
    if attr.generated != 0 {
        return Ok(None);
    }
    if attr.identity != 0 {
        let Some(sequence) = rel.identity_sequence(number) else {
            return Err(err!(INTERNAL_ERROR, "no owned sequence found"));
        };
        return Ok(Some(Expr::NextValue { sequence, ty: attr.type_oid }));
    }
    if let Some(text) = rel.default_of(number) {
        return stored_expr(text).map(Some);
    }
    let desc = env.catalog.type_(attr.type_oid)?;
    if let Some(text) = &desc.default_expr {
        // A domain's default must pass the domain's own checks.
        let value = stored_expr(text)?;
        let made = crate::coerce_assignment(env, value.clone(), attr.type_oid, attr.typmod)?;
        return Ok(Some(made.unwrap_or(value)));
    }
    if let (b'b', Some(text)) = (desc.kind, &desc.default) {
        return Ok(Some(Expr::Const(ir::Const {
            ty: desc.oid,
            typmod: -1,
            collation: desc.collation,
            value: types::io::input(desc.oid, text, -1, &env.io)?,
            location: None,
        })));
    }
    Ok(None)
}

/// `build_column_default`, or a null of the type.
fn default_or_null(env: &Env, rel: &Arc<RelationDesc>, number: i16) -> Result<Expr> {
    if let Some(found) = default_of(env, rel, number)? {
        return Ok(found);
    }
    let attr = &rel.tuple.attrs[number as usize - 1];
    let null = |ty| Expr::null_const(ty, attr.typmod, attr.collation);
    let desc = env.catalog.type_(attr.type_oid)?;
    if desc.kind != b'd' {
        return Ok(null(attr.type_oid));
    }
    let (base, _) = crate::coerce::base_type_mod(env.catalog, attr.type_oid, attr.typmod)?;
    Ok(Expr::CoerceToDomain {
        arg: Box::new(null(base)),
        ty: attr.type_oid,
        typmod: -1,
        collation: attr.collation,
        form: ir::CoercionForm::ImplicitCast,
        location: None,
    })
}

fn is_default(e: &Expr) -> bool {
    matches!(e, Expr::SetToDefault { .. })
}

/// `rewriteTargetListIU` for INSERT: one entry for each column that gets a value, in order.
fn fill_insert(
    env: &Env,
    rel: &Arc<RelationDesc>,
    list: Vec<TargetEntry>,
    overriding: Overriding,
    query: &Query,
) -> Result<Vec<TargetEntry>> {
    let mut made: Vec<TargetEntry> = Vec::new();
    for (i, attr) in rel.tuple.attrs.iter().enumerate().filter(|(_, a)| !a.dropped) {
        let number = i as i16 + 1;
        let mut given: Option<TargetEntry> = None;
        for t in list.iter().filter(|t| !t.junk && t.resno == number) {
            given = Some(merge_parts(given, t.clone(), &attr.name)?);
        }
        let default =
            given.as_ref().is_none_or(|t| is_default(&t.expr) || all_default(query, &t.expr));
        let mut apply = given.as_ref().is_none_or(|t| is_default(&t.expr));
        let refused = |detail: String| {
            err!(
                GENERATED_ALWAYS,
                "cannot insert a non-DEFAULT value into column \"{}\"",
                attr.name
            )
            .detail(detail)
        };
        if attr.identity == b'a' && !default {
            match overriding {
                Overriding::UserValue => apply = true,
                Overriding::SystemValue => {}
                Overriding::None => {
                    return Err(refused(format!(
                        "Column \"{}\" is an identity column defined as GENERATED ALWAYS.",
                        attr.name
                    ))
                    .hint("Use OVERRIDING SYSTEM VALUE to override."));
                }
            }
        }
        if attr.identity == b'd' && overriding == Overriding::UserValue {
            apply = true;
        }
        if attr.generated != 0 {
            if !default {
                return Err(refused(format!("Column \"{}\" is a generated column.", attr.name)));
            }
            // The executor computes it.
            continue;
        }
        if apply {
            // A column that nothing is said of, without default, is simply null, if its type
            // lets it.
            let expr = match (&given, default_of(env, rel, number)?) {
                (_, Some(e)) => e,
                // The table below may have a default.
                (_, None) if rel.kind == RelKind::View => continue,
                (None, None) if env.catalog.type_(attr.type_oid)?.kind != b'd' => continue,
                (_, None) => default_or_null(env, rel, number)?,
            };
            made.push(TargetEntry::new(expr, number, Some(attr.name.to_string()), false));
        } else if let Some(t) = given {
            made.push(t);
        }
    }
    made.extend(list.into_iter().filter(|t| t.junk));
    Ok(made)
}

/// `rewriteTargetListIU` for UPDATE.
fn fill_update(
    env: &Env,
    rel: &Arc<RelationDesc>,
    list: Vec<TargetEntry>,
) -> Result<Vec<TargetEntry>> {
    let mut made: Vec<TargetEntry> = Vec::new();
    for (i, attr) in rel.tuple.attrs.iter().enumerate().filter(|(_, a)| !a.dropped) {
        let number = i as i16 + 1;
        let mut given: Option<TargetEntry> = None;
        for t in list.iter().filter(|t| !t.junk && t.resno == number) {
            given = Some(merge_parts(given, t.clone(), &attr.name)?);
        }
        let Some(mut t) = given else { continue };
        let default = is_default(&t.expr);
        let refused = |detail: String| {
            err!(GENERATED_ALWAYS, "column \"{}\" can only be updated to DEFAULT", attr.name)
                .detail(detail)
        };
        if attr.identity == b'a' && !default {
            return Err(refused(format!(
                "Column \"{}\" is an identity column defined as GENERATED ALWAYS.",
                attr.name
            )));
        }
        if attr.generated != 0 {
            if !default {
                return Err(refused(format!("Column \"{}\" is a generated column.", attr.name)));
            }
            continue;
        }
        if default {
            t.expr = default_or_null(env, rel, number)?;
        }
        made.push(t);
    }
    made.extend(list.into_iter().filter(|t| t.junk));
    Ok(made)
}

/// `process_matched_tle`: several assignments to parts of one column become one.
fn merge_parts(prior: Option<TargetEntry>, new: TargetEntry, column: &str) -> Result<TargetEntry> {
    let Some(prior) = prior else { return Ok(new) };
    // What is assigned to parts of a domain is checked once, when all parts are there.
    if let (Expr::CoerceToDomain { arg: a, .. }, Expr::CoerceToDomain { .. }) =
        (&prior.expr, &new.expr)
    {
        let below = TargetEntry { expr: (**a).clone(), ..prior.clone() };
        let mut new = new;
        let Expr::CoerceToDomain { arg, .. } = &mut new.expr else { return Ok(new) };
        let inner = TargetEntry { expr: (**arg).clone(), ..prior.clone() };
        **arg = merge_parts(Some(below), inner, column)?.expr;
        return Ok(new);
    }
    let twice = || err!(SYNTAX_ERROR, "multiple assignments to same column \"{column}\"");
    let expr = match (prior.expr, new.expr) {
        (
            Expr::FieldStore { arg, mut values, mut fields, ty },
            Expr::FieldStore { values: v2, fields: f2, .. },
        ) => {
            values.extend(v2);
            fields.extend(f2);
            Expr::FieldStore { arg, values, fields, ty }
        }
        (prior @ (Expr::FieldStore { .. } | Expr::Subscript(_)), Expr::Subscript(mut s))
            if s.assign.is_some() =>
        {
            s.container = Box::new(prior);
            Expr::Subscript(s)
        }
        (prior @ Expr::Subscript(_), Expr::FieldStore { values, fields, ty, .. }) => {
            Expr::FieldStore { arg: Box::new(prior), values, fields, ty }
        }
        _ => return Err(twice()),
    };
    Ok(TargetEntry { expr, ..new })
}

/// The column of a VALUES list that this Var is, if it is nothing but DEFAULT.
fn all_default(query: &Query, e: &Expr) -> bool {
    let Expr::Var(v) = e else { return false };
    if v.levels_up != 0 || v.attno <= 0 {
        return false;
    }
    let Some(rte) = query.rtable.get(v.varno as usize - 1) else { return false };
    let RteKind::Values { lists, .. } = &rte.kind else { return false };
    lists.iter().all(|l| l.get(v.attno as usize - 1).is_some_and(is_default))
}

/// `rewriteValuesRTE`: DEFAULT in several rows of VALUES.
fn rewrite_values(env: &Env, query: &mut Query, rel: &Arc<RelationDesc>) -> Result<()> {
    let mut columns: Vec<(usize, i16, i16)> = Vec::new();
    for t in &query.target_list {
        if let Expr::Var(v) = &t.expr
            && v.attno > 0
            && matches!(query.rte(v.varno).kind, RteKind::Values { .. })
        {
            columns.push((v.varno as usize - 1, v.attno, t.resno));
        }
    }
    for (index, attno, number) in columns {
        let RteKind::Values { lists, .. } = &mut query.rtable[index].kind else { continue };
        let has = lists.iter().any(|l| is_default(&l[attno as usize - 1]));
        if !has {
            continue;
        }
        if rel.kind == RelKind::View && default_of(env, rel, number)?.is_none() {
            continue;
        }
        let value = default_or_null(env, rel, number)?;
        for list in lists {
            let slot = &mut list[attno as usize - 1];
            if is_default(slot) {
                *slot = value.clone();
            }
        }
    }
    if rel.kind != RelKind::View {
        null_unused(query);
    }
    Ok(())
}

/// A DEFAULT that is left is in a column that nothing takes, since all its rows said so, or in
/// one of a view without a default.
fn null_unused(query: &mut Query) {
    for rte in &mut query.rtable {
        let RteKind::Values { lists, .. } = &mut rte.kind else { continue };
        for slot in lists.iter_mut().flatten() {
            if let Expr::SetToDefault { ty, typmod, collation, .. } = slot {
                *slot = Expr::null_const(*ty, *typmod, *collation);
            }
        }
    }
    ir::walk::nested_queries_mut(query).into_iter().for_each(null_unused);
}
