//! What generated columns may not be: virtual ones are computed by whoever reads them, so that
//! nothing a user made may take part.

use super::Ddl;
use base::{Error, Oid, Result, bail, err};
use catalog::RelationDesc;
use ir::Expr;

/// Objects that come with the server have OIDs below this.
const FIRST_UNPINNED: Oid = Oid(12_000);

impl Ddl<'_> {
    /// Fails if a virtual column cannot have this type.
    pub fn check_virtual_type(&self, column: &str, ty: Oid) -> Result<()> {
        let t = self.view.type_(ty)?;
        match t.kind {
            b'd' => bail!(
                FEATURE_NOT_SUPPORTED,
                "virtual generated column \"{column}\" cannot have a domain type"
            ),
            b'r' if t.range_subtype.is_valid() => {
                self.check_virtual_type(column, t.range_subtype)?
            }
            _ if t.is_array() => self.check_virtual_type(column, t.elem)?,
            _ => {}
        }
        if ty >= FIRST_UNPINNED {
            return Err(err!(
                FEATURE_NOT_SUPPORTED,
                "virtual generated column \"{column}\" cannot have a user-defined type"
            )
            .detail(
                "Virtual generated columns that make use of user-defined types are not yet \
                 supported.",
            ));
        }
        Ok(())
    }

    /// Fails if a table's key or foreign key has a virtual column.
    pub fn refuse_virtual(&self, rel: &RelationDesc, columns: &[i16], what: &str) -> Result<()> {
        if has_virtual(rel, columns) {
            bail!(FEATURE_NOT_SUPPORTED, "{what} on virtual generated columns are not supported");
        }
        Ok(())
    }
}

/// True if one of these columns of a table, by number, is virtual.
pub fn has_virtual(rel: &RelationDesc, columns: &[i16]) -> bool {
    columns.iter().any(|n| *n > 0 && rel.tuple.attrs[*n as usize - 1].generated == b'v')
}

/// Fails if the expression of a virtual column uses what a user has made.
pub fn check_virtual_expr(e: &Expr) -> Result<()> {
    let mut found = None;
    ir::walk::each(e, &mut |e| {
        let func = match e {
            Expr::Func(f) => f.func,
            Expr::Op(o) => o.func,
            Expr::ScalarArrayOp(o) => o.func,
            _ => Oid::INVALID,
        };
        if func >= FIRST_UNPINNED {
            found.get_or_insert(("function", e.location()));
        } else if e.ty() >= FIRST_UNPINNED {
            found.get_or_insert(("type", e.location()));
        }
    });
    let Some((what, at)) = found else { return Ok(()) };
    let e: Error = err!(FEATURE_NOT_SUPPORTED, "generation expression uses user-defined {what}");
    Err(e
        .detail(format!(
            "Virtual generated columns that make use of user-defined {what}s are not yet supported."
        ))
        .at(at))
}
