//! A path's text.

use super::{Head, JsonPath, PathExpr, RegexFlags, Step};
use crate::json::escape;
use crate::numeric::Numeric;
use std::fmt;

fn quoted(text: &str) -> String {
    let mut out = Vec::new();
    escape(text, &mut out);
    String::from_utf8(out).unwrap_or_default()
}

fn number(n: &Numeric) -> String {
    let mut out = Vec::new();
    n.write(&mut out);
    String::from_utf8(out).unwrap_or_default()
}

/// How tightly a start binds.
fn priority(head: &Head) -> u8 {
    match head {
        Head::Or(..) => 0,
        Head::And(..) => 1,
        Head::Compare(..) | Head::StartsWith(..) => 2,
        Head::Arithmetic(super::Arith::Add | super::Arith::Sub, ..) => 3,
        Head::Arithmetic(..) => 4,
        Head::Signed(..) => 5,
        _ => 6,
    }
}

impl fmt::Display for JsonPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.lax {
            f.write_str("strict ")?;
        }
        expr(&self.expr, true, f)
    }
}

fn infix(
    op: &str,
    sides: (&PathExpr, &PathExpr),
    of: &PathExpr,
    brackets: bool,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let brackets = brackets || !of.steps.is_empty();
    let own = priority(&of.head);
    let inner = |e: &PathExpr| e.steps.is_empty() && priority(&e.head) <= own;
    if brackets {
        f.write_str("(")?;
    }
    expr(sides.0, inner(sides.0), f)?;
    write!(f, " {op} ")?;
    expr(sides.1, inner(sides.1), f)?;
    if brackets {
        f.write_str(")")?;
    }
    Ok(())
}

fn expr(e: &PathExpr, brackets: bool, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match &e.head {
        Head::Root => f.write_str("$")?,
        Head::Current => f.write_str("@")?,
        Head::Last => f.write_str("last")?,
        Head::Variable(v) => write!(f, "${}", quoted(v))?,
        Head::Null => f.write_str("null")?,
        Head::Bool(b) => write!(f, "{b}")?,
        Head::Number(n) if e.steps.is_empty() => f.write_str(&number(n))?,
        Head::Number(n) => write!(f, "({})", number(n))?,
        Head::String(s) => f.write_str(&quoted(s))?,
        Head::Arithmetic(op, a, b) => infix(op.text(), (a, b), e, brackets, f)?,
        Head::Compare(op, a, b) => infix(op.text(), (a, b), e, brackets, f)?,
        Head::And(a, b) => infix("&&", (a, b), e, brackets, f)?,
        Head::Or(a, b) => infix("||", (a, b), e, brackets, f)?,
        Head::StartsWith(a, b) => infix("starts with", (a, b), e, brackets, f)?,
        Head::Signed(minus, a) => {
            let brackets = brackets || !e.steps.is_empty();
            if brackets {
                f.write_str("(")?;
            }
            f.write_str(if *minus { "-" } else { "+" })?;
            expr(a, a.steps.is_empty() && priority(&a.head) <= 5, f)?;
            if brackets {
                f.write_str(")")?;
            }
        }
        Head::Not(a) => {
            f.write_str("!(")?;
            expr(a, false, f)?;
            f.write_str(")")?;
        }
        Head::IsUnknown(a) => {
            f.write_str("(")?;
            expr(a, false, f)?;
            f.write_str(") is unknown")?;
        }
        Head::Exists(a) => {
            f.write_str("exists (")?;
            expr(a, false, f)?;
            f.write_str(")")?;
        }
        Head::LikeRegex(a, pattern, flags) => {
            if brackets {
                f.write_str("(")?;
            }
            expr(a, a.steps.is_empty() && priority(&a.head) <= 2, f)?;
            write!(f, " like_regex {}", quoted(pattern))?;
            regex_flags(flags, f)?;
            if brackets {
                f.write_str(")")?;
            }
        }
    }
    e.steps.iter().try_for_each(|s| step(s, f))
}

fn regex_flags(flags: &RegexFlags, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let all = [
        (flags.ignore_case, "i"),
        (flags.dot_all, "s"),
        (flags.lines, "m"),
        (flags.expanded, "x"),
        (flags.quoted, "q"),
    ];
    let text: String = all.iter().filter(|a| a.0).map(|a| a.1).collect();
    if text.is_empty() { Ok(()) } else { write!(f, " flag \"{text}\"") }
}

fn level(n: u32) -> String {
    if n == u32::MAX { "last".to_string() } else { n.to_string() }
}

fn step(s: &Step, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match s {
        Step::Key(key) => write!(f, ".{}", quoted(key)),
        Step::AnyKey => f.write_str(".*"),
        Step::AnyElement => f.write_str("[*]"),
        Step::Elements(list) => {
            f.write_str("[")?;
            for (i, (from, to)) in list.iter().enumerate() {
                if i > 0 {
                    f.write_str(",")?;
                }
                expr(from, false, f)?;
                if let Some(to) = to {
                    f.write_str(" to ")?;
                    expr(to, false, f)?;
                }
            }
            f.write_str("]")
        }
        Step::Any(0, u32::MAX) => f.write_str(".**"),
        Step::Any(first, last) if first == last => write!(f, ".**{{{}}}", level(*first)),
        Step::Any(first, last) => write!(f, ".**{{{} to {}}}", level(*first), level(*last)),
        Step::Filter(inner) => {
            f.write_str("?(")?;
            expr(inner, false, f)?;
            f.write_str(")")
        }
        Step::Method(m) => write!(f, ".{}()", m.name()),
        Step::Decimal(precision, scale) => {
            f.write_str(".decimal(")?;
            if let Some(p) = precision {
                f.write_str(&number(p))?;
            }
            if let Some(s) = scale {
                write!(f, ",{}", number(s))?;
            }
            f.write_str(")")
        }
        Step::Datetime(template) => {
            let text = template.as_deref().map(quoted).unwrap_or_default();
            write!(f, ".datetime({text})")
        }
        Step::Temporal(t, precision) => {
            let text = precision.as_ref().map(number).unwrap_or_default();
            write!(f, ".{}({text})", t.name())
        }
    }
}
