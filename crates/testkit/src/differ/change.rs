//! Random INSERT, UPDATE, DELETE and MERGE whose effect does not depend on the plan.

use super::query::{Generator, Relation};
use super::schema::{CLASSES, Class, Table};

impl Generator<'_> {
    /// A statement that changes rows, and the table that it changes.
    pub fn change(&mut self) -> (String, String) {
        let writable: Vec<&Table> = self.schema.tables.iter().filter(|t| t.writable).collect();
        let table = (*self.c.of(&writable)).clone();
        let sql = match self.c.below(4) {
            0 => self.update(&table),
            1 => self.delete(&table),
            2 => self.insert(&table),
            _ => self.merge(&table),
        };
        (sql, table.name)
    }

    fn target(&mut self, table: &Table) -> Relation {
        Relation { alias: self.name("target"), columns: table.columns.clone() }
    }

    /// Assignments that read only the target's row: which partner is found first is not fixed.
    fn assignments(&mut self, target: &Relation) -> String {
        self.scopes.push(vec![target.clone()]);
        let start = self.c.below(target.columns.len());
        let count = 1 + self.c.below(2).min(target.columns.len() - 1);
        let list: Vec<String> = (0..count)
            .map(|i| {
                let x = &target.columns[(start + i) % target.columns.len()];
                format!("{} = {}", x.name, self.fitting(x.class))
            })
            .collect();
        self.scopes.pop();
        list.join(", ")
    }

    /// A value that every type of the class has room for.
    fn fitting(&mut self, class: Class) -> String {
        match class {
            Class::Text => format!("left({}, 4)", self.expression(class, 1)),
            Class::Int => format!("(({}) % 100)::int2", self.expression(class, 1)),
            _ => self.expression(class, 1),
        }
    }

    fn returning(&mut self, target: &Relation) -> String {
        if self.c.below(2) == 0 {
            return String::new();
        }
        let names: Vec<String> = target
            .columns
            .iter()
            .map(|x| match self.c.below(4) {
                3 => format!("old.{}", x.name),
                _ => format!("{}.{}", target.alias, x.name),
            })
            .collect();
        format!(" RETURNING {}", names.join(", "))
    }

    /// FROM or USING of a change, and its WHERE.
    fn partners(&mut self, word: &str, target: &Relation) -> String {
        let mut text = String::new();
        let mut scope = vec![target.clone()];
        if self.c.below(2) == 1 {
            let (from, relations) = self.from(1);
            text = format!(" {word} {from}");
            scope.extend(relations);
        }
        self.scopes.push(scope);
        let class = *self.c.of(&CLASSES);
        let link = match text.is_empty() {
            true => self.condition(2),
            false => {
                let other = self.leaf(Class::Int);
                format!("{}.id = {other} AND {}", target.alias, self.condition(1))
            }
        };
        let more = match self.c.once_in(4) {
            true => format!(" AND {} IS NOT NULL", self.leaf(class)),
            false => String::new(),
        };
        self.scopes.pop();
        format!("{text} WHERE {link}{more}")
    }

    fn update(&mut self, table: &Table) -> String {
        let target = self.target(table);
        let set = self.assignments(&target);
        let rest = self.partners("FROM", &target);
        let returning = self.returning(&target);
        format!("UPDATE {} {} SET {set}{rest}{returning}", table.name, target.alias)
    }

    fn delete(&mut self, table: &Table) -> String {
        let target = self.target(table);
        let rest = self.partners("USING", &target);
        let returning = self.returning(&target);
        format!("DELETE FROM {} {}{rest}{returning}", table.name, target.alias)
    }

    fn insert(&mut self, table: &Table) -> String {
        let names: Vec<&str> = table.columns.iter().map(|x| x.name.as_str()).collect();
        let (from, relations) = self.from(1);
        self.scopes.push(relations);
        let list: Vec<String> = table.columns.iter().map(|x| self.fitting(x.class)).collect();
        let test = self.condition(1);
        self.scopes.pop();
        format!(
            "INSERT INTO {} ({}) SELECT {} FROM {from} WHERE {test} RETURNING *",
            table.name,
            names.join(", "),
            list.join(", ")
        )
    }

    fn merge(&mut self, table: &Table) -> String {
        let target = self.target(table);
        let classes: Vec<Class> = table.columns.iter().map(|x| x.class).collect();
        let body = self.query(&classes, 1);
        let alias = self.name("source");
        let names: Vec<String> = (1..=classes.len()).map(|i| format!("c{i}")).collect();
        let source = Relation {
            alias: alias.clone(),
            columns: table
                .columns
                .iter()
                .zip(&names)
                .map(|(x, n)| super::schema::Column { name: n.clone(), class: x.class })
                .collect(),
        };
        let both = vec![target.clone(), source.clone()];
        self.scopes.push(both);
        let on = format!("{}.id = {alias}.c1", target.alias);
        let on = if self.c.once_in(3) { format!("{on} AND {}", self.condition(0)) } else { on };
        self.scopes.pop();
        let mut actions = String::new();
        for _ in 0..1 + self.c.below(3) {
            actions.push_str(&self.merge_action(table, &target, &source));
        }
        format!(
            "MERGE INTO {} {} USING ({body}) {alias}({}) ON {on}{actions}",
            table.name,
            target.alias,
            names.join(", ")
        )
    }

    fn merge_action(&mut self, table: &Table, target: &Relation, source: &Relation) -> String {
        let kind = self.c.below(4);
        let visible = match kind {
            0 | 1 => vec![target.clone(), source.clone()],
            2 => vec![source.clone()],
            _ => vec![target.clone()],
        };
        self.scopes.push(visible);
        let test = match self.c.below(2) {
            0 => String::new(),
            _ => format!(" AND {}", self.condition(0)),
        };
        self.scopes.pop();
        match kind {
            2 => {
                let names: Vec<&str> = table.columns.iter().map(|x| x.name.as_str()).collect();
                self.scopes.push(vec![source.clone()]);
                let values: Vec<String> =
                    table.columns.iter().map(|x| self.fitting(x.class)).collect();
                self.scopes.pop();
                format!(
                    " WHEN NOT MATCHED{test} THEN INSERT ({}) VALUES ({})",
                    names.join(", "),
                    values.join(", ")
                )
            }
            _ => {
                let when = if kind == 3 { "NOT MATCHED BY SOURCE" } else { "MATCHED" };
                let what = match self.c.below(3) {
                    0 => format!("UPDATE SET {}", self.assignments(target)),
                    1 => "DELETE".into(),
                    _ => "DO NOTHING".into(),
                };
                format!(" WHEN {when}{test} THEN {what}")
            }
        }
    }
}
