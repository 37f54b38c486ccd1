//! The objects every database has, from the data files of `functions`.

use crate::desc::*;
use crate::objects::Objects;
use crate::oids;
use base::Oid;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// The built-in objects other than relations.
pub fn objects() -> &'static Arc<Objects> {
    static OBJECTS: OnceLock<Arc<Objects>> = OnceLock::new();
    OBJECTS.get_or_init(|| Arc::new(Objects::default()))
}

/// The system tables.
pub fn relations() -> &'static BTreeMap<Oid, Arc<RelationDesc>> {
    static RELATIONS: OnceLock<BTreeMap<Oid, Arc<RelationDesc>>> = OnceLock::new();
    RELATIONS.get_or_init(BTreeMap::new)
}

/// The superuser that `initdb` makes.
pub fn bootstrap_role(name: &str) -> RoleDesc {
    RoleDesc {
        oid: oids::SUPERUSER,
        name: Arc::from(name),
        superuser: true,
        inherit: true,
        create_role: true,
        create_db: true,
        can_login: true,
        replication: true,
        bypass_rls: true,
        connection_limit: -1,
        password: None,
        valid_until: None,
        member_of: Vec::new(),
    }
}

/// A database as `initdb` makes it.
pub fn database(oid: Oid, name: &str) -> DatabaseDesc {
    DatabaseDesc {
        oid,
        name: Arc::from(name),
        owner: oids::SUPERUSER,
        encoding: 6,
        locale_provider: b'c',
        is_template: false,
        allow_connections: true,
        connection_limit: -1,
        tablespace: oids::PG_DEFAULT,
        collate: Arc::from("C"),
        ctype: Arc::from("C"),
        locale: None,
        acl: None,
    }
}
