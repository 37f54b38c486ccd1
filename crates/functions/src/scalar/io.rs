//! Input and output functions of all types, and casts that go through text.

use crate::builtin;
use crate::call::FnCtx;
use base::{Oid, Result, bail, err};
use std::collections::HashMap;
use std::sync::OnceLock;
use types::{Datum, oid};

/// What an input or output function does, for which type (0 for all of a kind).
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum IoKind {
    Input,
    Output,
    Receive,
    Send,
}

/// Which rows are input or output functions.
pub(crate) fn kind_of(function: Oid) -> Option<(IoKind, Oid)> {
    static MAP: OnceLock<HashMap<Oid, (IoKind, Oid)>> = OnceLock::new();
    let map = MAP.get_or_init(|| {
        let mut map = HashMap::new();
        for t in builtin::types() {
            let kinds = [
                (IoKind::Input, t.typinput),
                (IoKind::Output, t.typoutput),
                (IoKind::Receive, t.typreceive),
                (IoKind::Send, t.typsend),
            ];
            for (kind, function) in kinds.into_iter().filter(|k| k.1.is_valid()) {
                // A function that serves many types is told which by an argument or the call.
                map.entry(function)
                    .and_modify(|e: &mut (IoKind, Oid)| e.1 = Oid::INVALID)
                    .or_insert((kind, t.oid));
            }
        }
        map
    });
    map.get(&function).copied()
}

/// The body of all of them.
pub(crate) fn io_row(cx: &mut FnCtx, args: &[Datum]) -> Result<Datum> {
    let Some((kind, type_oid)) = kind_of(cx.call.fn_oid) else {
        return Err(err!(INTERNAL_ERROR, "not an input or output function"));
    };
    if kind == IoKind::Input && refuses_all(type_oid) {
        let name = match type_oid.0 {
            4601 => "brin_minmax_multi_summary",
            _ => builtin::types().iter().find(|t| t.oid == type_oid).map_or("", |t| t.typname),
        };
        return Err(err!(FEATURE_NOT_SUPPORTED, "cannot accept a value of type {name}"));
    }
    if matches!(kind, IoKind::Input | IoKind::Receive) {
        check_domain_type(cx, args)?;
    }
    if args[0].is_null() {
        return Ok(Datum::Null);
    }
    if kind == IoKind::Output && type_oid == oid::ANY {
        return Err(err!(FEATURE_NOT_SUPPORTED, "cannot display a value of type any"));
    }
    let io = cx.env.io();
    let typmod = args.get(2).map_or(-1, Datum::as_i32);
    match kind {
        // A domain that is not known has no value.
        IoKind::Input if args.get(1).is_some_and(Datum::is_null) => Ok(Datum::Null),
        IoKind::Input => {
            let target = target_of(cx, type_oid, args)?;
            types::io::input(target, args[0].as_str(), typmod, &io)
        }
        IoKind::Receive => {
            let target = target_of(cx, type_oid, args)?;
            types::io::receive(target, args[0].as_bytes(), typmod, &io)
        }
        IoKind::Output | IoKind::Send => {
            // A polymorphic type stands for the type of what is given.
            let known = type_oid.is_valid() && !is_polymorphic(type_oid);
            let source = if known { type_oid } else { cx.call.arg_type(0) };
            let mut out = Vec::new();
            if kind == IoKind::Output {
                types::io::output(source, &args[0], &io, &mut out)?;
            } else {
                types::io::send(source, &args[0], &io, &mut out)?;
            }
            Ok(Datum::bytes(out))
        }
    }
}

/// `domain_in` and `domain_recv` want to know of a domain even if there is no value to check.
fn check_domain_type(cx: &FnCtx, args: &[Datum]) -> Result<()> {
    const DOMAIN_IN: Oid = Oid(2597);
    const DOMAIN_RECV: Oid = Oid(2598);
    let Some(given) = args.get(1).filter(|d| !d.is_null()).map(Datum::as_oid) else {
        return Ok(());
    };
    if !matches!(cx.call.fn_oid, DOMAIN_IN | DOMAIN_RECV) {
        return Ok(());
    }
    match cx.env.catalog().types().type_info(given) {
        None => bail!(UNDEFINED_OBJECT, "type with OID {given} does not exist"),
        Some(t) if t.typtype != b'd' => {
            let name = cx.env.catalog().type_name(given).unwrap_or_default();
            bail!(DATATYPE_MISMATCH, "type {name} is not a domain");
        }
        Some(_) => Ok(()),
    }
}

/// The type that an input function is to read: its own, or what it is told.
fn target_of(cx: &FnCtx, type_oid: Oid, args: &[Datum]) -> Result<Oid> {
    if type_oid.is_valid() {
        return Ok(type_oid);
    }
    let Some(given) = args.get(1).filter(|d| !d.is_null()).map(Datum::as_oid) else {
        return Ok(cx.call.ret_type);
    };
    let info = cx.env.catalog().types().type_info(given);
    let symbol = builtin::proc(cx.call.fn_oid).map_or("", |p| p.proname);
    let of_array = symbol.starts_with("array_");
    let Some(info) = info else {
        return Err(match of_array {
            true => err!(INTERNAL_ERROR, "cache lookup failed for type {given}"),
            false => err!(UNDEFINED_OBJECT, "type with OID {given} does not exist"),
        });
    };
    let shown = || cx.env.catalog().type_name(given).unwrap_or_default();
    // The argument of array_in is the element type, of the others the type itself.
    match info.typtype {
        _ if of_array && info.array.is_valid() => Ok(info.array),
        kind if symbol.starts_with("range_") && kind != b'r' => {
            Err(err!(INTERNAL_ERROR, "type {given} is not a range type"))
        }
        kind if symbol.starts_with("multirange_") && kind != b'm' => {
            Err(err!(INTERNAL_ERROR, "type {given} is not a multirange type"))
        }
        b'b' if symbol.starts_with("record_") => {
            Err(err!(WRONG_OBJECT_TYPE, "type {} is not composite", shown()))
        }
        kind if symbol.starts_with("domain_") && kind != b'd' => {
            Err(err!(DATATYPE_MISMATCH, "type {} is not a domain", shown()))
        }
        _ => Ok(given),
    }
}

/// Types that have no text form that could be read, not even of NULL.
fn refuses_all(type_oid: Oid) -> bool {
    matches!(
        type_oid.0,
        // trigger, event_trigger, language_handler, fdw_handler, tsm_handler, the handlers of
        // tables and indexes, pg_node_tree, pg_ndistinct, pg_dependencies, pg_mcv_list, gtsvector,
        // and the two of BRIN.
        2279 | 3838
            | 2280
            | 3115
            | 3310
            | 269
            | 325
            | 194
            | 3361
            | 3402
            | 5017
            | 3642
            | 4600
            | 4601
    )
}

fn is_polymorphic(type_oid: Oid) -> bool {
    matches!(
        type_oid,
        oid::ANYARRAY
            | oid::ANYRANGE
            | oid::ANYMULTIRANGE
            | oid::ANYCOMPATIBLEARRAY
            | oid::ANYCOMPATIBLERANGE
            | oid::ANYCOMPATIBLEMULTIRANGE
    )
}

/// Type modifier input and output functions, by symbol.
pub(crate) fn typmod_row(cx: &mut FnCtx, args: &[Datum]) -> Result<Datum> {
    let function = cx.call.fn_oid;
    // An array has the modifiers of its elements.
    let owner = builtin::types()
        .iter()
        .filter(|t| t.typcategory != b'A')
        .find(|t| t.typmodin == function || t.typmodout == function);
    let Some(owner) = owner else {
        return Err(err!(INTERNAL_ERROR, "not a type modifier function"));
    };
    if owner.typmodout == function {
        let modifier = args[0].as_i32();
        if owner.oid == oid::INTERVAL
            && modifier >= 0
            && !types::datetime::is_range(modifier >> 16 & 0x7fff)
        {
            return Err(err!(INTERNAL_ERROR, "invalid INTERVAL typmod: 0x{modifier:x}"));
        }
        let zone = match owner.oid {
            oid::TIME | oid::TIMESTAMP => " without time zone",
            oid::TIMETZ | oid::TIMESTAMPTZ => " with time zone",
            _ => "",
        };
        return Ok(Datum::string(match modifier {
            ..0 => zone.to_string(),
            n => types::io::typmod_out(owner.oid, n),
        }));
    }
    if types::array::ArrayRef::parse(args[0].as_bytes())?.dims.len() != 1 {
        return Err(err!(ARRAY_SUBSCRIPT_ERROR, "typmod array must be one-dimensional"));
    }
    let texts = types::array::texts_of(&args[0]);
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let (typmod, warning) = types::io::typmod_in(owner.oid, &texts)?;
    if let Some(warning) = warning {
        cx.env.notice(warning);
    }
    Ok(Datum::I32(typmod))
}

/// Whether a row is a type modifier function.
pub(crate) fn is_typmod(function: Oid) -> bool {
    static LIST: OnceLock<Vec<Oid>> = OnceLock::new();
    let list = LIST.get_or_init(|| {
        builtin::types()
            .iter()
            .flat_map(|t| [t.typmodin, t.typmodout])
            .filter(|o| o.is_valid())
            .collect()
    });
    list.contains(&function)
}
