//! Evaluation of a path over a value.

use super::time::Time;
use crate::env::FnEnv;
use crate::scalar::regexp::{Flags, Pattern};
use base::{Error, Result, err};
use std::collections::HashMap;
use std::sync::Arc;
use types::json::Json;
use types::jsonpath::{Arith, Cmp, Head, JsonPath, PathExpr, RegexFlags, Step};
use types::numeric::Numeric;

/// A result.
#[derive(Clone, Debug)]
pub(crate) enum Item {
    Json(Json),
    Time(Time),
}

impl Item {
    pub(crate) fn into_json(self) -> Json {
        match self {
            Item::Json(j) => j,
            Item::Time(t) => Json::String(t.text()),
        }
    }

    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Item::Json(j) => j.type_name(),
            Item::Time(t) => t.type_name(),
        }
    }
}

/// Why an evaluation stopped.
pub(crate) enum Fail {
    /// An error of the path and the value, which may be kept silent.
    Soft(Error),
    /// An error that is raised whatever happens.
    Hard(Error),
}

pub(super) type Outcome<T = ()> = std::result::Result<T, Fail>;

pub(super) fn soft<T>(e: Error) -> Outcome<T> {
    Err(Fail::Soft(e))
}

/// Where variables come from.
#[derive(Clone, Copy)]
pub(crate) enum Variables<'a> {
    None,
    Object(&'a Json),
    Items(&'a [(String, Item)]),
}

/// How a path is run.
#[derive(Clone, Copy, Default)]
pub(crate) struct Mode {
    /// Times may be compared by the session's time zone.
    pub(crate) zoned: bool,
    /// Only whether there is a result matters.
    pub(crate) exists: bool,
}

/// Runs a path: the results so far and the error that ended it, if one did.
pub(crate) fn evaluate(
    env: &dyn FnEnv,
    path: &JsonPath,
    root: &Json,
    vars: Variables,
    mode: Mode,
) -> Result<(Vec<Item>, Option<Error>)> {
    let root = Item::Json(root.clone());
    let mut exec = Exec {
        env,
        root: root.clone(),
        vars,
        lax: path.lax,
        forgive: path.lax,
        zoned: mode.zoned,
        size: None,
        patterns: HashMap::new(),
        steps: 0,
    };
    let mut out = Vec::new();
    let outcome = match mode.exists {
        true => exec.probe(&path.expr, &root, &mut out),
        false => exec.expr(&path.expr, &root, path.lax, &mut out),
    };
    match outcome {
        Ok(()) => Ok((out, None)),
        Err(Fail::Soft(e)) => Ok((out, Some(e))),
        Err(Fail::Hard(e)) => Err(e),
    }
}

pub(super) struct Exec<'a> {
    pub(super) env: &'a dyn FnEnv,
    root: Item,
    vars: Variables<'a>,
    pub(super) lax: bool,
    /// Structural errors count as no result.
    pub(super) forgive: bool,
    pub(super) zoned: bool,
    /// Length of the innermost array, for `last`.
    size: Option<usize>,
    patterns: HashMap<String, Arc<Pattern>>,
    steps: u64,
}

#[derive(Clone, Copy, PartialEq)]
enum Truth {
    True,
    False,
    Unknown,
}

impl From<bool> for Truth {
    fn from(b: bool) -> Truth {
        if b { Truth::True } else { Truth::False }
    }
}

impl Exec<'_> {
    /// The results of an expression of which only whether there are any matters: a sign passes
    /// over what is no number then.
    fn probe(&mut self, e: &PathExpr, item: &Item, out: &mut Vec<Item>) -> Outcome {
        let Head::Signed(_, a) = &e.head else { return self.expr(e, item, self.lax, out) };
        if !self.lax || !e.steps.is_empty() {
            return self.expr(e, item, self.lax, out);
        }
        let found = self.unwrapped(a, item)?;
        out.extend(found.into_iter().filter(|f| matches!(f, Item::Json(Json::Number(_)))));
        Ok(())
    }

    /// All results of an expression, with `item` as `@`.
    fn expr(&mut self, e: &PathExpr, item: &Item, unwrap: bool, out: &mut Vec<Item>) -> Outcome {
        self.steps += 1;
        if self.steps.is_multiple_of(4096) {
            self.env.check_interrupts().map_err(Fail::Hard)?;
        }
        base::stack::check().map_err(Fail::Hard)?;
        let head = match &e.head {
            Head::Root => self.root.clone(),
            Head::Current => item.clone(),
            Head::Last => match self.size {
                Some(n) => Item::Json(Json::from(n as i64 - 1)),
                None => {
                    return Err(Fail::Hard(err!(
                        INTERNAL_ERROR,
                        "evaluating jsonpath LAST outside of array subscript"
                    )));
                }
            },
            Head::Variable(name) => self.variable(name)?,
            Head::Null => Item::Json(Json::Null),
            Head::Bool(b) => Item::Json(Json::Bool(*b)),
            Head::Number(n) => Item::Json(Json::Number(n.clone())),
            Head::String(s) => Item::Json(Json::String(s.clone())),
            Head::Arithmetic(op, a, b) => {
                let n = self.arithmetic(*op, a, b, item)?;
                Item::Json(Json::Number(n))
            }
            Head::Signed(minus, a) => return self.signed(*minus, a, e, item, out),
            _ => {
                let truth = self.truth(e, item)?;
                Item::Json(match truth {
                    Truth::True => Json::Bool(true),
                    Truth::False => Json::Bool(false),
                    Truth::Unknown => Json::Null,
                })
            }
        };
        self.steps_of(&e.steps, head, unwrap, out)
    }

    fn variable(&mut self, name: &str) -> Outcome<Item> {
        let found = match self.vars {
            Variables::None => None,
            Variables::Object(o) => o.get(name).cloned().map(Item::Json),
            Variables::Items(list) => list.iter().find(|i| i.0 == name).map(|i| i.1.clone()),
        };
        found.ok_or_else(|| {
            Fail::Hard(err!(UNDEFINED_OBJECT, "could not find jsonpath variable \"{name}\""))
        })
    }

    /// Applies what is left of the steps.
    pub(super) fn steps_of(
        &mut self,
        steps: &[Step],
        item: Item,
        unwrap: bool,
        out: &mut Vec<Item>,
    ) -> Outcome {
        let Some((step, rest)) = steps.split_first() else {
            out.push(item);
            return Ok(());
        };
        match step {
            Step::Key(key) => self.key(key, rest, steps, item, unwrap, out),
            Step::AnyKey => match item {
                Item::Json(Json::Object(members)) => {
                    for (_, value) in members {
                        self.steps_of(rest, Item::Json(value), self.lax, out)?;
                    }
                    Ok(())
                }
                Item::Json(Json::Array(list)) if unwrap => self.each(steps, list, out),
                _ if self.forgive => Ok(()),
                _ => soft(err!(
                    SQL_JSON_OBJECT_NOT_FOUND,
                    "jsonpath wildcard member accessor can only be applied to an object"
                )),
            },
            Step::AnyElement => match item {
                Item::Json(Json::Array(list)) => {
                    base::interrupt::step_by(list.len()).map_err(Fail::Hard)?;
                    for value in list {
                        self.steps_of(rest, Item::Json(value), self.lax, out)?;
                    }
                    Ok(())
                }
                _ if self.lax => self.steps_of(rest, item, self.lax, out),
                _ if self.forgive => Ok(()),
                _ => soft(err!(
                    SQL_JSON_ARRAY_NOT_FOUND,
                    "jsonpath wildcard array accessor can only be applied to an array"
                )),
            },
            Step::Elements(list) => self.elements(list, rest, item, out),
            Step::Any(first, last) => self.any(*first, *last, rest, item, out),
            Step::Filter(inner) => {
                if let (true, Item::Json(Json::Array(_))) = (unwrap, &item) {
                    let Item::Json(Json::Array(list)) = item else { return Ok(()) };
                    return self.each(steps, list, out);
                }
                if self.truth(inner, &item)? == Truth::True {
                    return self.steps_of(rest, item, self.lax, out);
                }
                Ok(())
            }
            _ => self.method(step, steps, item, unwrap, out),
        }
    }

    /// Applies steps to each element of an array that is unwrapped.
    pub(super) fn each(&mut self, steps: &[Step], list: Vec<Json>, out: &mut Vec<Item>) -> Outcome {
        base::interrupt::step_by(list.len()).map_err(Fail::Hard)?;
        for value in list {
            self.steps_of(steps, Item::Json(value), false, out)?;
        }
        Ok(())
    }

    fn key(
        &mut self,
        key: &str,
        rest: &[Step],
        steps: &[Step],
        item: Item,
        unwrap: bool,
        out: &mut Vec<Item>,
    ) -> Outcome {
        match item {
            Item::Json(Json::Object(_)) => {
                let Item::Json(object) = &item else { return Ok(()) };
                match object.get(key) {
                    Some(value) => {
                        let value = Item::Json(value.clone());
                        self.steps_of(rest, value, self.lax, out)
                    }
                    None if self.forgive => Ok(()),
                    None => soft(err!(
                        SQL_JSON_MEMBER_NOT_FOUND,
                        "JSON object does not contain key \"{key}\""
                    )),
                }
            }
            Item::Json(Json::Array(list)) if unwrap => self.each(steps, list, out),
            _ if self.forgive => Ok(()),
            _ => soft(err!(
                SQL_JSON_MEMBER_NOT_FOUND,
                "jsonpath member accessor can only be applied to an object"
            )),
        }
    }

    fn elements(
        &mut self,
        list: &[(PathExpr, Option<PathExpr>)],
        rest: &[Step],
        item: Item,
        out: &mut Vec<Item>,
    ) -> Outcome {
        let single;
        let values: &[Json] = match &item {
            Item::Json(Json::Array(values)) => values,
            Item::Json(value) if self.lax => {
                single = [value.clone()];
                &single
            }
            Item::Time(_) if self.lax => &[],
            _ if self.forgive => return Ok(()),
            _ => {
                return soft(err!(
                    SQL_JSON_ARRAY_NOT_FOUND,
                    "jsonpath array accessor can only be applied to an array"
                ));
            }
        };
        let size = values.len() as i64;
        let outer = self.size.replace(values.len());
        let result = (|| {
            for (from, to) in list {
                let first = self.subscript(from, &item)?;
                let last = match to {
                    Some(to) => self.subscript(to, &item)?,
                    None => first,
                };
                if !self.forgive && (first < 0 || first > last || last >= size) {
                    return soft(err!(
                        INVALID_SQL_JSON_SUBSCRIPT,
                        "jsonpath array subscript is out of bounds"
                    ));
                }
                for i in first.max(0)..=last.min(size - 1) {
                    let value = Item::Json(values[i as usize].clone());
                    self.steps_of(rest, value, self.lax, out)?;
                }
            }
            Ok(())
        })();
        self.size = outer;
        result
    }

    fn subscript(&mut self, e: &PathExpr, item: &Item) -> Outcome<i64> {
        let mut found = Vec::new();
        self.expr(e, item, self.lax, &mut found)?;
        let [Item::Json(Json::Number(n))] = found.as_slice() else {
            return soft(err!(
                INVALID_SQL_JSON_SUBSCRIPT,
                "jsonpath array subscript is not a single numeric value"
            ));
        };
        let n = n.clone().trunc(0).to_i64().filter(|n| i32::try_from(*n).is_ok());
        match n {
            Some(n) => Ok(n),
            None => soft(err!(
                INVALID_SQL_JSON_SUBSCRIPT,
                "jsonpath array subscript is out of integer range"
            )),
        }
    }

    fn any(
        &mut self,
        first: u32,
        last: u32,
        rest: &[Step],
        item: Item,
        out: &mut Vec<Item>,
    ) -> Outcome {
        let outer = std::mem::replace(&mut self.forgive, true);
        let result = self.any_level(0, (first, last), rest, &item, out);
        self.forgive = outer;
        result
    }

    fn any_level(
        &mut self,
        level: u32,
        range: (u32, u32),
        rest: &[Step],
        item: &Item,
        out: &mut Vec<Item>,
    ) -> Outcome {
        let (first, last) = range;
        let container = matches!(item, Item::Json(Json::Array(_) | Json::Object(_)));
        let leaf = first == u32::MAX && last == u32::MAX && !container;
        if (level >= first && level <= last) || leaf {
            self.steps_of(rest, item.clone(), self.lax, out)?;
        }
        if level >= last {
            return Ok(());
        }
        match item {
            Item::Json(Json::Array(list)) => {
                for value in list {
                    let value = Item::Json(value.clone());
                    self.any_level(level + 1, range, rest, &value, out)?;
                }
            }
            Item::Json(Json::Object(members)) => {
                for (_, value) in members {
                    let value = Item::Json(value.clone());
                    self.any_level(level + 1, range, rest, &value, out)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The results of an expression, arrays taken apart if lax.
    fn unwrapped(&mut self, e: &PathExpr, item: &Item) -> Outcome<Vec<Item>> {
        let mut found = Vec::new();
        self.expr(e, item, self.lax, &mut found)?;
        if !self.lax || !found.iter().any(|i| matches!(i, Item::Json(Json::Array(_)))) {
            return Ok(found);
        }
        let mut out = Vec::new();
        for item in found {
            match item {
                Item::Json(Json::Array(list)) => out.extend(list.into_iter().map(Item::Json)),
                other => out.push(other),
            }
        }
        Ok(out)
    }

    fn arithmetic(
        &mut self,
        op: Arith,
        a: &PathExpr,
        b: &PathExpr,
        item: &Item,
    ) -> Outcome<Numeric> {
        let mut sides = Vec::with_capacity(2);
        let (left, right) = (self.unwrapped(a, item)?, self.unwrapped(b, item)?);
        for (name, found) in [("left", left), ("right", right)] {
            match found.as_slice() {
                [Item::Json(Json::Number(n))] => sides.push(n.clone()),
                _ => {
                    return soft(err!(
                        SINGLETON_SQL_JSON_ITEM_REQUIRED,
                        "{name} operand of jsonpath operator {} is not a single numeric value",
                        op.text()
                    ));
                }
            }
        }
        let (x, y) = (&sides[0], &sides[1]);
        let result = match op {
            Arith::Add => Ok(x.add(y)),
            Arith::Sub => Ok(x.sub(y)),
            Arith::Mul => Ok(x.mul(y)),
            Arith::Div => x.div(y),
            Arith::Mod => x.rem(y),
        };
        result.map_err(Fail::Soft)
    }

    fn signed(
        &mut self,
        minus: bool,
        a: &PathExpr,
        e: &PathExpr,
        item: &Item,
        out: &mut Vec<Item>,
    ) -> Outcome {
        for found in self.unwrapped(a, item)? {
            let Item::Json(Json::Number(n)) = found else {
                return soft(err!(
                    SQL_JSON_NUMBER_NOT_FOUND,
                    "operand of unary jsonpath operator {} is not a numeric value",
                    if minus { "-" } else { "+" }
                ));
            };
            let n = if minus { n.neg() } else { n };
            self.steps_of(&e.steps, Item::Json(Json::Number(n)), self.lax, out)?;
        }
        Ok(())
    }

    /// The truth of a predicate, or of an expression that gives one boolean.
    fn truth(&mut self, e: &PathExpr, item: &Item) -> Outcome<Truth> {
        Ok(match &e.head {
            Head::And(a, b) => match self.truth(a, item)? {
                Truth::False => Truth::False,
                left => match self.truth(b, item)? {
                    Truth::True => left,
                    right => right,
                },
            },
            Head::Or(a, b) => match self.truth(a, item)? {
                Truth::True => Truth::True,
                left => match self.truth(b, item)? {
                    Truth::False => left,
                    right => right,
                },
            },
            Head::Not(a) => match self.truth(a, item)? {
                Truth::True => Truth::False,
                Truth::False => Truth::True,
                Truth::Unknown => Truth::Unknown,
            },
            Head::IsUnknown(a) => (self.truth(a, item)? == Truth::Unknown).into(),
            Head::Exists(a) => {
                let mut found = Vec::new();
                match self.probe(a, item, &mut found) {
                    _ if self.lax && !found.is_empty() => Truth::True,
                    Ok(()) => (!found.is_empty()).into(),
                    Err(Fail::Soft(_)) => Truth::Unknown,
                    Err(hard) => return Err(hard),
                }
            }
            Head::Compare(op, a, b) => {
                let Some(left) = self.quiet(a, item, true)? else { return Ok(Truth::Unknown) };
                let Some(right) = self.quiet(b, item, true)? else { return Ok(Truth::Unknown) };
                let op = *op;
                self.pairs(&left, &right, |x, l, r| x.compare(op, l, r))?
            }
            Head::StartsWith(a, b) => {
                let Some(left) = self.quiet(a, item, true)? else { return Ok(Truth::Unknown) };
                let Some(right) = self.quiet(b, item, false)? else { return Ok(Truth::Unknown) };
                self.pairs(&left, &right, |_, l, r| {
                    Ok(match (l, r) {
                        (Item::Json(Json::String(l)), Item::Json(Json::String(r))) => {
                            l.starts_with(r.as_str()).into()
                        }
                        _ => Truth::Unknown,
                    })
                })?
            }
            Head::LikeRegex(a, pattern, flags) => {
                let Some(left) = self.quiet(a, item, true)? else { return Ok(Truth::Unknown) };
                let pattern = self.pattern(pattern, *flags)?;
                let none = [Item::Json(Json::Null)];
                self.pairs(&left, &none, |_, l, _| {
                    Ok(match l {
                        Item::Json(Json::String(l)) => {
                            pattern.is_match(l).map_err(Fail::Soft)?.into()
                        }
                        _ => Truth::Unknown,
                    })
                })?
            }
            _ => Truth::Unknown,
        })
    }

    /// Operands of a predicate; None if there was an error, which makes it unknown.
    fn quiet(&mut self, e: &PathExpr, item: &Item, unwrap: bool) -> Outcome<Option<Vec<Item>>> {
        let found = if unwrap {
            self.unwrapped(e, item)
        } else {
            let mut found = Vec::new();
            self.expr(e, item, self.lax, &mut found).map(|()| found)
        };
        match found {
            Ok(found) => Ok(Some(found)),
            Err(Fail::Soft(_)) => Ok(None),
            Err(hard) => Err(hard),
        }
    }

    fn pairs(
        &mut self,
        left: &[Item],
        right: &[Item],
        f: impl Fn(&mut Self, &Item, &Item) -> Outcome<Truth>,
    ) -> Outcome<Truth> {
        let (mut unknown, mut found) = (false, false);
        for l in left {
            for r in right {
                base::interrupt::step().map_err(Fail::Hard)?;
                match f(self, l, r)? {
                    Truth::Unknown if !self.lax => return Ok(Truth::Unknown),
                    Truth::Unknown => unknown = true,
                    Truth::True if self.lax => return Ok(Truth::True),
                    Truth::True => found = true,
                    Truth::False => {}
                }
            }
        }
        Ok(match (found, unknown) {
            (true, _) => Truth::True,
            (_, true) => Truth::Unknown,
            _ => Truth::False,
        })
    }

    fn compare(&mut self, op: Cmp, left: &Item, right: &Item) -> Outcome<Truth> {
        let order = match (left, right) {
            (Item::Json(Json::Null), Item::Json(Json::Null)) => std::cmp::Ordering::Equal,
            (Item::Json(Json::Null), _) | (_, Item::Json(Json::Null)) => {
                return Ok((op == Cmp::Ne).into());
            }
            (Item::Json(Json::Bool(a)), Item::Json(Json::Bool(b))) => a.cmp(b),
            (Item::Json(Json::Number(a)), Item::Json(Json::Number(b))) => a.cmp_value(b),
            (Item::Json(Json::String(a)), Item::Json(Json::String(b))) => utf16_order(a, b),
            (Item::Time(a), Item::Time(b)) => match a.compare(b, self.zoned, self.env)? {
                Some(order) => order,
                None => return Ok(Truth::Unknown),
            },
            _ => return Ok(Truth::Unknown),
        };
        Ok(match op {
            Cmp::Eq => order.is_eq(),
            Cmp::Ne => order.is_ne(),
            Cmp::Lt => order.is_lt(),
            Cmp::Le => order.is_le(),
            Cmp::Gt => order.is_gt(),
            Cmp::Ge => order.is_ge(),
        }
        .into())
    }

    fn pattern(&mut self, text: &str, flags: RegexFlags) -> Outcome<Arc<Pattern>> {
        let key = format!("{flags:?}{text}");
        if let Some(found) = self.patterns.get(&key) {
            return Ok(Arc::clone(found));
        }
        let letters = crate::collation::letters(self.env.default_collation());
        let options = Flags { letters, ..regex_flags(flags) };
        let made = crate::scalar::regexp::compiled(text, options).map_err(Fail::Hard)?;
        let made = Arc::new(made);
        self.patterns.insert(key, Arc::clone(&made));
        Ok(made)
    }

    /// A number for an object that `.keyvalue()` was applied to.
    pub(super) fn object_id(&self, item: &Item) -> i64 {
        let (Item::Json(root), Item::Json(found)) = (&self.root, item) else { return 0 };
        place_of(root, found, 0).unwrap_or(0) as i64
    }
}

/// Without `s`, a point does not match a newline; `m` lets anchors match at lines.
fn regex_flags(flags: RegexFlags) -> Flags {
    Flags {
        ignore_case: flags.ignore_case,
        quote: flags.quoted,
        newline_stop: !flags.quoted && !flags.dot_all,
        newline_anchor: !flags.quoted && flags.lines,
        ..Flags::default()
    }
}

/// Has paths refuse patterns that are no regular expressions when they are read.
pub fn check_patterns() {
    types::jsonpath::check_patterns_by(|pattern, flags| {
        crate::scalar::regex::compile(pattern, regex_flags(flags)).map(|_| ())
    });
}

/// How long a value is where jsonb holds it, from a place on, with what it takes to align it.
fn stored_len(json: &Json, at: usize) -> usize {
    let start = at.next_multiple_of(4);
    match json {
        Json::Null | Json::Bool(_) => 0,
        Json::String(s) => s.len(),
        Json::Number(n) => start - at + 4 + n.stored_len(),
        Json::Array(items) => {
            let mut end = start + 4 + 4 * items.len();
            for item in items {
                end += stored_len(item, end);
            }
            end - at
        }
        Json::Object(members) => {
            let mut end = start + 4 + 8 * members.len();
            end += members.iter().map(|m| m.0.len()).sum::<usize>();
            for (_, value) in members {
                end += stored_len(value, end);
            }
            end - at
        }
    }
}

/// Where an object is within a document as jsonb holds it.
fn place_of(json: &Json, wanted: &Json, at: usize) -> Option<usize> {
    let start = at.next_multiple_of(4);
    if json == wanted {
        return Some(start);
    }
    let (mut end, values): (usize, Vec<&Json>) = match json {
        Json::Array(items) => (start + 4 + 4 * items.len(), items.iter().collect()),
        Json::Object(members) => {
            let keys: usize = members.iter().map(|m| m.0.len()).sum();
            let values = members.iter().map(|m| &m.1).collect();
            (start + 4 + 8 * members.len() + keys, values)
        }
        _ => return None,
    };
    for value in values {
        if let Some(found) = place_of(value, wanted, end) {
            return Some(found);
        }
        end += stored_len(value, end);
    }
    None
}

/// Strings are ordered by their UTF-16 code units.
fn utf16_order(a: &str, b: &str) -> std::cmp::Ordering {
    a.encode_utf16().cmp(b.encode_utf16())
}
