//! Rules: a statement on a table or view with rules becomes what the rules make of it.

use crate::Env;
use crate::rewrite::{check_as, stored_expr};
use crate::rule::{NEW, OLD, nested_source};
use base::{Error, Result, bail, err};
use catalog::{RelationDesc, RuleDesc};
use ir::{BoolTestKind, CmdType, Expr, FromItem, Query, RteKind, TargetEntry, renumber};

/// Where a statement comes from, for the choice of the one whose count the client is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The client's own.
    Original,
    /// A rule with INSTEAD, with or without a condition.
    Instead,
    /// A rule besides.
    Also,
}

/// A statement that takes part in what the client's becomes.
pub(crate) struct Product {
    pub query: Query,
    pub source: Source,
}

/// What the rules of one relation make of a statement.
#[derive(Default)]
pub(crate) struct Fired {
    pub products: Vec<Product>,
    /// A rule without a condition takes the statement's place.
    pub instead: bool,
    /// A rule gives the rows of RETURNING.
    pub returning: bool,
    /// The statement for the rows that no conditional INSTEAD rule takes.
    pub remainder: Option<Query>,
}

fn event_of(command: CmdType) -> u8 {
    match command {
        CmdType::Update => b'2',
        CmdType::Insert => b'3',
        CmdType::Delete => b'4',
        _ => 0,
    }
}

/// True if rules are in force for this event or, without one, for any that changes rows.
pub(crate) fn has_rules(rel: &RelationDesc, command: Option<CmdType>) -> bool {
    rel.rules.iter().any(|r| {
        r.event != b'1'
            && matches!(r.enabled, b'O' | b'A')
            && command.is_none_or(|c| r.event == event_of(c))
    })
}

/// Applies the rules of `rel`, in the order of their names.
pub(crate) fn fire(env: &Env, query: &Query, rel: &RelationDesc) -> Result<Fired> {
    let mut fired = Fired::default();
    let event = event_of(query.command);
    let mut rules: Vec<&RuleDesc> =
        rel.rules.iter().filter(|r| r.event == event && matches!(r.enabled, b'O' | b'A')).collect();
    rules.sort_by(|a, b| a.name.cmp(&b.name));
    let subject = Subject::new(env, query, rel)?;
    for rule in rules {
        let qual = match &rule.qual {
            Some(text) => Some(stored_expr(text)?),
            None => None,
        };
        let actions: Vec<Query> = match &rule.action {
            Some(text) => serde_json::from_str(text)
                .map_err(|e| Error::internal(format!("stored rule: {e}")))?,
            None => Vec::new(),
        };
        if rule.is_instead && qual.is_none() {
            fired.instead = true;
        }
        if let (true, Some(qual), false) = (rule.is_instead, &qual, fired.instead) {
            let left = fired.remainder.take().unwrap_or_else(|| query.clone());
            fired.remainder = Some(subject.without(left, qual.clone()));
        }
        let source = if rule.is_instead { Source::Instead } else { Source::Also };
        for mut action in actions {
            check_as(&mut action, rel.owner);
            let query = subject.apply(action, qual.as_ref(), &mut fired.returning)?;
            fired.products.push(Product { query, source });
        }
    }
    Ok(fired)
}

/// The statement that rules are applied to.
struct Subject<'a> {
    env: &'a Env<'a>,
    query: &'a Query,
    rel: &'a RelationDesc,
    target: u32,
    /// What NEW's columns are.
    values: Vec<TargetEntry>,
}

impl<'a> Subject<'a> {
    fn new(env: &'a Env<'a>, query: &'a Query, rel: &'a RelationDesc) -> Result<Subject<'a>> {
        let target = query.result_relation;
        let mut made = Subject { env, query, rel, target, values: Vec::new() };
        if matches!(query.command, CmdType::Insert | CmdType::Update) {
            made.values = query.target_list.iter().filter(|t| !t.junk).cloned().collect();
            made.add_generated()?;
        }
        Ok(made)
    }

    /// Generated columns of NEW are computed from the others.
    fn add_generated(&mut self) -> Result<()> {
        let mut more = Vec::new();
        for (i, attr) in self.rel.tuple.attrs.iter().enumerate() {
            let number = i as i16 + 1;
            if attr.generated == 0 || attr.dropped {
                continue;
            }
            let Some(text) = self.rel.default_of(number) else { continue };
            let mut e = stored_expr(text)?;
            self.put_new(&mut e, 1, 0)?;
            more.push(TargetEntry::new(e, number, Some(attr.name.to_string()), false));
        }
        self.values.extend(more);
        Ok(())
    }

    /// What a column of NEW is; `level` queries inwards.
    fn new_value(&self, v: &ir::Var, level: u32) -> Result<Expr> {
        if v.attno == 0 {
            let mut args = Vec::new();
            let mut names = Vec::new();
            for (i, a) in self.rel.tuple.attrs.iter().enumerate() {
                let mut column =
                    ir::Var::new(v.varno, i as i16 + 1, a.type_oid, a.typmod, a.collation);
                column.levels_up = v.levels_up;
                args.push(match a.dropped {
                    true => Expr::null_const(base::Oid(23), -1, base::Oid::INVALID),
                    false => self.new_value(&column, level)?,
                });
                names.push(a.name.to_string());
            }
            return Ok(Expr::Row(Box::new(ir::RowExpr {
                ty: v.ty,
                args,
                form: ir::CoercionForm::ImplicitCast,
                names,
                location: None,
            })));
        }
        let found = self.values.iter().find(|t| t.resno == v.attno);
        if let Some(t) = found {
            let multiple = ir::walk::any(&t.expr, &mut |e| match e {
                Expr::Param(p) => p.kind == ir::ParamKind::Exec && p.id > 0xffff,
                _ => false,
            });
            if multiple {
                bail!(
                    FEATURE_NOT_SUPPORTED,
                    "NEW variables in ON UPDATE rules cannot reference columns that are part of \
                     a multiple assignment in the subject UPDATE command"
                );
            }
            let mut e = t.expr.clone();
            if level > 0 {
                ir::walk::shift_levels(&mut e, level as i32, 0);
            }
            return Ok(e);
        }
        if self.query.command == CmdType::Update {
            let mut old = v.clone();
            (old.varno, old.syn_no) = (self.target, self.target);
            return Ok(Expr::Var(old));
        }
        let null = |ty| Expr::null_const(ty, v.typmod, v.collation);
        let desc = self.env.catalog.type_(v.ty)?;
        if desc.kind != b'd' {
            return Ok(null(v.ty));
        }
        let (base, _) = crate::coerce::base_type_mod(self.env.catalog, v.ty, v.typmod)?;
        Ok(Expr::CoerceToDomain {
            arg: Box::new(null(base)),
            ty: v.ty,
            typmod: -1,
            collation: v.collation,
            form: ir::CoercionForm::ImplicitCast,
            location: None,
        })
    }

    /// Puts the values of NEW, entry `new`, into an expression.
    fn put_new(&self, e: &mut Expr, new: u32, level: u32) -> Result<()> {
        let mut result = Ok(());
        let mut one = |e: &Expr, level| self.substitute(e, level, new, &mut result);
        ir::walk::rewrite_expr(e, level, &mut one);
        result
    }

    fn substitute(&self, e: &Expr, level: u32, new: u32, result: &mut Result<()>) -> Option<Expr> {
        let Expr::Var(v) = e else { return None };
        if v.varno != new || v.levels_up != level || result.is_err() {
            return None;
        }
        match self.new_value(v, level) {
            Ok(made) => Some(made),
            Err(error) => {
                *result = Err(error);
                None
            }
        }
    }

    /// The condition as one over the statement's own rows.
    fn condition(&self, mut qual: Expr) -> Result<Expr> {
        let apart = self.query.rtable.len() as u32 + NEW;
        renumber::expr(&mut qual, &|n| if n == OLD { self.target } else { apart });
        self.put_new(&mut qual, apart, 0)?;
        Ok(qual)
    }

    /// The statement for rows where the condition is not true.
    fn without(&self, mut left: Query, qual: Expr) -> Query {
        if let Ok(qual) = self.condition(qual) {
            left.has_sublinks |= has_sublinks(&qual);
            let arg = Box::new(qual);
            let test = Expr::BooleanTest { kind: BoolTestKind::IsNotTrue, arg, location: None };
            add_qual(&mut left, Some(test));
        }
        left
    }

    /// `rewriteRuleAction`: the action for the rows that the statement is about.
    fn apply(&self, mut action: Query, qual: Option<&Expr>, returning: &mut bool) -> Result<Query> {
        if action.command == CmdType::Nothing {
            return Ok(action);
        }
        let subject = self.query;
        let nested = nested_source(&action);
        if nested.is_some() && subject.has_modifying_cte {
            bail!(
                FEATURE_NOT_SUPPORTED,
                "INSERT ... SELECT rule actions are not supported for queries having \
                 data-modifying statements in WITH"
            );
        }
        let sub = match nested {
            Some(at) => match &mut action.rtable[at].kind {
                RteKind::Subquery { query, .. } => &mut **query,
                _ => return Err(Error::internal("a rule's source that is no query")),
            },
            None => &mut action,
        };
        self.merge(sub, qual)?;
        if subject.returning.is_empty() {
            action.returning.clear();
        } else if !action.returning.is_empty() {
            if *returning {
                bail!(FEATURE_NOT_SUPPORTED, "cannot have RETURNING lists in multiple rules");
            }
            *returning = true;
            self.give_returning(&mut action)?;
        }
        Ok(action)
    }

    /// Makes `sub` range over the statement's tables and rows.
    fn merge(&self, sub: &mut Query, qual: Option<&Expr>) -> Result<()> {
        let subject = self.query;
        let (shift, target) = (subject.rtable.len() as u32, self.target);
        let number = |n: u32| if n == OLD { target } else { n + shift };
        renumber::query(sub, &number);
        let mut qual = qual.cloned();
        if let Some(q) = &mut qual {
            renumber::expr(q, &number);
        }
        let own = std::mem::take(&mut sub.rtable);
        sub.rtable.clone_from(&subject.rtable);
        sub.rtable.extend(own);
        sub.has_sublinks |= subject.has_sublinks || qual.as_ref().is_some_and(has_sublinks);
        sub.has_modifying_cte |= subject.has_modifying_cte;
        sub.has_recursive |= subject.has_recursive;
        let mentions = |e: &Option<Expr>| e.as_ref().is_some_and(|e| renumber::mentions(e, target));
        let ranges = |q: &Query| {
            renumber::stands_in(&q.jointree.items, target) || mentions(&q.jointree.quals)
        };
        let keep = !ranges(sub) && (mentions(&qual) || mentions(&subject.jointree.quals));
        let mut items = subject.jointree.items.clone();
        if !keep {
            items.retain(|i| *i != FromItem::Table(target));
        }
        if !items.is_empty() && sub.set_operations.is_some() {
            bail!(
                FEATURE_NOT_SUPPORTED,
                "conditional UNION/INTERSECT/EXCEPT statements are not implemented"
            );
        }
        items.append(&mut sub.jointree.items);
        sub.jointree.items = items;
        let stands = renumber::stands_in(&sub.jointree.items, target);
        sub.rtable[target as usize - 1].in_from = stands;
        for cte in &subject.ctes {
            if sub.ctes.iter().any(|c| c.name == cte.name) {
                bail!(
                    FEATURE_NOT_SUPPORTED,
                    "WITH query name \"{}\" appears in both a rule action and the query being \
                     rewritten",
                    cte.name
                );
            }
        }
        sub.ctes.extend(subject.ctes.iter().cloned());
        add_qual(sub, qual);
        add_qual(sub, subject.jointree.quals.clone());
        if matches!(subject.command, CmdType::Insert | CmdType::Update) {
            let new = shift + NEW;
            let mut result = Ok(());
            ir::walk::rewrite_query(sub, 0, &mut |e, level| {
                self.substitute(e, level, new, &mut result)
            });
            result?;
            let mut found = false;
            ir::walk::own_exprs(sub, &mut |e| found |= has_sublinks(e));
            sub.has_sublinks |= found;
        }
        Ok(())
    }

    /// The client's RETURNING in terms of the rule's.
    fn give_returning(&self, action: &mut Query) -> Result<()> {
        let given = std::mem::take(&mut action.returning);
        let mut list = self.query.returning.clone();
        let target = self.target;
        for t in &mut list {
            ir::walk::rewrite_expr(&mut t.expr, 0, &mut |e, level| {
                let Expr::Var(v) = e else { return None };
                if v.varno != target || v.levels_up != level {
                    return None;
                }
                if v.attno == 0 {
                    return Some(Expr::Row(Box::new(ir::RowExpr {
                        ty: v.ty,
                        args: given.iter().map(|g| g.expr.clone()).collect(),
                        form: ir::CoercionForm::ImplicitCast,
                        names: Vec::new(),
                        location: None,
                    })));
                }
                let mut made = given.get(v.attno as usize - 1)?.expr.clone();
                if level > 0 {
                    ir::walk::shift_levels(&mut made, level as i32, 0);
                }
                Some(made)
            });
            action.has_sublinks |= has_sublinks(&t.expr);
        }
        action.returning = list;
        Ok(())
    }
}

fn has_sublinks(e: &Expr) -> bool {
    ir::walk::any(e, &mut |e| matches!(e, Expr::SubLink(_)))
}

fn add_qual(query: &mut Query, qual: Option<Expr>) {
    let mut all: Vec<Expr> = query.jointree.quals.take().into_iter().collect();
    all.extend(qual);
    query.jointree.quals = ir::walk::conjoin(all);
}

/// What RETURNING needs where rules take the statement's place.
pub(crate) fn check_returning(query: &Query, rel: &RelationDesc, fired: &Fired) -> Result<()> {
    let replaced = fired.instead || fired.remainder.is_some();
    if !replaced || fired.returning || query.returning.is_empty() {
        return Ok(());
    }
    let event = match query.command {
        CmdType::Insert => "INSERT",
        CmdType::Update => "UPDATE",
        _ => "DELETE",
    };
    Err(err!(
        FEATURE_NOT_SUPPORTED,
        "cannot perform {event} RETURNING on relation \"{}\"",
        rel.name
    )
    .hint(format!("You need an unconditional ON {event} DO INSTEAD rule with a RETURNING clause.")))
}

/// Says which statement's count, and rows, the client is told.
pub(crate) fn choose_tag(command: CmdType, products: &mut [Product]) {
    let mut last = None;
    let mut original = false;
    for (i, p) in products.iter_mut().enumerate() {
        p.query.can_set_tag = p.source == Source::Original;
        original |= p.query.can_set_tag;
        if p.source == Source::Instead && p.query.command == command {
            last = Some(i);
        }
    }
    if let (false, Some(i)) = (original, last) {
        products[i].query.can_set_tag = true;
    }
}
