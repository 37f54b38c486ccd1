//! Whether what a path gives depends on the session's time zone.

use super::time::Kind;
use types::jsonpath::{Head, JsonPath, Method, PathExpr, Step};

/// What is known of an item's being a time.
#[derive(Clone, Copy, PartialEq)]
enum Status {
    NoTime,
    Unknown,
    Zoned,
    Plain,
}

impl Status {
    fn is_time(self) -> bool {
        self != Status::NoTime
    }
}

struct Search<'a> {
    variable: &'a dyn Fn(&str) -> Option<Kind>,
    mutable: bool,
}

/// Whether the path may give other results in other sessions; `variable` says what kind of time
/// a variable is.
pub(crate) fn is_mutable(path: &JsonPath, variable: &dyn Fn(&str) -> Option<Kind>) -> bool {
    let mut search = Search { variable, mutable: false };
    search.expr(&path.expr, Status::NoTime);
    search.mutable
}

impl Search<'_> {
    fn expr(&mut self, e: &PathExpr, current: Status) -> Status {
        let mut status = match &e.head {
            Head::Current => current,
            Head::Variable(name) => match (self.variable)(name) {
                Some(Kind::TimeTz | Kind::TimestampTz) => Status::Zoned,
                Some(_) => Status::Plain,
                None => Status::NoTime,
            },
            Head::Compare(_, a, b) => {
                let (a, b) = (self.expr(a, current), self.expr(b, current));
                // Times with and without a zone are compared by the session's.
                let certain = a != Status::Unknown && b != Status::Unknown;
                self.mutable |= a.is_time() && b.is_time() && !(certain && a == b);
                Status::NoTime
            }
            Head::And(a, b) | Head::Or(a, b) | Head::StartsWith(a, b) => {
                self.expr(a, current);
                self.expr(b, current);
                Status::NoTime
            }
            Head::Arithmetic(_, a, b) => {
                self.expr(a, current);
                self.expr(b, current);
                Status::NoTime
            }
            Head::Not(a)
            | Head::IsUnknown(a)
            | Head::Exists(a)
            | Head::Signed(_, a)
            | Head::LikeRegex(a, ..) => {
                self.expr(a, current);
                Status::NoTime
            }
            _ => Status::NoTime,
        };
        for step in &e.steps {
            match step {
                Step::Filter(inner) => {
                    self.expr(inner, status);
                }
                Step::Elements(list) => {
                    for (from, to) in list {
                        self.expr(from, status);
                        to.iter().for_each(|t| {
                            self.expr(t, status);
                        });
                    }
                    status = Status::NoTime;
                }
                Step::Datetime(None) => status = Status::Unknown,
                Step::Datetime(Some(template)) => {
                    let zoned = ["TZH", "TZM", "tzh", "tzm"].iter().any(|z| template.contains(z));
                    status = if zoned { Status::Zoned } else { Status::Plain };
                }
                Step::Temporal(..) | Step::Method(Method::Date) => {
                    self.mutable = true;
                    status = Status::Plain;
                }
                _ => status = Status::NoTime,
            }
        }
        status
    }
}
