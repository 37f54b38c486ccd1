//! What is called: functions, operators, casts, aggregates and input functions of the catalogs.

use super::values::{self, Combination, Values};
use crate::Client;
use base::Result;

/// What a call looks like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Function,
    /// A function that gives rows; only some of them are looked at.
    Rows,
    Infix,
    Prefix,
    Cast,
    Aggregate,
    /// An ordered-set aggregate, with the number of its direct arguments.
    Ordered(usize),
    Window,
    /// Bytes read as a type.
    Receive,
    /// A text read as a type.
    Input,
}

/// One thing to call.
#[derive(Clone, Debug)]
pub struct Call {
    pub kind: Kind,
    /// Name of the function, operator or type.
    pub(super) name: String,
    /// The call as it is told: `abs(int4)`.
    pub text: String,
    /// Types of the arguments.
    pub arguments: Vec<String>,
}

const FUNCTIONS: &str = "
    SELECT p.proname, p.prokind, p.proretset,
           array_to_string(array(SELECT t.typname FROM unnest(p.proargtypes) WITH ORDINALITY a(o, n)
                                 JOIN pg_type t ON t.oid = a.o ORDER BY n), ','),
           p.provolatile, coalesce(a.aggkind, 'n'), coalesce(a.aggnumdirectargs, 0)
    FROM pg_proc p LEFT JOIN pg_aggregate a ON a.aggfnoid = p.oid
    WHERE p.pronamespace = 11 AND p.prokind IN ('f', 'a', 'w')
    ORDER BY p.oid";

const OPERATORS: &str = "
    SELECT o.oprname, coalesce(l.typname, ''), r.typname
    FROM pg_operator o LEFT JOIN pg_type l ON l.oid = o.oprleft JOIN pg_type r ON r.oid = o.oprright
    WHERE o.oprnamespace = 11 AND o.oprcode <> 0 ORDER BY o.oid";

const CASTS: &str = "
    SELECT s.typname, t.typname FROM pg_cast c
    JOIN pg_type s ON s.oid = c.castsource JOIN pg_type t ON t.oid = c.casttarget
    ORDER BY c.oid";

/// What polymorphic arguments are tried with; all of a call's change together.
const POLYMORPHIC: [[(&str, &str); 5]; 3] = [
    [
        ("element", "int4"),
        ("array", "_int4"),
        ("range", "int4range"),
        ("multirange", "int4multirange"),
        ("any", "text"),
    ],
    [
        ("element", "numeric"),
        ("array", "_numeric"),
        ("range", "numrange"),
        ("multirange", "nummultirange"),
        ("any", "float8"),
    ],
    [("element", "text"), ("array", "_text"), ("range", ""), ("multirange", ""), ("any", "jsonb")],
];

/// The type that stands for a polymorphic one; `None` if there is none in this turn.
fn concrete(type_name: &str, turn: usize) -> Option<String> {
    let kind = match type_name {
        "any" => "any",
        "anyelement" | "anynonarray" | "anycompatible" | "anycompatiblenonarray" => "element",
        "anyarray" | "anycompatiblearray" => "array",
        "anyrange" | "anycompatiblerange" => "range",
        "anymultirange" | "anycompatiblemultirange" => "multirange",
        other => return Some(other.to_string()),
    };
    let found = POLYMORPHIC[turn].iter().find(|(k, _)| *k == kind)?.1;
    (!found.is_empty()).then(|| found.to_string())
}

/// Names that are left alone, and volatile ones that are not.
struct Skipped {
    names: Vec<String>,
    steady: Vec<String>,
}

impl Skipped {
    fn load() -> Result<Skipped> {
        let text = values::data("functions_skipped.txt")?;
        let (names, steady) = text.split_once("[volatile but steady]\n").unwrap_or((&text, ""));
        let first = |l: &str| l.split('\t').next().unwrap_or_default().to_string();
        let list = |t: &str| t.lines().filter(|l| !l.starts_with('#')).map(first).collect();
        Ok(Skipped { names: list(names), steady: list(steady) })
    }

    fn leaves_alone(&self, name: &str, types: &str, volatile: bool) -> bool {
        let listed = self.names.iter().any(|n| match n.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None if n.ends_with(')') => *n == format!("{name}({types})"),
            None => n == name,
        });
        listed || (volatile && !self.steady.iter().any(|n| n == name))
    }
}

/// Everything that can be called with the values there are, in the catalogs' order.
pub fn list(client: &mut Client, values: &Values) -> Result<Vec<Call>> {
    let skipped = Skipped::load()?;
    let mut out = Vec::new();
    let field = |row: &[Option<String>], i: usize| row[i].clone().unwrap_or_default();
    for row in client.execute(FUNCTIONS)?.rows {
        let (name, kind) = (field(&row, 0), field(&row, 1));
        if skipped.leaves_alone(&name, &field(&row, 3), field(&row, 4) == "v") {
            continue;
        }
        let kind = match (kind.as_str(), field(&row, 2).as_str()) {
            ("a", _) if field(&row, 5) == "n" => Kind::Aggregate,
            ("a", _) => Kind::Ordered(field(&row, 6).parse().unwrap_or(0)),
            ("w", _) => Kind::Window,
            (_, "t") => Kind::Rows,
            _ => Kind::Function,
        };
        let types = field(&row, 3);
        let types: Vec<&str> = types.split(',').filter(|t| !t.is_empty()).collect();
        add(&mut out, values, kind, &name, &types);
    }
    for row in client.execute(OPERATORS)?.rows {
        let (left, right) = (field(&row, 1), field(&row, 2));
        let (kind, types) = match left.as_str() {
            "" => (Kind::Prefix, vec![right.as_str()]),
            l => (Kind::Infix, vec![l, right.as_str()]),
        };
        add(&mut out, values, kind, &field(&row, 0), &types);
    }
    for row in client.execute(CASTS)?.rows {
        add(&mut out, values, Kind::Cast, &field(&row, 1), &[&field(&row, 0)]);
    }
    for name in values.by_type.keys() {
        let text = format!("input of {name}");
        out.push(Call { kind: Kind::Input, name: name.clone(), text, arguments: Vec::new() });
        let text = format!("receiving {name}");
        out.push(Call { kind: Kind::Receive, name: name.clone(), text, arguments: Vec::new() });
    }
    Ok(out)
}

/// Adds a call for each turn of polymorphic types that gives other arguments.
fn add(out: &mut Vec<Call>, values: &Values, kind: Kind, name: &str, types: &[&str]) {
    let mut before: Vec<Vec<String>> = Vec::new();
    for turn in 0..POLYMORPHIC.len() {
        let arguments: Option<Vec<String>> = types.iter().map(|t| concrete(t, turn)).collect();
        let Some(arguments) = arguments else { continue };
        let known = arguments.iter().all(|a| values.by_type.contains_key(a));
        if !known || before.contains(&arguments) {
            continue;
        }
        let text = match kind {
            Kind::Infix => format!("{} {name} {}", arguments[0], arguments[1]),
            Kind::Prefix => format!("{name} {}", arguments[0]),
            Kind::Cast => format!("{}::{name}", arguments[0]),
            _ => format!("{name}({})", arguments.join(",")),
        };
        let call = Call { kind, name: name.to_string(), text, arguments: arguments.clone() };
        before.push(arguments);
        out.push(call);
    }
}

impl Call {
    /// The call with these expressions as arguments.
    pub(super) fn expression(&self, arguments: &[String]) -> String {
        match self.kind {
            Kind::Infix => {
                format!("{} OPERATOR(pg_catalog.{}) {}", arguments[0], self.name, arguments[1])
            }
            Kind::Prefix => format!("OPERATOR(pg_catalog.{}) {}", self.name, arguments[0]),
            Kind::Cast => format!("{}::{}", arguments[0], values::quoted_type(&self.name)),
            _ => format!("pg_catalog.\"{}\"({})", self.name, arguments.join(", ")),
        }
    }

    /// The combinations as rows, with their numbers `c0`, `c1`.. and values `a0.v`, `a1.v`..
    pub(super) fn rows(&self, combinations: &[Combination]) -> String {
        let rows: Vec<String> = combinations
            .iter()
            .map(|c| {
                let c: Vec<String> = c.iter().map(usize::to_string).collect();
                format!("({})", c.join(","))
            })
            .collect();
        let joins: Vec<String> = self
            .arguments
            .iter()
            .enumerate()
            .map(|(i, t)| format!("JOIN \"edge_{t}\" a{i} ON a{i}.i = c{i}"))
            .collect();
        format!("(VALUES {}) c({}) {}", rows.join(","), self.numbers(), joins.join(" "))
    }

    /// The columns of [`rows`](Self::rows) that number the arguments' values.
    pub(super) fn numbers(&self) -> String {
        let numbers: Vec<String> = (0..self.arguments.len()).map(|i| format!("c{i}")).collect();
        numbers.join(", ")
    }

    /// The arguments as columns of [`rows`](Self::rows).
    pub(super) fn columns(&self) -> Vec<String> {
        let arguments = self.arguments.iter().enumerate();
        arguments.map(|(i, t)| values::column(t, &format!("a{i}"))).collect()
    }

    /// The call over columns: a row for each of the combinations, with their numbers.
    pub fn over_columns(&self, combinations: &[Combination]) -> String {
        let call = self.expression(&self.columns());
        if self.arguments.is_empty() {
            return format!("SELECT {call} LIMIT 50");
        }
        let limit = if self.kind == Kind::Rows { " LIMIT 2000" } else { "" };
        format!("SELECT {}, {call} FROM {}{limit}", self.numbers(), self.rows(combinations))
    }

    /// The call with constants.
    pub fn over_constants(&self, values: &Values, combination: &Combination) -> String {
        let constants = self.constants(values, combination);
        let limit = if self.kind == Kind::Rows { " LIMIT 50" } else { "" };
        format!("SELECT {}{limit}", self.expression(&constants))
    }

    /// The arguments as constants; there may be fewer than the call has.
    pub(super) fn constants(&self, values: &Values, combination: &Combination) -> Vec<String> {
        let pairs = combination.iter().zip(&self.arguments);
        pairs
            .map(|(i, t)| match i {
                0 => format!("NULL::{}", values::quoted_type(t)),
                i => format!("({})", values::constant(t, &values.by_type[t][i - 1])),
            })
            .collect()
    }

    /// A text read as the type.
    pub fn input(&self, text: &str) -> String {
        format!("SELECT {}", values::constant(&self.name, text))
    }
}
