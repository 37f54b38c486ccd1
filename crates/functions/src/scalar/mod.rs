//! Bodies of scalar functions, by area.

use crate::call::FnDef;

mod boolean;
mod int;

/// All bodies.
pub(crate) fn all() -> impl Iterator<Item = &'static FnDef> {
    [boolean::FNS, int::FNS].into_iter().flatten().flat_map(|list| list.iter())
}
