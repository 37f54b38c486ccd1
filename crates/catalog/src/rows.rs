//! Rows of system tables: reading columns by name, making new rows.

use crate::builtin;
use crate::desc::RelationDesc;
use crate::vector;
use base::{Error, Oid, Result, Tid};
use std::sync::Arc;
use types::Datum;

/// The descriptor of a system table or of one of its indexes, as in the database `postgres`.
pub fn system_relation(oid: Oid) -> Result<&'static Arc<RelationDesc>> {
    builtin::relations()
        .get(&oid)
        .ok_or_else(|| Error::internal(format!("{oid} is not a system table")))
}

/// A row of a system table.
#[derive(Clone, Debug)]
pub struct SysRow {
    /// The table.
    pub table: &'static Arc<RelationDesc>,
    /// Where it is.
    pub tid: Tid,
    /// Number of the file it is in.
    pub file: u32,
    /// All its values.
    pub values: Vec<Datum>,
}

impl SysRow {
    /// A row of a table with all columns NULL, to be filled.
    pub fn new(table: Oid) -> Result<SysRow> {
        let table = system_relation(table)?;
        let values = vec![Datum::Null; table.tuple.natts()];
        Ok(SysRow { table, tid: Tid::INVALID, file: 0, values })
    }

    /// The row as a new version of another.
    pub fn in_place_of(mut self, old: &SysRow) -> SysRow {
        (self.tid, self.file) = (old.tid, old.file);
        self
    }

    fn position(&self, column: &str) -> Result<usize> {
        self.table.tuple.position(column).ok_or_else(|| {
            Error::internal(format!("no column \"{column}\" in \"{}\"", self.table.name))
        })
    }

    /// A column's value.
    pub fn get(&self, column: &str) -> Result<&Datum> {
        Ok(&self.values[self.position(column)?])
    }

    /// Sets a column's value.
    pub fn set(&mut self, column: &str, value: Datum) -> Result<&mut SysRow> {
        let i = self.position(column)?;
        self.values[i] = value;
        Ok(self)
    }

    fn wrong(&self, column: &str) -> Error {
        Error::new(
            base::SqlState::DATA_CORRUPTED,
            format!("unexpected value in column \"{column}\" of \"{}\"", self.table.name),
        )
    }

    /// An `oid` or `regproc` column; NULL is 0.
    pub fn oid(&self, column: &str) -> Result<Oid> {
        match self.get(column)? {
            Datum::U32(n) => Ok(Oid(*n)),
            Datum::Null => Ok(Oid::INVALID),
            _ => Err(self.wrong(column)),
        }
    }

    /// A `boolean` column; NULL is false.
    pub fn bool(&self, column: &str) -> Result<bool> {
        Ok(self.get(column)?.as_bool())
    }

    /// A `"char"` column; NULL is 0.
    pub fn char(&self, column: &str) -> Result<u8> {
        match self.get(column)? {
            Datum::Char(c) => Ok(*c),
            Datum::Null => Ok(0),
            _ => Err(self.wrong(column)),
        }
    }

    /// A `smallint` column; NULL is 0.
    pub fn i16(&self, column: &str) -> Result<i16> {
        match self.get(column)? {
            Datum::I16(n) => Ok(*n),
            Datum::Null => Ok(0),
            _ => Err(self.wrong(column)),
        }
    }

    /// An `integer` column; NULL is 0.
    pub fn i32(&self, column: &str) -> Result<i32> {
        match self.get(column)? {
            Datum::I32(n) => Ok(*n),
            Datum::Null => Ok(0),
            _ => Err(self.wrong(column)),
        }
    }

    /// A `bigint` or time stamp column, if not NULL.
    pub fn opt_i64(&self, column: &str) -> Result<Option<i64>> {
        match self.get(column)? {
            Datum::I64(n) => Ok(Some(*n)),
            Datum::Null => Ok(None),
            _ => Err(self.wrong(column)),
        }
    }

    /// A `real` column; NULL is 0.
    pub fn f32(&self, column: &str) -> Result<f32> {
        match self.get(column)? {
            Datum::F32(n) => Ok(*n),
            Datum::Null => Ok(0.0),
            _ => Err(self.wrong(column)),
        }
    }

    /// A `name`, `text` or `pg_node_tree` column, if not NULL.
    pub fn opt_text(&self, column: &str) -> Result<Option<Arc<str>>> {
        match self.get(column)? {
            Datum::Bytes(b) => match std::str::from_utf8(b) {
                Ok(s) => Ok(Some(Arc::from(s))),
                Err(_) => Err(self.wrong(column)),
            },
            Datum::Null => Ok(None),
            _ => Err(self.wrong(column)),
        }
    }

    /// A `name` or `text` column; NULL is empty.
    pub fn text(&self, column: &str) -> Result<Arc<str>> {
        Ok(self.opt_text(column)?.unwrap_or_else(|| Arc::from("")))
    }

    /// An `oidvector` or `oid[]` column; NULL is empty.
    pub fn oids(&self, column: &str) -> Result<Vec<Oid>> {
        vector::to_oids(self.get(column)?)
    }

    /// An `int2vector` or `smallint[]` column; NULL is empty.
    pub fn i16s(&self, column: &str) -> Result<Vec<i16>> {
        vector::to_i16s(self.get(column)?)
    }

    /// A `text[]` or `"char"[]` column, if not NULL.
    pub fn texts(&self, column: &str) -> Result<Option<Vec<String>>> {
        vector::to_texts(self.get(column)?)
    }

    /// An `aclitem[]` column, if not NULL.
    pub fn acl(&self, column: &str) -> Result<Option<Vec<crate::acl::AclItem>>> {
        crate::acl::to_items(self.get(column)?)
    }

    /// Sets an `oid` column.
    pub fn set_oid(&mut self, column: &str, value: Oid) -> Result<&mut SysRow> {
        self.set(column, Datum::U32(value.0))
    }

    /// Sets a `name`, `text` or `pg_node_tree` column.
    pub fn set_text(&mut self, column: &str, value: &str) -> Result<&mut SysRow> {
        self.set(column, Datum::text(value))
    }

    /// Sets a `text` or `pg_node_tree` column, or leaves it NULL.
    pub fn set_opt_text(&mut self, column: &str, value: Option<&str>) -> Result<&mut SysRow> {
        self.set(column, value.map_or(Datum::Null, Datum::text))
    }

    /// Sets a `boolean` column.
    pub fn set_bool(&mut self, column: &str, value: bool) -> Result<&mut SysRow> {
        self.set(column, Datum::Bool(value))
    }

    /// Sets a `"char"` column.
    pub fn set_char(&mut self, column: &str, value: u8) -> Result<&mut SysRow> {
        self.set(column, Datum::Char(value))
    }

    /// Sets a `smallint` column.
    pub fn set_i16(&mut self, column: &str, value: i16) -> Result<&mut SysRow> {
        self.set(column, Datum::I16(value))
    }

    /// Sets an `integer` column.
    pub fn set_i32(&mut self, column: &str, value: i32) -> Result<&mut SysRow> {
        self.set(column, Datum::I32(value))
    }

    /// Sets a `bigint` column.
    pub fn set_i64(&mut self, column: &str, value: i64) -> Result<&mut SysRow> {
        self.set(column, Datum::I64(value))
    }

    /// Sets a `real` column.
    pub fn set_f32(&mut self, column: &str, value: f32) -> Result<&mut SysRow> {
        self.set(column, Datum::F32(value))
    }

    /// Fills the columns that are NULL but may not be with their type's zero.
    pub fn fill(&mut self) {
        for (attr, value) in self.table.tuple.attrs.iter().zip(&mut self.values) {
            if attr.not_null && value.is_null() {
                *value = zero(attr);
            }
        }
    }
}

/// The zero, false or empty value of a column.
fn zero(attr: &types::tuple::Attr) -> Datum {
    use types::PhysType;
    match attr.phys {
        PhysType::Bool => Datum::Bool(false),
        PhysType::Char => Datum::Char(0),
        PhysType::I16 => Datum::I16(0),
        PhysType::I32 => Datum::I32(0),
        PhysType::I64 => Datum::I64(0),
        PhysType::U32 => Datum::U32(0),
        PhysType::F32 => Datum::F32(0.0),
        PhysType::F64 => Datum::F64(0.0),
        PhysType::Bytes => match attr.type_oid {
            crate::oids::INT2VECTOR => vector::from_i16s(crate::oids::INT2VECTOR, &[]),
            crate::oids::OIDVECTOR => vector::from_oids(crate::oids::OIDVECTOR, &[]),
            _ => Datum::text(""),
        },
    }
}

/// Where system tables' rows come from: the transaction's own view of committed and own rows.
pub trait RowStore: Send + Sync {
    /// Rows whose index columns begin with these values, in index order.
    fn index_scan(&self, index: Oid, key: &[Datum]) -> Result<Vec<SysRow>>;
    /// All rows.
    fn table_scan(&self, table: Oid) -> Result<Vec<SysRow>>;
    /// The number of a system table's or index's file, if it is not its first.
    fn file_number(&self, _relation: Oid) -> Result<Option<u32>> {
        Ok(None)
    }
}

/// Where changes go. Each keeps all indexes up to date.
pub trait RowWriter: RowStore {
    /// Adds a row; NOT NULL columns that are not set get their type's zero.
    fn insert(&self, row: SysRow) -> Result<Tid>;
    /// Replaces the row at `row.tid`.
    fn update(&self, row: SysRow) -> Result<Tid>;
    /// Puts a row in place of another one, or adds it if there is none.
    fn put(&self, row: SysRow, old: Option<&SysRow>) -> Result<Tid> {
        match old {
            Some(old) => self.update(row.in_place_of(old)),
            None => self.insert(row),
        }
    }
    /// Removes a row.
    fn delete(&self, row: &SysRow) -> Result<()>;
    /// A new OID for a row of `table`, free by its OID index.
    fn new_oid(&self, table: Oid) -> Result<Oid>;
}
