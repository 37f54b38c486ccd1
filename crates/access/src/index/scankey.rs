//! Conditions that a scan evaluates inside the index.

use super::KeyCmp;
use types::Datum;

/// The comparison of a [`ScanKey`], by the operator family's order (never flipped for DESC).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Strategy {
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `=`
    Eq,
    /// `>=`
    Ge,
    /// `>`
    Gt,
}

impl Strategy {
    /// PostgreSQL's strategy number of the btree operator.
    pub fn from_number(n: u16) -> Option<Strategy> {
        Some(match n {
            1 => Strategy::Lt,
            2 => Strategy::Le,
            3 => Strategy::Eq,
            4 => Strategy::Ge,
            5 => Strategy::Gt,
            _ => return None,
        })
    }

    /// The strategy with the sides exchanged.
    pub fn commuted(self) -> Strategy {
        match self {
            Strategy::Lt => Strategy::Gt,
            Strategy::Le => Strategy::Ge,
            Strategy::Eq => Strategy::Eq,
            Strategy::Ge => Strategy::Le,
            Strategy::Gt => Strategy::Lt,
        }
    }
}

/// The right side of a [`ScanKey`].
#[derive(Clone, Debug)]
pub enum ScanValue {
    /// `column op value`; a NULL value matches nothing.
    One(Datum),
    /// `column = ANY (values)` (strategy Eq only); NULL elements match nothing.
    Any(Vec<Datum>),
    /// `column IS NULL`
    IsNull,
    /// `column IS NOT NULL`
    IsNotNull,
    /// `(column, next columns...) op (values...)`, row-wise: the columns are `attr`, then these.
    Row(Vec<(u16, Datum)>),
}

/// A condition on one attribute of the index.
#[derive(Clone, Debug)]
pub struct ScanKey {
    /// Number of the key column, from 0.
    pub attr: u16,
    /// How it compares.
    pub strategy: Strategy,
    /// With what.
    pub value: ScanValue,
    /// Order of the column's values against this value, when it is not the column's own
    /// (operators across types). Left argument: the index's value.
    pub cmp: Option<KeyCmp>,
}

impl ScanKey {
    /// `column op value` with the column's own comparison.
    pub fn new(attr: u16, strategy: Strategy, value: Datum) -> ScanKey {
        ScanKey { attr, strategy, value: ScanValue::One(value), cmp: None }
    }
}
