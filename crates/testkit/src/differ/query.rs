//! Random queries whose result does not depend on the plan, but for the order of rows.

use super::choices::Choices;
use super::schema::{CLASSES, Class, Column, Schema};

/// Something in FROM: what it is called and what columns it has.
#[derive(Clone, Debug)]
pub struct Relation {
    pub alias: String,
    pub columns: Vec<Column>,
}

/// Makes statements over a schema.
pub struct Generator<'a> {
    pub c: &'a mut Choices,
    pub schema: &'a Schema,
    /// Columns that may be named, the innermost query last.
    pub scopes: Vec<Vec<Relation>>,
    /// Values of parameters, if literals are to become parameters.
    pub params: Option<Vec<String>>,
    ctes: Vec<Relation>,
    names: usize,
}

fn columns_of(classes: &[Class]) -> Vec<Column> {
    let name = |(i, class): (usize, &Class)| Column { name: format!("c{}", i + 1), class: *class };
    classes.iter().enumerate().map(name).collect()
}

impl<'a> Generator<'a> {
    /// With literals, or with parameters in their place.
    pub fn new(c: &'a mut Choices, schema: &'a Schema, with_params: bool) -> Generator<'a> {
        Generator {
            c,
            schema,
            scopes: Vec::new(),
            params: with_params.then(Vec::new),
            ctes: Vec::new(),
            names: 0,
        }
    }

    /// Queries inside queries end somewhere.
    pub fn too_deep(&self) -> bool {
        self.scopes.len() > if self.schema.large { 1 } else { 3 }
    }

    pub fn name(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    /// A query as a statement, and whether it fixes the order of its rows.
    pub fn statement(&mut self) -> (String, bool) {
        let with = self.with_clause();
        let n = 1 + self.c.below(4);
        let classes: Vec<Class> = (0..n).map(|_| *self.c.of(&CLASSES)).collect();
        let body = self.query(&classes, 3);
        let ordered = self.c.below(3) > 0;
        let order = if ordered { self.total_order(n) } else { String::new() };
        (format!("{with}{body}{order}"), ordered)
    }

    fn with_clause(&mut self) -> String {
        let mut list = Vec::new();
        while list.len() < 2 && self.c.once_in(5) {
            let classes: Vec<Class> =
                (0..1 + self.c.below(3)).map(|_| *self.c.of(&CLASSES)).collect();
            let body = self.query(&classes, 2);
            let name = self.name("w");
            let columns = columns_of(&classes);
            let names: Vec<&str> = columns.iter().map(|c| c.name.as_str()).collect();
            let how = *self.c.of(&["", "MATERIALIZED ", "NOT MATERIALIZED "]);
            list.push(format!("{name}({}) AS {how}({body})", names.join(", ")));
            self.ctes.push(Relation { alias: name, columns });
        }
        match list.is_empty() {
            true => String::new(),
            false => format!("WITH {} ", list.join(", ")),
        }
    }

    /// ORDER BY every column of the output: rows that tie are the same row.
    fn total_order(&mut self, n: usize) -> String {
        let keys: Vec<String> = (1..=n)
            .map(|i| {
                let how = *self.c.of(&["", " DESC", " NULLS FIRST", " DESC NULLS LAST"]);
                format!("{i}{how}")
            })
            .collect();
        let limit = match self.c.below(5) {
            3 => format!(" LIMIT {}", self.c.below(12)),
            4 => format!(" LIMIT {} OFFSET {}", self.c.below(12), self.c.below(6)),
            _ => String::new(),
        };
        format!(" ORDER BY {}{limit}", keys.join(", "))
    }

    /// A query of these columns: a SELECT, or several of them combined.
    pub fn query(&mut self, classes: &[Class], depth: usize) -> String {
        if depth == 0 || self.too_deep() || !self.c.once_in(7) {
            return self.select(classes, depth);
        }
        let op = *self.c.of(&[
            "UNION ALL",
            "UNION",
            "INTERSECT",
            "EXCEPT",
            "INTERSECT ALL",
            "EXCEPT ALL",
        ]);
        let left = self.query(classes, depth - 1);
        let right = self.query(classes, depth - 1);
        // What is ordered inside needs its own parentheses.
        format!("({left}) {op} ({right})")
    }

    /// A subquery in an expression.
    pub fn subquery(&mut self, classes: &[Class], d: usize) -> String {
        if d == 0 || self.too_deep() {
            return self.plain_subquery(classes);
        }
        self.query(classes, d - 1)
    }

    fn plain_subquery(&mut self, classes: &[Class]) -> String {
        let (from, relation) = self.table();
        self.scopes.push(vec![relation]);
        let list: Vec<String> = classes.iter().map(|c| self.leaf(*c)).collect();
        let class = self.class_in_scope();
        let test = format!("{} = {}", self.leaf(class), self.leaf(class));
        self.scopes.pop();
        format!("SELECT {} FROM {from} WHERE {test}", list.join(", "))
    }

    /// The smallest value of something, which needs no order.
    pub fn minimum(&mut self, class: Class, d: usize) -> String {
        let (from, relations) = self.from(d);
        self.scopes.push(relations);
        let what = *self.c.of(&["min", "max"]);
        let arg = self.leaf(class);
        let where_ = self.condition(d.min(1));
        self.scopes.pop();
        format!("SELECT {what}({arg}) FROM {from} WHERE {where_}")
    }

    fn table(&mut self) -> (String, Relation) {
        let alias = self.name("x");
        if !self.ctes.is_empty() && self.c.once_in(3) {
            let cte = self.c.of(&self.ctes).clone();
            let from = format!("{} {alias}", cte.alias);
            return (from, Relation { alias, columns: cte.columns });
        }
        let t = self.c.of(&self.schema.tables);
        (format!("{} {alias}", t.name), Relation { alias, columns: t.columns.clone() })
    }

    /// One thing to join: a table, a subquery, a function, a list of values.
    fn item(&mut self, d: usize, lateral: bool) -> (String, Relation) {
        if d == 0 || self.too_deep() {
            return self.table();
        }
        match self.c.below(8) {
            6 => {
                let classes: Vec<Class> =
                    (0..1 + self.c.below(3)).map(|_| *self.c.of(&CLASSES)).collect();
                let hidden = if lateral { None } else { self.scopes.pop() };
                let mut body = self.query(&classes, d - 1);
                if self.c.once_in(4) {
                    body = format!("{body}{}", self.total_order(classes.len()));
                }
                self.scopes.extend(hidden);
                let columns = columns_of(&classes);
                let names: Vec<&str> = columns.iter().map(|c| c.name.as_str()).collect();
                let alias = self.name("s");
                let word = if lateral { "LATERAL " } else { "" };
                let from = format!("{word}({body}) {alias}({})", names.join(", "));
                (from, Relation { alias, columns })
            }
            7 => {
                let alias = self.name("g");
                let columns = columns_of(&[Class::Int]);
                let from = match self.c.below(2) {
                    0 => format!("generate_series(0, {}) {alias}(c1)", self.c.below(6)),
                    _ => {
                        let (a, b) = (self.literal(Class::Int), self.literal(Class::Int));
                        format!("(VALUES ({a}), ({b}), (NULL)) {alias}(c1)")
                    }
                };
                (from, Relation { alias, columns })
            }
            _ => self.table(),
        }
    }

    /// FROM: things joined in every way.
    pub fn from(&mut self, d: usize) -> (String, Vec<Relation>) {
        self.scopes.push(Vec::new());
        let (mut from, first) = self.item(d, false);
        let mut relations = vec![first];
        let most = if self.schema.large { 2 } else { 4 };
        while relations.len() < most && self.c.below(2) == 1 {
            let kind = *self.c.of(&["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]);
            let lateral = matches!(kind, "JOIN" | "LEFT JOIN") && self.c.once_in(3);
            if let Some(s) = self.scopes.last_mut() {
                s.clone_from(&relations);
            }
            let (right, relation) = self.item(d, lateral);
            if !lateral && !self.schema.large && d > 0 && self.c.once_in(6) {
                // A join that is itself joined.
                let (text, inner) = self.nested(right, relation, d);
                let on = self.join_condition(&relations, &inner, kind);
                from = format!("{from} {kind} ({text}) ON {on}");
                relations.extend(inner);
                continue;
            }
            let inner = vec![relation];
            let on = self.join_condition(&relations, &inner, kind);
            from = format!("{from} {kind} {right} ON {on}");
            relations.extend(inner);
        }
        self.scopes.pop();
        (from, relations)
    }

    fn nested(&mut self, left: String, relation: Relation, d: usize) -> (String, Vec<Relation>) {
        let kind = *self.c.of(&["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]);
        if let Some(s) = self.scopes.last_mut() {
            s.clear();
        }
        let (right, other) = self.item(d - 1, false);
        let (left_rels, right_rels) = (vec![relation], vec![other]);
        let on = self.join_condition(&left_rels, &right_rels, kind);
        (format!("{left} {kind} {right} ON {on}"), [left_rels, right_rels].concat())
    }

    fn join_condition(&mut self, left: &[Relation], right: &[Relation], kind: &str) -> String {
        let pairs: Vec<String> = left
            .iter()
            .flat_map(|l| l.columns.iter().map(move |x| (l, x)))
            .flat_map(|(l, x)| right.iter().map(move |r| (l, x, r)))
            .flat_map(|(l, x, r)| r.columns.iter().map(move |y| (l, x, r, y)))
            .filter(|(_, x, _, y)| x.class == y.class)
            .map(|(l, x, r, y)| format!("{}.{} = {}.{}", l.alias, x.name, r.alias, y.name))
            .collect();
        let Some(scope) = self.scopes.last_mut() else { return "true".into() };
        *scope = [left, right].concat();
        if pairs.is_empty() {
            return if kind == "FULL JOIN" { "true".into() } else { self.condition(0) };
        }
        let mut on = self.c.of(&pairs).clone();
        if self.c.once_in(3) {
            on = format!("{on} AND {}", self.c.of(&pairs));
        }
        if self.c.once_in(4) {
            let d = usize::from(!self.schema.large);
            on = format!("{on} AND {}", self.condition(d));
        } else if kind != "FULL JOIN" && !self.schema.large && self.c.once_in(8) {
            on = self.condition(1);
        }
        on
    }

    /// A SELECT of columns of these classes.
    fn select(&mut self, classes: &[Class], depth: usize) -> String {
        let d = depth.min(2);
        let (from, relations) = self.from(d);
        self.scopes.push(relations);
        let where_ = match self.c.below(3) {
            0 => String::new(),
            _ => format!(" WHERE {}", self.condition(d)),
        };
        let text = match self.c.below(7) {
            4 | 5 => self.grouped(classes, d, &from, &where_),
            6 => self.windowed(classes, d, &from, &where_),
            _ => {
                let list: Vec<String> = classes.iter().map(|c| self.expression(*c, d)).collect();
                let list = list.join(", ");
                match self.c.below(8) {
                    6 => format!("SELECT DISTINCT {list} FROM {from}{where_}"),
                    7 => {
                        let keys: Vec<String> =
                            (1..=classes.len()).map(|i| i.to_string()).collect();
                        let on = &keys[..1 + self.c.below(keys.len())];
                        let (on, all) = (on.join(", "), keys.join(", "));
                        format!(
                            "SELECT DISTINCT ON ({on}) {list} FROM {from}{where_} ORDER BY {all}"
                        )
                    }
                    _ => format!("SELECT {list} FROM {from}{where_}"),
                }
            }
        };
        self.scopes.pop();
        match text.contains(" ORDER BY 1") && text.starts_with("SELECT DISTINCT ON") {
            true => format!("SELECT * FROM ({text}) AS {}", self.name("o")),
            false => text,
        }
    }

    /// An aggregate that does not depend on the order of its input.
    fn aggregate(&mut self, class: Class, d: usize) -> String {
        let distinct = *self.c.of(&["", "", "DISTINCT "]);
        let mut call = match (class, self.c.below(4)) {
            (Class::Int, 0) => "count(*)".into(),
            (Class::Int, 1) => {
                let other = *self.c.of(&CLASSES);
                format!("count({distinct}{})", self.expression(other, d))
            }
            (Class::Int, 2) => format!("sum({distinct}{})", self.expression(Class::Int, d)),
            (Class::Numeric, 0) => format!("avg({distinct}{})", self.expression(Class::Int, d)),
            (Class::Numeric, 1) => format!("sum({distinct}{})", self.expression(class, d)),
            (Class::Float, 0 | 1) => format!("sum({})", self.expression(class, d)),
            (Class::Text, 0 | 1) => {
                let arg = self.expression(class, d);
                format!("string_agg({distinct}{arg}, ',' ORDER BY {arg})")
            }
            (Class::Text, 2) => {
                let arg = self.expression(Class::Int, d);
                format!("array_agg({distinct}{arg} ORDER BY {arg})::text")
            }
            (Class::Bool, _) => {
                let what = *self.c.of(&["bool_and", "bool_or", "every"]);
                format!("{what}({})", self.condition(0))
            }
            _ => {
                let what = *self.c.of(&["min", "max"]);
                format!("{what}({})", self.expression(class, d))
            }
        };
        if self.c.once_in(5) {
            call = format!("{call} FILTER (WHERE {})", self.condition(0));
        }
        if class == Class::Int && call.starts_with("sum") {
            call = format!("({call})::bigint");
        }
        call
    }

    fn grouped(&mut self, classes: &[Class], d: usize, from: &str, where_: &str) -> String {
        let scope = self.scopes.last().cloned().unwrap_or_default();
        let all: Vec<(String, Column)> = scope
            .iter()
            .flat_map(|r| r.columns.iter().map(|x| (r.alias.clone(), x.clone())))
            .collect();
        let mut keys: Vec<(String, Column)> = Vec::new();
        for _ in 0..self.c.below(4) {
            let key = self.c.of(&all).clone();
            if !keys.iter().any(|k| k.0 == key.0 && k.1.name == key.1.name) {
                keys.push(key);
            }
        }
        let aggregates: Vec<Option<String>> = classes
            .iter()
            .map(|c| (self.c.below(2) == 1).then(|| self.aggregate(*c, d.min(1))))
            .collect();
        let having_aggregate = self.c.once_in(4).then(|| {
            let class = *self.c.of(&CLASSES);
            format!("{} = {}", self.aggregate(class, 0), self.literal(class))
        });
        // From here on, only what is grouped by can be named.
        let grouped: Vec<Relation> = keys
            .iter()
            .map(|(alias, x)| Relation { alias: alias.clone(), columns: vec![x.clone()] })
            .collect();
        if let Some(s) = self.scopes.last_mut() {
            *s = grouped;
        }
        let list: Vec<String> = classes
            .iter()
            .zip(aggregates)
            .map(|(c, a)| a.unwrap_or_else(|| self.expression(*c, d.min(1))))
            .collect();
        let names: Vec<String> = keys.iter().map(|(a, x)| format!("{a}.{}", x.name)).collect();
        let (names, list) = (names.join(", "), list.join(", "));
        let by = match (keys.len(), self.c.below(6)) {
            (0, 0) => " GROUP BY ()".into(),
            (0, _) => String::new(),
            (_, 3) => format!(" GROUP BY ROLLUP ({names})"),
            (_, 4) => format!(" GROUP BY CUBE ({names})"),
            (_, 5) => format!(" GROUP BY GROUPING SETS (({names}), ({}), ())", first(&names)),
            _ => format!(" GROUP BY {names}"),
        };
        let having = match having_aggregate {
            Some(h) => format!(" HAVING {h}"),
            None if self.c.once_in(5) => format!(" HAVING {}", self.condition(d.min(1))),
            None => String::new(),
        };
        format!("SELECT {list} FROM {from}{where_}{by}{having}")
    }

    fn windowed(&mut self, classes: &[Class], d: usize, from: &str, where_: &str) -> String {
        let scope = self.scopes.last().cloned().unwrap_or_default();
        let total: Vec<String> = scope
            .iter()
            .flat_map(|r| r.columns.iter().map(|x| format!("{}.{}", r.alias, x.name)))
            .collect();
        let list: Vec<String> = classes
            .iter()
            .map(|class| {
                if self.c.below(2) == 0 {
                    return self.expression(*class, d.min(1));
                }
                let partition = match self.c.below(2) {
                    0 => String::new(),
                    _ => format!("PARTITION BY {} ", self.c.of(&total)),
                };
                let (call, needs_total) = self.window_call(*class);
                let total_order = needs_total || self.c.below(2) == 0;
                let order = match total_order {
                    true => total.join(", "),
                    false => self.c.of(&total).clone(),
                };
                let frame = match self.c.below(6) {
                    4 if total_order => " ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING",
                    3 => " GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW EXCLUDE TIES",
                    5 => " RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
                    _ => "",
                };
                // The order of rows that differ in nothing is nobody's business.
                format!("{call} OVER ({partition}ORDER BY {order}{frame})")
            })
            .collect();
        format!("SELECT {} FROM {from}{where_}", list.join(", "))
    }

    /// A window function's call, and whether it depends on the order of peers.
    fn window_call(&mut self, class: Class) -> (String, bool) {
        match (class, self.c.below(5)) {
            (Class::Int, 0) => ("row_number()".into(), true),
            (Class::Int, 1) => ("rank()".into(), false),
            (Class::Int, 2) => ("dense_rank()".into(), false),
            (Class::Int, 3) => ("count(*)".into(), false),
            (_, 0) => (format!("lag({})", self.leaf(class)), true),
            (_, 1) => (format!("lead({}, 2)", self.leaf(class)), true),
            (_, 2) => (format!("first_value({})", self.leaf(class)), true),
            (Class::Bool, _) => (format!("bool_or({})", self.leaf(class)), false),
            (_, 3) => (format!("min({})", self.leaf(class)), false),
            _ => (format!("max({})", self.leaf(class)), false),
        }
    }
}

fn first(names: &str) -> &str {
    names.split(", ").next().unwrap_or(names)
}
