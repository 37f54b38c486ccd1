//! Constants.

use super::{Names, Printer, quote_literal};
use crate::expr::Const;
use base::Oid;
use types::Datum;

const BOOL: Oid = Oid(16);
const INT4: Oid = Oid(23);
const UNKNOWN: Oid = Oid(705);
const NUMERIC: Oid = Oid(1700);

/// When a constant's type is printed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Label {
    Never,
    IfNeeded,
    Always,
}

/// A value as a literal without a type.
pub fn literal(ty: Oid, value: &Datum, names: &dyn Names) -> String {
    if matches!(value, Datum::Null) { "NULL".into() } else { body(ty, value, names).0 }
}

/// The literal, and whether it would be read as another type without a label.
fn body(ty: Oid, value: &Datum, names: &dyn Names) -> (String, bool) {
    if let (BOOL, Datum::Bool(b)) = (ty, value) {
        return (b.to_string(), false);
    }
    let text = names.value_text(ty, value);
    match ty {
        INT4 if !text.starts_with('-') => (text, false),
        NUMERIC if text.starts_with(|c: char| c.is_ascii_digit()) && text.contains(['.', 'e']) => {
            (text, false)
        }
        INT4 | NUMERIC => (format!("'{text}'"), true),
        UNKNOWN => (quote_literal(&text), false),
        _ => (quote_literal(&text), true),
    }
}

impl Printer<'_> {
    pub(super) fn constant(&mut self, c: &Const, label: Label) {
        if matches!(c.value, Datum::Null) {
            self.put("NULL");
            if label != Label::Never {
                let ty = self.names.type_name(c.ty, c.typmod);
                self.put(&format!("::{ty}"));
                self.const_collation(c);
            }
            return;
        }
        let (text, needed) = body(c.ty, &c.value, self.names);
        self.put(&text);
        if label == Label::Never {
            return;
        }
        let needed = needed || (c.ty == NUMERIC && c.typmod >= 0);
        if needed || label == Label::Always {
            let ty = self.names.type_name(c.ty, c.typmod);
            self.put(&format!("::{ty}"));
        }
        self.const_collation(c);
    }

    fn const_collation(&mut self, c: &Const) {
        if c.collation.is_valid() && c.collation != self.names.type_collation(c.ty) {
            self.collate(c.collation);
        }
    }

    pub(super) fn collate(&mut self, collation: Oid) {
        let name = self.names.collation(collation);
        let name = name.map_or_else(|| collation.to_string(), |n| n.text());
        self.put(&format!(" COLLATE {name}"));
    }
}
