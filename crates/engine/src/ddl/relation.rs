//! Making relations of any kind: `pg_class`, the row type, columns, files.

use super::Ddl;
use super::column::NewColumn;
use crate::command::freeze;
use base::{Oid, RelFile, Result, bail};
use catalog::acl::AclItem;
use catalog::depend::{self, DependKind, ObjectAddress};
use catalog::privilege::Grantable;
use catalog::{Persistence, RelKind, RelationDesc, SysRow, oids, vector};
use std::sync::Arc;
use types::Datum;

/// A relation to be made.
pub struct NewRelation<'a> {
    /// Its OID if the caller has chosen one.
    pub oid: Option<Oid>,
    /// Its name.
    pub name: &'a str,
    /// Its schema.
    pub namespace: Oid,
    /// What it is.
    pub kind: RelKind,
    /// Whether it survives a crash.
    pub persistence: Persistence,
    /// Its owner.
    pub owner: Oid,
    /// Its access method, or 0.
    pub am: Oid,
    /// Its tablespace; 0 is the database's.
    pub tablespace: Oid,
    /// Its columns.
    pub columns: &'a [NewColumn],
    /// `name=value` items.
    pub options: Vec<String>,
    /// Typed table's type.
    pub of_type: Oid,
    /// It is a partition.
    pub is_partition: bool,
}

/// What is said of the rows of a new relation: of a table, that nothing is known.
fn rows_at_first(kind: RelKind) -> f32 {
    match kind {
        RelKind::Sequence => 1.0,
        RelKind::Index | RelKind::PartitionedIndex => 0.0,
        _ => -1.0,
    }
}

impl Ddl<'_> {
    /// The database's default tablespace.
    fn default_tablespace(&self) -> Result<Oid> {
        Ok(self.view.database(self.view.context().database)?.tablespace)
    }

    /// Writes a relation's rows and makes its files; gives its OID.
    pub fn create_relation(&self, new: NewRelation<'_>) -> Result<Oid> {
        let columns_checked =
            !matches!(new.kind, RelKind::Index | RelKind::PartitionedIndex | RelKind::Toast);
        if columns_checked {
            let any_name = matches!(new.kind, RelKind::View | RelKind::Composite);
            self.check_column_list(new.columns, !any_name)?;
        }
        if self.view.relation_oid_in(new.namespace, new.name)?.is_some() {
            bail!(DUPLICATE_TABLE, "relation \"{}\" already exists", new.name);
        }
        let has_type = columns_checked && new.kind != RelKind::Sequence;
        if has_type && self.view.type_oid_in(new.namespace, new.name)?.is_some() {
            return Err(base::err!(DUPLICATE_OBJECT, "type \"{}\" already exists", new.name).hint(
                "A relation has an associated type of the same name, so you must use a name \
                 that doesn't conflict with any existing type.",
            ));
        }
        let oid = match new.oid {
            Some(oid) => oid,
            None => self.rows.new_oid(oids::PG_CLASS)?,
        };
        let file = match new.kind.has_storage() {
            true => {
                let space = match new.tablespace.is_valid() {
                    true => new.tablespace,
                    false => self.default_tablespace()?,
                };
                Some(self.storage.new_file(space, new.persistence)?)
            }
            false => None,
        };
        let row_type = match has_type {
            true => self.create_row_type(oid, &new)?,
            false => Oid::INVALID,
        };
        self.insert_class(oid, &new, file, row_type)?;
        for (i, column) in new.columns.iter().enumerate() {
            self.insert_column(oid, i as i16 + 1, column)?;
        }
        if has_type && !matches!(new.kind, RelKind::View | RelKind::Composite)
            || matches!(new.kind, RelKind::Toast | RelKind::Sequence)
        {
            self.insert_system_columns(oid)?;
        }
        self.depend_relation(oid, &new)?;
        if matches!(new.kind, RelKind::Table | RelKind::MatView | RelKind::Partitioned) {
            self.depend_method(oid, new.am)?;
        }
        if file.is_some() {
            self.storage.create(&*self.view.relation(oid)?)?;
        }
        Ok(oid)
    }

    fn insert_class(
        &self,
        oid: Oid,
        new: &NewRelation<'_>,
        file: Option<RelFile>,
        row_type: Oid,
    ) -> Result<()> {
        let mut row = SysRow::new(oids::PG_CLASS)?;
        let is_table = matches!(
            new.kind,
            RelKind::Table | RelKind::Partitioned | RelKind::MatView | RelKind::Foreign
        );
        row.set_oid("oid", oid)?
            .set_text("relname", new.name)?
            .set_oid("relnamespace", new.namespace)?
            .set_oid("reltype", row_type)?
            .set_oid("reloftype", new.of_type)?
            .set_oid("relowner", new.owner)?
            .set_oid("relam", new.am)?
            .set_oid("relfilenode", Oid(file.map_or(0, |f| f.number)))?
            .set_oid("reltablespace", new.tablespace)?
            .set_f32("reltuples", rows_at_first(new.kind))?
            .set_i32("relpages", if new.kind == RelKind::Sequence { 1 } else { 0 })?
            .set_char("relpersistence", new.persistence.as_u8())?
            .set_char("relkind", new.kind.as_u8())?
            .set_i16("relnatts", new.columns.len() as i16)?
            .set_bool("relispopulated", true)?
            .set_char("relreplident", if is_table { b'd' } else { b'n' })?
            .set_bool("relispartition", new.is_partition)?;
        if freeze::is_heap(new.kind) {
            freeze::set_new(&mut row, self.storage.oldest_id())?;
        }
        let acl = self.acl_of_new_relation(new)?;
        self.set_new_acl(&mut row, "relacl", &acl)?;
        if !new.options.is_empty() {
            row.set("reloptions", vector::from_texts(oids::TEXT, &new.options))?;
        }
        self.rows.insert(row)?;
        Ok(())
    }

    fn depend_relation(&self, oid: Oid, new: &NewRelation<'_>) -> Result<()> {
        if matches!(new.kind, RelKind::Index | RelKind::Toast) {
            return Ok(());
        }
        // The schema and the owner of a composite type are the type's.
        if new.kind == RelKind::Composite {
            return Ok(());
        }
        let own = ObjectAddress::relation(oid);
        let schema = ObjectAddress::new(oids::PG_NAMESPACE, new.namespace);
        depend::record(self.rows, own, schema, DependKind::Normal)?;
        self.depend_owner(own, new.owner)?;
        self.depend_new_acl(own, new.owner, &self.acl_of_new_relation(new)?)
    }

    /// What default privileges say of a new relation.
    fn acl_of_new_relation(&self, new: &NewRelation<'_>) -> Result<Option<Vec<AclItem>>> {
        let kind = match new.kind {
            RelKind::Sequence => Grantable::Sequence,
            RelKind::Table
            | RelKind::Partitioned
            | RelKind::View
            | RelKind::MatView
            | RelKind::Foreign => Grantable::Table,
            _ => return Ok(None),
        };
        self.acl_of_new(kind, new.owner, new.namespace)
    }

    /// The composite type of a relation's rows and the array type over it.
    fn create_row_type(&self, relation: Oid, new: &NewRelation<'_>) -> Result<Oid> {
        let oid = self.rows.new_oid(oids::PG_TYPE)?;
        let with_array = new.kind != RelKind::Toast;
        let array = match with_array {
            true => self.rows.new_oid(oids::PG_TYPE)?,
            false => Oid::INVALID,
        };
        let mut row = SysRow::new(oids::PG_TYPE)?;
        row.set_oid("oid", oid)?
            .set_text("typname", new.name)?
            .set_oid("typnamespace", new.namespace)?
            .set_oid("typowner", new.owner)?
            .set_i16("typlen", -1)?
            .set_char("typtype", b'c')?
            .set_char("typcategory", b'C')?
            .set_bool("typisdefined", true)?
            .set_char("typdelim", b',')?
            .set_oid("typrelid", relation)?
            .set_oid("typarray", array)?
            .set_oid("typinput", Oid(2290))?
            .set_oid("typoutput", Oid(2291))?
            .set_oid("typreceive", Oid(2402))?
            .set_oid("typsend", Oid(2403))?
            .set_char("typalign", b'd')?
            .set_char("typstorage", b'x')?
            .set_i32("typtypmod", -1)?;
        self.rows.insert(row)?;
        let own = ObjectAddress::new(oids::PG_TYPE, oid);
        let relation = ObjectAddress::relation(relation);
        match new.kind {
            // A composite type is what the user made; its relation is a part of it.
            RelKind::Composite => {
                depend::record(self.rows, relation, own, DependKind::Internal)?;
                let schema = ObjectAddress::new(oids::PG_NAMESPACE, new.namespace);
                depend::record(self.rows, own, schema, DependKind::Normal)?;
                self.depend_owner(own, new.owner)?;
            }
            _ => depend::record(self.rows, own, relation, DependKind::Internal)?,
        }
        if with_array {
            self.create_array_type(array, oid, new.name, new.namespace, new.owner, b'd')?;
        }
        Ok(oid)
    }

    /// The array type over a type.
    pub fn create_array_type(
        &self,
        oid: Oid,
        elem: Oid,
        elem_name: &str,
        namespace: Oid,
        owner: Oid,
        align: u8,
    ) -> Result<()> {
        let name = self.array_type_name(elem_name, namespace)?;
        let collation = self.view.find_type(elem)?.map_or(Oid::INVALID, |t| t.collation);
        let mut row = SysRow::new(oids::PG_TYPE)?;
        row.set_oid("oid", oid)?
            .set_text("typname", &name)?
            .set_oid("typnamespace", namespace)?
            .set_oid("typowner", owner)?
            .set_i16("typlen", -1)?
            .set_char("typtype", b'b')?
            .set_char("typcategory", b'A')?
            .set_bool("typisdefined", true)?
            .set_char("typdelim", b',')?
            .set_oid("typsubscript", Oid(6179))?
            .set_oid("typelem", elem)?
            .set_oid("typinput", Oid(750))?
            .set_oid("typoutput", Oid(751))?
            .set_oid("typreceive", Oid(2400))?
            .set_oid("typsend", Oid(2401))?
            .set_oid("typanalyze", Oid(3816))?
            .set_char("typalign", if align == b'd' { b'd' } else { b'i' })?
            .set_char("typstorage", b'x')?
            .set_i32("typtypmod", -1)?
            .set_oid("typcollation", collation)?;
        self.rows.insert(row)?;
        let own = ObjectAddress::new(oids::PG_TYPE, oid);
        let elem = ObjectAddress::new(oids::PG_TYPE, elem);
        depend::record(self.rows, own, elem, DependKind::Internal)
    }

    /// A free name for the array type over a type.
    pub fn array_type_name(&self, elem: &str, namespace: Oid) -> Result<String> {
        self.array_type_name_but(elem, namespace, "")
    }

    /// As [`Ddl::array_type_name`], but not this one.
    pub fn array_type_name_but(&self, elem: &str, namespace: Oid, taken: &str) -> Result<String> {
        let clip = super::name::clip;
        let longest = super::name::MAX_NAME;
        let mut name = format!("_{}", clip(elem, longest - 1));
        let mut pass = 0;
        while name == taken || self.view.type_oid_in(namespace, &name)?.is_some() {
            pass += 1;
            let tail = format!("_{pass}");
            name = format!("_{}{tail}", clip(elem, longest - 1 - tail.len()));
        }
        Ok(name)
    }

    /// True if values of a type are checked when they are coerced to it.
    pub fn domain_has_constraints(&self, ty: Oid) -> Result<bool> {
        let t = self.view.type_(ty)?;
        if t.kind != b'd' {
            return Ok(false);
        }
        Ok(t.not_null
            || !self.view.domain_constraints(ty)?.is_empty()
            || self.domain_has_constraints(t.base_type)?)
    }

    /// An object's comment.
    pub fn comment_of(&self, a: ObjectAddress) -> Result<Option<String>> {
        let key = [Datum::U32(a.object.0), Datum::U32(a.class.0), Datum::I32(a.sub)];
        let rows = self.rows.index_scan(catalog::indexes::PG_DESCRIPTION_OBJECT, &key)?;
        match rows.first() {
            Some(row) => Ok(Some(row.text("description")?.to_string())),
            None => Ok(None),
        }
    }

    /// Gives a table a TOAST table if one of its columns may need it.
    pub fn create_toast_if_needed(&self, table: Oid) -> Result<()> {
        let rel = self.view.relation(table)?;
        let needed = rel.kind != RelKind::Partitioned && may_outgrow_page(&rel);
        if rel.toast.is_valid() || !needed {
            return Ok(());
        }
        let toast = self.create_toast(&rel)?;
        let mut row = self.class_row(table)?;
        row.set_oid("reltoastrelid", toast)?;
        self.rows.update(row)?;
        Ok(())
    }

    fn create_toast(&self, rel: &Arc<RelationDesc>) -> Result<Oid> {
        let name = format!("pg_toast_{}", rel.oid);
        let column = |name: &str, type_oid: Oid| {
            let mut c = NewColumn::new(
                name,
                super::type_name::ResolvedType { oid: type_oid, typmod: -1, ndims: 0 },
                Oid::INVALID,
            );
            c.storage = Some(b'p');
            c
        };
        let columns = [
            column("chunk_id", oids::OID),
            column("chunk_seq", oids::INT4),
            column("chunk_data", oids::BYTEA),
        ];
        let toast = self.create_relation(NewRelation {
            oid: None,
            name: &name,
            namespace: oids::PG_TOAST,
            kind: RelKind::Toast,
            persistence: rel.persistence,
            owner: rel.owner,
            am: if rel.am.is_valid() { rel.am } else { oids::HEAP_AM },
            tablespace: rel.tablespace,
            columns: &columns,
            options: Vec::new(),
            of_type: Oid::INVALID,
            is_partition: false,
        })?;
        self.create_toast_index(rel, toast, &name)?;
        let own = ObjectAddress::relation(toast);
        depend::record(self.rows, own, ObjectAddress::relation(rel.oid), DependKind::Internal)?;
        Ok(toast)
    }

    fn create_toast_index(&self, rel: &RelationDesc, toast: Oid, name: &str) -> Result<()> {
        self.create_index(super::index::NewIndex {
            table: toast,
            name: format!("{name}_index"),
            namespace: oids::PG_TOAST,
            am: oids::BTREE_AM,
            tablespace: rel.tablespace,
            keys: vec![
                super::index::IndexKey::column(1, oids::OID, Oid(1981)),
                super::index::IndexKey::column(2, oids::INT4, Oid(1978)),
            ],
            including: Vec::new(),
            unique: true,
            nulls_not_distinct: false,
            primary: true,
            immediate: true,
            constraint: None,
            exclusion: Vec::new(),
            exprs: None,
            predicate: None,
            options: Vec::new(),
            only: false,
        })?;
        Ok(())
    }

    /// The `pg_class` row of a relation.
    pub fn class_row(&self, oid: Oid) -> Result<SysRow> {
        let key = [Datum::U32(oid.0)];
        let found = self.rows.index_scan(catalog::indexes::PG_CLASS_OID, &key)?;
        found
            .into_iter()
            .next()
            .ok_or_else(|| base::err!(INTERNAL_ERROR, "cache lookup failed for relation {oid}"))
    }
}

/// True if rows of a table may be too long to be stored in one piece.
fn may_outgrow_page(rel: &RelationDesc) -> bool {
    const WHOLE_ROW_MAX: i64 = 2032;
    let aligned = |n: i64| (n + 7) & !7;
    let (mut toastable, mut data) = (false, 0i64);
    for a in rel.tuple.attrs.iter().filter(|a| !a.dropped && a.generated != b'v') {
        let align = i64::from(a.align.max(1));
        data = (data + align - 1) & -align;
        if a.len > 0 {
            data += i64::from(a.len);
            continue;
        }
        toastable |= a.storage != b'p';
        match length_max(a.type_oid, a.typmod) {
            Some(length) => data += length,
            None if a.storage != b'p' => return true,
            None => return rel.tuple.attrs.iter().any(|a| a.len < 0 && a.storage != b'p'),
        }
    }
    let header = aligned(23 + (rel.tuple.attrs.len() as i64 + 7) / 8);
    toastable && header + aligned(data) > WHOLE_ROW_MAX
}

/// The greatest length of a value in bytes, if its type's modifier bounds it.
fn length_max(ty: Oid, typmod: i32) -> Option<i64> {
    let typmod = i64::from(typmod);
    match ty {
        oids::VARCHAR | oids::BPCHAR if typmod >= 4 => Some((typmod - 4) * 4 + 4),
        oids::NUMERIC if typmod >= 4 => {
            let precision = (typmod - 4) >> 16 & 0xffff;
            Some(8 + (precision + 6) / 4 * 2)
        }
        oids::BIT | oids::VARBIT if typmod >= 0 => Some((typmod + 7) / 8 + 8),
        _ => None,
    }
}
