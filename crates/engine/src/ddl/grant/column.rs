//! Which columns a GRANT is about, and which privileges on each.

use super::{privilege_bit, privilege_name};
use crate::ddl::Ddl;
use base::{Error, Result, Severity, SqlState, bail};
use catalog::acl::bit;
use catalog::privilege::Grantable;
use catalog::{RelKind, RelationDesc};
use parser::ast::Privilege;
use std::collections::BTreeMap;

/// The system columns that every table has.
const SYSTEM: [(&str, i16); 6] =
    [("tableoid", -6), ("cmax", -5), ("xmax", -4), ("cmin", -3), ("xmin", -2), ("ctid", -1)];

/// Privileges by column.
#[derive(Default)]
pub(super) struct ColumnBits {
    bits: BTreeMap<i16, u32>,
}

impl ColumnBits {
    /// All columns; system columns too if the relation has some.
    pub fn add_all(&mut self, rel: &RelationDesc, bits: u32, system: bool) {
        if system && rel.kind != RelKind::View {
            for (_, attnum) in SYSTEM {
                *self.bits.entry(attnum).or_default() |= bits;
            }
        }
        for (i, attr) in rel.tuple.attrs.iter().enumerate() {
            if !attr.dropped {
                *self.bits.entry(i as i16 + 1).or_default() |= bits;
            }
        }
    }

    /// Those that a privilege names.
    pub fn add(&mut self, ddl: &Ddl<'_>, rel: &RelationDesc, p: &Privilege) -> Result<()> {
        let mut bits = match &p.name {
            Some(name) => privilege_bit(name)?,
            None => Grantable::Column.all(),
        };
        if bits & !Grantable::Column.all() != 0 {
            let name = privilege_name(bits);
            bail!(INVALID_GRANT_OPERATION, "invalid privilege type {name} for column");
        }
        if rel.kind == RelKind::Sequence && bits & !bit(b'r') != 0 {
            let text = format!("sequence \"{}\" only supports SELECT column privileges", rel.name);
            let code = SqlState::INVALID_GRANT_OPERATION;
            ddl.notice(Error::with_severity(Severity::Warning, code, text));
            bits &= bit(b'r');
        }
        for column in &p.columns {
            let system = SYSTEM.iter().find(|(name, _)| name == column).map(|(_, n)| *n);
            let Some(attnum) = rel.column_number(column).or(system) else {
                bail!(
                    UNDEFINED_COLUMN,
                    "column \"{column}\" of relation \"{}\" does not exist",
                    rel.name
                );
            };
            *self.bits.entry(attnum).or_default() |= bits;
        }
        Ok(())
    }
}

impl IntoIterator for ColumnBits {
    type Item = (i16, u32);
    type IntoIter = std::collections::btree_map::IntoIter<i16, u32>;

    fn into_iter(self) -> Self::IntoIter {
        self.bits.into_iter()
    }
}
