//! Every query gets a plan, and plans have the shapes that sizes and indexes ask for.

use base::{Oid, Result};
use catalog::{CatalogView, IndexDesc, MemorySource, RelationDesc, ViewContext};
use functions::StaticEnv;
use ir::{Expr, Plan, PlanNode, PlannedStmt};
use planner::{ConstEvaluator, Env, Grounds, PlannerSettings, RelationSizes, Watch};
use std::sync::Arc;
use types::Datum;

struct NoEvaluator;

impl ConstEvaluator for NoEvaluator {
    fn evaluate(&self, expr: &Expr) -> Result<Datum> {
        // Shapes do not depend on which values constants have.
        match expr {
            Expr::Const(c) => Ok(c.value.clone()),
            e if e.ty() == Oid(16) => Ok(Datum::Bool(false)),
            _ => Ok(Datum::U32(1)),
        }
    }
}

struct Sizes(u32);

impl RelationSizes for Sizes {
    fn pages(&self, _: &RelationDesc) -> Result<u32> {
        Ok(self.0)
    }
    fn index_pages(&self, _: &IndexDesc) -> Result<u32> {
        Ok((self.0 / 4).max(2))
    }
    fn tree_height(&self, _: &IndexDesc) -> Option<u32> {
        Some(1)
    }
}

/// Does something with a query and a planner of tables of so many pages.
fn with_planner<T>(
    sql: &str,
    pages: u32,
    (params, watch): (Option<&[Datum]>, Option<&Watch>),
    done: impl FnOnce(ir::Query, &Env) -> T,
) -> T {
    let source = Arc::new(MemorySource::new());
    let context = ViewContext { search_path: vec![Oid(11)], ..ViewContext::default() };
    let catalog = CatalogView::new(source, context);
    let session = StaticEnv::new(0);
    let stmts = parser::parse(sql).expect("SQL that parses");
    let io = functions::FnEnv::io(&session);
    let env = analyze::Env { catalog: &catalog, io, told: &analyze::Nobody };
    let mut types = Vec::new();
    let query =
        analyze::analyze(&env, &stmts[0], analyze::Params::Infer(&mut types)).expect("a query");
    let mut queries = analyze::rewrite(&env, query).expect("rewritten");
    let settings = PlannerSettings::default();
    let sizes = Sizes(pages);
    let env = Env {
        catalog: &catalog,
        settings: &settings,
        evaluator: &NoEvaluator,
        sizes: &sizes,
        params,
        fold_params: false,
        tuple_fraction: 0.0,
        parallel_ok: false,
        bodies: None,
        watch,
    };
    done(queries.remove(0), &env)
}

fn plan(sql: &str, pages: u32) -> PlannedStmt {
    with_planner(sql, pages, (None, None), |query, env| {
        planner::plan_query(query, env).expect("a plan")
    })
}

/// What a plan for these values is chosen by.
fn grounds(sql: &str, params: &[Datum]) -> Option<Grounds> {
    let watch = Watch::default();
    with_planner(sql, 1000, (Some(params), Some(&watch)), |query, env| {
        planner::plan_query(query, env).expect("a plan");
    });
    watch.finish()
}

fn name(node: &PlanNode) -> String {
    let text = format!("{node:?}");
    text.split(['(', ' ']).next().unwrap_or_default().to_string()
}

/// The nodes' names, children in brackets.
fn shape(plan: &Plan) -> String {
    let children: Vec<String> = plan.children().into_iter().map(shape).collect();
    if children.is_empty() {
        name(&plan.node)
    } else {
        format!("{}[{}]", name(&plan.node), children.join(" "))
    }
}

fn check(sql: &str, pages: u32, expected: &str) {
    let stmt = plan(sql, pages);
    assert_eq!(shape(&stmt.plan), expected, "{sql}");
    assert!(stmt.plan.total_cost >= stmt.plan.startup_cost, "{sql}");
}

#[test]
fn scans() {
    check("SELECT relname FROM pg_class", 100, "SeqScan");
    check("SELECT relname FROM pg_class WHERE oid = 1259", 1000, "IndexScan");
    check("SELECT oid FROM pg_class WHERE oid = 1259", 1000, "IndexOnlyScan");
    check("SELECT 1", 1, "Result");
    check("SELECT relname FROM pg_class ORDER BY oid LIMIT 1", 5000, "Limit[IndexScan]");
    check("SELECT * FROM pg_class WHERE ctid = '(0,1)'", 1000, "TidScan");
    check("VALUES (1), (2)", 1, "ValuesScan");
    check("SELECT * FROM generate_series(1, 3)", 1, "FunctionScan");
}

#[test]
fn joins() {
    check(
        "SELECT c.relname FROM pg_class c, pg_namespace n WHERE n.oid = c.relnamespace",
        100,
        "HashJoin[SeqScan Hash[SeqScan]]",
    );
    check(
        "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid WHERE c.oid = 1",
        1000,
        "NestLoop[IndexScan BitmapHeapScan[BitmapIndexScan]]",
    );
    let semi = plan(
        "SELECT relname FROM pg_class c WHERE EXISTS (SELECT 1 FROM pg_index i WHERE i.indrelid = c.oid)",
        100,
    );
    assert!(!format!("{:?}", semi.plan).contains("SubPlan"), "EXISTS became a join");
    plan(
        "SELECT * FROM pg_class a LEFT JOIN pg_class b ON a.oid = b.oid FULL JOIN pg_class c ON b.oid = c.oid",
        100,
    );
}

#[test]
fn upper_steps() {
    check("SELECT count(*) FROM pg_class", 100, "Agg[SeqScan]");
    check("SELECT relkind, count(*) FROM pg_class GROUP BY relkind", 100, "Agg[SeqScan]");
    check("SELECT relname FROM pg_class ORDER BY relname", 100, "Sort[SeqScan]");
    check("SELECT DISTINCT relkind FROM pg_class", 100, "Agg[SeqScan]");
    check("SELECT max(oid) FROM pg_class", 5000, "Result");
    check("SELECT 1 UNION ALL SELECT 2", 1, "Append[Result Result]");
    check("SELECT generate_series(1, 2)", 1, "ProjectSet[Result]");
    plan("SELECT relname, row_number() OVER (ORDER BY oid) FROM pg_class", 100);
    plan(
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT * FROM r",
        1,
    );
    plan("SELECT relkind, relname, count(*) FROM pg_class GROUP BY ROLLUP (relkind, relname)", 100);
    plan(
        "SELECT (SELECT count(*) FROM pg_attribute a WHERE a.attrelid = c.oid) FROM pg_class c",
        100,
    );
    plan("SELECT relname FROM pg_class WHERE oid NOT IN (SELECT indexrelid FROM pg_index)", 100);
}

#[test]
fn a_plan_serves_values_with_the_same_estimates() {
    let sql = "SELECT relname FROM pg_class WHERE oid = $1 OR relpages > $2 LIMIT $3";
    let values = |a: u32, b: i32, c: Datum| [Datum::U32(a), Datum::I32(b), c];
    let made = grounds(sql, &values(1, 2, Datum::I64(100))).expect("values that only estimate");
    let holds = |pages, (a, b, c)| {
        let params = values(a, b, c);
        with_planner(sql, pages, (Some(&params), None), |_, env| made.hold(env).unwrap())
    };
    assert!(holds(1000, (1, 2, Datum::I64(100))));
    assert!(holds(1100, (7, 9, Datum::I64(90))));
    assert!(!holds(1000, (1, 2, Datum::I64(10))), "another LIMIT");
    assert!(!holds(1000, (1, 2, Datum::Null)), "no LIMIT");
    assert!(!holds(2000, (1, 2, Datum::I64(100))), "a table that has grown");
    let null = [Datum::U32(1), Datum::Null, Datum::I64(100)];
    let holds = with_planner(sql, 1000, (Some(&null), None), |_, env| made.hold(env).unwrap());
    assert!(!holds, "a comparison that nothing fulfils, where a third of the rows did");
}

#[test]
fn values_that_decide_more_than_estimates_are_told() {
    for (sql, serves) in [
        ("SELECT relname FROM pg_class WHERE relpages = $1", true),
        ("SELECT relname FROM pg_class WHERE relpages IN ($1, $1, 3)", true),
        ("SELECT $1 + relpages FROM pg_class", true),
        ("SELECT relname FROM pg_class WHERE relpages = ANY (array_fill($1::int, '{3}'))", false),
        ("SELECT relname FROM pg_class WHERE relpages = -$1::int", true),
        ("SELECT relname FROM pg_class WHERE $1 = 5", false),
        ("SELECT relname FROM pg_class WHERE relpages = 1 AND $1 > 5 - 3", false),
        ("SELECT relname FROM pg_class WHERE relpages = abs($1)", false),
        ("SELECT relname FROM pg_class WHERE $1::int IS NULL OR relpages = $1", false),
        ("SELECT relname FROM pg_class WHERE relname ~ $1::text", false),
        ("SELECT * FROM generate_series(1, $1)", false),
    ] {
        let value = if sql.contains("text") { Datum::text("^a") } else { Datum::I32(5) };
        assert_eq!(grounds(sql, &[value]).is_some(), serves, "{sql}");
    }
}

#[test]
fn arrays_are_estimated_by_their_elements() {
    let array = |n: i32| {
        let elem = types::array::ElemType::builtin(Oid(23));
        let values: Vec<Datum> = (0..n).map(Datum::I32).collect();
        types::array::make_vector(&elem, &values).expect("an array")
    };
    let sql = "SELECT relname FROM pg_class WHERE relpages = ANY ($1)";
    let made = grounds(sql, &[array(50)]).expect("values that only estimate");
    let holds =
        |value| with_planner(sql, 1000, (Some(&[value]), None), |_, env| made.hold(env).unwrap());
    assert!(holds(array(50)));
    assert!(holds(array(45)));
    assert!(!holds(array(5)));
    assert!(!holds(Datum::Null));
    assert!(grounds(sql, &[Datum::Null]).is_none(), "an array without elements to look at");
}

#[test]
fn no_limit_is_like_no_small_one() {
    let sql = "SELECT relname FROM pg_class LIMIT $1";
    let holds = |made: Datum, now: Datum| {
        let made = grounds(sql, &[made]).expect("values that only estimate");
        with_planner(sql, 1000, (Some(&[now]), None), |_, env| made.hold(env).unwrap())
    };
    assert!(holds(Datum::I64(2), Datum::I64(3)));
    assert!(holds(Datum::Null, Datum::Null));
    assert!(!holds(Datum::I64(2), Datum::Null));
    assert!(!holds(Datum::Null, Datum::I64(2)));
}
