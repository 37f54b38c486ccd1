//! Input and output functions of all types, and casts that go through text.

use crate::builtin;
use crate::call::FnCtx;
use base::{Oid, Result, err};
use std::collections::HashMap;
use std::sync::OnceLock;
use types::Datum;

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
    if args[0].is_null() {
        return Ok(Datum::Null);
    }
    let io = cx.env.io();
    let typmod = args.get(2).map_or(-1, Datum::as_i32);
    let target = || {
        let given = args.get(1).map_or(Oid::INVALID, Datum::as_oid);
        let lookup = cx.env.catalog().types();
        match (type_oid.is_valid(), given.is_valid()) {
            (true, _) => type_oid,
            // The argument of array_in is the element type, of the others the type itself.
            (false, true) => match lookup.type_info(given) {
                Some(info) if info.typtype == b'b' && info.array.is_valid() => info.array,
                _ => given,
            },
            _ => cx.call.ret_type,
        }
    };
    match kind {
        IoKind::Input => types::io::input(target(), args[0].as_str(), typmod, &io),
        IoKind::Receive => types::io::receive(target(), args[0].as_bytes(), typmod, &io),
        IoKind::Output | IoKind::Send => {
            let source = if type_oid.is_valid() { type_oid } else { cx.call.arg_type(0) };
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

/// Type modifier input and output functions, by symbol.
pub(crate) fn typmod_row(cx: &mut FnCtx, args: &[Datum]) -> Result<Datum> {
    let function = cx.call.fn_oid;
    let owner = builtin::types().iter().find(|t| t.typmodin == function || t.typmodout == function);
    let Some(owner) = owner else {
        return Err(err!(INTERNAL_ERROR, "not a type modifier function"));
    };
    if owner.typmodout == function {
        return Ok(Datum::string(types::io::typmod_out(owner.oid, args[0].as_i32())));
    }
    let texts = types::array::texts_of(&args[0]);
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    types::io::typmod_in(owner.oid, &texts).map(Datum::I32)
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
