//! Relations' descriptors from rows of `pg_class` and the tables around it.

use crate::builtin;
use crate::desc::*;
use crate::indexes;
use crate::oids;
use crate::rows::{RowStore, SysRow};
use crate::vector;
use base::{Error, Oid, RelFile, Result, SqlState};
use std::sync::Arc;
use types::tuple::{Attr, TupleDesc};
use types::{Datum, PhysType};

/// What loading needs to know of its surroundings.
pub struct Loader<'a> {
    /// The rows.
    pub rows: &'a dyn RowStore,
    /// The database whose rows they are.
    pub database: Oid,
    /// Its default tablespace.
    pub tablespace: Oid,
}

fn key(oid: Oid) -> Datum {
    Datum::U32(oid.0)
}

impl Loader<'_> {
    /// A relation. System tables come from the built-in list and cost no reads.
    pub fn relation(&self, oid: Oid) -> Result<Option<RelationDesc>> {
        if let Some(rel) = builtin::relations().get(&oid) {
            return Ok(Some(self.system_relation(rel)?));
        }
        let Some(class) = self.one(indexes::PG_CLASS_OID, oid)? else { return Ok(None) };
        let mut rel = self.class(&class)?;
        let (tuple, acls) = self.columns(oid)?;
        rel.tuple = Arc::new(tuple);
        rel.column_acls = acls;
        self.add_defaults(&mut rel)?;
        if rel.tuple.attrs.iter().any(|a| a.identity != 0) {
            self.add_identities(&mut rel)?;
        }
        if matches!(rel.kind, RelKind::Index | RelKind::PartitionedIndex) {
            rel.index = self.index(&rel)?.map(Arc::new);
            for row in self.rows.index_scan(indexes::PG_INHERITS_RELID, &[key(oid)])? {
                rel.parents.push(row.oid("inhparent")?);
            }
            return Ok(Some(rel));
        }
        if class.bool("relhasindex")? {
            for row in self.rows.index_scan(indexes::PG_INDEX_INDRELID, &[key(oid)])? {
                rel.indexes.extend(self.index_of_row(&row)?.map(Arc::new));
            }
            rel.indexes.sort_by_key(|i| i.oid);
        }
        for row in self.rows.index_scan(indexes::PG_CONSTRAINT_CONRELID, &[key(oid)])? {
            rel.constraints.push(constraint(&row)?);
        }
        if class.bool("relhastriggers")? {
            self.add_triggers(&mut rel)?;
        }
        if class.bool("relhasrules")? {
            for row in self.rows.index_scan(indexes::PG_REWRITE_REL, &[key(oid)])? {
                rel.rules.push(rule(&row)?);
            }
        }
        for row in self.rows.index_scan(indexes::PG_INHERITS_RELID, &[key(oid)])? {
            rel.parents.push(row.oid("inhparent")?);
        }
        if rel.row_security {
            for row in self.rows.index_scan(indexes::PG_POLICY_NAME, &[key(oid)])? {
                rel.policies.push(PolicyDesc {
                    name: row.text("polname")?,
                    command: row.char("polcmd")?,
                    permissive: row.bool("polpermissive")?,
                    roles: row.oids("polroles")?,
                    qual: row.opt_text("polqual")?,
                    check: row.opt_text("polwithcheck")?,
                });
            }
        }
        if rel.kind == RelKind::Partitioned {
            rel.partition_key = self.partition_key(oid)?;
        }
        if rel.kind == RelKind::Foreign
            && let Some(row) = self.one(indexes::PG_FOREIGN_TABLE_RELID, oid)?
            && let Some(row) = self.one(indexes::PG_FOREIGN_SERVER_OID, row.oid("ftserver")?)?
            && let Some(row) = self.one(indexes::PG_FOREIGN_DATA_WRAPPER_OID, row.oid("srvfdw")?)?
        {
            rel.wrapper = Some(row.text("fdwname")?);
        }
        Ok(Some(rel))
    }

    /// A system table: its shape is built in, its statistics are in its row.
    fn system_relation(&self, rel: &RelationDesc) -> Result<RelationDesc> {
        let number = |oid| self.rows.file_number(oid);
        let mut rel = rel.in_database(self.database).with_files(&number)?;
        // While `initdb` fills the tables there is no row yet.
        if let Some(row) = self.one(indexes::PG_CLASS_OID, rel.oid)? {
            rel.acl = row.acl("relacl")?;
            rel.owner = row.oid("relowner")?;
            if !matches!(rel.kind, RelKind::Index) {
                let (_, acls) = self.columns(rel.oid)?;
                rel.column_acls = acls;
            }
        }
        Ok(rel)
    }

    /// The one row with this OID in an index on `oid` alone.
    pub fn one(&self, index: Oid, oid: Oid) -> Result<Option<SysRow>> {
        Ok(self.rows.index_scan(index, &[key(oid)])?.into_iter().next())
    }

    fn class(&self, row: &SysRow) -> Result<RelationDesc> {
        let bad = |what: &str| Error::new(SqlState::DATA_CORRUPTED, format!("invalid {what}"));
        let kind = RelKind::from_u8(row.char("relkind")?).ok_or_else(|| bad("relkind"))?;
        let persistence = Persistence::from_u8(row.char("relpersistence")?)
            .ok_or_else(|| bad("relpersistence"))?;
        let oid = row.oid("oid")?;
        let name = row.text("relname")?;
        let mut rel = RelationDesc::plain_table(oid, &name, Arc::new(TupleDesc::default()));
        rel.namespace = row.oid("relnamespace")?;
        rel.row_type = row.oid("reltype")?;
        rel.of_type = row.oid("reloftype")?;
        rel.owner = row.oid("relowner")?;
        rel.am = row.oid("relam")?;
        rel.tablespace = row.oid("reltablespace")?;
        rel.shared = row.bool("relisshared")?;
        rel.relfile = self.place(rel.tablespace, rel.shared, row.oid("relfilenode")?.0);
        rel.kind = kind;
        rel.persistence = persistence;
        rel.pages = row.i32("relpages")?;
        rel.tuples = row.f32("reltuples")?;
        rel.all_visible = row.i32("relallvisible")?;
        rel.all_frozen = row.i32("relallfrozen")?;
        rel.toast = row.oid("reltoastrelid")?;
        rel.has_subclass = row.bool("relhassubclass")?;
        rel.row_security = row.bool("relrowsecurity")?;
        rel.force_row_security = row.bool("relforcerowsecurity")?;
        rel.is_populated = row.bool("relispopulated")?;
        rel.replica_identity = row.char("relreplident")?;
        rel.is_partition = row.bool("relispartition")?;
        rel.partition_bound = row.opt_text("relpartbound")?;
        rel.options = options(row.texts("reloptions")?);
        rel.acl = row.acl("relacl")?;
        Ok(rel)
    }

    fn place(&self, tablespace: Oid, shared: bool, number: u32) -> RelFile {
        if shared {
            return RelFile { tablespace: oids::PG_GLOBAL, database: Oid::INVALID, number };
        }
        let tablespace = if tablespace.is_valid() { tablespace } else { self.tablespace };
        RelFile { tablespace, database: self.database, number }
    }

    /// The columns and their access control lists.
    #[allow(clippy::type_complexity)]
    fn columns(&self, oid: Oid) -> Result<(TupleDesc, Vec<(i16, Vec<crate::acl::AclItem>)>)> {
        let mut attrs = Vec::new();
        let mut acls = Vec::new();
        for row in self.rows.index_scan(indexes::PG_ATTRIBUTE_NUM, &[key(oid)])? {
            let number = row.i16("attnum")?;
            // Rights may be given on system columns too.
            if let Some(acl) = row.acl("attacl")? {
                acls.push((number, acl));
            }
            if number > 0 {
                attrs.push(self.attr(&row)?);
            }
        }
        Ok((TupleDesc::new(attrs), acls))
    }

    fn attr(&self, row: &SysRow) -> Result<Attr> {
        let type_oid = row.oid("atttypid")?;
        let (len, byval) = (row.i16("attlen")?, row.bool("attbyval")?);
        let phys = self.phys_type(type_oid, len, byval)?;
        let mut attr = Attr {
            name: row.text("attname")?,
            type_oid,
            typmod: row.i32("atttypmod")?,
            phys,
            len,
            byval,
            align: builtin::align_bytes(row.char("attalign")?),
            storage: row.char("attstorage")?,
            compression: row.char("attcompression")?,
            collation: row.oid("attcollation")?,
            not_null: row.bool("attnotnull")?,
            dropped: row.bool("attisdropped")?,
            missing: None,
            generated: row.char("attgenerated")?,
            identity: row.char("attidentity")?,
        };
        if row.bool("atthasmissing")? {
            attr.missing = vector::to_values(row.get("attmissingval")?, &attr)?.into_iter().next();
        }
        Ok(attr)
    }

    /// How values of a type are held: as those of its base type, if it is a domain.
    fn phys_type(&self, type_oid: Oid, len: i16, byval: bool) -> Result<PhysType> {
        let mut base = type_oid;
        loop {
            let next = match builtin::objects().type_(base) {
                Some(t) if t.kind == b'd' => t.base_type,
                Some(_) => break,
                None => match self.one(indexes::PG_TYPE_OID, base)? {
                    Some(row) if row.char("typtype")? == b'd' => row.oid("typbasetype")?,
                    Some(row) if row.char("typtype")? == b'b' => {
                        let f = self.one(indexes::PG_PROC_OID, row.oid("typinput")?)?;
                        if let Some(f) = f
                            && f.oid("prolang")? == crate::oids::INTERNAL_LANGUAGE
                        {
                            let like = crate::open::read_by(&f.text("prosrc")?, len, byval);
                            base = if like.is_valid() { like } else { base };
                        }
                        break;
                    }
                    _ => break,
                },
            };
            base = next;
        }
        Ok(types::phys_type(base, len, byval))
    }

    fn add_defaults(&self, rel: &mut RelationDesc) -> Result<()> {
        for row in self.rows.index_scan(indexes::PG_ATTRDEF_ADRELID, &[key(rel.oid)])? {
            if let Some(text) = row.opt_text("adbin")? {
                rel.defaults.push((row.i16("adnum")?, text));
            }
        }
        Ok(())
    }

    /// An identity column's sequence is an internal part of it. A partition uses that of the
    /// table at the top.
    fn add_identities(&self, rel: &mut RelationDesc) -> Result<()> {
        let mut top = rel.oid;
        if rel.is_partition {
            while let Some(row) =
                self.rows.index_scan(indexes::PG_INHERITS_RELID, &[key(top)])?.first()
            {
                top = row.oid("inhparent")?;
            }
        }
        for (i, attr) in rel.tuple.attrs.iter().enumerate().filter(|(_, a)| a.identity != 0) {
            let mut number = i as i16 + 1;
            if top != rel.oid {
                let found = [key(top), Datum::text(&attr.name)];
                let rows = self.rows.index_scan(indexes::PG_ATTRIBUTE_NAME, &found)?;
                let Some(row) = rows.first() else { continue };
                number = row.i16("attnum")?;
            }
            let class = oids::PG_CLASS;
            let found = [key(class), key(top), Datum::I32(i32::from(number))];
            for row in self.rows.index_scan(indexes::PG_DEPEND_REFERENCE, &found)? {
                if row.char("deptype")? == b'i' && row.oid("classid")? == class {
                    rel.identities.push((i as i16 + 1, row.oid("objid")?));
                }
            }
        }
        Ok(())
    }

    /// Collations, after those that users made were read: an index compares without a catalog.
    fn known_collations(&self, all: Vec<Oid>) -> Result<Vec<Oid>> {
        for oid in all.iter().filter(|c| **c >= Oid::FIRST_NORMAL) {
            self.collation(*oid)?;
        }
        Ok(all)
    }

    fn index(&self, rel: &RelationDesc) -> Result<Option<IndexDesc>> {
        match self.one(indexes::PG_INDEX_INDEXRELID, rel.oid)? {
            Some(row) => Ok(Some(self.index_desc(&row, rel)?)),
            None => Ok(None),
        }
    }

    fn index_of_row(&self, row: &SysRow) -> Result<Option<IndexDesc>> {
        let oid = row.oid("indexrelid")?;
        let Some(class) = self.one(indexes::PG_CLASS_OID, oid)? else { return Ok(None) };
        let mut rel = self.class(&class)?;
        rel.tuple = Arc::new(self.columns(oid)?.0);
        Ok(Some(self.index_desc(row, &rel)?))
    }

    fn index_desc(&self, row: &SysRow, rel: &RelationDesc) -> Result<IndexDesc> {
        let opclasses = row.oids("indclass")?;
        let mut opfamilies = Vec::new();
        let mut opc_types = Vec::new();
        for class in &opclasses {
            let (family, input) = self.opclass(*class)?;
            opfamilies.push(family);
            opc_types.push(input);
        }
        Ok(IndexDesc {
            oid: rel.oid,
            table: row.oid("indrelid")?,
            name: rel.name.clone(),
            namespace: rel.namespace,
            am: rel.am,
            relfile: rel.relfile,
            persistence: rel.persistence,
            pages: rel.pages,
            tuples: rel.tuples,
            columns: row.i16s("indkey")?,
            n_keys: row.i16("indnkeyatts")? as u16,
            is_unique: row.bool("indisunique")?,
            nulls_not_distinct: row.bool("indnullsnotdistinct")?,
            is_primary: row.bool("indisprimary")?,
            is_exclusion: row.bool("indisexclusion")?,
            is_immediate: row.bool("indimmediate")?,
            is_clustered: row.bool("indisclustered")?,
            is_valid: row.bool("indisvalid")?,
            is_ready: row.bool("indisready")?,
            is_live: row.bool("indislive")?,
            is_replica_identity: row.bool("indisreplident")?,
            collations: self.known_collations(row.oids("indcollation")?)?,
            opclasses,
            opfamilies,
            opc_types,
            options: row.i16s("indoption")?,
            exprs: row.opt_text("indexprs")?,
            predicate: row.opt_text("indpred")?,
            tuple: rel.tuple.clone(),
            rel_options: rel.options.clone(),
        })
    }

    fn opclass(&self, oid: Oid) -> Result<(Oid, Oid)> {
        if let Some(c) = builtin::objects().opclass(oid) {
            return Ok((c.family, c.input_type));
        }
        match self.one(indexes::PG_OPCLASS_OID, oid)? {
            Some(row) => Ok((row.oid("opcfamily")?, row.oid("opcintype")?)),
            None => Err(Error::internal(format!("cache lookup failed for opclass {oid}"))),
        }
    }

    fn add_triggers(&self, rel: &mut RelationDesc) -> Result<()> {
        for row in self.rows.index_scan(indexes::PG_TRIGGER_RELID, &[key(rel.oid)])? {
            let t = trigger(&row)?;
            // A foreign key's triggers on the table referred to lead to the foreign key.
            if t.is_internal
                && t.constraint.is_valid()
                && !rel.referenced_by.iter().any(|c| c.oid == t.constraint)
                && let Some(row) = self.one(indexes::PG_CONSTRAINT_OID, t.constraint)?
            {
                let c = constraint(&row)?;
                if c.foreign.as_ref().is_some_and(|f| f.table == rel.oid) {
                    rel.referenced_by.push(c);
                }
            }
            rel.triggers.push(t);
        }
        Ok(())
    }

    fn partition_key(&self, oid: Oid) -> Result<Option<PartitionKeyDesc>> {
        let Some(row) = self.one(indexes::PG_PARTITIONED_TABLE_PARTRELID, oid)? else {
            return Ok(None);
        };
        Ok(Some(PartitionKeyDesc {
            strategy: row.char("partstrat")?,
            default_partition: row.oid("partdefid")?,
            columns: row.i16s("partattrs")?,
            opclasses: row.oids("partclass")?,
            collations: row.oids("partcollation")?,
            exprs: row.opt_text("partexprs")?,
        }))
    }

    /// The OID of the relation of this name in a schema.
    pub fn relation_oid(&self, namespace: Oid, name: &str) -> Result<Option<Oid>> {
        let found =
            self.rows.index_scan(indexes::PG_CLASS_NAME, &[Datum::text(name), key(namespace)])?;
        found.first().map(|row| row.oid("oid")).transpose()
    }

    /// The direct children of a table.
    pub fn children(&self, parent: Oid) -> Result<Vec<Oid>> {
        let found = self.rows.index_scan(indexes::PG_INHERITS_PARENT, &[key(parent)])?;
        let mut all = found.iter().map(|r| r.oid("inhrelid")).collect::<Result<Vec<_>>>()?;
        all.sort();
        Ok(all)
    }

    /// A column's statistics.
    pub fn statistic(
        &self,
        relation: Oid,
        attnum: i16,
        inherited: bool,
    ) -> Result<Option<StatisticDesc>> {
        let keys = [key(relation), Datum::I16(attnum), Datum::Bool(inherited)];
        let found = self.rows.index_scan(indexes::PG_STATISTIC_RELID, &keys)?;
        found.first().map(|row| self.statistic_of(row)).transpose()
    }
}

/// `name=value` items as pairs.
pub fn options(items: Option<Vec<String>>) -> Vec<(String, String)> {
    let pair = |item: String| match item.split_once('=') {
        Some((name, value)) => (name.to_string(), value.to_string()),
        None => (item, String::new()),
    };
    items.unwrap_or_default().into_iter().map(pair).collect()
}

/// A constraint from its row.
pub fn constraint(row: &SysRow) -> Result<ConstraintDesc> {
    let kind = row.char("contype")?;
    let foreign = match kind {
        b'f' => Some(ForeignKey {
            table: row.oid("confrelid")?,
            columns: row.i16s("confkey")?,
            on_update: row.char("confupdtype")?,
            on_delete: row.char("confdeltype")?,
            match_type: row.char("confmatchtype")?,
            pf_eq_ops: row.oids("conpfeqop")?,
            pp_eq_ops: row.oids("conppeqop")?,
            ff_eq_ops: row.oids("conffeqop")?,
            delete_set_columns: row.i16s("confdelsetcols")?,
        }),
        _ => None,
    };
    Ok(ConstraintDesc {
        oid: row.oid("oid")?,
        name: row.text("conname")?,
        namespace: row.oid("connamespace")?,
        kind,
        deferrable: row.bool("condeferrable")?,
        deferred: row.bool("condeferred")?,
        enforced: row.bool("conenforced")?,
        validated: row.bool("convalidated")?,
        relation: row.oid("conrelid")?,
        domain: row.oid("contypid")?,
        index: row.oid("conindid")?,
        parent: row.oid("conparentid")?,
        is_local: row.bool("conislocal")?,
        inherit_count: row.i16("coninhcount")?,
        no_inherit: row.bool("connoinherit")?,
        columns: row.i16s("conkey")?,
        foreign,
        exclusion_ops: row.oids("conexclop")?,
        expr: row.opt_text("conbin")?,
    })
}

fn trigger(row: &SysRow) -> Result<TriggerDesc> {
    let args = match row.get("tgargs")? {
        Datum::Bytes(b) => b
            .split(|c| *c == 0)
            .take(row.i16("tgnargs")?.max(0) as usize)
            .map(|s| String::from_utf8_lossy(s).into_owned())
            .collect(),
        _ => Vec::new(),
    };
    Ok(TriggerDesc {
        oid: row.oid("oid")?,
        name: row.text("tgname")?,
        function: row.oid("tgfoid")?,
        kind: row.i16("tgtype")?,
        enabled: row.char("tgenabled")?,
        is_internal: row.bool("tgisinternal")?,
        constraint_relation: row.oid("tgconstrrelid")?,
        constraint_index: row.oid("tgconstrindid")?,
        constraint: row.oid("tgconstraint")?,
        deferrable: row.bool("tgdeferrable")?,
        initially_deferred: row.bool("tginitdeferred")?,
        columns: row.i16s("tgattr")?,
        args,
        when: row.opt_text("tgqual")?,
        old_table: row.opt_text("tgoldtable")?,
        new_table: row.opt_text("tgnewtable")?,
    })
}

fn rule(row: &SysRow) -> Result<RuleDesc> {
    let filled = |t: Option<NodeText>| t.filter(|t| !t.is_empty());
    Ok(RuleDesc {
        oid: row.oid("oid")?,
        name: row.text("rulename")?,
        event: row.char("ev_type")?,
        enabled: row.char("ev_enabled")?,
        is_instead: row.bool("is_instead")?,
        qual: filled(row.opt_text("ev_qual")?),
        action: filled(row.opt_text("ev_action")?),
    })
}
