//! Polymorphic pseudo-types: what one stands for, given the arguments of a call.

use crate::CatalogView;
use base::{Oid, Result};

/// True for the polymorphic pseudo-types.
pub fn is_polymorphic(ty: Oid) -> bool {
    is_element(ty) || is_array(ty) || is_range(ty) || is_multirange(ty)
}

fn is_element(ty: Oid) -> bool {
    matches!(ty.0, 2283 | 2776 | 3500 | 5077 | 5079)
}

fn is_array(ty: Oid) -> bool {
    matches!(ty.0, 2277 | 5078)
}

fn is_range(ty: Oid) -> bool {
    matches!(ty.0, 3831 | 5080)
}

fn is_multirange(ty: Oid) -> bool {
    matches!(ty.0, 4537 | 4538)
}

/// What `wanted` is when parameters declared so get arguments of these types; `None` if it cannot
/// be told.
pub fn resolve(
    view: &CatalogView,
    declared: &[Oid],
    actual: &[Oid],
    wanted: Oid,
) -> Result<Option<Oid>> {
    if !is_polymorphic(wanted) {
        return Ok(Some(wanted));
    }
    let pairs = || declared.iter().zip(actual).map(|(d, a)| (*d, *a));
    if let Some((_, same)) = pairs().find(|(d, _)| *d == wanted) {
        return Ok(Some(same));
    }
    let mut element = None;
    for (d, a) in pairs() {
        element = if is_element(d) {
            Some(a)
        } else if is_array(d) {
            // A polymorphic argument stays polymorphic.
            Some(if is_array(a) { Oid(2283) } else { view.type_(a)?.elem })
        } else if is_range(d) {
            Some(if is_range(a) { Oid(2283) } else { view.type_(a)?.range_subtype })
        } else {
            continue;
        };
        break;
    }
    let Some(element) = element.filter(|e| e.is_valid()) else { return Ok(None) };
    if is_element(wanted) {
        return Ok(Some(element));
    }
    if is_array(wanted) {
        return Ok(match is_element(element) {
            true => Some(wanted),
            false => Some(view.type_(element)?.array).filter(|a| a.is_valid()),
        });
    }
    Ok(None)
}
