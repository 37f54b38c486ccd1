//! Statements over two tables with the columns or the error that each gives, from `cases.txt`.
//!
//! `t (a int primary key, b text, c numeric(10,2), d varchar(5))`, `u (a int, x bigint, y date)`.

use analyze::{Env, Params};
use base::Oid;
use catalog::{CatalogView, IndexDesc, MemorySource, Persistence, RelationDesc, ViewContext};
use functions::{FnEnv, StaticEnv};
use std::sync::Arc;
use types::tuple::{Attr, TupleDesc};

fn attr(name: &str, ty: u32, len: i16, typmod: i32) -> Attr {
    let collation = if len == -1 && ty != 1700 { Oid(100) } else { Oid(0) };
    Attr { typmod, collation, ..Attr::new(name, Oid(ty), len, len > 0, 4) }
}

fn view() -> CatalogView {
    let mut source = MemorySource::new();
    let t = Arc::new(TupleDesc::new(vec![
        attr("a", 23, 4, -1),
        attr("b", 25, -1, -1),
        attr("c", 1700, -1, (10 << 16 | 2) + 4),
        attr("d", 1043, -1, 9),
    ]));
    let mut table = RelationDesc::plain_table(Oid(20001), "t", t.clone());
    table.indexes.push(Arc::new(primary_key(&table, t)));
    source.add_relation(table);
    let u = vec![attr("a", 23, 4, -1), attr("x", 20, 8, -1), attr("y", 1082, 4, -1)];
    source.add_table(Oid(20002), "u", TupleDesc::new(u));
    CatalogView::new(Arc::new(source), ViewContext::default())
}

fn primary_key(table: &RelationDesc, tuple: Arc<TupleDesc>) -> IndexDesc {
    IndexDesc {
        oid: Oid(20003),
        table: table.oid,
        name: "t_pkey".into(),
        namespace: table.namespace,
        am: Oid(403),
        relfile: table.relfile,
        persistence: Persistence::Permanent,
        pages: 0,
        tuples: 0.0,
        columns: vec![1],
        n_keys: 1,
        is_unique: true,
        nulls_not_distinct: false,
        is_primary: true,
        is_exclusion: false,
        is_immediate: true,
        is_clustered: false,
        is_valid: true,
        is_ready: true,
        is_live: true,
        is_replica_identity: false,
        collations: vec![],
        opclasses: vec![],
        opfamilies: vec![],
        opc_types: vec![],
        options: vec![],
        exprs: None,
        predicate: None,
        tuple,
        rel_options: vec![],
    }
}

fn outcome(catalog: &CatalogView, sql: &str) -> String {
    let session = StaticEnv::new(0);
    let env = Env { catalog, io: session.io(), told: &analyze::Nobody };
    let mut params = Vec::new();
    let result = parser::parse(sql)
        .and_then(|list| analyze::analyze(&env, &list[0], Params::Infer(&mut params)))
        .and_then(|query| analyze::rewrite(&env, query));
    match result {
        Ok(list) => {
            let query = &list[0];
            let select = query.command == ir::CmdType::Select;
            let targets = if select { &query.target_list } else { &query.returning };
            let mut columns: Vec<String> = targets
                .iter()
                .filter(|t| !t.junk)
                .map(|t| {
                    let name = t.name.as_deref().unwrap_or("");
                    let ty = t.expr.ty();
                    format!("{name} {}", analyze::format_type(catalog, ty))
                })
                .collect();
            for (i, ty) in params.iter().enumerate() {
                columns.push(format!("${} {}", i + 1, analyze::format_type(catalog, *ty)));
            }
            format!("ok {}", columns.join(", ")).trim_end().to_owned()
        }
        Err(error) => {
            let at = error.fields().location;
            let at = at.map_or(0, |l| sql[..l as usize].chars().count() + 1);
            format!("{at} {}", error.message())
        }
    }
}

#[test]
fn statements_mean_what_they_mean_to_postgresql() {
    let catalog = view();
    let mut wrong = Vec::new();
    for line in include_str!("cases.txt").lines().filter(|l| !l.starts_with('#')) {
        let (sql, expected) = line.rsplit_once(" => ").expect("a case has an arrow");
        let found = outcome(&catalog, sql);
        if found != expected {
            wrong.push(format!("{sql}\n  expected {expected}\n  found    {found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
