//! Every built-in function, called with simple values, gives a value that is held as its row says
//! and never panics.

use crate::{CallInfo, CallState, FnCtx, FnEnv, StaticEnv, builtin, builtin_type_info, lookup};
use base::Oid;
use types::{Datum, PhysType, oid};

/// Texts of a type's values, one ordinary and one at an edge.
fn samples(ty: Oid) -> &'static [&'static str] {
    match ty {
        oid::BOOL => &["t"],
        oid::CHAR => &["a"],
        oid::INT2 => &["3", "-32768"],
        oid::INT4 => &["3", "-2147483648"],
        oid::INT8 => &["3", "-9223372036854775808"],
        oid::FLOAT4 | oid::FLOAT8 => &["1.5", "NaN"],
        oid::NUMERIC => &["1.50", "NaN"],
        oid::OID | oid::XID | oid::CID | oid::XID8 => &["5"],
        oid::TEXT | oid::VARCHAR | oid::BPCHAR | oid::NAME => &["abc", ""],
        oid::BYTEA => &["\\x0102", ""],
        oid::DATE | oid::TIMESTAMP | oid::TIMESTAMPTZ => &["2024-02-29", "infinity"],
        oid::TIME | oid::TIMETZ => &["12:34:56"],
        oid::INTERVAL => &["1 day", "infinity"],
        oid::UUID => &["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"],
        oid::INET | oid::CIDR => &["10.0.0.0/8"],
        oid::MACADDR => &["08:00:2b:01:02:03"],
        oid::MACADDR8 => &["08:00:2b:01:02:03:04:05"],
        oid::BIT | oid::VARBIT => &["101", ""],
        oid::JSON | oid::JSONB => &["{\"a\": [1]}", "[]", "5"],
        oid::JSONPATH => &["$.a"],
        oid::POINT => &["(1,2)", "(NaN,0)"],
        oid::LSEG | oid::BOX => &["(0,0),(1,1)"],
        oid::LINE => &["{1,2,3}"],
        oid::PATH | oid::POLYGON => &["((0,0),(1,1))"],
        oid::CIRCLE => &["<(0,0),1>"],
        oid::PG_LSN => &["0/5"],
        oid::MONEY => &["1.50"],
        oid::TSVECTOR => &["a:1 b"],
        oid::TSQUERY => &["a & b", ""],
        oid::INT4RANGE | oid::ANYRANGE => &["[1,5)", "empty"],
        oid::INT4MULTIRANGE | oid::ANYMULTIRANGE => &["{[1,5)}", "{}"],
        oid::ANYARRAY | oid::INT4_ARRAY => &["{1,2}", "{}"],
        oid::TEXT_ARRAY => &["{a,NULL}"],
        oid::ANYELEMENT | oid::ANYNONARRAY | oid::ANYCOMPATIBLE => &["3"],
        _ => &[],
    }
}

/// What a polymorphic type stands for here.
fn concrete(ty: Oid) -> Oid {
    match ty {
        oid::ANYELEMENT | oid::ANYNONARRAY | oid::ANYCOMPATIBLE => oid::INT4,
        oid::ANYARRAY | oid::ANYCOMPATIBLEARRAY => oid::INT4_ARRAY,
        oid::ANYRANGE => oid::INT4RANGE,
        oid::ANYMULTIRANGE => oid::INT4MULTIRANGE,
        other => other,
    }
}

/// Arguments of a call: the first samples, or the last.
fn arguments(types: &[Oid], last: bool, env: &StaticEnv) -> Option<Vec<Datum>> {
    let value = |ty: &Oid| {
        let texts = samples(*ty);
        let text = if last { texts.last()? } else { texts.first()? };
        types::io::input(concrete(*ty), text, -1, &env.io()).ok()
    };
    types.iter().map(value).collect()
}

#[test]
fn results_are_held_as_their_rows_say() {
    let env = StaticEnv::new(0);
    let mut wrong = Vec::new();
    for row in builtin::procs() {
        let Some(entry) = lookup(row.oid).filter(|e| e.has_body) else { continue };
        let ret = concrete(row.prorettype);
        let Some(phys) = builtin_type_info(ret).map(|t| t.phys) else { continue };
        // What the binary input functions read is not the arguments that they are declared with.
        if row.proargtypes.contains(&oid::INTERNAL) || row.proargtypes.contains(&oid::CSTRING) {
            continue;
        }
        for last in [false, true] {
            let Some(args) = arguments(&row.proargtypes, last, &env) else { continue };
            let call = CallInfo {
                arg_types: row.proargtypes.iter().map(|t| concrete(*t)).collect(),
                ret_type: ret,
                ..CallInfo::of(row.oid)
            };
            let mut state = CallState::default();
            let mut cx = FnCtx { env: &env, call: &call, state: &mut state };
            // Errors are fine; what must not happen is another kind of value.
            if let Ok(value) = entry.call(&mut cx, &args)
                && let Some(held) = value.phys_type()
                && held != phys
                && ret != oid::VOID
            {
                wrong.push((row.oid, row.proname, held, phys));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
    assert_ne!(PhysType::I32, PhysType::U32);
}
