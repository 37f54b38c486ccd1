//! Functions that set and clear the planner's statistics, as dumps with statistics do.
//!
//! What is wrong with a statistic is a warning: the others are set all the same, and the function
//! answers false.

mod column;

use crate::StatementEnv;
use base::{Error, Oid, Result, SqlState, bail, err};
use catalog::{RelKind, RelationDesc};
use functions::{CallInfo, FnEnv};
use std::sync::Arc;
use types::{Datum, oid};

const SHARE_UPDATE_EXCLUSIVE: u8 = 4;
const FLOAT4_ARRAY: Oid = Oid(1021);

/// Runs one; `None` if it is not among them.
pub fn call(env: &StatementEnv<'_>, call: &CallInfo, args: &[Datum]) -> Option<Result<Datum>> {
    let name = functions::builtin::proc(call.fn_oid)?.proname;
    Some(match name {
        "pg_restore_relation_stats" => restore_relation(env, call, args),
        "pg_restore_attribute_stats" => column::restore(env, call, args),
        "pg_clear_relation_stats" => clear_relation(env, args),
        "pg_clear_attribute_stats" => column::clear(env, args),
        _ => return None,
    })
}

/// An argument that a function takes by name.
struct Named {
    name: &'static str,
    ty: Oid,
}

const fn named(name: &'static str, ty: Oid) -> Named {
    Named { name, ty }
}

/// A warning about one of the arguments.
fn warn(env: &StatementEnv<'_>, text: String, detail: Option<&str>) {
    let e = Error::with_severity(base::Severity::Warning, SqlState::INVALID_PARAMETER_VALUE, text);
    env.notice(match detail {
        Some(detail) => e.detail(detail),
        None => e,
    });
}

/// Arguments by name, and whether all of them were right.
struct Given {
    values: Vec<(&'static str, Datum)>,
    right: bool,
}

impl Given {
    /// Reads pairs of names and values.
    fn read(
        env: &StatementEnv<'_>,
        call: &CallInfo,
        args: &[Datum],
        known: &[Named],
    ) -> Result<Given> {
        if call.variadic {
            return Err(Error::unsupported("statistics given as an array"));
        }
        if !args.len().is_multiple_of(2) {
            return Err(err!(INTERNAL_ERROR, "variadic arguments must be name/value pairs").hint(
                "Provide an even number of variadic arguments that can be divided into pairs.",
            ));
        }
        let mut given = Given { values: Vec::new(), right: true };
        let shown = |ty: Oid| crate::describe::format_type_bare(&env.view, ty);
        let type_of = |i: usize| match call.arg_types.get(i) {
            Some(&oid::UNKNOWN) | None => oid::TEXT,
            Some(ty) => *ty,
        };
        for (i, pair) in args.chunks_exact(2).enumerate() {
            let place = 2 * i + 1;
            if pair[0].is_null() {
                bail!(INTERNAL_ERROR, "name at variadic position {place} is null");
            }
            if type_of(2 * i) != oid::TEXT {
                bail!(
                    INTERNAL_ERROR,
                    "name at variadic position {place} has type {}, expected type {}",
                    shown(type_of(2 * i)),
                    shown(oid::TEXT)
                );
            }
            let name = pair[0].as_str();
            if pair[1].is_null() || name.eq_ignore_ascii_case("version") {
                continue;
            }
            let Some(argument) = known.iter().find(|k| k.name.eq_ignore_ascii_case(name)) else {
                warn(env, format!("unrecognized argument name: \"{name}\""), None);
                given.right = false;
                continue;
            };
            let ty = type_of(2 * i + 1);
            if ty != argument.ty {
                let (is, expected) = (shown(ty), shown(argument.ty));
                let name = argument.name;
                let text = format!("argument \"{name}\" has type {is}, expected type {expected}");
                warn(env, text, None);
                given.right = false;
                continue;
            }
            given.values.push((argument.name, pair[1].clone()));
        }
        Ok(given)
    }

    fn get(&self, name: &str) -> Option<&Datum> {
        self.values.iter().rfind(|(n, _)| *n == name).map(|(_, v)| v)
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.get(name).map(Datum::as_str)
    }

    fn require(&self, name: &str) -> Result<&Datum> {
        self.get(name).ok_or_else(|| missing(name))
    }
}

#[cold]
fn missing(name: &str) -> Error {
    err!(INVALID_PARAMETER_VALUE, "argument \"{name}\" must not be null")
}

/// An argument of the functions that take theirs in order.
fn required<'a>(args: &'a [Datum], i: usize, name: &str) -> Result<&'a Datum> {
    args.get(i).filter(|v| !v.is_null()).ok_or_else(|| missing(name))
}

/// The relation of this name, locked, if its statistics are the user's to set.
fn relation(env: &StatementEnv<'_>, schema: &str, name: &str) -> Result<Arc<RelationDesc>> {
    env.view.require_namespace(schema)?;
    let rel = env.view.require_relation(Some(schema), name)?;
    let table = match &rel.index {
        Some(index) => env.view.relation(index.table)?,
        None => rel.clone(),
    };
    if rel.index.is_some() {
        env.core.lock_relation(table.oid, SHARE_UPDATE_EXCLUSIVE)?;
    }
    env.core.lock_relation(rel.oid, SHARE_UPDATE_EXCLUSIVE)?;
    use RelKind::{Foreign, MatView, Partitioned, Table};
    if !matches!(table.kind, Table | MatView | Foreign | Partitioned) {
        return Err(err!(
            WRONG_OBJECT_TYPE,
            "cannot modify statistics for relation \"{}\"",
            rel.name
        )
        .detail(crate::ddl::alter::kind::not_supported(table.kind)));
    }
    if table.shared {
        bail!(FEATURE_NOT_SUPPORTED, "cannot modify statistics for shared relation");
    }
    let user = env.core.users().current;
    let right = catalog::acl::bit(b'm');
    crate::session::permission::require_on_relation(&env.view, user, &table, right)?;
    Ok(rel)
}

const RELATION: &[Named] = &[
    named("schemaname", oid::TEXT),
    named("relname", oid::TEXT),
    named("relpages", oid::INT4),
    named("reltuples", oid::FLOAT4),
    named("relallvisible", oid::INT4),
    named("relallfrozen", oid::INT4),
];

fn restore_relation(env: &StatementEnv<'_>, call: &CallInfo, args: &[Datum]) -> Result<Datum> {
    let given = Given::read(env, call, args, RELATION)?;
    let rel =
        relation(env, given.require("schemaname")?.as_str(), given.require("relname")?.as_str())?;
    let mut right = given.right;
    let mut columns = Vec::new();
    for name in ["relpages", "reltuples", "relallvisible", "relallfrozen"] {
        let Some(value) = given.get(name) else { continue };
        if let Datum::F32(tuples) = value {
            let fault = match *tuples {
                n if !n.is_finite() => "must be a finite value",
                n if n < -1.0 => "must not be less than -1.0",
                _ => {
                    columns.push((name, value.clone()));
                    continue;
                }
            };
            warn(env, format!("argument \"{name}\" {fault}"), None);
            right = false;
            continue;
        }
        columns.push((name, value.clone()));
    }
    env.core.set_class(rel.oid, &columns)?;
    Ok(Datum::Bool(right))
}

fn clear_relation(env: &StatementEnv<'_>, args: &[Datum]) -> Result<Datum> {
    let schema = required(args, 0, "schemaname")?.as_str();
    let rel = relation(env, schema, required(args, 1, "relname")?.as_str())?;
    let zero = Datum::I32(0);
    let columns = [
        ("relpages", zero.clone()),
        ("reltuples", Datum::F32(-1.0)),
        ("relallvisible", zero.clone()),
        ("relallfrozen", zero),
    ];
    env.core.set_class(rel.oid, &columns)?;
    Ok(Datum::text(""))
}
