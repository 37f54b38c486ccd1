//! `has_*_privilege`, `pg_has_role`.

use super::SysSession;
use super::args::Args;
use base::{Oid, Result, bail, err};
use catalog::acl::{AclItem, bit};
use catalog::privilege::{self, Grantable, Rights, Through};
use catalog::{SysRow, indexes, oids};
use types::Datum;

pub(super) fn call(s: &dyn SysSession, name: &str, args: &Args) -> Option<Result<Datum>> {
    if name == "pg_has_role" {
        return Some(has_role(s, args));
    }
    if name == "row_security_active" {
        return Some(row_security(s, args));
    }
    if name == "pg_get_acl" {
        return Some(get_acl(s, args));
    }
    let what = name.strip_prefix("has_")?.strip_suffix("_privilege")?;
    Some(has(s, what, args).map(|v| v.map_or(Datum::Null, Datum::Bool)))
}

/// How one kind of object keeps its rights.
struct Kind {
    table: Oid,
    /// Its OID index; none is a scan.
    index: Option<Oid>,
    oid: &'static str,
    name: &'static str,
    owner: &'static str,
    acl: &'static str,
    noun: &'static str,
}

fn kind(what: &str) -> Option<Kind> {
    let k = |table, index, oid, name, owner, acl, noun| {
        Some(Kind { table, index, oid, name, owner, acl, noun })
    };
    let class = Some(indexes::PG_CLASS_OID);
    let (proc, ty) = (Some(indexes::PG_PROC_OID), Some(indexes::PG_TYPE_OID));
    let schema = Some(indexes::PG_NAMESPACE_OID);
    match what {
        "table" | "any_column" | "column" | "sequence" => {
            k(oids::PG_CLASS, class, "oid", "relname", "relowner", "relacl", "relation")
        }
        "schema" => k(oids::PG_NAMESPACE, schema, "oid", "nspname", "nspowner", "nspacl", "schema"),
        "database" => k(oids::PG_DATABASE, None, "oid", "datname", "datdba", "datacl", "database"),
        "function" => k(oids::PG_PROC, proc, "oid", "proname", "proowner", "proacl", "function"),
        "language" => {
            k(oids::PG_LANGUAGE, None, "oid", "lanname", "lanowner", "lanacl", "language")
        }
        "type" => k(oids::PG_TYPE, ty, "oid", "typname", "typowner", "typacl", "type"),
        "tablespace" => {
            k(oids::PG_TABLESPACE, None, "oid", "spcname", "spcowner", "spcacl", "tablespace")
        }
        "foreign_data_wrapper" => k(
            oids::PG_FOREIGN_DATA_WRAPPER,
            None,
            "oid",
            "fdwname",
            "fdwowner",
            "fdwacl",
            "foreign-data wrapper",
        ),
        "largeobject" => k(
            oids::PG_LARGEOBJECT_METADATA,
            Some(indexes::PG_LARGEOBJECT_METADATA_OID),
            "oid",
            "oid",
            "lomowner",
            "lomacl",
            "large object",
        ),
        "server" => {
            k(oids::PG_FOREIGN_SERVER, None, "oid", "srvname", "srvowner", "srvacl", "server")
        }
        _ => None,
    }
}

fn letter(word: &str) -> Option<u8> {
    Some(match word {
        "INSERT" => b'a',
        "SELECT" => b'r',
        "UPDATE" => b'w',
        "DELETE" => b'd',
        "TRUNCATE" => b'D',
        "REFERENCES" => b'x',
        "TRIGGER" => b't',
        "EXECUTE" => b'X',
        "USAGE" => b'U',
        "CREATE" => b'C',
        "TEMPORARY" | "TEMP" => b'T',
        "CONNECT" => b'c',
        "SET" => b's',
        "ALTER SYSTEM" => b'A',
        "MAINTAIN" => b'm',
        _ => return None,
    })
}

/// The privileges that a kind of object has.
fn letters(what: &str) -> &'static [u8] {
    match what {
        "table" => b"arwdDxtm",
        "column" | "any_column" => b"arwx",
        "sequence" => b"rwU",
        "schema" => b"UC",
        "database" => b"CTc",
        "function" => b"X",
        "tablespace" => b"C",
        "largeobject" => b"rw",
        "parameter" => b"sA",
        _ => b"U",
    }
}

/// What is asked for: any of these rights, some with the right to grant them.
fn wanted(text: &str, allowed: &[u8]) -> Result<Vec<(u32, bool)>> {
    text.split(',')
        .map(|word| {
            let upper = word.trim().to_ascii_uppercase();
            let (plain, grant) = match upper.strip_suffix(" WITH GRANT OPTION") {
                Some(plain) => (plain.trim(), true),
                None => (upper.as_str(), false),
            };
            let letter = letter(plain).filter(|l| allowed.contains(l)).ok_or_else(|| {
                err!(INVALID_PARAMETER_VALUE, "unrecognized privilege type: \"{}\"", word.trim())
            })?;
            Ok((bit(letter), grant))
        })
        .collect()
}

fn role_of(s: &dyn SysSession, args: &Args, i: usize) -> Result<Oid> {
    if args.is_oid(i) {
        return args.oid(i);
    }
    match args.text(i)? {
        "public" => Ok(Oid::INVALID),
        name => Ok(s.view().require_role(name)?.oid),
    }
}

fn has(s: &dyn SysSession, what: &str, args: &Args) -> Result<Option<bool>> {
    let columns = usize::from(what == "column");
    let explicit = args.len() > 2 + columns;
    // An object that is not there is told before a right that is none, of most.
    let rights = || wanted(args.text(args.len() - 1)?, letters(what));
    if what == "parameter" {
        rights()?;
    }
    let user = if explicit { role_of(s, args, 0)? } else { s.env().current_user() };
    let at = usize::from(explicit);
    if what == "sequence" {
        rights()?;
    }
    if what == "parameter" {
        return Ok(Some(superuser(s, user)?));
    }
    let Some(kind) = kind(what) else {
        rights()?;
        return Ok(Some(superuser(s, user)?));
    };
    let Some(row) = object(s, &kind, args, at)? else {
        rights()?;
        return Ok(None);
    };
    let only = match what {
        "column" => column_number(s, &row, args, at + 1)?,
        _ => None,
    };
    let rights = rights()?;
    if what == "column" && only.is_none() {
        return Ok(None);
    }
    if what == "sequence" && row.char("relkind")? != b'S' {
        bail!(WRONG_OBJECT_TYPE, "\"{}\" is not a sequence", row.text("relname")?);
    }
    let mut found = check(s, &kind, grantable(what, &row)?, &row, user, &rights)?;
    if !found && matches!(what, "column" | "any_column") {
        found = by_columns(s, &row, user, &rights, only)?;
    }
    Ok(Some(found))
}

/// The kind of object that a row is of, by what rights are asked for.
fn grantable(what: &str, row: &SysRow) -> Result<Grantable> {
    Ok(match what {
        "schema" => Grantable::Schema,
        "database" => Grantable::Database,
        "function" => Grantable::Function,
        "language" => Grantable::Language,
        "type" => Grantable::Type,
        "tablespace" => Grantable::Tablespace,
        "foreign_data_wrapper" => Grantable::ForeignDataWrapper,
        "server" => Grantable::ForeignServer,
        "largeobject" => Grantable::LargeObject,
        _ if row.char("relkind")? == b'S' => Grantable::Sequence,
        _ => Grantable::Table,
    })
}

/// The column that an argument names or numbers; none if it is dropped or was never there.
fn column_number(s: &dyn SysSession, row: &SysRow, args: &Args, at: usize) -> Result<Option<i16>> {
    let rel = s.view().relation(row.oid("oid")?)?;
    let name = match &args.values[at] {
        name @ Datum::Bytes(_) => name.as_str(),
        _ => {
            let n = args.int(at)? as i16;
            let key = [Datum::U32(rel.oid.0), Datum::I16(n)];
            let found = s.index_rows(indexes::PG_ATTRIBUTE_NUM, &key)?;
            return match found.first() {
                Some(column) if !column.bool("attisdropped")? => Ok(Some(n)),
                _ => Ok(None),
            };
        }
    };
    if name.starts_with("........pg.dropped.") {
        for column in s.index_rows(indexes::PG_ATTRIBUTE_NUM, &[Datum::U32(rel.oid.0)])? {
            if &*column.text("attname")? == name {
                return Ok(None);
            }
        }
    }
    match rel.column_number(name) {
        None => {
            bail!(UNDEFINED_COLUMN, "column \"{name}\" of relation \"{}\" does not exist", rel.name)
        }
        found => Ok(found),
    }
}

fn by_columns(
    s: &dyn SysSession,
    row: &SysRow,
    user: Oid,
    rights: &[(u32, bool)],
    only: Option<i16>,
) -> Result<bool> {
    let rel = s.view().relation(row.oid("oid")?)?;
    let member = privilege::roles_of(s.view(), user, Through::Inherit)?;
    let key = [Datum::U32(rel.oid.0)];
    for column in s.index_rows(indexes::PG_ATTRIBUTE_NUM, &key)? {
        if only.is_some_and(|n| Ok(n) != column.i16("attnum")) {
            continue;
        }
        if let Some(acl) = column.acl("attacl")?
            && grants(&acl, &member, rights)
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The object's row; an error if a name means nothing.
fn object(s: &dyn SysSession, kind: &Kind, args: &Args, at: usize) -> Result<Option<SysRow>> {
    let types = s.env().catalog();
    let oid = if args.is_oid(at) {
        args.oid(at)?
    } else {
        let text = args.text(at)?;
        match kind.noun {
            "relation" => types.types().relation_in(text)?,
            "function" | "type" => {
                let function = kind.noun == "function";
                let ty = if function { oids::REGPROCEDURE } else { oids::REGTYPE };
                types::io::input(ty, text, -1, &s.env().io())?.as_oid()
            }
            "schema" => s.view().require_namespace(text)?.oid,
            noun => return named(s, kind, noun, text).map(Some),
        }
    };
    if let Some(index) = kind.index {
        return Ok(s.index_rows(index, &[Datum::U32(oid.0)])?.into_iter().next());
    }
    for row in s.table_rows(kind.table)? {
        if row.oid(kind.oid)? == oid {
            return Ok(Some(row));
        }
    }
    Ok(None)
}

fn named(s: &dyn SysSession, kind: &Kind, noun: &str, name: &str) -> Result<SysRow> {
    for row in s.table_rows(kind.table)? {
        if &*row.text(kind.name)? == name {
            return Ok(row);
        }
    }
    match noun {
        "database" => bail!(INVALID_CATALOG_NAME, "database \"{name}\" does not exist"),
        _ => bail!(UNDEFINED_OBJECT, "{noun} \"{name}\" does not exist"),
    }
}

fn superuser(s: &dyn SysSession, user: Oid) -> Result<bool> {
    Ok(user == oids::SUPERUSER || s.view().find_role(user)?.is_some_and(|r| r.superuser))
}

fn grants(acl: &[AclItem], roles: &[Oid], rights: &[(u32, bool)]) -> bool {
    rights.iter().any(|(right, grant)| {
        acl.iter().any(|item| {
            let applies = !item.grantee.is_valid() || roles.contains(&item.grantee);
            let given = if *grant { item.grant_options } else { item.privileges };
            applies && given & right != 0
        })
    })
}

fn check(
    s: &dyn SysSession,
    kind: &Kind,
    grantable: Grantable,
    row: &SysRow,
    user: Oid,
    rights: &[(u32, bool)],
) -> Result<bool> {
    let acl = row.acl(kind.acl)?;
    let held = Rights { kind: grantable, owner: row.oid(kind.owner)?, acl: acl.as_deref() };
    for (right, grant) in rights {
        let has = match grant {
            true => held.grantable_by(s.view(), user, *right)?,
            false => held.of(s.view(), user, *right)?,
        };
        if has != 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

fn has_role(s: &dyn SysSession, args: &Args) -> Result<Datum> {
    let explicit = args.len() > 2;
    let user = if explicit { role_of(s, args, 0)? } else { s.env().current_user() };
    let role = role_of(s, args, usize::from(explicit))?;
    let given = args.text(args.len() - 1)?.trim();
    let word = given.to_ascii_uppercase();
    let (plain, admin) = match word.split_once(" WITH ") {
        Some((plain, _)) => (plain.to_string(), true),
        None => (word, false),
    };
    if !matches!(plain.as_str(), "USAGE" | "MEMBER" | "SET") {
        let first = given.split(',').next().unwrap_or("").trim();
        bail!(INVALID_PARAMETER_VALUE, "unrecognized privilege type: \"{first}\"");
    }
    if superuser(s, user)? || (user == role && !admin) {
        return Ok(Datum::Bool(true));
    }
    let mut all = vec![user];
    let mut next = 0;
    while next < all.len() {
        if let Some(desc) = s.view().find_role(all[next])? {
            for (of, may_admin, inherit, set) in &desc.member_of {
                let counts = match plain.as_str() {
                    "USAGE" => *inherit,
                    "SET" => *set,
                    _ => true,
                };
                if *of == role && counts && (!admin || *may_admin) {
                    return Ok(Datum::Bool(true));
                }
                if counts && !all.contains(of) {
                    all.push(*of);
                }
            }
        }
        next += 1;
    }
    Ok(Datum::Bool(false))
}

/// The list of any object, as it is stored.
fn get_acl(s: &dyn SysSession, args: &Args) -> Result<Datum> {
    let (class, object, sub) = (args.oid(0)?, args.oid(1)?, args.int(2)?);
    if class == oids::PG_CLASS && sub != 0 {
        let key = [Datum::U32(object.0), Datum::I16(sub as i16)];
        let found = s.index_rows(indexes::PG_ATTRIBUTE_NUM, &key)?;
        return found.first().map_or(Ok(Datum::Null), |row| row.get("attacl").cloned());
    }
    if !class.is_valid() && !object.is_valid() {
        return Ok(Datum::Null);
    }
    if !crate::ddl::is_class(class) {
        bail!(INTERNAL_ERROR, "unrecognized class ID: {class}");
    }
    let class = crate::ddl::grant::acl_class(class);
    let Some((class, column)) = class.and_then(|c| Some((c, c.acl?))) else {
        return Ok(Datum::Null);
    };
    let found = s.index_rows(class.index, &[Datum::U32(object.0)])?;
    found.first().map_or(Ok(Datum::Null), |row| row.get(column).cloned())
}

fn row_security(s: &dyn SysSession, args: &Args) -> Result<Datum> {
    let oid = if args.is_oid(0) {
        args.oid(0)?
    } else {
        s.env().catalog().types().relation_in(args.text(0)?)?
    };
    let Some(rel) = s.view().find_relation(oid)? else { return Ok(Datum::Bool(false)) };
    let user = s.env().current_user();
    let exempt = superuser(s, user)?
        || s.view().find_role(user)?.is_some_and(|r| r.bypass_rls)
        || (privilege::roles_of(s.view(), user, Through::Inherit)?.contains(&rel.owner)
            && !rel.force_row_security);
    Ok(Datum::Bool(rel.row_security && !exempt))
}
