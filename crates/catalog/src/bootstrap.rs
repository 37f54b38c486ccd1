//! The first contents of all system tables: what `initdb` makes of the data files.

use crate::acl::{self, AclItem};
use crate::builtin;
use crate::desc::*;
use crate::heap_store::SysTables;
use crate::oids;
use crate::vector;
use crate::views;
use access::heap::InsertOptions;
use access::index::{BuildOptions, BuildOutcome, BuildSource};
use access::{ExecTxn, Storage};
use base::{Error, Fork, Oid, Result, Tid};
use std::collections::HashMap;
use std::sync::Arc;
use txn::Txn;
use types::Datum;
use types::tuple::Attr;

/// What `initdb` was told.
#[derive(Clone, Debug)]
pub struct BootstrapOptions {
    /// Name of the superuser.
    pub superuser: String,
    /// The superuser's password as it is stored.
    pub password: Option<String>,
    /// LC_COLLATE of the first databases.
    pub collate: String,
    /// LC_CTYPE of the first databases.
    pub ctype: String,
    /// Their locale of the built-in provider, if that is theirs.
    pub provider_locale: Option<(u8, String)>,
    /// Rules after those of that locale.
    pub icu_rules: Option<String>,
}

/// Where the tables of the first database, `template1`, are.
pub const FIRST_DATABASE: Oid = oids::TEMPLATE1;

struct Bootstrap<'a> {
    storage: &'a Arc<Storage>,
    tables: Arc<SysTables>,
    txn: &'a Txn,
    options: &'a BootstrapOptions,
    roles: HashMap<String, Oid>,
}

/// Makes the files of all system tables in `template1` and the shared ones, and fills them. The
/// caller commits `txn` and copies `template1` to the other databases.
pub fn bootstrap(storage: &Arc<Storage>, txn: &Txn, options: &BootstrapOptions) -> Result<()> {
    let mut roles = HashMap::new();
    if let Some(table) = functions::builtin::table("pg_authid") {
        for row in table.rows() {
            let (Some(oid), Some(name)) = (&row[0], &row[1]) else { continue };
            roles.insert(name.to_string(), Oid(oid.parse().unwrap_or(0)));
        }
    }
    let tables =
        Arc::new(SysTables::new(storage.clone(), FIRST_DATABASE, SysTables::shared_map(storage)));
    let b = Bootstrap { storage, tables, txn, options, roles };
    for rel in builtin::relations().values() {
        let rel = rel.in_database(FIRST_DATABASE);
        storage.pool.create_relation(rel.relfile, buffer::Persistence::Permanent)?;
    }
    // Long rows of the tables go to the TOAST tables, which are ready for them then.
    for kind in [RelKind::Toast, RelKind::Table] {
        for rel in builtin::relations().values().filter(|r| r.kind == kind) {
            b.fill(rel)?;
        }
    }
    Ok(())
}

/// The built-in rows are frozen: no id is older than the first.
fn first_id() -> Datum {
    Datum::U32(base::Xid::FIRST_NORMAL.0 as u32)
}

impl Bootstrap<'_> {
    fn fill(&self, rel: &RelationDesc) -> Result<()> {
        let rows = match &*rel.name {
            "pg_rewrite" => self.rules(rel)?,
            name => self.rows(rel, name)?,
        };
        let table = match rel.kind {
            RelKind::Toast => return self.empty_toast(rel),
            _ => self.tables.table(rel.oid)?,
        };
        let snapshot = self.txn.latest_snapshot();
        let x = ExecTxn { txn: self.txn, snapshot: &snapshot };
        let mut tids = Vec::with_capacity(rows.len());
        let mut all = rows.iter().map(Vec::as_slice);
        let options = InsertOptions { frozen: true };
        table.files.heap.multi_insert(&x, &mut all, options, &mut tids)?;
        for (desc, index) in table.desc.indexes.iter().zip(&table.files.indexes) {
            let mut source = Rows { rows: &rows, tids: &tids, columns: &desc.columns, next: 0 };
            let built = index.am().build(
                self.storage,
                index,
                &mut source,
                BuildOptions { memory: 64 << 20 },
            )?;
            if let BuildOutcome::Duplicate(key, ..) = built {
                return Err(Error::internal(format!(
                    "built-in rows of {} have the key {key:?} twice",
                    desc.name
                )));
            }
        }
        Ok(())
    }

    /// TOAST tables start empty; only their index has a page.
    fn empty_toast(&self, rel: &RelationDesc) -> Result<()> {
        let rel = rel.in_database(FIRST_DATABASE);
        for desc in &rel.indexes {
            let index = crate::open::open_index(desc, &crate::open::builtin_support)?;
            let files = self.storage.pool.relation(desc.relfile, buffer::Persistence::Permanent);
            if files.nblocks(Fork::Main)?.0 == 0 {
                index.am().build_empty(self.storage, &index)?;
            }
        }
        Ok(())
    }

    fn rows(&self, rel: &RelationDesc, name: &str) -> Result<Vec<Vec<Datum>>> {
        let Some(table) = functions::builtin::table(name) else { return Ok(Vec::new()) };
        let columns = table.columns();
        let attrs: Vec<&Attr> = columns
            .iter()
            .map(|c| {
                let at = rel.tuple.position(c);
                at.map(|i| &rel.tuple.attrs[i])
                    .ok_or_else(|| Error::internal(format!("{name} has no column {c}")))
            })
            .collect::<Result<_>>()?;
        let mut all = Vec::new();
        for fields in table.rows() {
            let mut row = Vec::with_capacity(attrs.len());
            for (attr, field) in attrs.iter().zip(&fields) {
                row.push(match field {
                    Some(text) => self.value(attr, text)?,
                    None => Datum::Null,
                });
            }
            self.adapt(rel, &mut row)?;
            all.push(row);
        }
        Ok(all)
    }

    /// Puts in what the options say.
    fn adapt(&self, rel: &RelationDesc, row: &mut [Datum]) -> Result<()> {
        let at = |name: &str| rel.tuple.position(name).unwrap_or(0);
        match rel.oid {
            oids::PG_AUTHID if row[0] == Datum::U32(oids::SUPERUSER.0) => {
                row[at("rolname")] = Datum::text(&self.options.superuser);
                if let Some(password) = &self.options.password {
                    row[at("rolpassword")] = Datum::text(password);
                }
            }
            oids::PG_DATABASE => {
                row[at("datcollate")] = Datum::text(&self.options.collate);
                row[at("datctype")] = Datum::text(&self.options.ctype);
                if let Some((provider, locale)) = &self.options.provider_locale {
                    row[at("datlocprovider")] = Datum::Char(*provider);
                    row[at("datlocale")] = Datum::text(locale);
                }
                if let Some(rules) = &self.options.icu_rules {
                    row[at("daticurules")] = Datum::text(rules);
                }
                row[at("datcollversion")] = Datum::Null;
                row[at("datfrozenxid")] = first_id();
            }
            oids::PG_CLASS if row[at("relfrozenxid")] != Datum::U32(0) => {
                row[at("relfrozenxid")] = first_id();
            }
            // Rules are there for those views only that have a definition here.
            oids::PG_CLASS if row[at("relkind")] == Datum::Char(b'v') => {
                let Datum::U32(oid) = row[0] else { return Ok(()) };
                let has = views::definition_of(Oid(oid)).is_some();
                row[at("relhasrules")] = Datum::Bool(has);
            }
            _ => {}
        }
        Ok(())
    }

    /// The rules of the built-in views.
    fn rules(&self, rel: &RelationDesc) -> Result<Vec<Vec<Datum>>> {
        let at = |name: &str| rel.tuple.position(name).unwrap_or(0);
        let mut all = Vec::new();
        for (view, sql) in views::definitions() {
            let mut row = vec![Datum::Null; rel.tuple.natts()];
            // No rule's OID is known from elsewhere: the view's own serves, as rules are another
            // kind of object.
            row[at("oid")] = Datum::U32(view.0);
            row[at("rulename")] = Datum::text("_RETURN");
            row[at("ev_class")] = Datum::U32(view.0);
            row[at("ev_type")] = Datum::Char(b'1');
            row[at("ev_enabled")] = Datum::Char(b'O');
            row[at("is_instead")] = Datum::Bool(true);
            row[at("ev_qual")] = Datum::text("");
            row[at("ev_action")] = Datum::text(sql);
            all.push(row);
        }
        Ok(all)
    }

    fn value(&self, attr: &Attr, text: &str) -> Result<Datum> {
        let bad =
            || Error::internal(format!("bad built-in value \"{text}\" of column {}", attr.name));
        fn number<T: std::str::FromStr>(text: &str, bad: impl Fn() -> Error) -> Result<T> {
            text.parse().map_err(|_| bad())
        }
        Ok(match attr.type_oid {
            oids::BOOL => Datum::Bool(text == "t"),
            oids::CHAR => Datum::Char(text.bytes().next().unwrap_or(0)),
            oids::INT2 => Datum::I16(number(text, bad)?),
            oids::INT4 => Datum::I32(number(text, bad)?),
            oids::INT8 => Datum::I64(number(text, bad)?),
            oids::OID | oids::REGPROC | oids::XID => Datum::U32(number(text, bad)?),
            oids::FLOAT4 => Datum::F32(number(text, bad)?),
            oids::NAME | oids::TEXT | oids::PG_NODE_TREE => Datum::text(text),
            oids::OIDVECTOR | oids::OID_ARRAY => {
                let list: Result<Vec<Oid>> =
                    elements(text).iter().map(|t| Ok(Oid(number(t, bad)?))).collect();
                vector::from_oids(attr.type_oid, &list?)
            }
            oids::INT2VECTOR | oids::INT2_ARRAY => {
                let list: Result<Vec<i16>> =
                    elements(text).iter().map(|t| number(t, bad)).collect();
                vector::from_i16s(attr.type_oid, &list?)
            }
            oids::TEXT_ARRAY => vector::from_texts(oids::TEXT, &elements(text)),
            oids::CHAR_ARRAY => vector::from_texts(oids::CHAR, &elements(text)),
            oids::ACLITEM_ARRAY => {
                let role = |name: &str| self.roles.get(name).copied();
                let items: Option<Vec<AclItem>> =
                    elements(text).iter().map(|t| AclItem::parse(t, &role)).collect();
                acl::from_items(&items.ok_or_else(bad)?)?
            }
            _ => return Err(bad()),
        })
    }
}

/// The elements of `{a,"b c"}` or of `a b`.
fn elements(text: &str) -> Vec<String> {
    let Some(inner) = text.strip_prefix('{').and_then(|t| t.strip_suffix('}')) else {
        return text.split(' ').filter(|t| !t.is_empty()).map(str::to_string).collect();
    };
    let mut all = Vec::new();
    if inner.is_empty() {
        return all;
    }
    let (mut current, mut quoted) = (String::new(), false);
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => quoted = !quoted,
            '\\' => current.extend(chars.next()),
            ',' if !quoted => all.push(std::mem::take(&mut current)),
            c => current.push(c),
        }
    }
    all.push(current);
    all
}

/// Rows in memory, for the build of an index.
struct Rows<'a> {
    rows: &'a [Vec<Datum>],
    tids: &'a [Tid],
    columns: &'a [i16],
    next: usize,
}

impl BuildSource for Rows<'_> {
    fn next(&mut self, values: &mut Vec<Datum>) -> Result<Option<(Tid, bool)>> {
        let Some(row) = self.rows.get(self.next) else { return Ok(None) };
        values.extend(self.columns.iter().map(|n| row[*n as usize - 1].clone()));
        self.next += 1;
        Ok(Some((self.tids[self.next - 1], true)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_of_the_data_files_are_read() {
        assert_eq!(elements("{a,\"b c\",\"d\\\"e\"}"), ["a", "b c", "d\"e"]);
        assert_eq!(elements("1 2"), ["1", "2"]);
        assert!(elements("{}").is_empty());
    }
}
