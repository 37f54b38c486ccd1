//! Random expressions over the columns in scope.

use super::query::Generator;
use super::schema::{CLASSES, Class};

impl Generator<'_> {
    /// A column of the class that is in scope, if there is one: of this level, or now and then of
    /// a level outside.
    fn column(&mut self, class: Class) -> Option<String> {
        let level = match self.scopes.len() {
            n if n > 1 && self.c.once_in(3) => n - 2,
            n => n.checked_sub(1)?,
        };
        let fitting: Vec<String> = self.scopes[level]
            .iter()
            .flat_map(|r| r.columns.iter().map(move |x| (r, x)))
            .filter(|(_, x)| x.class == class)
            .map(|(r, x)| format!("{}.{}", r.alias, x.name))
            .collect();
        (!fitting.is_empty()).then(|| self.c.of(&fitting).clone())
    }

    /// The class of some column in scope, or any.
    pub fn class_in_scope(&mut self) -> Class {
        let classes: Vec<Class> = self
            .scopes
            .last()
            .into_iter()
            .flatten()
            .flat_map(|r| r.columns.iter().map(|x| x.class))
            .collect();
        match classes.is_empty() || self.c.once_in(8) {
            true => *self.c.of(&CLASSES),
            false => *self.c.of(&classes),
        }
    }

    /// A literal, or a parameter in its place.
    pub fn literal(&mut self, class: Class) -> String {
        let text = class.literal(self.c.below(20));
        match &mut self.params {
            Some(params) => {
                params.push(text);
                format!("${}::{}", params.len(), class.types()[0])
            }
            None => text,
        }
    }

    /// A column, or a literal where there is none.
    pub fn leaf(&mut self, class: Class) -> String {
        match self.column(class) {
            Some(c) if !self.c.once_in(6) => c,
            _ => self.literal(class),
        }
    }

    /// An expression of a class.
    pub fn expression(&mut self, class: Class, depth: usize) -> String {
        if depth == 0 || self.c.below(3) == 0 {
            return self.leaf(class);
        }
        let d = depth - 1;
        match self.c.below(8) {
            0..3 => self.operation(class, d),
            3 => {
                let (a, b) = (self.expression(class, d), self.expression(class, d));
                format!("coalesce({a}, {b})")
            }
            4 => {
                let when = self.condition(d);
                let (a, b) = (self.expression(class, d), self.expression(class, d));
                format!("CASE WHEN {when} THEN {a} ELSE {b} END")
            }
            5 => {
                let (a, b) = (self.expression(class, d), self.expression(class, d));
                format!("nullif({a}, {b})")
            }
            6 if class != Class::Bool => {
                let what = *self.c.of(&["greatest", "least"]);
                let (a, b) = (self.expression(class, d), self.expression(class, d));
                format!("{what}({a}, {b})")
            }
            _ => self.scalar_subquery(class, d),
        }
    }

    fn operation(&mut self, class: Class, d: usize) -> String {
        let which = self.c.below(4);
        match class {
            Class::Int => match which {
                0 => format!("({} + {})", self.expression(class, d), self.leaf(class)),
                1 => format!("({} - {})", self.expression(class, d), self.leaf(class)),
                2 => format!("({} % 5)", self.expression(class, d)),
                _ => format!("length({})", self.expression(Class::Text, d)),
            },
            Class::Numeric => match which {
                0 => format!("({} + {})", self.expression(class, d), self.leaf(class)),
                1 => format!("({} / 4)", self.expression(class, d)),
                2 => format!("round({}, 1)", self.expression(class, d)),
                _ => format!("({})::numeric", self.expression(Class::Int, d)),
            },
            Class::Float => match which {
                0 | 1 => format!("({} + {})", self.expression(class, d), self.leaf(class)),
                2 => format!("(- {})", self.expression(class, d)),
                _ => format!("({})::float8", self.expression(Class::Int, d)),
            },
            Class::Text => match which {
                0 => format!("({} || {})", self.expression(class, d), self.leaf(class)),
                1 => format!("upper({})", self.expression(class, d)),
                2 => format!("substr({}, 2)", self.expression(class, d)),
                _ => format!("({})::text", self.expression(Class::Int, d)),
            },
            Class::Bool => self.condition(d),
            Class::Date => match which {
                0 | 1 => format!("({} + 3)", self.expression(class, d)),
                _ => format!("({})::date", self.expression(Class::Time, d)),
            },
            Class::Time => match which {
                0 | 1 => format!("({} + interval '1 day')", self.expression(class, d)),
                _ => format!("({})::timestamp", self.expression(Class::Date, d)),
            },
        }
    }

    /// A condition.
    pub fn condition(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.comparison(0);
        }
        let d = depth - 1;
        match self.c.below(10) {
            0..3 => self.comparison(d),
            3 => format!("({} AND {})", self.condition(d), self.condition(d)),
            4 => format!("({} OR {})", self.condition(d), self.condition(d)),
            5 => format!("(NOT {})", self.condition(d)),
            6 => {
                let test = *self.c.of(&["IS TRUE", "IS NOT TRUE", "IS UNKNOWN", "IS NOT FALSE"]);
                format!("(({}) {test})", self.condition(d))
            }
            _ => self.subquery_condition(d),
        }
    }

    fn comparison(&mut self, d: usize) -> String {
        let class = self.class_in_scope();
        let form = self.c.below(9);
        if form == 8 {
            let (a, b) = (self.leaf(Class::Int), self.leaf(class));
            let op = *self.c.of(&["=", "<", ">=", "<>"]);
            return format!("({a}, {b}) {op} ({}, {})", self.leaf(Class::Int), self.leaf(class));
        }
        let left = self.expression(class, d);
        match form {
            0..4 => {
                let op = *self.c.of(&["=", "<>", "<", "<=", ">", ">="]);
                format!("{left} {op} {}", self.expression(class, d))
            }
            4 => format!("{left} IS {}NULL", self.c.of(&["", "NOT "])),
            5 => {
                let not = *self.c.of(&["", "NOT "]);
                format!("{left} IS {not}DISTINCT FROM {}", self.expression(class, d))
            }
            6 => {
                let (a, b) = (self.literal(class), self.literal(class));
                format!("{left} {}BETWEEN {a} AND {b}", self.c.of(&["", "NOT "]))
            }
            _ => {
                let n = 1 + self.c.below(4);
                let list: Vec<String> = (0..n).map(|_| self.literal(class)).collect();
                format!("{left} {}IN ({})", self.c.of(&["", "NOT "]), list.join(", "))
            }
        }
    }

    fn subquery_condition(&mut self, d: usize) -> String {
        let class = self.class_in_scope();
        match self.c.below(6) {
            0 => format!("EXISTS ({})", self.subquery(&[class], d)),
            1 => format!("NOT EXISTS ({})", self.subquery(&[class], d)),
            2 => {
                let left = self.expression(class, d.min(1));
                format!("{left} IN ({})", self.subquery(&[class], d))
            }
            3 => {
                let left = self.expression(class, d.min(1));
                format!("{left} NOT IN ({})", self.subquery(&[class], d))
            }
            4 => {
                let left = self.leaf(class);
                let op = *self.c.of(&["=", "<", ">=", "<>"]);
                let all = *self.c.of(&["ANY", "ALL"]);
                format!("{left} {op} {all} ({})", self.subquery(&[class], d))
            }
            _ => {
                let (a, b) = (self.leaf(Class::Int), self.leaf(class));
                let not = *self.c.of(&["", "NOT "]);
                format!("({a}, {b}) {not}IN ({})", self.subquery(&[Class::Int, class], d))
            }
        }
    }

    /// A subquery that gives one value.
    fn scalar_subquery(&mut self, class: Class, d: usize) -> String {
        if d == 0 || self.too_deep() {
            return self.leaf(class);
        }
        if class != Class::Bool && self.c.below(2) == 0 {
            return format!("({})", self.minimum(class, d));
        }
        format!("({} ORDER BY 1 LIMIT 1)", self.subquery(&[class], d))
    }
}
