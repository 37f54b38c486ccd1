//! Columns of new relations, and their `pg_attribute` rows.

use super::Ddl;
use super::type_name::ResolvedType;
use base::{Oid, Result, bail, err};
use catalog::depend::{self, DependKind, ObjectAddress};
use catalog::{RelationDesc, SysRow, TypeDesc, oids, vector};
use std::sync::Arc;
use types::Datum;
use types::tuple::{Attr, TupleDesc};

/// The number of a user's column.
pub(super) fn named(rel: &RelationDesc, name: &str) -> Result<i16> {
    rel.column_number(name).ok_or_else(|| {
        err!(UNDEFINED_COLUMN, "column \"{name}\" of relation \"{}\" does not exist", rel.name)
    })
}

/// A column to be made.
#[derive(Clone, Debug)]
pub struct NewColumn {
    /// Its name.
    pub name: String,
    /// Its type.
    pub type_oid: Oid,
    /// Its type's modifier.
    pub typmod: i32,
    /// Dimensions as written.
    pub ndims: i16,
    /// Its collation, or 0.
    pub collation: Oid,
    /// NOT NULL
    pub not_null: bool,
    /// Has a default or is generated.
    pub has_default: bool,
    /// `a`, `d` or 0.
    pub identity: u8,
    /// `s`, `v` or 0.
    pub generated: u8,
    /// STORAGE, or the type's.
    pub storage: Option<u8>,
    /// COMPRESSION, or 0.
    pub compression: u8,
    /// Defined here.
    pub is_local: bool,
    /// How many parents have it.
    pub inherit_count: i16,
}

impl NewColumn {
    /// A plain column.
    pub fn new(name: &str, t: ResolvedType, collation: Oid) -> NewColumn {
        NewColumn {
            name: name.to_string(),
            type_oid: t.oid,
            typmod: t.typmod,
            ndims: t.ndims,
            collation,
            not_null: false,
            has_default: false,
            identity: 0,
            generated: 0,
            storage: None,
            compression: 0,
            is_local: true,
            inherit_count: 0,
        }
    }
}

/// The system columns every table has: name, number, type, bytes.
pub const SYSTEM_COLUMNS: [(&str, i16, Oid, i16, u8); 6] = [
    ("ctid", -1, oids::TID, 6, b's'),
    ("xmin", -2, oids::XID, 4, b'i'),
    ("cmin", -3, oids::CID, 4, b'i'),
    ("xmax", -4, oids::XID, 4, b'i'),
    ("cmax", -5, oids::CID, 4, b'i'),
    ("tableoid", -6, oids::OID, 4, b'i'),
];

impl Ddl<'_> {
    /// Refuses types that no column can have, and too many or doubled columns.
    pub fn check_columns(&self, columns: &[NewColumn]) -> Result<()> {
        self.check_column_list(columns, true)
    }

    /// As [`Ddl::check_columns`]; what has no system columns may use their names.
    pub fn check_column_list(&self, columns: &[NewColumn], system: bool) -> Result<()> {
        if columns.len() > 1600 {
            bail!(TOO_MANY_COLUMNS, "tables can have at most 1600 columns");
        }
        for (i, c) in columns.iter().enumerate() {
            if system && SYSTEM_COLUMNS.iter().any(|s| s.0 == c.name) {
                bail!(
                    DUPLICATE_COLUMN,
                    "column name \"{}\" conflicts with a system column name",
                    c.name
                );
            }
            if columns[..i].iter().any(|o| o.name == c.name) {
                bail!(DUPLICATE_COLUMN, "column \"{}\" specified more than once", c.name);
            }
            if c.generated == b'v' && c.is_local {
                self.check_virtual_type(&c.name, c.type_oid)?;
            }
            let t = self.view.type_(c.type_oid)?;
            if t.kind == b'p' {
                bail!(INVALID_TABLE_DEFINITION, "column \"{}\" has pseudo-type {}", c.name, t.name);
            }
        }
        Ok(())
    }

    /// Fails if a column of this type would make a row part of itself.
    pub fn refuse_own_row(&self, rel: &RelationDesc, ty: Oid) -> Result<()> {
        if ty == rel.row_type && ty.is_valid() {
            bail!(
                INVALID_TABLE_DEFINITION,
                "composite type {} cannot be made a member of itself",
                rel.name
            );
        }
        let t = self.view.type_(ty)?;
        if ty < Oid::FIRST_NORMAL {
            return Ok(());
        }
        match t.kind {
            b'd' => self.refuse_own_row(rel, t.base_type),
            b'r' => self.refuse_own_row(rel, t.range_subtype),
            b'c' => {
                let within = self.view.relation(t.relation)?;
                for a in within.tuple.attrs.iter().filter(|a| !a.dropped) {
                    self.refuse_own_row(rel, a.type_oid)?;
                }
                Ok(())
            }
            _ if t.elem.is_valid() => self.refuse_own_row(rel, t.elem),
            _ => Ok(()),
        }
    }

    /// How values of a type are held: as those of a domain's base.
    pub fn base_type(&self, oid: Oid) -> Result<Arc<TypeDesc>> {
        let mut t = self.view.type_(oid)?;
        while t.kind == b'd' {
            t = self.view.type_(t.base_type)?;
        }
        Ok(t)
    }

    /// A column as part of a tuple descriptor.
    pub fn attr(&self, c: &NewColumn) -> Result<Attr> {
        let t = self.view.type_(c.type_oid)?;
        let base = self.base_type(c.type_oid)?;
        let like = catalog::held_like(&self.view, &base);
        let held = if like.is_valid() { like } else { base.oid };
        Ok(Attr {
            name: Arc::from(c.name.as_str()),
            type_oid: c.type_oid,
            typmod: c.typmod,
            phys: types::phys_type(held, t.len, t.by_val),
            len: t.len,
            byval: t.by_val,
            align: catalog::builtin::align_bytes(t.align),
            storage: c.storage.unwrap_or(t.storage),
            compression: c.compression,
            collation: c.collation,
            not_null: c.not_null,
            dropped: false,
            missing: None,
            generated: c.generated,
            identity: c.identity,
        })
    }

    /// All columns as a tuple descriptor.
    pub fn tuple_desc(&self, columns: &[NewColumn]) -> Result<TupleDesc> {
        Ok(TupleDesc::new(columns.iter().map(|c| self.attr(c)).collect::<Result<_>>()?))
    }

    /// Writes the `pg_attribute` row of a column, and what it depends on.
    pub fn insert_column(&self, relation: Oid, attnum: i16, c: &NewColumn) -> Result<()> {
        let attr = self.attr(c)?;
        let t = self.view.type_(c.type_oid)?;
        let mut row = SysRow::new(oids::PG_ATTRIBUTE)?;
        row.set_oid("attrelid", relation)?
            .set_text("attname", &c.name)?
            .set_oid("atttypid", c.type_oid)?
            .set_i16("attlen", attr.len)?
            .set_i16("attnum", attnum)?
            .set_i32("atttypmod", c.typmod)?
            .set_i16("attndims", c.ndims)?
            .set_bool("attbyval", attr.byval)?
            .set_char("attalign", t.align)?
            .set_char("attstorage", attr.storage)?
            .set_char("attcompression", c.compression)?
            .set_bool("attnotnull", c.not_null)?
            .set_bool("atthasdef", c.has_default)?
            .set_bool("atthasmissing", false)?
            .set_char("attidentity", c.identity)?
            .set_char("attgenerated", c.generated)?
            .set_bool("attisdropped", false)?
            .set_bool("attislocal", c.is_local)?
            .set_i16("attinhcount", c.inherit_count)?
            .set_oid("attcollation", c.collation)?;
        self.rows.insert(row)?;
        let own = ObjectAddress::column(relation, attnum);
        let type_ = ObjectAddress::new(oids::PG_TYPE, c.type_oid);
        depend::record(self.rows, own, type_, DependKind::Normal)?;
        if c.collation.is_valid() && c.collation != oids::DEFAULT_COLLATION {
            let collation = ObjectAddress::new(oids::PG_COLLATION, c.collation);
            depend::record(self.rows, own, collation, DependKind::Normal)?;
        }
        Ok(())
    }

    /// `attcompression` of a column of this type for a method's name.
    pub fn compression_letter(&self, type_oid: Oid, method: &str) -> Result<u8> {
        if method == "default" {
            return Ok(0);
        }
        if self.view.type_(type_oid)?.storage == b'p' {
            bail!(
                FEATURE_NOT_SUPPORTED,
                "column data type {} does not support compression",
                self.format_type(type_oid, -1)
            );
        }
        match method {
            "pglz" => Ok(b'p'),
            "lz4" => Ok(b'l'),
            _ => bail!(INVALID_PARAMETER_VALUE, "invalid compression method \"{method}\""),
        }
    }

    /// Writes the `pg_attribute` rows of the system columns.
    pub fn insert_system_columns(&self, relation: Oid) -> Result<()> {
        for (name, attnum, type_oid, len, align) in SYSTEM_COLUMNS {
            let mut row = SysRow::new(oids::PG_ATTRIBUTE)?;
            row.set_oid("attrelid", relation)?
                .set_text("attname", name)?
                .set_oid("atttypid", type_oid)?
                .set_i16("attlen", len)?
                .set_i16("attnum", attnum)?
                .set_i32("atttypmod", -1)?
                .set_bool("attbyval", len == 4)?
                .set_char("attalign", align)?
                .set_char("attstorage", b'p')?
                .set_bool("attnotnull", true)?
                .set_bool("attislocal", true)?;
            self.rows.insert(row)?;
        }
        Ok(())
    }

    /// The `pg_attribute` row of a column.
    pub fn column_row(&self, relation: Oid, attnum: i16) -> Result<SysRow> {
        let key = [Datum::U32(relation.0), Datum::I16(attnum)];
        self.rows
            .index_scan(catalog::indexes::PG_ATTRIBUTE_NUM, &key)?
            .into_iter()
            .next()
            .ok_or_else(|| {
                err!(
                    INTERNAL_ERROR,
                    "cache lookup failed for attribute {attnum} of relation {relation}"
                )
            })
    }

    /// Sets what only an `ALTER TABLE ADD COLUMN` needs: the value older rows have.
    pub fn set_missing(&self, relation: Oid, attnum: i16, value: &Datum) -> Result<()> {
        let mut row = self.column_row(relation, attnum)?;
        let attr = &self.view.relation(relation)?.tuple.attrs[attnum as usize - 1];
        let array = vector::from_values(attr, std::slice::from_ref(value))?;
        row.set_bool("atthasmissing", true)?.set("attmissingval", array)?;
        self.rows.update(row)?;
        Ok(())
    }
}
