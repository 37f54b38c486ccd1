//! Names of new objects: the schema they go to, and names made for those that got none.

use super::Ddl;
use base::{Oid, Result, bail, err};
use catalog::acl::bit;
use catalog::oids;
use catalog::privilege::{Grantable, Rights};
use parser::ast::{Name, RelName};

/// The longest name, in bytes.
pub const MAX_NAME: usize = 63;

/// Cuts a name to so many bytes, at the end of a character.
pub fn clip(name: &str, max: usize) -> &str {
    &name[..name.floor_char_boundary(max)]
}

/// The first that is free of the names with `label`, `label1`, `label2` and so on.
pub fn first_free(
    name1: &str,
    name2: Option<&str>,
    label: &str,
    is_free: impl Fn(&str) -> Result<bool>,
) -> Result<String> {
    let mut name = make_object_name(name1, name2, label);
    let mut number = 1;
    while !is_free(&name)? {
        name = make_object_name(name1, name2, &format!("{label}{number}"));
        number += 1;
    }
    Ok(name)
}

/// `name1_name2_label`, the longer of the two names cut until all fit.
pub fn make_object_name(name1: &str, name2: Option<&str>, label: &str) -> String {
    let overhead = label.len() + 1 + usize::from(name2.is_some());
    let room = MAX_NAME.saturating_sub(overhead);
    let (mut n1, mut n2) = (name1.len(), name2.map_or(0, str::len));
    while n1 + n2 > room {
        if n1 > n2 {
            n1 -= 1;
        } else {
            n2 -= 1;
        }
    }
    let mut out = clip(name1, n1).to_string();
    if let Some(name2) = name2 {
        out.push('_');
        out.push_str(clip(name2, n2));
    }
    if !label.is_empty() {
        out.push('_');
        out.push_str(label);
    }
    out
}

/// Schema and name of a qualified name.
pub fn split(name: &Name) -> (Option<&str>, &str) {
    let n = name.parts.len();
    let schema = if n >= 2 { Some(name.parts[n - 2].as_str()) } else { None };
    (schema, name.last())
}

/// A name as it is shown in messages: quoted only if it needs to be.
pub fn quote(name: &str) -> String {
    let plain = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        && !is_key_word(name);
    if plain { name.to_string() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

/// True for key words that cannot be names as they are.
fn is_key_word(name: &str) -> bool {
    use parser::keywords::{Category, lookup};
    lookup(name.as_bytes()).category().is_some_and(|c| c != Category::Unreserved)
}

impl Ddl<'_> {
    /// The schema a new object goes to.
    pub fn creation_namespace(&self, schema: Option<&str>) -> Result<Oid> {
        let namespace = match schema {
            Some(s) => self.view.require_namespace(s)?.oid,
            None => self.view.context().creation_namespace.ok_or_else(|| {
                err!(INVALID_SCHEMA_NAME, "no schema has been selected to create in")
            })?,
        };
        self.require_create_in(namespace)?;
        Ok(namespace)
    }

    /// Fails unless the user may make objects in the schema.
    pub fn require_create_in(&self, namespace: Oid) -> Result<()> {
        self.require_create_by(self.user(), namespace)
    }

    /// Fails unless a role may make objects in the schema.
    pub fn require_create_by(&self, role: Oid, namespace: Oid) -> Result<()> {
        if Some(namespace) == self.view.context().temp_namespace {
            return Ok(());
        }
        let desc = self.view.namespace(namespace)?;
        let acl = desc.acl.as_deref();
        let rights = Rights { kind: Grantable::Schema, owner: desc.owner, acl };
        if rights.of(&self.view, role, bit(b'C'))? != 0 {
            return Ok(());
        }
        Err(super::grant::permission_denied("schema", &desc.name))
    }

    /// Fails unless the user has a right on the database.
    pub fn require_on_database(&self, letter: u8) -> Result<()> {
        let desc = self.view.database(self.view.context().database)?;
        let acl = desc.acl.as_deref();
        let rights = Rights { kind: Grantable::Database, owner: desc.owner, acl };
        if rights.of(&self.view, self.user(), bit(letter))? != 0 {
            return Ok(());
        }
        Err(match letter {
            b'T' => err!(
                INSUFFICIENT_PRIVILEGE,
                "permission denied to create temporary tables in database \"{}\"",
                desc.name
            ),
            _ => super::grant::permission_denied("database", &desc.name),
        })
    }

    /// The schema a new relation goes to; system schemas are not for users.
    pub fn relation_namespace(&self, rel: &RelName) -> Result<Oid> {
        let database = &self.view.context().database_name;
        if rel.catalog.as_deref().is_some_and(|c| c != &**database) {
            bail!(
                FEATURE_NOT_SUPPORTED,
                "cross-database references are not implemented: \"{}.{}.{}\"",
                rel.catalog.as_deref().unwrap_or(""),
                rel.schema.as_deref().unwrap_or(""),
                rel.name
            );
        }
        let namespace = self.creation_namespace(rel.schema.as_deref())?;
        if namespace == oids::PG_CATALOG && !self.settings.bool("allow_system_table_mods") {
            return Err(err!(
                INSUFFICIENT_PRIVILEGE,
                "permission denied to create \"pg_catalog.{}\"",
                rel.name
            )
            .detail("System catalog modifications are currently disallowed."));
        }
        Ok(namespace)
    }

    /// A name for a new relation that no relation of the schema has.
    pub fn choose_relation_name(
        &self,
        name1: &str,
        name2: Option<&str>,
        label: &str,
        namespace: Oid,
    ) -> Result<String> {
        first_free(name1, name2, label, |name| {
            Ok(self.view.relation_oid_in(namespace, name)?.is_none())
        })
    }

    /// A name for a key's index, which is its constraint's too.
    pub fn choose_key_name(
        &self,
        name1: &str,
        name2: Option<&str>,
        label: &str,
        namespace: Oid,
    ) -> Result<String> {
        first_free(name1, name2, label, |name| {
            Ok(self.view.relation_oid_in(namespace, name)?.is_none()
                && !self.constraint_exists(namespace, name)?)
        })
    }

    /// A name for a new constraint that none of `taken` and no constraint of the schema has.
    pub fn choose_constraint_name(
        &self,
        name1: &str,
        name2: Option<&str>,
        label: &str,
        namespace: Oid,
        taken: &[String],
    ) -> Result<String> {
        first_free(name1, name2, label, |name| {
            Ok(!taken.iter().any(|t| t == name) && !self.constraint_exists(namespace, name)?)
        })
    }

    pub(super) fn constraint_exists(&self, namespace: Oid, name: &str) -> Result<bool> {
        let key = [types::Datum::text(name), types::Datum::U32(namespace.0)];
        Ok(!self.rows.index_scan(catalog::indexes::PG_CONSTRAINT_NAME, &key)?.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_cut_evenly() {
        let name = make_object_name(&"a".repeat(60), Some(&"b".repeat(60)), "fkey");
        assert_eq!(name.len(), 63);
        assert!(name.ends_with("_fkey"));
        assert_eq!(make_object_name("t", Some("a_b"), "idx"), "t_a_b_idx");
        assert_eq!(make_object_name("t", None, "pkey"), "t_pkey");
    }
}
