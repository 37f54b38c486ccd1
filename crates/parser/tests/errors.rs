//! Statements and the error each gives, with its place, from `errors.txt`.

fn check(sql: &str) -> String {
    match parser::parse(sql) {
        Ok(_) => "ok".into(),
        Err(error) => {
            let at = error.fields().location.map_or(0, |l| sql[..l as usize].chars().count() + 1);
            format!("{at} {}", error.message())
        }
    }
}

#[test]
fn statements_give_postgresqls_errors() {
    let text = include_str!("errors.txt");
    let mut wrong = Vec::new();
    let mut pending = String::new();
    for line in text.lines().filter(|l| !l.starts_with('#')) {
        pending.push_str(line);
        // A case may span lines; the arrow ends it.
        let Some((sql, expected)) = pending.rsplit_once(" => ") else {
            pending.push('\n');
            continue;
        };
        if check(sql) != expected {
            wrong.push(format!("{sql}\n  expected {expected}\n  found    {}", check(sql)));
        }
        pending = String::new();
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn deep_nesting_is_an_error() {
    for sql in [
        format!("select {}1{}", "(".repeat(200_000), ")".repeat(200_000)),
        format!("select {}1", "- ".repeat(200_000)),
        format!("select {}1", "not ".repeat(200_000)),
        format!("select 1{}", " + 1".repeat(200_000)),
        format!("select {}1{}", "(select ".repeat(100_000), ")".repeat(100_000)),
        format!("select {}", "case when ".repeat(100_000)),
    ] {
        let error = parser::parse(&sql).unwrap_err();
        assert_eq!(error.message(), "stack depth limit exceeded", "{}", &sql[..30]);
    }
}

#[test]
fn names_are_folded_and_cut() {
    use parser::ast::{ExprKind, SelectBody, Stmt};
    let long = "X".repeat(70);
    let list = parser::parse(&format!("select FooBar, \"FooBar\", {long}")).unwrap();
    let Stmt::Select(query) = &list[0].stmt else { panic!() };
    let SelectBody::Select(core) = &query.body else { panic!() };
    let names: Vec<String> = core
        .targets
        .iter()
        .map(|t| match &t.expr.kind {
            ExprKind::Column { parts, .. } => parts[0].clone(),
            _ => panic!(),
        })
        .collect();
    assert_eq!(names, ["foobar".to_owned(), "FooBar".to_owned(), "x".repeat(63)]);
}
