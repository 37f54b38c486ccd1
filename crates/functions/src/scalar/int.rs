//! Integers.

use crate::call::FnDef;

pub(super) const FNS: &[FnDef] = &[total!(int4eq(a: i32, b: i32) -> bool { a == b })];
