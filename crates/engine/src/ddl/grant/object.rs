//! Privileges on objects that are rows with an owner and a list.

use super::{Grant, Target, permission_denied};
use crate::ddl::Ddl;
use crate::ddl::describe::Found;
use base::{Error, Oid, Result, bail, err};
use catalog::acl::{AclItem, from_items};
use catalog::depend::ObjectAddress;
use catalog::privilege::Grantable;
use catalog::{RelKind, SysRow, indexes, oids};
use parser::ast::{Object, ObjectKind};
use types::Datum;

/// Where a kind of object keeps its owner and its list.
#[derive(Clone, Copy, Debug)]
pub struct AclClass {
    /// The system table.
    pub class: Oid,
    /// Its OID index.
    pub index: Oid,
    /// The column with the name.
    pub name: &'static str,
    /// The column with the owner.
    pub owner: &'static str,
    /// The column with the list, if the kind has one.
    pub acl: Option<&'static str>,
    /// What privileges there are.
    pub kind: Grantable,
    /// In messages.
    pub noun: &'static str,
}

macro_rules! classes {
    ($($class:ident $index:expr, $name:literal, $owner:literal, $acl:expr, $kind:ident,
       $noun:literal;)*) => {
        &[$(AclClass {
            class: oids::$class,
            index: $index,
            name: $name,
            owner: $owner,
            acl: $acl,
            kind: Grantable::$kind,
            noun: $noun,
        },)*]
    };
}

#[rustfmt::skip]
const CLASSES: &[AclClass] = classes! {
    PG_CLASS indexes::PG_CLASS_OID, "relname", "relowner", Some("relacl"), Table, "table";
    PG_DATABASE indexes::PG_DATABASE_OID, "datname", "datdba", Some("datacl"), Database, "database";
    PG_NAMESPACE indexes::PG_NAMESPACE_OID, "nspname", "nspowner", Some("nspacl"), Schema, "schema";
    PG_PROC indexes::PG_PROC_OID, "proname", "proowner", Some("proacl"), Function, "function";
    PG_TYPE indexes::PG_TYPE_OID, "typname", "typowner", Some("typacl"), Type, "type";
    PG_LANGUAGE
        indexes::PG_LANGUAGE_OID, "lanname", "lanowner", Some("lanacl"), Language, "language";
    PG_TABLESPACE
        indexes::PG_TABLESPACE_OID, "spcname", "spcowner", Some("spcacl"), Tablespace, "tablespace";
    PG_FOREIGN_DATA_WRAPPER
        indexes::PG_FOREIGN_DATA_WRAPPER_OID, "fdwname", "fdwowner", Some("fdwacl"), ForeignDataWrapper, "foreign-data wrapper";
    PG_FOREIGN_SERVER
        indexes::PG_FOREIGN_SERVER_OID, "srvname", "srvowner", Some("srvacl"), ForeignServer, "foreign server";
    PG_LARGEOBJECT
        indexes::PG_LARGEOBJECT_METADATA_OID, "oid", "lomowner", Some("lomacl"), LargeObject, "large object";
    PG_LARGEOBJECT_METADATA
        indexes::PG_LARGEOBJECT_METADATA_OID, "oid", "lomowner", Some("lomacl"), LargeObject, "large object";
    PG_OPERATOR indexes::PG_OPERATOR_OID, "oprname", "oprowner", None, Type, "operator";
    PG_COLLATION indexes::PG_COLLATION_OID, "collname", "collowner", None, Type, "collation";
    PG_OPCLASS indexes::PG_OPCLASS_OID, "opcname", "opcowner", None, Type, "operator class";
    PG_OPFAMILY indexes::PG_OPFAMILY_OID, "opfname", "opfowner", None, Type, "operator family";
    PG_STATISTIC_EXT Oid(3380), "stxname", "stxowner", None, Type, "statistics object";
    PG_PUBLICATION Oid(6110), "pubname", "pubowner", None, Type, "publication";
    PG_SUBSCRIPTION Oid(6114), "subname", "subowner", None, Type, "subscription";
    PG_EVENT_TRIGGER Oid(3468), "evtname", "evtowner", None, Type, "event trigger";
    PG_EXTENSION Oid(3080), "extname", "extowner", None, Type, "extension";
    PG_TS_CONFIG
        Oid(3712), "cfgname", "cfgowner", None, Type, "text search configuration";
    PG_TS_DICT Oid(3605), "dictname", "dictowner", None, Type, "text search dictionary";
    PG_CONVERSION Oid(2670), "conname", "conowner", None, Type, "conversion";
};

/// Where objects of a system table keep their owner and their list.
pub fn acl_class(class: Oid) -> Option<AclClass> {
    CLASSES.iter().find(|c| c.class == class).copied()
}

impl Ddl<'_> {
    /// The object of a GRANT that is not about relations.
    pub(super) fn find_grantable(&self, object: &Object) -> Result<ObjectAddress> {
        let last = object.name.last();
        let by_name = |class: Oid, column: &str, noun: &str| -> Result<ObjectAddress> {
            for row in self.rows.table_scan(class)? {
                if &*row.text(column)? == last {
                    return Ok(ObjectAddress::new(class, row.oid("oid")?));
                }
            }
            Err(err!(UNDEFINED_OBJECT, "{noun} \"{last}\" does not exist"))
        };
        match object.kind {
            ObjectKind::Language => by_name(oids::PG_LANGUAGE, "lanname", "language"),
            ObjectKind::ForeignDataWrapper => {
                by_name(oids::PG_FOREIGN_DATA_WRAPPER, "fdwname", "foreign-data wrapper")
            }
            ObjectKind::ForeignServer => by_name(oids::PG_FOREIGN_SERVER, "srvname", "server"),
            _ => match self.find_object(object, false)? {
                Found::Object(a) => Ok(a),
                Found::Missing(text) => Err(Error::new(base::SqlState::UNDEFINED_OBJECT, text)),
            },
        }
    }

    fn check_grantable(&self, row: &SysRow, class: &AclClass, object: ObjectKind) -> Result<()> {
        match class.kind {
            Grantable::Language if !row.bool("lanpltrusted")? => {
                Err(err!(WRONG_OBJECT_TYPE, "language \"{}\" is not trusted", row.text("lanname")?)
                    .detail(
                        "GRANT and REVOKE are not allowed on untrusted languages, because only \
                 superusers can use untrusted languages.",
                    ))
            }
            Grantable::Type if class.class == oids::PG_TYPE => {
                if row.oid("typelem")?.is_valid() && row.i16("typlen")? == -1 {
                    return Err(err!(
                        INVALID_GRANT_OPERATION,
                        "cannot set privileges of array types"
                    )
                    .hint("Set the privileges of the element type instead."));
                }
                if row.char("typtype")? == b'm' {
                    return Err(err!(
                        INVALID_GRANT_OPERATION,
                        "cannot set privileges of multirange types"
                    )
                    .hint("Set the privileges of the range type instead."));
                }
                if object == ObjectKind::Domain && row.char("typtype")? != b'd' {
                    bail!(WRONG_OBJECT_TYPE, "\"{}\" is not a domain", row.text("typname")?);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    pub(super) fn grant_on_object(
        &self,
        grant: &Grant<'_>,
        a: ObjectAddress,
        object: ObjectKind,
    ) -> Result<()> {
        let class = acl_class(a.class).filter(|c| c.acl.is_some());
        let (Some(class), Some(column)) = (class, class.and_then(|c| c.acl)) else {
            return Err(Error::unsupported("privileges on this object"));
        };
        let mut row = self.row_by_oid(class.index, a.object)?;
        self.check_grantable(&row, &class, object)?;
        let owner = row.oid(class.owner)?;
        let old = row.acl(column)?.unwrap_or_else(|| class.kind.default_acl(owner));
        let name = match class.kind {
            Grantable::LargeObject => format!("large object {}", a.object),
            _ => row.text(class.name)?.to_string(),
        };
        let noun = match object {
            ObjectKind::Procedure => "procedure",
            ObjectKind::Domain => "type",
            _ => class.noun,
        };
        let target = Target {
            kind: class.kind,
            owner,
            acl: &old,
            rights: &old,
            shown: format!("\"{name}\""),
            denied: permission_denied(noun, &name),
        };
        let privileges = grant.privileges.unwrap_or(class.kind.all());
        let new = grant.apply(self, target, privileges)?;
        row.set(column, from_items(&new)?)?;
        self.rows.update(row)?;
        self.change_acl_dependency(a, owner, &new)
    }

    /// GRANT ON PARAMETER: rows are made for parameters that have privileges, and go with them.
    pub(super) fn grant_on_parameter(&self, grant: &Grant<'_>, name: &str) -> Result<()> {
        let known = base::settings::find(name);
        if known.is_none() && !name.contains('.') {
            bail!(UNDEFINED_OBJECT, "unrecognized configuration parameter \"{name}\"");
        }
        let name = known.map_or(name, |d| d.name).to_lowercase();
        let found = self.rows.index_scan(indexes::PG_PARAMETER_ACL_NAME, &[Datum::text(&name)])?;
        let found = found.into_iter().next();
        let default = Grantable::Parameter.default_acl(oids::SUPERUSER);
        let old: Vec<AclItem> = match &found {
            Some(row) => row.acl("paracl")?.unwrap_or_default(),
            None => default.clone(),
        };
        let target = Target {
            kind: Grantable::Parameter,
            owner: oids::SUPERUSER,
            acl: &old,
            rights: &old,
            shown: format!("\"{name}\""),
            denied: permission_denied("parameter", &name),
        };
        let new =
            grant.apply(self, target, grant.privileges.unwrap_or(Grantable::Parameter.all()))?;
        let is_default = catalog::acl_change::same(&new, &default);
        let oid = match found {
            Some(row) if is_default => {
                let oid = row.oid("oid")?;
                self.rows.delete(&row)?;
                oid
            }
            Some(mut row) => {
                let oid = row.oid("oid")?;
                row.set("paracl", from_items(&new)?)?;
                self.rows.update(row)?;
                oid
            }
            None if is_default => return Ok(()),
            None => {
                let oid = self.rows.new_oid(oids::PG_PARAMETER_ACL)?;
                let mut row = SysRow::new(oids::PG_PARAMETER_ACL)?;
                row.set_oid("oid", oid)?
                    .set_text("parname", &name)?
                    .set("paracl", from_items(&new)?)?;
                self.rows.insert(row)?;
                oid
            }
        };
        let own = ObjectAddress::new(oids::PG_PARAMETER_ACL, oid);
        self.change_acl_dependency(own, oids::SUPERUSER, &new)
    }

    /// GRANT ON ALL .. IN SCHEMA.
    pub(super) fn grant_in_schemas(
        &self,
        grant: &Grant<'_>,
        kind: ObjectKind,
        schemas: &[String],
    ) -> Result<()> {
        let mut places = Vec::new();
        for name in schemas {
            let schema = self.view.require_namespace(name)?;
            self.view.check_usage(&schema)?;
            places.push(schema.oid);
        }
        for place in places {
            match kind {
                ObjectKind::Table | ObjectKind::Sequence => {
                    let mut relations = Vec::new();
                    for row in self.rows.table_scan(oids::PG_CLASS)? {
                        let wanted = match RelKind::from_u8(row.char("relkind")?) {
                            Some(RelKind::Sequence) => kind == ObjectKind::Sequence,
                            Some(
                                RelKind::Table
                                | RelKind::View
                                | RelKind::MatView
                                | RelKind::Foreign
                                | RelKind::Partitioned,
                            ) => kind == ObjectKind::Table,
                            _ => false,
                        };
                        if wanted && row.oid("relnamespace")? == place {
                            relations.push(row.oid("oid")?);
                        }
                    }
                    for relation in relations {
                        self.grant_on_relation(grant, relation)?;
                    }
                }
                _ => {
                    let mut routines = Vec::new();
                    for row in self.rows.table_scan(oids::PG_PROC)? {
                        let procedure = row.char("prokind")? == b'p';
                        let wanted = match kind {
                            ObjectKind::Function => !procedure,
                            ObjectKind::Procedure => procedure,
                            _ => true,
                        };
                        if wanted && row.oid("pronamespace")? == place {
                            routines.push(row.oid("oid")?);
                        }
                    }
                    for routine in routines {
                        let a = ObjectAddress::new(oids::PG_PROC, routine);
                        self.grant_on_object(grant, a, kind)?;
                    }
                }
            }
        }
        Ok(())
    }
}
