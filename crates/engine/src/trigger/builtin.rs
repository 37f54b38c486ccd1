//! The trigger functions that are built in.

use super::Firing;
use crate::StatementEnv;
use crate::ddl::trigger::bits;
use base::{Error, Oid, Result, SqlState, bail, err};
use catalog::oids;
use functions::{CallInfo, CallState, FnCtx, FnEnv};
use types::Datum;

const TSVECTOR: Oid = Oid(3614);
const REGCONFIG: Oid = Oid(3734);
const TO_TSVECTOR: Oid = Oid(3745);

fn misused(text: &str) -> Error {
    Error::new(SqlState::E_R_I_E_TRIGGER_PROTOCOL_VIOLATED, text)
}

/// An update that changes nothing does not take place.
pub(super) fn suppress_redundant_updates(f: &Firing<'_>) -> Result<Option<Vec<Datum>>> {
    const NAME: &str = "suppress_redundant_updates_trigger";
    if f.event != bits::UPDATE {
        return Err(misused(&format!("{NAME}: must be called on update")));
    }
    if f.trigger.kind & bits::BEFORE == 0 {
        return Err(misused(&format!("{NAME}: must be called before update")));
    }
    if f.trigger.kind & bits::ROW == 0 {
        return Err(misused(&format!("{NAME}: must be called for each row")));
    }
    Ok(if f.old == f.new { None } else { Some(f.row()) })
}

fn column(f: &Firing<'_>, name: &str) -> Option<usize> {
    f.rel.column_number(name).map(|n| n as usize - 1)
}

/// Fills a `tsvector` column from texts of the row.
pub(super) fn tsvector_update(
    env: &StatementEnv<'_>,
    f: &Firing<'_>,
    by_column: bool,
) -> Result<Option<Vec<Datum>>> {
    if f.trigger.kind & bits::ROW == 0 {
        bail!(INTERNAL_ERROR, "tsvector_update_trigger: must be fired for row");
    }
    if f.trigger.kind & bits::BEFORE == 0 {
        bail!(INTERNAL_ERROR, "tsvector_update_trigger: must be fired BEFORE event");
    }
    if f.event == bits::DELETE {
        bail!(INTERNAL_ERROR, "tsvector_update_trigger: must be fired for INSERT or UPDATE");
    }
    let args = &f.trigger.args;
    if args.len() < 3 {
        bail!(
            INTERNAL_ERROR,
            "tsvector_update_trigger: arguments must be tsvector_field, ts_config, text_field1, ...)"
        );
    }
    let attr = |i: usize| &f.rel.tuple.attrs[i];
    let Some(target) = column(f, &args[0]) else {
        bail!(UNDEFINED_COLUMN, "tsvector column \"{}\" does not exist", args[0]);
    };
    if attr(target).type_oid != TSVECTOR {
        bail!(DATATYPE_MISMATCH, "column \"{}\" is not of tsvector type", args[0]);
    }
    let mut row = f.row();
    let mut needed = f.event == bits::INSERT;
    let config = match by_column {
        true => {
            let Some(n) = column(f, &args[1]) else {
                bail!(UNDEFINED_COLUMN, "configuration column \"{}\" does not exist", args[1]);
            };
            if attr(n).type_oid != REGCONFIG {
                bail!(DATATYPE_MISMATCH, "column \"{}\" is not of regconfig type", args[1]);
            }
            if row[n].is_null() {
                bail!(
                    NULL_VALUE_NOT_ALLOWED,
                    "configuration column \"{}\" must not be null",
                    args[1]
                );
            }
            needed |= f.old.is_some_and(|old| old[n] != row[n]);
            row[n].clone()
        }
        false => {
            if !args[1].contains('.') {
                bail!(
                    INVALID_PARAMETER_VALUE,
                    "text search configuration name \"{}\" must be schema-qualified",
                    args[1]
                );
            }
            types::io::input(REGCONFIG, &args[1], -1, &env.io())?
        }
    };
    let mut text = String::new();
    for name in &args[2..] {
        let Some(n) = column(f, name) else {
            return Err(err!(UNDEFINED_COLUMN, "column \"{name}\" does not exist"));
        };
        let textual = matches!(attr(n).type_oid, oids::TEXT | oids::VARCHAR | oids::BPCHAR);
        if !textual {
            bail!(DATATYPE_MISMATCH, "column \"{name}\" is not of a character type");
        }
        needed |= f.old.is_some_and(|old| old[n] != row[n]);
        if let Datum::Bytes(bytes) = &row[n] {
            text.push_str(&String::from_utf8_lossy(bytes));
            text.push(' ');
        }
    }
    if !needed {
        return Ok(Some(row));
    }
    let Some(entry) = functions::lookup(TO_TSVECTOR) else {
        return Err(Error::internal("to_tsvector is missing"));
    };
    let info = CallInfo::of(TO_TSVECTOR);
    let mut state = CallState::default();
    let mut cx = FnCtx { env, call: &info, state: &mut state };
    row[target] = entry.call(&mut cx, &[config, Datum::string(text)])?;
    Ok(Some(row))
}
