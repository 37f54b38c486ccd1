//! Polymorphic types: whether actual types fit, and what the declared ones become.

use crate::coerce::{base_type, element_type, is_polymorphic};
use crate::state::Analyzer;
use base::{Error, Oid, Result, err};
use catalog::{CastContext, oids};

const ANYELEMENT: u32 = 2283;
const ANYARRAY: u32 = 2277;
const ANYNONARRAY: u32 = 2776;
const ANYENUM: u32 = 3500;
const ANYRANGE: u32 = 3831;
const ANYMULTIRANGE: u32 = 4537;
const ANYCOMPATIBLE: u32 = 5077;
const ANYCOMPATIBLEARRAY: u32 = 5078;
const ANYCOMPATIBLENONARRAY: u32 = 5079;
const ANYCOMPATIBLERANGE: u32 = 5080;
const ANYCOMPATIBLEMULTIRANGE: u32 = 4538;

/// What the arguments say about one family of polymorphic types.
#[derive(Default, Clone, Copy)]
struct Family {
    elem: Oid,
    array: Oid,
    range: Oid,
    multirange: Oid,
}

/// The range types of the anycompatible family.
#[derive(Default)]
struct CommonRanges {
    range: Oid,
    multi: Oid,
}

/// Sets a slot, or compares with what it holds.
fn agree(slot: &mut Oid, found: Oid) -> bool {
    if slot.is_valid() && *slot != found {
        return false;
    }
    *slot = found;
    true
}

impl Analyzer<'_> {
    fn range_subtype(&self, range: Oid) -> Result<Oid> {
        let desc = self.type_desc(base_type(self.catalog(), range)?)?;
        Ok(if desc.kind == b'r' { desc.range_subtype } else { Oid::INVALID })
    }

    fn multirange_range(&self, multi: Oid) -> Result<Oid> {
        let desc = self.type_desc(base_type(self.catalog(), multi)?)?;
        Ok(if desc.kind == b'm' { desc.range_subtype } else { Oid::INVALID })
    }

    /// `check_generic_type_consistency`.
    pub fn check_generic(&self, actual: &[Oid], declared: &[Oid]) -> Result<bool> {
        let mut family = Family::default();
        let mut common: Vec<(Oid, ir::Location)> = Vec::new();
        let (mut common_range, mut common_multi) = (Oid::INVALID, Oid::INVALID);
        let (mut nonarray, mut is_enum, mut common_nonarray) = (false, false, false);
        for (&actual, &declared) in actual.iter().zip(declared) {
            if !is_polymorphic(declared) {
                continue;
            }
            if actual == oids::UNKNOWN {
                nonarray |= declared.0 == ANYNONARRAY;
                is_enum |= declared.0 == ANYENUM;
                common_nonarray |= declared.0 == ANYCOMPATIBLENONARRAY;
                continue;
            }
            let base = base_type(self.catalog(), actual)?;
            let fits = match declared.0 {
                ANYELEMENT | ANYNONARRAY | ANYENUM => {
                    nonarray |= declared.0 == ANYNONARRAY;
                    is_enum |= declared.0 == ANYENUM;
                    agree(&mut family.elem, actual)
                }
                ANYARRAY => agree(&mut family.array, base),
                ANYRANGE => agree(&mut family.range, base),
                ANYMULTIRANGE => agree(&mut family.multirange, base),
                ANYCOMPATIBLE | ANYCOMPATIBLENONARRAY => {
                    common_nonarray |= declared.0 == ANYCOMPATIBLENONARRAY;
                    common.push((actual, None));
                    true
                }
                ANYCOMPATIBLEARRAY => {
                    let elem = element_type(self.catalog(), base)?;
                    common.push((elem, None));
                    elem.is_valid()
                }
                ANYCOMPATIBLERANGE => {
                    let sub = self.range_subtype(base)?;
                    if sub.is_valid() && !common_range.is_valid() {
                        common.push((sub, None));
                    }
                    sub.is_valid() && agree(&mut common_range, base)
                }
                _ => agree(&mut common_multi, base) && self.multirange_range(base)?.is_valid(),
            };
            if !fits {
                return Ok(false);
            }
        }
        if !self.fits_family(&mut family)? {
            return Ok(false);
        }
        let elem = family.elem;
        if nonarray && elem.is_valid() && element_type(self.catalog(), elem)?.is_valid() {
            return Ok(false);
        }
        if is_enum && elem.is_valid() && self.type_desc(elem)?.kind != b'e' {
            return Ok(false);
        }
        self.fits_common(&common, common_range, common_nonarray)
    }

    /// Whether array, range and element agree; derives the element from them.
    fn fits_family(&self, family: &mut Family) -> Result<bool> {
        if family.array.is_valid() && family.array.0 != ANYARRAY {
            let elem = element_type(self.catalog(), family.array)?;
            if !elem.is_valid() || !agree(&mut family.elem, elem) {
                return Ok(false);
            }
        }
        if family.multirange.is_valid() {
            let range = self.multirange_range(family.multirange)?;
            if !range.is_valid() || !agree(&mut family.range, range) {
                return Ok(false);
            }
        }
        if family.range.is_valid() {
            let sub = self.range_subtype(family.range)?;
            if !sub.is_valid() || !agree(&mut family.elem, sub) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn fits_common(
        &self,
        common: &[(Oid, ir::Location)],
        range: Oid,
        nonarray: bool,
    ) -> Result<bool> {
        if common.is_empty() {
            return Ok(true);
        }
        let Some(chosen) = self.common_type_of(common, None)? else {
            return Ok(false);
        };
        for (ty, _) in common {
            if !self.can_coerce(&[*ty], &[chosen], CastContext::Implicit)? {
                return Ok(false);
            }
        }
        if nonarray && element_type(self.catalog(), chosen)?.is_valid() {
            return Ok(false);
        }
        Ok(!range.is_valid() || self.range_subtype(range)? == chosen)
    }

    /// `enforce_generic_type_consistency`: makes `declared` actual and gives the result's type.
    pub fn enforce_generic(
        &self,
        actual: &[Oid],
        declared: &mut [Oid],
        result: Oid,
        allow_poly: bool,
    ) -> Result<Oid> {
        if !declared.iter().any(|d| is_polymorphic(*d)) {
            return Ok(result);
        }
        let mut family = Family::default();
        let (mut nonarray, mut is_enum) = (false, false);
        let (mut have_poly_any, mut have_poly_unknown) = (false, false);
        let mut common: Vec<(Oid, ir::Location)> = Vec::new();
        let mut ranges = CommonRanges::default();
        let mut have_common = false;
        for (&actual, &decl) in actual.iter().zip(declared.iter()) {
            if !is_polymorphic(decl) {
                continue;
            }
            let compatible = matches!(
                decl.0,
                ANYCOMPATIBLE
                    | ANYCOMPATIBLEARRAY
                    | ANYCOMPATIBLENONARRAY
                    | ANYCOMPATIBLERANGE
                    | ANYCOMPATIBLEMULTIRANGE
            );
            have_common |= compatible;
            nonarray |= decl.0 == ANYNONARRAY;
            is_enum |= decl.0 == ANYENUM;
            have_poly_any |= !compatible;
            if actual == oids::UNKNOWN || (allow_poly && actual == decl) {
                have_poly_unknown |= !compatible;
                continue;
            }
            self.note_actual(actual, decl, &mut family, &mut common, &mut ranges)?;
        }
        if have_poly_any {
            self.finish_family(&mut family, have_poly_unknown, nonarray, is_enum)?;
        }
        let mut common_type = Oid::INVALID;
        if have_common {
            common_type = if common.is_empty() {
                oids::TEXT
            } else {
                self.common_type_of(&common, Some("arguments of anycompatible family"))?
                    .unwrap_or(oids::TEXT)
            };
        }
        let to = |decl: Oid| -> Result<Oid> {
            Ok(match decl.0 {
                ANYELEMENT | ANYNONARRAY | ANYENUM => family.elem,
                ANYARRAY => self.array_over(family.array, family.elem)?,
                ANYRANGE => family.range,
                ANYMULTIRANGE => self.multirange_over(family.multirange, family.range)?,
                ANYCOMPATIBLE | ANYCOMPATIBLENONARRAY => common_type,
                ANYCOMPATIBLEARRAY => self.array_over(Oid::INVALID, common_type)?,
                ANYCOMPATIBLERANGE => ranges.range,
                ANYCOMPATIBLEMULTIRANGE => self.multirange_over(ranges.multi, ranges.range)?,
                _ => decl,
            })
        };
        for decl in declared.iter_mut() {
            *decl = to(*decl)?;
        }
        to(result)
    }

    /// What one actual argument says about the types that the declared ones stand for.
    fn note_actual(
        &self,
        actual: Oid,
        decl: Oid,
        family: &mut Family,
        common: &mut Vec<(Oid, ir::Location)>,
        ranges: &mut CommonRanges,
    ) -> Result<()> {
        let mismatch = |what: &str, a: Oid, b: Oid| {
            Err(err!(DATATYPE_MISMATCH, "arguments declared \"{what}\" are not all alike")
                .detail(format!("{} versus {}", self.type_shown(a), self.type_shown(b))))
        };
        let base = base_type(self.catalog(), actual)?;
        match decl.0 {
            ANYELEMENT | ANYNONARRAY | ANYENUM => {
                if !agree(&mut family.elem, actual) {
                    return mismatch("anyelement", family.elem, actual);
                }
            }
            ANYARRAY => {
                if !agree(&mut family.array, base) {
                    return mismatch("anyarray", family.array, base);
                }
            }
            ANYRANGE => {
                if !agree(&mut family.range, base) {
                    return mismatch("anyrange", family.range, base);
                }
            }
            ANYMULTIRANGE => {
                if !agree(&mut family.multirange, base) {
                    return mismatch("anymultirange", family.multirange, base);
                }
            }
            ANYCOMPATIBLE | ANYCOMPATIBLENONARRAY => common.push((actual, None)),
            ANYCOMPATIBLEARRAY => {
                let elem = element_type(self.catalog(), base)?;
                if !elem.is_valid() {
                    return Err(err!(
                        DATATYPE_MISMATCH,
                        "argument declared {} is not an array but type {}",
                        "anycompatiblearray",
                        self.type_shown(actual)
                    ));
                }
                common.push((elem, None));
            }
            ANYCOMPATIBLERANGE => {
                if !agree(&mut ranges.range, base) {
                    return mismatch("anycompatiblerange", ranges.range, base);
                }
                common.push((self.range_subtype(base)?, None));
            }
            _ => {
                if !agree(&mut ranges.multi, base) {
                    return mismatch("anycompatiblemultirange", ranges.multi, base);
                }
            }
        }
        Ok(())
    }

    fn finish_family(
        &self,
        family: &mut Family,
        unknown: bool,
        nonarray: bool,
        is_enum: bool,
    ) -> Result<()> {
        let inconsistent = |a: &str, b: &str| {
            Err(err!(
                DATATYPE_MISMATCH,
                "argument declared {a} is not consistent with argument declared {b}"
            ))
        };
        if family.array.is_valid() {
            let elem = if family.array.0 == ANYARRAY {
                Oid(ANYELEMENT)
            } else {
                element_type(self.catalog(), family.array)?
            };
            if !elem.is_valid() {
                return Err(err!(
                    DATATYPE_MISMATCH,
                    "argument declared {} is not an array but type {}",
                    "anyarray",
                    self.type_shown(family.array)
                ));
            }
            let before = family.elem;
            if !agree(&mut family.elem, elem) {
                return inconsistent("anyarray", "anyelement").map_err(|e| {
                    e.detail(format!(
                        "{} versus {}",
                        self.type_shown(family.array),
                        self.type_shown(before)
                    ))
                });
            }
        }
        if family.multirange.is_valid() {
            let range = self.multirange_range(family.multirange)?;
            if !range.is_valid() {
                return Err(err!(
                    DATATYPE_MISMATCH,
                    "argument declared {} is not a multirange type but type {}",
                    "anymultirange",
                    self.type_shown(family.multirange)
                ));
            }
            if !agree(&mut family.range, range) {
                return inconsistent("anymultirange", "anyrange");
            }
        }
        if family.range.is_valid() {
            let sub = self.range_subtype(family.range)?;
            if !sub.is_valid() {
                return Err(err!(
                    DATATYPE_MISMATCH,
                    "argument declared {} is not a range type but type {}",
                    "anyrange",
                    self.type_shown(family.range)
                ));
            }
            if !agree(&mut family.elem, sub) {
                return inconsistent("anyrange", "anyelement");
            }
        }
        if !family.elem.is_valid() {
            if unknown {
                return Err(err!(
                    DATATYPE_MISMATCH,
                    "could not determine polymorphic type because input has type {}",
                    "unknown"
                ));
            }
            return Err(Error::internal("no polymorphic argument"));
        }
        if nonarray && element_type(self.catalog(), family.elem)?.is_valid() {
            return Err(err!(
                DATATYPE_MISMATCH,
                "type matched to anynonarray is an array type: {}",
                self.type_shown(family.elem)
            ));
        }
        if is_enum && self.type_desc(family.elem)?.kind != b'e' {
            return Err(err!(
                DATATYPE_MISMATCH,
                "type matched to anyenum is not an enum type: {}",
                self.type_shown(family.elem)
            ));
        }
        Ok(())
    }

    fn array_over(&self, array: Oid, elem: Oid) -> Result<Oid> {
        if array.is_valid() {
            return Ok(array);
        }
        let found = self.type_desc(elem)?.array;
        if found.is_valid() {
            return Ok(found);
        }
        Err(err!(
            UNDEFINED_OBJECT,
            "could not find array type for data type {}",
            self.type_shown(elem)
        ))
    }

    fn multirange_over(&self, multi: Oid, range: Oid) -> Result<Oid> {
        if multi.is_valid() || !range.is_valid() {
            return Ok(multi);
        }
        Ok(self.type_desc(range)?.multirange)
    }
}
