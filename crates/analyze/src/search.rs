//! SEARCH and CYCLE of WITH RECURSIVE, as a query that has their columns computed.
//!
//! Both terms become subqueries of a SELECT that adds the columns: the left one begins each path,
//! the right one, which hands the columns of the row that it came from through, makes it longer.

use crate::state::loc;
use base::{Error, Result, bail, err};
use parser::ast::{
    self, Cte, CteCycle, CteSearch, Expr, ExprKind, FromItem, Ident, SelectBody, SelectCore,
    SelectStmt, Stmt, Target,
};

/// The CTE without the clauses.
pub(crate) fn without_clauses(cte: &Cte, refers: bool) -> Result<Cte> {
    let at = loc(cte.pos);
    if !refers {
        return Err(err!(SYNTAX_ERROR, "WITH query is not recursive").at(at));
    }
    let Stmt::Select(whole) = &cte.query else { return Ok(cte.clone()) };
    let SelectBody::SetOp(op) = &whole.body else { return Ok(cte.clone()) };
    let side = |query: &SelectStmt, which: &str| match &query.body {
        SelectBody::SetOp(_) => Err(err!(
            SYNTAX_ERROR,
            "with a SEARCH or CYCLE clause, the {which} side of the UNION must be a SELECT"
        )),
        _ => Ok(()),
    };
    side(&op.left, "left")?;
    side(&op.right, "right")?;
    let columns = names_of(cte, &op.left)?;
    check(cte, &columns)?;
    let right = handing_on(cte, &op.right)?;
    let mut new = cte.clone();
    (new.search, new.cycle) = (None, None);
    let added = added(cte);
    let ident = |name: &String| Ident { name: name.clone(), pos: cte.pos };
    new.columns = columns.iter().chain(&added).map(ident).collect();
    let Stmt::Select(whole) = &mut new.query else { return Ok(new) };
    let SelectBody::SetOp(op) = &mut whole.body else { return Ok(new) };
    op.left = first_rows(cte, &columns, op.left.clone())?;
    op.right = next_rows(cte, &columns, right)?;
    Ok(new)
}

/// The columns that the clauses add.
fn added(cte: &Cte) -> Vec<String> {
    let mut added: Vec<String> = cte.search.iter().map(|s| s.sequence.clone()).collect();
    added.extend(cte.cycle.iter().flat_map(|c| [c.mark.clone(), c.path.clone()]));
    added
}

/// The CTE's own columns.
fn names_of(cte: &Cte, left: &SelectStmt) -> Result<Vec<String>> {
    let given = cte.columns.iter().map(|c| c.name.clone());
    let found: Vec<String> = match &left.body {
        SelectBody::Select(core) => {
            let named = |t: &Target| match (&t.name, &t.expr.kind) {
                (Some(name), _) => Ok(name.clone()),
                (None, ExprKind::Column { star: true, .. }) => Err(Error::unsupported(
                    "SEARCH and CYCLE over a term with * in its select list",
                )),
                _ => Ok(crate::target::column_name(&t.expr)),
            };
            core.targets.iter().map(named).collect::<Result<_>>()?
        }
        SelectBody::Values(rows) => {
            (1..=rows.first().map_or(0, Vec::len)).map(|i| format!("column{i}")).collect()
        }
        SelectBody::SetOp(_) => Vec::new(),
    };
    crate::cte::check_names(cte, found.len())?;
    Ok(given.chain(found.into_iter().skip(cte.columns.len())).collect())
}

/// Fails if a list names what is not there or is there twice.
fn check_list(list: &[String], columns: &[String], word: &str, at: ast::Pos) -> Result<()> {
    for (i, name) in list.iter().enumerate() {
        if !columns.contains(name) {
            let e = err!(SYNTAX_ERROR, "{word} column \"{name}\" not in WITH query column list");
            return Err(e.at(loc(at)));
        }
        if list[..i].contains(name) {
            let e = err!(DUPLICATE_COLUMN, "{word} column \"{name}\" specified more than once");
            return Err(e.at(loc(at)));
        }
    }
    Ok(())
}

/// Fails if an added column is called as one that is there. Only once the query means something:
/// a name that is there twice is ambiguous in it.
pub(crate) fn check_names(cte: &Cte) -> Result<()> {
    let Stmt::Select(whole) = &cte.query else { return Ok(()) };
    let SelectBody::SetOp(op) = &whole.body else { return Ok(()) };
    let columns = names_of(cte, &op.left)?;
    let free = |what: &str, name: &String, at: ast::Pos| match columns.contains(name) {
        true => Err(err!(
            SYNTAX_ERROR,
            "{what} column name \"{name}\" already used in WITH query column list"
        )
        .at(loc(at))),
        false => Ok(()),
    };
    if let Some(s) = &cte.search {
        free("search sequence", &s.sequence, s.pos)?;
    }
    if let Some(c) = &cte.cycle {
        free("cycle mark", &c.mark, c.pos)?;
        free("cycle path", &c.path, c.pos)?;
    }
    Ok(())
}

fn check(cte: &Cte, columns: &[String]) -> Result<()> {
    let apart = |same: bool, text: &str, at: ast::Pos| match same {
        true => Err(err!(SYNTAX_ERROR, "{text} column name are the same").at(loc(at))),
        false => Ok(()),
    };
    if let Some(s) = &cte.search {
        check_list(&s.columns, columns, "search", s.pos)?;
    }
    if let Some(c) = &cte.cycle {
        check_list(&c.columns, columns, "cycle", c.pos)?;
        apart(c.mark == c.path, "cycle mark column name and cycle path", c.pos)?;
    }
    if let (Some(s), Some(c)) = (&cte.search, &cte.cycle) {
        let first = "search sequence column name and cycle";
        apart(s.sequence == c.mark, &format!("{first} mark"), s.pos)?;
        apart(s.sequence == c.path, &format!("{first} path"), s.pos)?;
    }
    Ok(())
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn list(names: &[String]) -> String {
    names.iter().map(|n| quoted(n)).collect::<Vec<_>>().join(", ")
}

/// A SELECT from text, over `inner`, with the cycle's values in place of `true` and `false`.
fn over(text: &str, inner: SelectStmt, cte: &Cte) -> Result<SelectStmt> {
    let parsed = parser::parse(text)?.into_iter().next().map(|s| s.stmt);
    let Some(Stmt::Select(mut query)) = parsed else {
        bail!(INTERNAL_ERROR, "a SEARCH or CYCLE clause was not understood");
    };
    if let SelectBody::Select(core) = &mut query.body {
        if let Some(FromItem::Subquery(sub)) = core.from.first_mut() {
            sub.query = inner;
            sub.pos = cte.pos;
        }
        if let Some(values) = cte.cycle.as_ref().and_then(|c| c.values.as_deref()) {
            put_values(core, values);
        }
    }
    query.pos = cte.pos;
    Ok(*query)
}

/// Puts the mark's values where the text has TRUE and FALSE.
fn put_values(core: &mut SelectCore, (mark, default): &(Expr, Expr)) {
    for target in &mut core.targets {
        match &mut target.expr.kind {
            ExprKind::Literal(ast::Literal::Boolean(_)) => target.expr = default.clone(),
            ExprKind::Case { whens, otherwise, .. } => {
                whens.iter_mut().for_each(|w| w.then = mark.clone());
                *otherwise = Some(Box::new(default.clone()));
            }
            _ => {}
        }
    }
    if let Some(Expr { kind: ExprKind::Op { right, .. }, .. }) = &mut core.where_clause {
        **right = mark.clone();
    }
}

fn first_rows(cte: &Cte, columns: &[String], inner: SelectStmt) -> Result<SelectStmt> {
    let mut targets = vec![list(columns)];
    if let Some(CteSearch { breadth, columns, sequence, .. }) = &cte.search {
        let row = list(columns);
        let begin = match breadth {
            true => format!("ROW(0::pg_catalog.int8, {row})"),
            false => format!("ARRAY[ROW({row})]"),
        };
        targets.push(format!("{begin} AS {}", quoted(sequence)));
    }
    if let Some(CteCycle { columns, mark, path, .. }) = &cte.cycle {
        targets.push(format!("FALSE AS {}", quoted(mark)));
        targets.push(format!("ARRAY[ROW({})] AS {}", list(columns), quoted(path)));
    }
    let (targets, names) = (targets.join(", "), list(columns));
    over(&format!("SELECT {targets} FROM (SELECT 1) AS \"*TLOCRN*\"({names})"), inner, cte)
}

fn next_rows(cte: &Cte, columns: &[String], inner: SelectStmt) -> Result<SelectStmt> {
    let mut targets = vec![list(columns)];
    let mut test = String::new();
    if let Some(CteSearch { breadth, columns, sequence, .. }) = &cte.search {
        let (row, o) = (list(columns), quoted(sequence));
        targets.push(match breadth {
            true => format!("ROW(({o}).f1 OPERATOR(pg_catalog.+) 1, {row}) AS {o}"),
            false => format!("{o} OPERATOR(pg_catalog.||) ARRAY[ROW({row})] AS {o}"),
        });
    }
    if let Some(CteCycle { columns, mark, path, .. }) = &cte.cycle {
        let (row, m, p) = (list(columns), quoted(mark), quoted(path));
        targets.push(format!(
            "CASE WHEN ROW({row}) OPERATOR(pg_catalog.=) ANY ({p}) THEN TRUE ELSE FALSE END AS {m}"
        ));
        targets.push(format!("{p} OPERATOR(pg_catalog.||) ARRAY[ROW({row})] AS {p}"));
        test = format!(" WHERE {m} <> TRUE");
    }
    let all: Vec<String> = columns.iter().cloned().chain(added(cte)).collect();
    let (targets, names) = (targets.join(", "), list(&all));
    over(&format!("SELECT {targets} FROM (SELECT 1) AS \"*TROCRN*\"({names}){test}"), inner, cte)
}

/// What the CTE is called in an item of FROM.
fn reference(item: &FromItem, name: &str) -> Option<String> {
    match item {
        FromItem::Table(t) if t.rel.schema.is_none() && t.rel.name == name => {
            Some(t.alias.as_ref().map_or(name, |a| &a.name).to_string())
        }
        FromItem::Join(j) => reference(&j.left, name).or_else(|| reference(&j.right, name)),
        _ => None,
    }
}

/// The recursive term with the added columns of the row that it came from.
fn handing_on(cte: &Cte, right: &SelectStmt) -> Result<SelectStmt> {
    let mut right = right.clone();
    let found = match &mut right.body {
        SelectBody::Select(core) => {
            core.from.iter().find_map(|f| reference(f, &cte.name)).map(|alias| (core, alias))
        }
        _ => None,
    };
    let Some((core, alias)) = found else {
        return Err(err!(
            FEATURE_NOT_SUPPORTED,
            "with a SEARCH or CYCLE clause, the recursive reference to WITH query \"{}\" must be \
             at the top level of its right-hand SELECT",
            cte.name
        ));
    };
    for target in &core.targets {
        if let ExprKind::Column { parts, star: true } = &target.expr.kind
            && parts.last().is_none_or(|p| *p == alias)
        {
            return Err(Error::unsupported("SEARCH and CYCLE over a term with * of the query"));
        }
    }
    for name in added(cte) {
        let kind = ExprKind::Column { parts: vec![alias.clone(), name.clone()], star: false };
        let expr = Expr { kind, pos: cte.pos };
        core.targets.push(Target { name: Some(name), expr, pos: cte.pos });
    }
    Ok(right)
}
