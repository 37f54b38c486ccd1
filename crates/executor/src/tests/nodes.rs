use super::*;

fn rows(list: &[&[i32]]) -> Vec<Vec<Option<i32>>> {
    list.iter().map(|r| r.iter().map(|n| (*n != NULL).then_some(*n)).collect()).collect()
}

/// Stands for NULL in these tests.
const NULL: i32 = i32::MIN;

fn sort_key(column: i16, descending: bool, nulls_first: bool) -> SortKey {
    let op = if descending { Oid(521) } else { LT };
    SortKey { column, op, collation: Oid(0), descending, nulls_first }
}

fn group_key(column: i16) -> GroupKey {
    GroupKey { column, eq_op: EQ, collation: Oid(0) }
}

fn sort(child: Plan, keys: Vec<SortKey>) -> Plan {
    over(PlanNode::Sort(Sort { keys }), child)
}

fn limit(child: Plan, offset: i64, count: i64) -> Plan {
    let int8 = |n| Some(constant(Datum::I64(n), Oid(20)));
    let node = Limit { offset: int8(offset), count: int8(count), with_ties: false, ties: vec![] };
    over(PlanNode::Limit(node), child)
}

fn numbers(n: i32) -> Plan {
    values(&(0..n).map(|i| vec![Some(i * 7919 % n), Some(i % 10)]).collect::<Vec<_>>())
}

#[test]
fn sorts_with_nulls_and_ties() {
    let v = values(&rows(&[&[3, 1], &[NULL, 2], &[1, 3], &[3, 0], &[2, NULL]]));
    let plan = sort(v.clone(), vec![sort_key(1, false, false), sort_key(2, true, true)]);
    assert_eq!(run(plan), rows(&[&[1, 3], &[2, NULL], &[3, 1], &[3, 0], &[NULL, 2]]));
    let plan = sort(v, vec![sort_key(1, true, true)]);
    assert_eq!(run(plan)[0], vec![None, Some(2)]);
}

#[test]
fn limit_over_sort_keeps_the_first() {
    let plan = limit(sort(numbers(5000), vec![sort_key(1, false, false)]), 2, 3);
    assert_eq!(run(plan).iter().map(|r| r[0]).collect::<Vec<_>>(), [Some(2), Some(3), Some(4)]);
}

#[test]
fn external_sort_gives_the_same() {
    let plan = sort(numbers(30_000), vec![sort_key(2, false, false), sort_key(1, true, false)]);
    let one = run_with(statement(plan.clone()), 0, &ExecSettings::default()).unwrap();
    let two = run_with(statement(plan), 0, &tiny()).unwrap();
    assert_eq!(one, two);
}

#[test]
fn incremental_sort() {
    let v = values(&(0..200).map(|i| vec![Some(i / 50), Some(99 - i % 50)]).collect::<Vec<_>>());
    let keys = vec![sort_key(1, false, false), sort_key(2, false, false)];
    let plain = run(sort(v.clone(), keys.clone()));
    let node = PlanNode::IncrementalSort(IncrementalSort { keys, presorted: 1 });
    assert_eq!(run(over(node, v)), plain);
}

#[test]
fn unique_and_set_operations() {
    let v = values(&rows(&[&[1], &[1], &[NULL], &[NULL], &[2], &[1]]));
    let node = PlanNode::Unique(Unique { keys: vec![group_key(1)] });
    assert_eq!(run(over(node, v)), rows(&[&[1], &[NULL], &[2], &[1]]));
    let a = values(&rows(&[&[1], &[1], &[2], &[NULL]]));
    let b = values(&rows(&[&[1], &[NULL], &[3]]));
    let set = |kind, all| {
        let node = SetOp {
            kind,
            all,
            strategy: SetOpStrategy::Hashed,
            keys: vec![sort_key(1, false, false)],
            eq_ops: vec![EQ],
            num_groups: 1.0,
        };
        let mut plan = over(PlanNode::SetOp(node), a.clone());
        plan.inner = Some(Box::new(b.clone()));
        run(plan)
    };
    assert_eq!(set(SetOpKind::Intersect, true), rows(&[&[1], &[NULL]]));
    assert_eq!(set(SetOpKind::Except, true), rows(&[&[1], &[2]]));
    assert_eq!(set(SetOpKind::Except, false), rows(&[&[2]]));
}

fn join_sides() -> (Plan, Plan) {
    let outer = values(&rows(&[&[1, 10], &[2, 20], &[NULL, 30], &[2, 40], &[4, 50]]));
    let inner = values(&rows(&[&[2, 100], &[2, 200], &[3, 300], &[NULL, 400], &[1, 500]]));
    (outer, inner)
}

fn join_target(kind: JoinKind) -> Vec<TargetEntry> {
    let outer = || vec![var(OUTER_VAR, 1, INT4), var(OUTER_VAR, 2, INT4)];
    let inner = || vec![var(INNER_VAR, 1, INT4), var(INNER_VAR, 2, INT4)];
    targets(match kind {
        JoinKind::Semi | JoinKind::Anti => outer(),
        JoinKind::RightSemi | JoinKind::RightAnti => inner(),
        _ => outer().into_iter().chain(inner()).collect(),
    })
}

fn hash_join(outer: Plan, inner: Plan, kind: JoinKind, qual: Vec<Expr>) -> Plan {
    let hash = Hash { hash_keys: vec![var(OUTER_VAR, 1, INT4)], rows_total: 1.0 };
    let node = HashJoin {
        join: JoinCommon { kind, join_qual: qual, inner_unique: false },
        hash_clauses: vec![int_eq(var(OUTER_VAR, 1, INT4), var(INNER_VAR, 1, INT4))],
        hash_ops: vec![EQ],
        collations: vec![Oid(0)],
        hash_keys: vec![var(OUTER_VAR, 1, INT4)],
    };
    Plan {
        target: join_target(kind),
        outer: Some(Box::new(outer)),
        inner: Some(Box::new(over(PlanNode::Hash(hash), inner))),
        ..Plan::new(PlanNode::HashJoin(node))
    }
}

fn merge_join(outer: Plan, inner: Plan, kind: JoinKind, qual: Vec<Expr>) -> Plan {
    let clause = int_eq(var(OUTER_VAR, 1, INT4), var(INNER_VAR, 1, INT4));
    let key = MergeKey {
        clause,
        family: Oid(1976),
        collation: Oid(0),
        descending: false,
        nulls_first: false,
    };
    let node = MergeJoin {
        join: JoinCommon { kind, join_qual: qual, inner_unique: false },
        keys: vec![key],
        skip_mark_restore: false,
    };
    let sorted = |p| sort(p, vec![sort_key(1, false, false)]);
    Plan {
        target: join_target(kind),
        outer: Some(Box::new(sorted(outer))),
        inner: Some(Box::new(sorted(inner))),
        ..Plan::new(PlanNode::MergeJoin(Box::new(node)))
    }
}

fn nest_loop(outer: Plan, inner: Plan, kind: JoinKind, mut qual: Vec<Expr>) -> Plan {
    qual.push(int_eq(var(OUTER_VAR, 1, INT4), var(INNER_VAR, 1, INT4)));
    let join = JoinCommon { kind, join_qual: qual, inner_unique: false };
    Plan {
        target: join_target(kind),
        outer: Some(Box::new(outer)),
        inner: Some(Box::new(over(PlanNode::Material, inner))),
        ..Plan::new(PlanNode::NestLoop(NestLoop { join, params: vec![] }))
    }
}

fn sorted_rows(plan: Plan) -> Vec<Vec<Option<i32>>> {
    let mut rows = run(plan);
    rows.sort();
    rows
}

#[test]
fn joins_of_all_kinds_agree() {
    use JoinKind::*;
    let (o, i) = join_sides();
    // A further condition that rejects some matches: inner's second column is not 200.
    let not_200 = || op(518, 144, var(INNER_VAR, 2, INT4), constant(int(200), INT4));
    for qual in [vec![], vec![not_200()]] {
        for kind in [Inner, Left, Semi, Anti, Right, Full, RightSemi, RightAnti] {
            let hashed = sorted_rows(hash_join(o.clone(), i.clone(), kind, qual.clone()));
            if kind != RightSemi {
                let merged = sorted_rows(merge_join(o.clone(), i.clone(), kind, qual.clone()));
                assert_eq!(hashed, merged, "{kind:?}");
            }
            if matches!(kind, Inner | Left | Semi | Anti) {
                let looped = sorted_rows(nest_loop(o.clone(), i.clone(), kind, qual.clone()));
                assert_eq!(hashed, looped, "{kind:?}");
            }
        }
    }
    let full = sorted_rows(hash_join(o.clone(), i.clone(), Full, vec![]));
    assert_eq!(full.len(), 9);
    let anti = sorted_rows(hash_join(o.clone(), i.clone(), Anti, vec![]));
    assert_eq!(anti, rows(&[&[NULL, 30], &[4, 50]]));
    let left = run(hash_join(o, i, Left, vec![not_200()]));
    assert_eq!(left.iter().map(|r| r[1]).collect::<Vec<_>>(), [10, 20, 30, 40, 50].map(Some));
}

#[test]
fn spilled_hash_join_gives_the_same() {
    let (a, b) = (numbers(20_000), numbers(10_000));
    for kind in [JoinKind::Inner, JoinKind::Full, JoinKind::RightAnti, JoinKind::Anti] {
        let plan = hash_join(a.clone(), b.clone(), kind, vec![]);
        let mut one = ints(run_with(statement(plan.clone()), 0, &ExecSettings::default()).unwrap());
        let mut two = ints(run_with(statement(plan), 0, &tiny()).unwrap());
        one.sort();
        two.sort();
        assert_eq!(one, two, "{kind:?}");
    }
}

#[test]
fn hashed_groups_spill() {
    let agg = Agg {
        strategy: AggStrategy::Hashed,
        split: AggSplit::Simple,
        keys: vec![group_key(1)],
        num_groups: 1.0,
        set_lengths: vec![],
        chain: vec![],
    };
    let mut plan = over(PlanNode::Agg(Box::new(agg)), numbers(20_000));
    plan.target = targets(vec![var(OUTER_VAR, 1, INT4)]);
    let mut rows = ints(run_with(statement(plan.clone()), 0, &tiny()).unwrap());
    rows.sort();
    assert_eq!(rows.len(), 20_000);
    assert!(rows.iter().enumerate().all(|(i, r)| r[0] == Some(i as i32)));
    assert_eq!(run(plan).len(), 20_000);
}

#[test]
fn append_material_and_result() {
    let a = values(&rows(&[&[1], &[2]]));
    let children = vec![a.clone(), a.clone()];
    let node = Append { children, parents: vec![], members: vec![], first_partial: 2, prune: None };
    let plan = Plan { target: a.target.clone(), ..Plan::new(PlanNode::Append(node)) };
    assert_eq!(run(plan), rows(&[&[1], &[2], &[1], &[2]]));
    let filter = over(PlanNode::Result(Result_::default()), a);
    let qual = vec![int_eq(var(OUTER_VAR, 1, INT4), constant(int(2), INT4))];
    assert_eq!(run(Plan { qual, ..filter }), rows(&[&[2]]));
}

#[test]
fn recursion_counts_up() {
    // WITH RECURSIVE t AS (VALUES (1) UNION SELECT n + 1 ... WHERE n < 5), with n + 1 as int4pl.
    let first = values(&rows(&[&[1]]));
    let plus = Expr::Func(FuncExpr {
        func: Oid(177),
        ret_type: INT4,
        ret_set: false,
        variadic: false,
        form: CoercionForm::ExplicitCall,
        collation: Oid(0),
        input_collation: Oid(0),
        args: vec![var(1, 1, INT4), constant(int(1), INT4)],
        location: None,
    });
    if !functions::lookup(Oid(177)).is_some_and(|f| f.has_body) {
        return;
    }
    let scan = WorkTableScan { scanrel: 1, param: 0 };
    let second = Plan {
        target: targets(vec![plus]),
        qual: vec![op(97, 66, var(1, 1, INT4), constant(int(5), INT4))],
        all_params: vec![0],
        ..Plan::new(PlanNode::WorkTableScan(scan))
    };
    let union = RecursiveUnion { param: 0, keys: vec![group_key(1)], num_groups: 1.0 };
    let mut plan = over(PlanNode::RecursiveUnion(union), first);
    plan.inner = Some(Box::new(second));
    let mut stmt = statement(plan);
    stmt.rtable.push(Rte {
        kind: RteKind::Result,
        alias: None,
        eref: Alias::default(),
        lateral: false,
        in_from: true,
        perms: None,
        security_quals: vec![],
    });
    let got = run_with(stmt, 0, &ExecSettings::default()).unwrap();
    assert_eq!(ints(got), rows(&[&[1], &[2], &[3], &[4], &[5]]));
}
