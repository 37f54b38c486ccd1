//! Booleans.

use crate::call::FnDef;

pub(super) const FNS: &[&[FnDef]] = &[&[
    total!(booleq(a: bool, b: bool) -> bool { a == b }),
    total!(boolne(a: bool, b: bool) -> bool { a != b }),
    total!(boollt(a: bool, b: bool) -> bool { !a & b }),
    total!(boolgt(a: bool, b: bool) -> bool { a & !b }),
    total!(boolle(a: bool, b: bool) -> bool { a <= b }),
    total!(boolge(a: bool, b: bool) -> bool { a >= b }),
    total!(btboolcmp(a: bool, b: bool) -> i32 { a as i32 - b as i32 }),
    total!(booland_statefunc(a: bool, b: bool) -> bool { a && b }),
    total!(boolor_statefunc(a: bool, b: bool) -> bool { a || b }),
    total!(bool_int4(a: bool) -> i32 { a as i32 }),
    total!(int4_bool(a: i32) -> bool { a != 0 }),
    row!(booltext(a: bool) { if a { "true" } else { "false" } }),
]];
