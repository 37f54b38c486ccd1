//! Random tables: columns of several types, nulls, keys, indexes, partitions, inheritance.

use super::choices::Choices;

/// What kind of value an expression gives. Types of one class work with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Int,
    Numeric,
    Float,
    Text,
    Bool,
    Date,
    Time,
}

/// Every class, the simplest first.
pub const CLASSES: [Class; 7] =
    [Class::Int, Class::Text, Class::Numeric, Class::Bool, Class::Date, Class::Float, Class::Time];

impl Class {
    /// The types of the class, the simplest first.
    pub fn types(self) -> &'static [&'static str] {
        match self {
            Class::Int => &["int", "bigint", "smallint"],
            Class::Numeric => &["numeric", "numeric(8,2)"],
            Class::Float => &["float8", "float4"],
            Class::Text => &["text", "varchar(12)", "char(4)"],
            Class::Bool => &["bool"],
            Class::Date => &["date"],
            Class::Time => &["timestamp"],
        }
    }

    /// A value as SQL writes it. Few different ones, so that joins find partners.
    pub fn literal(self, n: usize) -> String {
        match self {
            Class::Int => format!("{}", n as i64 - 2),
            Class::Numeric => format!("{}.{}", n / 2, n % 2 * 5),
            Class::Float => format!("'{}'::float8", n as f64 / 2.0),
            Class::Text => format!("text '{}'", WORDS[n % WORDS.len()]),
            Class::Bool => format!("{}", n.is_multiple_of(2)),
            Class::Date => format!("date '2024-02-{:02}'", n % 28 + 1),
            Class::Time => format!("timestamp '2024-02-28 {:02}:30:00'", n % 24),
        }
    }
}

const WORDS: [&str; 12] = ["a", "b", "ab", "ba", "abc", "", "cab", "zz", "b b", "aab", "q", "cc"];

/// A column.
#[derive(Clone, Debug)]
pub struct Column {
    pub name: String,
    pub class: Class,
}

/// A table or a view.
#[derive(Clone, Debug)]
pub struct Table {
    pub name: String,
    pub columns: Vec<Column>,
    /// Rows can be inserted, updated and deleted.
    pub writable: bool,
}

/// Tables and the statements that make them.
#[derive(Debug, Default)]
pub struct Schema {
    pub tables: Vec<Table>,
    pub sql: Vec<String>,
    /// Thousands of rows rather than dozens.
    pub large: bool,
}

const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

impl Schema {
    /// Makes one.
    pub fn generate(c: &mut Choices) -> Schema {
        let mut s = Schema { large: c.once_in(6), ..Schema::default() };
        s.sql.push("DROP SCHEMA IF EXISTS differ CASCADE".into());
        s.sql.push("CREATE SCHEMA differ".into());
        s.sql.push("SET search_path TO differ".into());
        let n = 2 + c.below(4);
        for i in 0..n {
            s.table(c, i);
        }
        s.sql.push("ANALYZE".into());
        s
    }

    fn table(&mut self, c: &mut Choices, index: usize) {
        let name = format!("t{index}");
        let mut columns = vec![Column { name: "id".into(), class: Class::Int }];
        let n = 1 + c.below(NAMES.len());
        let mut definitions = vec![String::from("id int")];
        for column in &NAMES[..n] {
            // The same name mostly has the same class everywhere: NATURAL and USING need it.
            let home = CLASSES[NAMES.iter().position(|x| x == column).unwrap_or(0)];
            let class = if c.once_in(4) { *c.of(&CLASSES) } else { home };
            let types = class.types();
            definitions.push(format!("{column} {}", c.of(types)));
            columns.push(Column { name: (*column).into(), class });
        }
        let table = Table { name: name.clone(), columns, writable: true };
        let body = definitions.join(", ");
        match c.below(5) {
            3 => self.partitioned(c, &table, &body),
            4 => {
                self.sql.push(format!("CREATE TABLE {name} ({body})"));
                self.sql.push(format!("CREATE TABLE {name}_child (extra int) INHERITS ({name})"));
                self.fill(c, &table, &format!("{name}_child"));
            }
            _ => self.sql.push(format!("CREATE TABLE {name} ({body})")),
        }
        self.fill(c, &table, &name);
        self.indexes(c, &table);
        self.tables.push(table);
    }

    fn partitioned(&mut self, c: &mut Choices, table: &Table, body: &str) {
        let name = &table.name;
        let key = &table.columns[c.below(table.columns.len().min(3))];
        let column = &key.name;
        let kind = *c.of(&["RANGE", "LIST", "HASH"]);
        let kind = if key.class == Class::Bool { "LIST" } else { kind };
        self.sql.push(format!("CREATE TABLE {name} ({body}) PARTITION BY {kind} ({column})"));
        let lit = |n: usize| key.class.literal(n);
        let bounds = match kind {
            "HASH" => (0..3)
                .map(|r| format!("FOR VALUES WITH (MODULUS 3, REMAINDER {r})"))
                .collect::<Vec<_>>(),
            "LIST" if key.class == Class::Bool => {
                vec!["FOR VALUES IN (true)".into(), "DEFAULT".into()]
            }
            "LIST" => vec![
                format!("FOR VALUES IN ({}, {})", lit(1), lit(3)),
                format!("FOR VALUES IN ({}, NULL)", lit(2)),
                "DEFAULT".into(),
            ],
            _ if key.class == Class::Text => vec![
                "FOR VALUES FROM (MINVALUE) TO ('ab')".into(),
                "FOR VALUES FROM ('ab') TO ('b')".into(),
                "DEFAULT".into(),
            ],
            _ => vec![
                format!("FOR VALUES FROM (MINVALUE) TO ({})", lit(4)),
                format!("FOR VALUES FROM ({}) TO ({})", lit(4), lit(8)),
                format!("FOR VALUES FROM ({}) TO ({})", lit(8), lit(20)),
                "DEFAULT".into(),
            ],
        };
        for (i, bound) in bounds.iter().enumerate() {
            self.sql.push(format!("CREATE TABLE {name}_{i} PARTITION OF {name} {bound}"));
        }
    }

    fn fill(&mut self, c: &mut Choices, table: &Table, into: &str) {
        let names: Vec<&str> = table.columns.iter().map(|x| x.name.as_str()).collect();
        let names = names.join(", ");
        if self.large {
            let n = 300 + c.below(4) * 500;
            let values: Vec<String> = table.columns.iter().map(|x| computed(c, x)).collect();
            self.sql.push(format!(
                "INSERT INTO {into} ({names}) SELECT {} FROM generate_series(1, {n}) i",
                values.join(", ")
            ));
            return;
        }
        let n = c.below(30);
        let spread = 2 + c.below(20);
        let rows: Vec<String> = (0..n)
            .map(|i| {
                let value = |x: &Column| match x.name.as_str() {
                    "id" => i.to_string(),
                    _ if c.once_in(7) => "NULL".into(),
                    _ => x.class.literal(c.below(spread)),
                };
                let values: Vec<String> = table.columns.iter().map(value).collect();
                format!("({})", values.join(", "))
            })
            .collect();
        if !rows.is_empty() {
            self.sql.push(format!("INSERT INTO {into} ({names}) VALUES {}", rows.join(", ")));
        }
    }

    fn indexes(&mut self, c: &mut Choices, table: &Table) {
        for i in 0..c.below(4) {
            let column = |c: &mut Choices| {
                let name = c.of(&table.columns).name.clone();
                match c.below(4) {
                    3 => format!("{name} DESC"),
                    2 => format!("{name} NULLS FIRST"),
                    _ => name,
                }
            };
            let mut keys = vec![column(c)];
            if c.once_in(3) {
                keys.push(column(c));
            }
            let only = if c.once_in(5) {
                format!(" WHERE {} IS NOT NULL", c.of(&table.columns).name)
            } else {
                String::new()
            };
            let name = &table.name;
            self.sql.push(format!(
                "CREATE INDEX {name}_index{i} ON {name} ({}){only}",
                keys.join(", ")
            ));
        }
        if c.once_in(3) {
            self.sql.push(format!("CREATE INDEX ON {} (id)", table.name));
        }
    }
}

/// A column's value in row `i` of a large table.
fn computed(c: &mut Choices, column: &Column) -> String {
    if column.name == "id" {
        return "i".into();
    }
    let by = *c.of(&[7, 100, 1000, 13]);
    let n = format!("(i * 7 % {by})");
    let value = match column.class {
        Class::Int => n,
        Class::Numeric => format!("{n} / 4.0"),
        Class::Float => format!("{n} / 2.0::float8"),
        Class::Text => format!("'w' || {n}"),
        Class::Bool => format!("{n} % 3 = 0"),
        Class::Date => format!("date '2024-01-01' + {n}"),
        Class::Time => format!("timestamp '2024-01-01' + {n} * interval '1 hour'"),
    };
    format!("CASE WHEN i % {} <> 0 THEN {value} END", 3 + c.below(20))
}
