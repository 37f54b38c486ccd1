//! Scans by index: plain, index-only and bitmap, bare and parameterised.

use super::{BitmapTree, IndexClause, IndexPath, Path, PathKind};
use crate::cost::clamp_rows;
use crate::rel::{IndexInfo, PathKey, Restriction};
use crate::relids::Relids;
use crate::root::Root;
use base::{Oid, Result};
use ir::{BoolOp, Expr, NullTestKind, OpKind, ScanDirection, walk};
use std::rc::Rc;

impl Root<'_> {
    /// All index paths of a table.
    pub fn index_paths(&mut self, rel: usize) -> Result<()> {
        let indexes = self.rels[rel].indexes.clone();
        let restrictions = self.rels[rel].restrictions.clone();
        let mut bitmaps: Vec<Rc<IndexPath>> = Vec::new();
        let mut join_bitmaps: Vec<(Relids, Rc<IndexPath>)> = Vec::new();
        for info in &indexes {
            if !self.predicate_holds(info, &restrictions) {
                continue;
            }
            let clauses = self.match_clauses(info, &restrictions)?;
            self.build_paths(rel, info, &clauses, &Relids::empty(), &mut bitmaps)?;
            self.param_index_paths(rel, info, &clauses, &mut join_bitmaps)?;
        }
        self.or_bitmaps(rel, &indexes, &restrictions)?;
        if !bitmaps.is_empty() {
            self.bitmap_paths(rel, &bitmaps);
        }
        self.param_bitmap_paths(rel, &bitmaps, join_bitmaps);
        Ok(())
    }

    /// True if the conditions imply a partial index's predicate.
    fn predicate_holds(&self, info: &IndexInfo, list: &[Rc<Restriction>]) -> bool {
        info.predicate.iter().all(|p| list.iter().any(|r| self.implies(&r.clause, p)))
    }

    /// True if `given` being true makes `wanted` true. Conservative.
    pub fn implies(&self, given: &Expr, wanted: &Expr) -> bool {
        if given == wanted {
            return true;
        }
        match (given, wanted) {
            (_, Expr::Bool { op: BoolOp::And, args, .. }) => {
                args.iter().all(|w| self.implies(given, w))
            }
            (Expr::Bool { op: BoolOp::And, args, .. }, _) => {
                args.iter().any(|g| self.implies(g, wanted))
            }
            (Expr::Bool { op: BoolOp::Or, args, .. }, _) => {
                args.iter().all(|g| self.implies(g, wanted))
            }
            (_, Expr::Bool { op: BoolOp::Or, args, .. }) => {
                args.iter().any(|w| self.implies(given, w))
            }
            (_, Expr::NullTest { kind: NullTestKind::IsNotNull, arg, is_row: false, .. }) => {
                // A strict condition on it can be true for no null.
                match given {
                    Expr::Op(o) if o.kind == OpKind::Plain => {
                        o.args.contains(arg)
                            && self.env.catalog.proc(o.func).is_ok_and(|p| p.strict)
                    }
                    Expr::ScalarArrayOp(s) if s.use_or => s.args[0] == **arg,
                    _ => false,
                }
            }
            (Expr::Op(g), Expr::Op(w)) => self.comparison_implies(g, w).unwrap_or(false),
            _ => false,
        }
    }

    /// `x > 5` implies `x > 3`.
    fn comparison_implies(&self, g: &ir::OpExpr, w: &ir::OpExpr) -> Option<bool> {
        let ([gx, Expr::Const(gc)], [wx, Expr::Const(wc)]) = (&g.args[..], &w.args[..]) else {
            return None;
        };
        if gx != wx || g.input_collation != w.input_collation {
            return None;
        }
        for ga in self.env.catalog.amops_of_operator(g.op).ok()?.iter() {
            if ga.am != Oid(403) {
                continue;
            }
            let Ok(Some(wa)) = self.env.catalog.operator_in_family(w.op, ga.family) else {
                continue;
            };
            // Which comparison of the constants must hold: by strategy of given and wanted.
            let test = match (ga.strategy, wa.strategy) {
                (1, 1) | (2, 2) | (1, 2) | (3, 2) => 2,
                (2, 1) | (3, 1) => 1,
                (3, 3) => 3,
                (4, 4) | (5, 5) | (5, 4) | (3, 4) => 4,
                (4, 5) | (3, 5) => 5,
                _ => continue,
            };
            let Ok(Some(op)) = self.env.catalog.amop(ga.family, gc.ty, wc.ty, test) else {
                continue;
            };
            return Some(self.env.holds(op, &gc.value, gc.ty, &wc.value, wc.ty, g.input_collation));
        }
        None
    }

    /// The conditions that the index's columns can use, by column.
    fn match_clauses(
        &self,
        info: &IndexInfo,
        list: &[Rc<Restriction>],
    ) -> Result<Vec<IndexClause>> {
        let mut out = Vec::new();
        for column in 0..info.desc.n_keys as usize {
            for r in list {
                if r.pseudoconstant {
                    continue;
                }
                if let Some(c) = self.match_clause(info, column, r)? {
                    out.push(c);
                }
            }
        }
        Ok(out)
    }

    /// The condition as one on an index column, if it can be one.
    fn match_clause(
        &self,
        info: &IndexInfo,
        column: usize,
        r: &Rc<Restriction>,
    ) -> Result<Option<IndexClause>> {
        let key = &info.columns[column];
        let is_key = |e: &Expr| strip(e) == strip(key);
        let family = info.desc.opfamilies[column];
        let collation = info.desc.collations[column];
        let rel = self.relids_of(key);
        let free = |e: &Expr| !self.relids_of(e).overlaps(&rel);
        let make = |quals: Vec<Expr>, lossy: bool| {
            Some(IndexClause { origin: r.clone(), quals, lossy, column })
        };
        match &r.clause {
            Expr::Op(o) if o.kind == OpKind::Plain && o.args.len() == 2 => {
                let (op, args) = if is_key(&o.args[0]) && free(&o.args[1]) {
                    (o.op, [o.args[0].clone(), o.args[1].clone()])
                } else if is_key(&o.args[1]) && free(&o.args[0]) {
                    let commutator = self.env.catalog.operator(o.op)?.commutator;
                    if !commutator.is_valid() {
                        return Ok(None);
                    }
                    (commutator, [o.args[1].clone(), o.args[0].clone()])
                } else {
                    return Ok(None);
                };
                if crate::prep::volatility::has_volatile(&args[1], self.env)? {
                    return Ok(None);
                }
                let in_family = self.env.catalog.operator_in_family(op, family)?;
                if in_family.is_none_or(|a| a.purpose != b's') {
                    return self.match_prefix(info, column, r, op, &args);
                }
                if collation.is_valid() && collation != o.input_collation {
                    return Ok(None);
                }
                let desc = self.env.catalog.operator(op)?;
                let mut q = o.clone();
                q.op = op;
                q.func = desc.function;
                q.args = args.to_vec();
                Ok(make(vec![Expr::Op(q)], false))
            }
            Expr::ScalarArrayOp(s) if s.use_or && is_key(&s.args[0]) && free(&s.args[1]) => {
                if collation.is_valid() && collation != s.input_collation
                    || !info.is_btree
                    || self.env.catalog.operator_in_family(s.op, family)?.is_none()
                    || crate::prep::volatility::has_volatile(&s.args[1], self.env)?
                {
                    return Ok(None);
                }
                Ok(make(vec![r.clause.clone()], false))
            }
            Expr::NullTest { arg, is_row: false, .. } if info.is_btree && is_key(arg) => {
                Ok(make(vec![r.clause.clone()], false))
            }
            Expr::RowCompare { .. } if info.is_btree => self.match_row(info, column, r),
            Expr::Bool { op: BoolOp::Or, args, .. } if info.is_btree => {
                Ok(self.match_or(info, column, args)?.and_then(|q| make(vec![q], false)))
            }
            e if info.desc.opc_types[column] == Oid(16) => {
                Ok(self.match_boolean(e, key).and_then(|q| make(vec![q], false)))
            }
            _ => Ok(None),
        }
    }

    /// `x` and `NOT x` on a boolean index column.
    fn match_boolean(&self, e: &Expr, key: &Expr) -> Option<Expr> {
        let value = match e {
            e if strip(e) == strip(key) => true,
            Expr::Bool { op: BoolOp::Not, args, .. } if strip(&args[0]) == strip(key) => false,
            Expr::BooleanTest { kind: ir::BoolTestKind::IsTrue, arg, .. }
                if strip(arg) == strip(key) =>
            {
                true
            }
            Expr::BooleanTest { kind: ir::BoolTestKind::IsFalse, arg, .. }
                if strip(arg) == strip(key) =>
            {
                false
            }
            _ => return None,
        };
        let func = self.env.catalog.operator(Oid(91)).ok()?.function;
        Some(Expr::Op(ir::OpExpr {
            kind: OpKind::Plain,
            op: Oid(91),
            func,
            ret_type: Oid(16),
            ret_set: false,
            collation: Oid::INVALID,
            input_collation: Oid::INVALID,
            args: vec![key.clone(), Expr::bool_const(value)],
            location: None,
        }))
    }

    /// The paths that an index gives with these conditions.
    fn build_paths(
        &mut self,
        rel: usize,
        info: &Rc<IndexInfo>,
        clauses: &[IndexClause],
        outer: &Relids,
        bitmaps: &mut Vec<Rc<IndexPath>>,
    ) -> Result<()> {
        let loops = self.loop_count(outer);
        let only = self.can_be_index_only(rel, info);
        let relids = self.rels[rel].relids.clone();
        let keys = if outer.is_empty() {
            let all = self.index_pathkeys(info, ScanDirection::Forward)?;
            let n = self.useful_pathkeys(&relids, &all);
            all[..n].to_vec()
        } else {
            Vec::new()
        };
        let back = match outer.is_empty() && info.is_btree {
            true => {
                let all = self.index_pathkeys(info, ScanDirection::Backward)?;
                let n = self.useful_pathkeys(&relids, &all);
                all[..n].to_vec()
            }
            false => Vec::new(),
        };
        let plain = !clauses.is_empty() || !keys.is_empty() || only || !info.predicate.is_empty();
        if !plain && back.is_empty() {
            return Ok(());
        }
        let access = self.cost_index_access(rel, info, clauses, loops)?;
        let index_path = |direction| IndexPath {
            info: info.clone(),
            clauses: clauses.to_vec(),
            only,
            direction,
            index_cost: access.total,
            selectivity: access.selectivity,
        };
        if plain {
            let p = index_path(ScanDirection::Forward);
            let path = self.index_path(rel, p, &access, keys, outer)?;
            self.partial_index(rel, &path, &access);
            self.rels[rel].add_path(path);
        }
        if !clauses.is_empty() || !info.predicate.is_empty() {
            bitmaps.push(Rc::new(index_path(ScanDirection::Forward)));
        }
        if !back.is_empty() {
            let p = index_path(ScanDirection::Backward);
            let path = self.index_path(rel, p, &access, back, outer)?;
            self.partial_index(rel, &path, &access);
            self.rels[rel].add_path(path);
        }
        Ok(())
    }

    /// The same scan with its entries shared by workers.
    fn partial_index(&mut self, rel: usize, whole: &Path, access: &crate::cost::scan::IndexCost) {
        let PathKind::Index(p) = &whole.kind else { return };
        if !self.rels[rel].parallel || !whole.param.is_empty() || !p.info.is_btree {
            return;
        }
        let tuples = clamp_rows(access.selectivity * self.rels[rel].tuples);
        let pages = self.index_pages_fetched(tuples, self.rels[rel].pages, p.info.pages);
        let heap = (!p.only).then_some(pages);
        let workers = self.workers_for(rel, heap, Some(access.pages));
        if workers == 0 {
            return;
        }
        let left = self.unsettled(&self.rels[rel].restrictions, p);
        let quals = self.restriction_cost(&left);
        let s = self.env.settings;
        let divisor = self.divisor(workers);
        let cpu =
            (s.cpu_tuple_cost + quals.per_row) * tuples + self.rels[rel].target.cost.1 * whole.rows;
        let mut path = whole.clone();
        path.total -= cpu - cpu / divisor;
        path.rows = clamp_rows(whole.rows / divisor);
        path.workers = workers;
        self.rels[rel].add_partial(path);
    }

    fn index_path(
        &self,
        rel: usize,
        p: IndexPath,
        access: &crate::cost::scan::IndexCost,
        pathkeys: Vec<PathKey>,
        outer: &Relids,
    ) -> Result<Path> {
        let r = &self.rels[rel];
        let loops = self.loop_count(outer);
        let (rows, param_clauses) = self.param_rows(rel, outer)?;
        let mut all = r.restrictions.clone();
        all.extend(param_clauses.iter().cloned());
        let left = self.unsettled(&all, &p);
        let quals = self.restriction_cost(&left);
        let cost =
            self.cost_index_scan(rel, &p.info, access, p.only, loops, &r.target, rows, quals);
        let mut path = self.plain_path(rel, PathKind::Index(Box::new(p)), cost);
        path.rows = rows;
        path.param.extend(outer);
        path.param_clauses = param_clauses;
        path.pathkeys = pathkeys;
        Ok(path)
    }

    /// Rows of a relation when the join conditions with `outer` are applied in its scan, and
    /// those conditions.
    pub fn param_rows(&self, rel: usize, outer: &Relids) -> Result<(f64, Vec<Rc<Restriction>>)> {
        let r = &self.rels[rel];
        if outer.is_empty() {
            return Ok((r.rows, Vec::new()));
        }
        let both = r.relids.union(outer);
        let mut list: Vec<Rc<Restriction>> = Vec::new();
        for j in &r.join_info {
            if j.required.is_subset(&both)
                && j.clause_relids.overlaps(&r.relids)
                && self.may_move_down(j, rel)
            {
                list.push(j.clone());
            }
        }
        for ec in self.ecs.iter().filter(|e| e.merged.is_none()) {
            for d in ec.derived.iter().chain(&ec.sources) {
                if d.required.is_subset(&both)
                    && d.left_relids.overlaps(&r.relids) != d.right_relids.overlaps(&r.relids)
                    && d.clause_relids.overlaps(&r.relids)
                    && d.clause_relids.overlaps(outer)
                    && !list.iter().any(|x| x.serial == d.serial)
                    && !ec.has_const
                    && !list.iter().any(|x| {
                        x.parent_ec.is_some() && x.left_ec == d.left_ec && x.right_ec == d.right_ec
                    })
                {
                    list.push(d.clone());
                }
            }
        }
        let mut all = list.clone();
        all.extend(r.restrictions.iter().cloned());
        let sel = self.list_selectivity(&all, r.rtindex, None)?;
        Ok((clamp_rows(r.tuples * sel).min(r.rows), list))
    }

    /// A join condition may be tested in the scan of `rel` unless an outer join forbids it.
    pub(super) fn may_move_down(&self, r: &Restriction, rel: usize) -> bool {
        let relids = &self.top_relids(&self.rels[rel].relids);
        if r.outer_relids.overlaps(relids) {
            return false;
        }
        // A condition above an outer join must see the rows of nulls that the join makes.
        let nulled = |s: &crate::rel::SpecialJoin| {
            let makes =
                |from: &Relids, other: &Relids| from.overlaps(relids) && r.required.overlaps(other);
            makes(&s.min_right, &s.min_left)
                || s.kind == ir::JoinKind::Full && makes(&s.min_left, &s.min_right)
        };
        if self.special.iter().any(|s| {
            s.kind != ir::JoinKind::Semi && !r.outer_relids.overlaps(&s.min_left) && nulled(s)
        }) {
            return false;
        }
        // The other relations must not be null-extended above this one.
        !self.special.iter().any(|s| {
            s.kind != ir::JoinKind::Semi
                && s.min_right.overlaps(&r.clause_relids)
                && !s.min_right.overlaps(relids)
                && s.min_left.overlaps(relids)
        })
    }

    /// True if the index has all columns that the query needs of the table.
    fn can_be_index_only(&self, rel: usize, info: &IndexInfo) -> bool {
        if !self.env.settings.enable_indexonlyscan || !info.is_btree {
            return false;
        }
        let r = &self.rels[rel];
        let has =
            |att: i16| info.columns.iter().any(|c| matches!(c, Expr::Var(v) if v.attno == att));
        let mut ok = r.target.exprs.iter().all(|e| match e {
            Expr::Var(v) => has(v.attno),
            _ => false,
        });
        let own: Vec<u32> = r.relids.iter().collect();
        for c in &r.restrictions {
            if info.predicate.contains(&c.clause) {
                continue;
            }
            walk::each(&c.clause, &mut |e| {
                if let Expr::Var(v) = e
                    && own.contains(&v.varno)
                {
                    ok &= has(v.attno);
                }
            });
        }
        ok && !r.needed.contains_key(&0)
    }

    /// Paths whose conditions compare index columns with columns of other relations.
    fn param_index_paths(
        &mut self,
        rel: usize,
        info: &Rc<IndexInfo>,
        own: &[IndexClause],
        bitmaps: &mut Vec<(Relids, Rc<IndexPath>)>,
    ) -> Result<()> {
        let relids = self.rels[rel].relids.clone();
        let mut found: Vec<IndexClause> = Vec::new();
        for column in 0..info.desc.n_keys as usize {
            let mut candidates: Vec<Rc<Restriction>> = Vec::new();
            for r in &self.rels[rel].join_info {
                if self.may_move_down(r, rel) {
                    candidates.push(r.clone());
                }
            }
            if self.rels[rel].has_ec_joins {
                let key = info.columns[column].clone();
                let family = info.desc.opfamilies[column];
                let implied = self.generate_implied_for_column(&relids, &|ec, m| {
                    ec.families.contains(&family) && strip(&m.expr) == strip(&key)
                })?;
                candidates.extend(implied);
            }
            for r in candidates {
                if found.iter().any(|c| c.column == column && c.origin.serial == r.serial) {
                    continue;
                }
                if let Some(c) = self.match_clause(info, column, &r)? {
                    found.push(c);
                }
            }
        }
        let mut tried: Vec<Relids> = Vec::new();
        for c in &found {
            let outer = c.origin.clause_relids.minus(&relids);
            let mut sets = vec![outer.clone()];
            for t in tried.clone() {
                if !outer.is_subset(&t) && !t.is_subset(&outer) && tried.len() < 8 {
                    sets.push(t.union(&outer));
                }
            }
            for outer in sets {
                if tried.contains(&outer) || outer.is_empty() {
                    continue;
                }
                tried.push(outer.clone());
                let clauses = self.clauses_for(&found, own, &outer, &relids);
                let mut made = Vec::new();
                self.build_paths(rel, info, &clauses, &outer, &mut made)?;
                bitmaps.extend(made.into_iter().map(|m| (outer.clone(), m)));
            }
        }
        Ok(())
    }

    fn clauses_for(
        &self,
        found: &[IndexClause],
        own: &[IndexClause],
        outer: &Relids,
        relids: &Relids,
    ) -> Vec<IndexClause> {
        let mut list: Vec<IndexClause> = own.to_vec();
        for c in found {
            if !c.origin.clause_relids.minus(relids).is_subset(outer) {
                continue;
            }
            // One condition of each equivalence class is enough.
            let duplicate = c.origin.parent_ec.is_some()
                && list.iter().any(|x| {
                    x.column == c.column && x.origin.left_ec.get() == c.origin.left_ec.get()
                });
            if !duplicate {
                list.push(c.clone());
            }
        }
        list.sort_by_key(|c| c.column);
        list
    }

    /// Bitmap scans by the best index, and by AND of several.
    fn bitmap_paths(&mut self, rel: usize, found: &[Rc<IndexPath>]) {
        if let Some(tree) = self.choose_bitmap(rel, found, 1.0) {
            let path = self.bitmap_path(rel, tree, &Relids::empty());
            if let Ok(p) = path {
                if self.rels[rel].parallel && self.rels[rel].lateral.is_empty() {
                    self.partial_bitmap(rel, &p);
                }
                self.rels[rel].add_path(p);
            }
        }
    }

    /// A bitmap scan whose pages workers share; one of them makes the bitmap.
    fn partial_bitmap(&mut self, rel: usize, whole: &Path) {
        let PathKind::Bitmap(tree) = &whole.kind else { return };
        let (pages, ..) = self.bitmap_pages(rel, tree, 1.0);
        let workers = self.workers_for(rel, Some(pages), None);
        if workers == 0 {
            return;
        }
        let divisor = self.divisor(workers);
        let quals = self.restriction_cost(&self.rels[rel].restrictions);
        let target = self.rels[rel].target.clone();
        let rows = clamp_rows(self.rels[rel].rows / divisor);
        let cost = self.cost_shared_bitmap(rel, tree, (1.0, divisor), &target, rows, quals);
        let mut path = self.plain_path(rel, PathKind::Bitmap(tree.clone()), cost);
        path.rows = rows;
        path.workers = workers;
        self.rels[rel].add_partial(path);
    }

    fn param_bitmap_paths(
        &mut self,
        rel: usize,
        own: &[Rc<IndexPath>],
        found: Vec<(Relids, Rc<IndexPath>)>,
    ) {
        let mut outers: Vec<Relids> = Vec::new();
        for (o, _) in &found {
            if !outers.contains(o) {
                outers.push(o.clone());
            }
        }
        for outer in outers {
            let mut list: Vec<Rc<IndexPath>> =
                found.iter().filter(|(o, _)| o.is_subset(&outer)).map(|(_, p)| p.clone()).collect();
            list.extend(own.iter().cloned());
            let loops = self.loop_count(&outer);
            if let Some(tree) = self.choose_bitmap(rel, &list, loops)
                && let Ok(p) = self.bitmap_path(rel, tree, &outer)
            {
                self.rels[rel].add_path(p);
            }
        }
    }

    fn bitmap_path(&self, rel: usize, tree: BitmapTree, outer: &Relids) -> Result<Path> {
        let loops = self.loop_count(outer);
        let (rows, param_clauses) = self.param_rows(rel, outer)?;
        let mut all = self.rels[rel].restrictions.clone();
        all.extend(param_clauses.iter().cloned());
        let quals = self.restriction_cost(&all);
        let target = self.rels[rel].target.clone();
        let cost = self.cost_bitmap_scan(rel, &tree, loops, &target, rows, quals);
        let mut path = self.plain_path(rel, PathKind::Bitmap(tree), cost);
        path.rows = rows;
        path.param.extend(outer);
        path.param_clauses = param_clauses;
        Ok(path)
    }

    /// The cheapest single bitmap, or AND of bitmaps on different conditions.
    fn choose_bitmap(&self, rel: usize, found: &[Rc<IndexPath>], loops: f64) -> Option<BitmapTree> {
        let tuples = self.rels[rel].tuples;
        let mut list: Vec<&Rc<IndexPath>> = found.iter().collect();
        list.sort_by(|a, b| {
            let key = |p: &IndexPath| (p.index_cost, p.selectivity);
            key(a).partial_cmp(&key(b)).unwrap_or(std::cmp::Ordering::Equal)
        });
        let quals = self.restriction_cost(&self.rels[rel].restrictions);
        let target = &self.rels[rel].target;
        let total = |t: &BitmapTree| {
            self.cost_bitmap_scan(rel, t, loops, target, self.rels[rel].rows, quals).total
        };
        let mut best: Option<(f64, BitmapTree)> = None;
        for (i, first) in list.iter().enumerate() {
            let mut tree = BitmapTree::Index((*first).clone());
            let mut cost = total(&tree);
            let mut parts = vec![(*first).clone()];
            for next in &list[i + 1..] {
                let overlaps = next.clauses.iter().any(|c| {
                    parts
                        .iter()
                        .any(|p| p.clauses.iter().any(|x| x.origin.serial == c.origin.serial))
                });
                if overlaps || next.clauses.is_empty() {
                    continue;
                }
                let mut more: Vec<BitmapTree> =
                    parts.iter().cloned().map(BitmapTree::Index).collect();
                more.push(BitmapTree::Index((*next).clone()));
                let both = self.bitmap_and(more, tuples);
                let c = total(&both);
                if c < cost {
                    cost = c;
                    tree = both;
                    parts.push((*next).clone());
                }
            }
            if best.as_ref().is_none_or(|b| cost < b.0) {
                best = Some((cost, tree));
            }
        }
        best.map(|b| b.1)
    }

    /// `a = 1 OR b = 2` by OR of bitmaps.
    fn or_bitmaps(
        &mut self,
        rel: usize,
        indexes: &[Rc<IndexInfo>],
        list: &[Rc<Restriction>],
    ) -> Result<()> {
        for r in list {
            let Expr::Bool { op: BoolOp::Or, args, .. } = &r.clause else { continue };
            let mut parts = Vec::new();
            for arm in args {
                let conditions = walk::conjuncts(arm.clone())
                    .into_iter()
                    .map(|e| self.restriction(e, Default::default()))
                    .collect::<Result<Vec<_>>>()?;
                let mut best: Option<(f64, Rc<IndexPath>)> = None;
                for info in indexes {
                    let implied: Vec<_> = conditions.iter().chain(list).cloned().collect();
                    if !self.predicate_holds(info, &implied) {
                        continue;
                    }
                    let mut clauses = self.match_clauses(info, &conditions)?;
                    if clauses.is_empty() {
                        continue;
                    }
                    let others: Vec<_> =
                        list.iter().filter(|x| x.serial != r.serial).cloned().collect();
                    clauses.extend(self.match_clauses(info, &others)?);
                    clauses.sort_by_key(|c| c.column);
                    let access = self.cost_index_access(rel, info, &clauses, 1.0)?;
                    if best.as_ref().is_none_or(|b| access.total < b.0) {
                        let p = IndexPath {
                            info: info.clone(),
                            clauses,
                            only: false,
                            direction: ScanDirection::Forward,
                            index_cost: access.total,
                            selectivity: access.selectivity,
                        };
                        best = Some((access.total, Rc::new(p)));
                    }
                }
                match best {
                    Some((_, p)) => parts.push(BitmapTree::Index(p)),
                    None => break,
                }
            }
            if parts.len() == args.len() {
                let tree = self.bitmap_or(parts, self.rels[rel].tuples);
                let path = self.bitmap_path(rel, tree, &Relids::empty())?;
                self.rels[rel].add_path(path);
            }
        }
        Ok(())
    }
}

/// An expression without changes of label only.
pub fn strip(e: &Expr) -> &Expr {
    match e {
        Expr::Relabel { arg, .. } => strip(arg),
        other => other,
    }
}
