//! Bodies of scalar functions, by area.

use crate::call::FnDef;

pub(crate) mod array;
mod bits;
mod boolean;
mod bytea;
mod chars;
pub(crate) mod collated;
pub(crate) mod datetime;
mod extract;
pub(crate) mod float;
mod foreign;
mod format;
mod geo;
pub(crate) mod hash;
pub(crate) mod identity;
pub(crate) mod int;
pub(crate) mod io;
pub(crate) mod json_build;
pub(crate) mod json_populate;
pub(crate) mod json_read;
mod jsonb_change;
pub(crate) mod jsonpath;
mod keywords;
mod like;
mod money_words;
mod net;
mod numeric;
pub(crate) mod random;
pub(crate) mod ranges;
pub(crate) mod regex;
pub(crate) mod regexp;
pub(crate) mod snapshot;
mod special;
pub(crate) mod system;
pub(crate) mod text;
pub(crate) mod ts;
mod ts_cover;
pub(crate) mod ts_parse;
mod ts_rank;
mod ts_rewrite;
pub(crate) mod ts_show;
mod unicode;

const LISTS: &[&[&[FnDef]]] = &[
    array::FNS,
    bits::FNS,
    boolean::FNS,
    bytea::FNS,
    datetime::FNS,
    extract::FNS,
    float::FNS,
    foreign::FNS,
    format::FNS,
    geo::FNS,
    hash::FNS,
    identity::FNS,
    int::FNS,
    json_build::FNS,
    json_populate::FNS,
    json_read::FNS,
    jsonb_change::FNS,
    jsonpath::FNS,
    like::FNS,
    money_words::FNS,
    net::FNS,
    numeric::FNS,
    random::FNS,
    ranges::FNS,
    regexp::FNS,
    snapshot::FNS,
    system::FNS,
    text::FNS,
    ts::FNS,
    unicode::FNS,
    crate::agg::steps::FNS,
    crate::xml::FNS,
];

/// All bodies.
pub(crate) fn all() -> impl Iterator<Item = &'static FnDef> {
    LISTS.iter().flat_map(|lists| lists.iter()).flat_map(|list| list.iter())
}
