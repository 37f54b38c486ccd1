//! Dependencies: `pg_depend` rows, what a DROP takes with it, and comments.

use crate::indexes;
use crate::oids;
use crate::rows::{RowStore, RowWriter, SysRow};
use base::{Oid, Result};
use types::Datum;

/// Any object: the system table it is a row of, its OID, and a column's number or 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ObjectAddress {
    /// OID of the system table.
    pub class: Oid,
    /// OID of the object.
    pub object: Oid,
    /// Number of the column, or 0.
    pub sub: i32,
}

impl ObjectAddress {
    /// A whole object.
    pub fn new(class: Oid, object: Oid) -> ObjectAddress {
        ObjectAddress { class, object, sub: 0 }
    }

    /// A relation.
    pub fn relation(oid: Oid) -> ObjectAddress {
        ObjectAddress::new(oids::PG_CLASS, oid)
    }

    /// A column.
    pub fn column(relation: Oid, attnum: i16) -> ObjectAddress {
        ObjectAddress { class: oids::PG_CLASS, object: relation, sub: i32::from(attnum) }
    }
}

/// How an object depends on another: `pg_depend.deptype`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DependKind {
    /// `n`: dropping the other needs CASCADE.
    Normal,
    /// `a`: goes with the other.
    Auto,
    /// `i`: is a part of the other.
    Internal,
    /// `P`: partition's part, primary.
    PartitionPrimary,
    /// `S`: partition's part, secondary.
    PartitionSecondary,
    /// `e`: member of an extension.
    Extension,
    /// `x`: goes with an extension that it is no member of.
    AutoExtension,
}

impl DependKind {
    /// Its letter.
    pub fn as_u8(self) -> u8 {
        match self {
            DependKind::Normal => b'n',
            DependKind::Auto => b'a',
            DependKind::Internal => b'i',
            DependKind::PartitionPrimary => b'P',
            DependKind::PartitionSecondary => b'S',
            DependKind::Extension => b'e',
            DependKind::AutoExtension => b'x',
        }
    }

    /// The kind of this letter.
    pub fn from_u8(c: u8) -> DependKind {
        match c {
            b'a' => DependKind::Auto,
            b'i' => DependKind::Internal,
            b'P' => DependKind::PartitionPrimary,
            b'S' => DependKind::PartitionSecondary,
            b'e' => DependKind::Extension,
            b'x' => DependKind::AutoExtension,
            _ => DependKind::Normal,
        }
    }
}

/// One dependency.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dependency {
    /// Who depends.
    pub depender: ObjectAddress,
    /// On what.
    pub referenced: ObjectAddress,
    /// How.
    pub kind: DependKind,
}

fn address_key(a: ObjectAddress) -> Vec<Datum> {
    let mut key = vec![Datum::U32(a.class.0), Datum::U32(a.object.0)];
    if a.sub != 0 {
        key.push(Datum::I32(a.sub));
    }
    key
}

fn dependency(row: &SysRow) -> Result<Dependency> {
    Ok(Dependency {
        depender: ObjectAddress {
            class: row.oid("classid")?,
            object: row.oid("objid")?,
            sub: row.i32("objsubid")?,
        },
        referenced: ObjectAddress {
            class: row.oid("refclassid")?,
            object: row.oid("refobjid")?,
            sub: row.i32("refobjsubid")?,
        },
        kind: DependKind::from_u8(row.char("deptype")?),
    })
}

/// Records that `depender` depends on `referenced`. Built-in objects cannot be dropped: a
/// dependency on one is not recorded.
pub fn record(
    rows: &dyn RowWriter,
    depender: ObjectAddress,
    referenced: ObjectAddress,
    kind: DependKind,
) -> Result<()> {
    let pinned = referenced.object < Oid(12000)
        && !(referenced.class == oids::PG_NAMESPACE && referenced.object == oids::PUBLIC);
    if pinned || depender == referenced || !referenced.object.is_valid() {
        return Ok(());
    }
    let mut row = SysRow::new(oids::PG_DEPEND)?;
    row.set_oid("classid", depender.class)?
        .set_oid("objid", depender.object)?
        .set_i32("objsubid", depender.sub)?
        .set_oid("refclassid", referenced.class)?
        .set_oid("refobjid", referenced.object)?
        .set_i32("refobjsubid", referenced.sub)?
        .set_char("deptype", kind.as_u8())?;
    rows.insert(row)?;
    Ok(())
}

/// What the object (its columns included, if it is whole) depends on.
pub fn dependencies_of(rows: &dyn RowStore, object: ObjectAddress) -> Result<Vec<Dependency>> {
    let found = rows.index_scan(indexes::PG_DEPEND_DEPENDER, &address_key(object))?;
    found.iter().map(dependency).collect()
}

/// Who depends on the object or, if it is whole, on one of its columns.
pub fn dependents_of(rows: &dyn RowStore, object: ObjectAddress) -> Result<Vec<Dependency>> {
    let found = rows.index_scan(indexes::PG_DEPEND_REFERENCE, &address_key(object))?;
    found.iter().map(dependency).collect()
}

/// Removes all that records what the object depends on.
pub fn forget(rows: &dyn RowWriter, object: ObjectAddress) -> Result<()> {
    for row in rows.index_scan(indexes::PG_DEPEND_DEPENDER, &address_key(object))? {
        rows.delete(&row)?;
    }
    Ok(())
}

/// Removes the records of one kind of dependency on one object.
pub fn forget_one(
    rows: &dyn RowWriter,
    depender: ObjectAddress,
    referenced: ObjectAddress,
) -> Result<()> {
    for row in rows.index_scan(indexes::PG_DEPEND_DEPENDER, &address_key(depender))? {
        if dependency(&row)?.referenced == referenced {
            rows.delete(&row)?;
        }
    }
    Ok(())
}

/// Sets, replaces or (with `None`) removes an object's comment.
pub fn set_comment(rows: &dyn RowWriter, a: ObjectAddress, text: Option<&str>) -> Result<()> {
    let text = text.filter(|t| !t.is_empty());
    let shared = matches!(a.class, oids::PG_DATABASE | oids::PG_AUTHID | oids::PG_TABLESPACE);
    let (table, index) = match shared {
        true => (oids::PG_SHDESCRIPTION, indexes::PG_SHDESCRIPTION_OBJECT),
        false => (oids::PG_DESCRIPTION, indexes::PG_DESCRIPTION_OBJECT),
    };
    let mut key = vec![Datum::U32(a.object.0), Datum::U32(a.class.0)];
    if !shared {
        key.push(Datum::I32(a.sub));
    }
    for row in rows.index_scan(index, &key)? {
        rows.delete(&row)?;
    }
    let Some(text) = text else { return Ok(()) };
    let mut row = SysRow::new(table)?;
    row.set_oid("objoid", a.object)?.set_oid("classoid", a.class)?.set_text("description", text)?;
    if !shared {
        row.set_i32("objsubid", a.sub)?;
    }
    rows.insert(row)?;
    Ok(())
}

/// Removes the comments of an object and of its columns.
pub fn remove_comments(rows: &dyn RowWriter, a: ObjectAddress) -> Result<()> {
    let mut key = vec![Datum::U32(a.object.0), Datum::U32(a.class.0)];
    if a.sub != 0 {
        key.push(Datum::I32(a.sub));
    }
    for row in rows.index_scan(indexes::PG_DESCRIPTION_OBJECT, &key)? {
        rows.delete(&row)?;
    }
    Ok(())
}
