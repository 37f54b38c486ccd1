//! What ANALYZE found, from rows of `pg_statistic` and `pg_statistic_ext_data`.

use crate::desc::*;
use crate::load_relation::Loader;
use crate::rows::SysRow;
use crate::{indexes, oids, vector};
use base::{Oid, Result, Tid};
use std::sync::Arc;
use types::array::ArrayRef;
use types::record::Record;
use types::tuple::Attr;
use types::{Datum, ext_stats};

impl Loader<'_> {
    /// A row of `pg_statistic`.
    pub fn statistic_of(&self, row: &SysRow) -> Result<StatisticDesc> {
        let mut slots = Vec::new();
        for n in 1..=5 {
            let kind = row.i16(&format!("stakind{n}"))?;
            if kind == 0 {
                continue;
            }
            slots.push(StatisticSlot {
                kind,
                op: row.oid(&format!("staop{n}"))?,
                collation: row.oid(&format!("stacoll{n}"))?,
                numbers: vector::to_f32s(row.get(&format!("stanumbers{n}"))?)?,
                values: self.listed_values(row.get(&format!("stavalues{n}"))?)?,
            });
        }
        Ok(StatisticDesc {
            inherited: row.bool("stainherit")?,
            null_frac: row.f32("stanullfrac")?,
            width: row.i32("stawidth")?,
            distinct: row.f32("stadistinct")?,
            slots,
        })
    }

    /// The elements of an array whose type says what they are.
    fn listed_values(&self, value: &Datum) -> Result<Vec<Datum>> {
        let Datum::Bytes(bytes) = value else { return Ok(Vec::new()) };
        let elem = ArrayRef::parse(bytes)?.elem_type;
        let own = if elem < Oid::FIRST_NORMAL { None } else { self.type_(elem)? };
        match own {
            Some(t) => {
                let align = crate::builtin::align_bytes(t.align);
                let mut attr = Attr::new("", t.oid, t.len, t.by_val, align);
                attr.phys = types::phys_type(t.oid, t.len, t.by_val);
                vector::to_values(value, &attr)
            }
            None => vector::to_any(value),
        }
    }

    /// What is known of several columns of a table together, in the order of the objects.
    pub fn extended_statistics(&self, relation: Oid) -> Result<Vec<Arc<ExtendedStatisticDesc>>> {
        let key = [Datum::U32(relation.0)];
        let mut objects = self.rows.index_scan(indexes::PG_STATISTIC_EXT_RELID, &key)?;
        let mut out = Vec::new();
        objects.sort_by_key(|row| row.oid("oid").unwrap_or_default());
        for object in objects {
            let oid = object.oid("oid")?;
            for inherited in [true, false] {
                let key = [Datum::U32(oid.0), Datum::Bool(inherited)];
                let data = self.rows.index_scan(indexes::PG_STATISTIC_EXT_DATA_OID, &key)?;
                let Some(data) = data.first() else { continue };
                out.push(Arc::new(self.extended_statistic(&object, data)?));
            }
        }
        Ok(out)
    }

    fn extended_statistic(&self, object: &SysRow, data: &SysRow) -> Result<ExtendedStatisticDesc> {
        let bytes = |column: &str| match data.get(column)? {
            Datum::Bytes(b) => Ok::<_, base::Error>(Some(b.clone())),
            _ => Ok(None),
        };
        let of_exprs = match bytes("stxdexpr")? {
            Some(b) => Some(self.of_exprs(&b)?),
            None => None,
        };
        Ok(ExtendedStatisticDesc {
            oid: object.oid("oid")?,
            inherited: data.bool("stxdinherit")?,
            columns: object.i16s("stxkeys")?,
            exprs: object.opt_text("stxexprs")?,
            distinct: bytes("stxdndistinct")?
                .map(|b| ext_stats::decode_ndistinct(&b))
                .transpose()?,
            dependencies: bytes("stxddependencies")?
                .map(|b| ext_stats::decode_dependencies(&b))
                .transpose()?,
            common: bytes("stxdmcv")?.map(|b| ext_stats::decode_mcv(&b)).transpose()?,
            of_exprs,
        })
    }

    /// Rows of `pg_statistic` in an array.
    fn of_exprs(&self, bytes: &[u8]) -> Result<Vec<Option<Arc<StatisticDesc>>>> {
        let mut out = Vec::new();
        for value in vector::to_any(&Datum::bytes(bytes.to_vec()))? {
            let Datum::Bytes(record) = value else {
                out.push(None);
                continue;
            };
            let values = Record::decode(&record)?.columns.into_iter().map(|c| c.value).collect();
            let table = crate::rows::system_relation(oids::PG_STATISTIC)?;
            let row = SysRow { table, tid: Tid::INVALID, file: 0, values };
            out.push(Some(Arc::new(self.statistic_of(&row)?)));
        }
        Ok(out)
    }
}
