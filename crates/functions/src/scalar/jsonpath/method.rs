//! Methods of items.

use super::exec::{Exec, Fail, Item, Outcome, soft};
use super::time::{self, Kind};
use base::err;
use types::json::Json;
use types::jsonpath::{Method, Step, Temporal};
use types::numeric::{self, Numeric};

impl Exec<'_> {
    pub(super) fn method(
        &mut self,
        step: &Step,
        steps: &[Step],
        item: Item,
        unwrap: bool,
        out: &mut Vec<Item>,
    ) -> Outcome {
        let rest = &steps[1..];
        let keeps_arrays = matches!(step, Step::Method(Method::Type | Method::Size));
        if let (true, false, Item::Json(Json::Array(_))) = (unwrap, keeps_arrays, &item) {
            let Item::Json(Json::Array(list)) = item else { return Ok(()) };
            return self.each(steps, list, out);
        }
        let made = match step {
            Step::Method(Method::Type) => Item::Json(Json::String(item.type_name().to_string())),
            Step::Method(Method::Size) => match &item {
                Item::Json(Json::Array(list)) => Item::Json(Json::from(list.len() as i64)),
                _ if self.lax => Item::Json(Json::from(1)),
                _ if self.forgive => return Ok(()),
                _ => {
                    return soft(err!(
                        SQL_JSON_ARRAY_NOT_FOUND,
                        "jsonpath item method .size() can only be applied to an array"
                    ));
                }
            },
            Step::Method(Method::KeyValue) => return self.key_value(rest, item, out),
            Step::Method(m) => self.simple(*m, item)?,
            Step::Decimal(precision, scale) => decimal(&item, precision, scale)?,
            Step::Datetime(template) => {
                Item::Time(time::datetime(self, &item, template.as_deref())?)
            }
            Step::Temporal(kind, precision) => {
                let kind = match kind {
                    Temporal::Time => Kind::Time,
                    Temporal::TimeTz => Kind::TimeTz,
                    Temporal::Timestamp => Kind::Timestamp,
                    Temporal::TimestampTz => Kind::TimestampTz,
                };
                Item::Time(time::cast(self, &item, kind, precision.as_ref())?)
            }
            _ => return Ok(()),
        };
        self.steps_of(rest, made, self.lax, out)
    }

    fn key_value(&mut self, rest: &[Step], item: Item, out: &mut Vec<Item>) -> Outcome {
        let id = self.object_id(&item);
        let Item::Json(Json::Object(members)) = item else {
            return soft(err!(
                SQL_JSON_OBJECT_NOT_FOUND,
                "jsonpath item method .keyvalue() can only be applied to an object"
            ));
        };
        for (key, value) in members {
            let object = Json::object(vec![
                ("key".to_string(), Json::String(key)),
                ("value".to_string(), value),
                ("id".to_string(), Json::from(id)),
            ]);
            self.steps_of(rest, Item::Json(object), self.lax, out)?;
        }
        Ok(())
    }

    fn simple(&mut self, m: Method, item: Item) -> Outcome<Item> {
        let made = match m {
            Method::Abs | Method::Floor | Method::Ceiling => {
                let Item::Json(Json::Number(n)) = item else {
                    return soft(err!(
                        NON_NUMERIC_SQL_JSON_ITEM,
                        "jsonpath item method .{}() can only be applied to a numeric value",
                        m.name()
                    ));
                };
                Json::Number(match m {
                    Method::Abs => n.abs(),
                    Method::Floor => n.floor(),
                    _ => n.ceil(),
                })
            }
            Method::Double => double(&item)?,
            Method::BigInt => integer(&item, "bigint", "bigint", i64::MIN, i64::MAX)?,
            Method::Integer => {
                integer(&item, "integer", "integer", i32::MIN as i64, i32::MAX as i64)?
            }
            Method::Number => Json::Number(decimal_of(&item, "number")?.0),
            Method::Boolean => boolean(&item)?,
            Method::String => match item {
                Item::Json(Json::String(s)) => Json::String(s),
                Item::Json(Json::Number(n)) => Json::String(number_text(&n)),
                Item::Json(Json::Bool(b)) => Json::String(b.to_string()),
                Item::Time(t) => Json::String(t.text()),
                _ => {
                    return soft(err!(
                        NON_NUMERIC_SQL_JSON_ITEM,
                        "jsonpath item method .string() can only be applied to a boolean, string, \
                         numeric, or datetime value"
                    ));
                }
            },
            _ => return Ok(Item::Time(time::cast(self, &item, Kind::Date, None)?)),
        };
        Ok(Item::Json(made))
    }
}

fn number_text(n: &Numeric) -> String {
    let mut out = Vec::new();
    n.write(&mut out);
    String::from_utf8(out).unwrap_or_default()
}

fn bad_argument(text: &str, method: &str, ty: &str) -> Fail {
    Fail::Soft(err!(
        NON_NUMERIC_SQL_JSON_ITEM,
        "argument \"{text}\" of jsonpath item method .{method}() is invalid for type {ty}"
    ))
}

fn not_applicable(method: &str, to: &str) -> Fail {
    Fail::Soft(err!(
        NON_NUMERIC_SQL_JSON_ITEM,
        "jsonpath item method .{method}() can only be applied to a {to} value"
    ))
}

fn not_finite(method: &str) -> Fail {
    Fail::Soft(err!(
        NON_NUMERIC_SQL_JSON_ITEM,
        "NaN or Infinity is not allowed for jsonpath item method .{method}()"
    ))
}

fn double(item: &Item) -> Outcome<Json> {
    let (text, number) = match item {
        Item::Json(Json::Number(n)) => (number_text(n), Some(n.clone())),
        Item::Json(Json::String(s)) => (s.clone(), None),
        _ => return Err(not_applicable("double", "string or numeric")),
    };
    let x = types::io::parse_f64(&text)
        .map_err(|_| bad_argument(&text, "double", "double precision"))?;
    if !x.is_finite() {
        return Err(not_finite("double"));
    }
    Ok(Json::Number(number.unwrap_or_else(|| numeric::from_f64(x))))
}

fn integer(item: &Item, method: &str, ty: &str, low: i64, high: i64) -> Outcome<Json> {
    let (text, n) = match item {
        Item::Json(Json::Number(n)) => {
            let whole = if n.is_finite() { n.clone().round(0).to_i64() } else { None };
            (number_text(n), whole)
        }
        Item::Json(Json::String(s)) => (s.clone(), types::io::parse_i64(s).ok()),
        _ => return Err(not_applicable(method, "string or numeric")),
    };
    match n {
        Some(n) if (low..=high).contains(&n) => Ok(Json::from(n)),
        _ => Err(bad_argument(&text, method, ty)),
    }
}

fn boolean(item: &Item) -> Outcome<Json> {
    Ok(Json::Bool(match item {
        Item::Json(Json::Bool(b)) => *b,
        Item::Json(Json::Number(n)) => {
            let text = number_text(n);
            let whole: Option<i32> = text.parse().ok();
            whole.ok_or_else(|| bad_argument(&text, "boolean", "boolean"))? != 0
        }
        Item::Json(Json::String(s)) => {
            types::io::bytes::bool_in(s).map_err(|_| bad_argument(s, "boolean", "boolean"))?
        }
        _ => return Err(not_applicable("boolean", "boolean, string, or numeric")),
    }))
}

fn decimal_of(item: &Item, method: &str) -> Outcome<(Numeric, String)> {
    match item {
        Item::Json(Json::Number(n)) if n.is_finite() => Ok((n.clone(), number_text(n))),
        Item::Json(Json::Number(_)) => Err(not_finite(method)),
        Item::Json(Json::String(s)) => {
            let n = numeric::parse(s).map_err(|_| bad_argument(s, method, "numeric"))?;
            if !n.is_finite() {
                return Err(not_finite(method));
            }
            Ok((n, s.clone()))
        }
        _ => Err(not_applicable(method, "string or numeric")),
    }
}

fn decimal(item: &Item, precision: &Option<Numeric>, scale: &Option<Numeric>) -> Outcome<Item> {
    let (n, text) = decimal_of(item, "decimal")?;
    let Some(precision) = precision else { return Ok(Item::Json(Json::Number(n))) };
    let whole = |n: &Numeric, what: &str| {
        let n = n.clone().round(0).to_i64().and_then(|n| i32::try_from(n).ok());
        n.ok_or_else(|| {
            Fail::Soft(err!(
                NON_NUMERIC_SQL_JSON_ITEM,
                "{what} of jsonpath item method .decimal() is out of range for type integer"
            ))
        })
    };
    let precision = whole(precision, "precision")?;
    let scale = scale.as_ref().map_or(Ok(0), |s| whole(s, "scale"))?;
    let args = [precision.to_string(), scale.to_string()];
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let (typmod, _) = types::io::typmod_in(types::oid::NUMERIC, &args).map_err(Fail::Soft)?;
    let n =
        numeric::apply_typmod(n, typmod).map_err(|_| bad_argument(&text, "decimal", "numeric"))?;
    Ok(Item::Json(Json::Number(n)))
}
