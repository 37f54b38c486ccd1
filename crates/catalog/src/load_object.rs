//! Descriptors of objects other than relations from their rows.

use crate::desc::*;
use crate::indexes;
use crate::load_relation::{Loader, constraint};
use crate::rows::SysRow;
use base::{Oid, Result};
use std::sync::Arc;
use types::Datum;

fn key(oid: Oid) -> Datum {
    Datum::U32(oid.0)
}

impl Loader<'_> {
    /// The first row an index has for these values.
    fn first(&self, index: Oid, key: &[Datum]) -> Result<Option<SysRow>> {
        Ok(self.rows.index_scan(index, key)?.into_iter().next())
    }

    /// A sequence's parameters.
    pub fn sequence(&self, oid: Oid) -> Result<Option<SequenceDesc>> {
        let Some(row) = self.one(indexes::PG_SEQUENCE_SEQRELID, oid)? else { return Ok(None) };
        let number = |column| Ok::<i64, base::Error>(row.opt_i64(column)?.unwrap_or(0));
        Ok(Some(SequenceDesc {
            oid,
            type_oid: row.oid("seqtypid")?,
            start: number("seqstart")?,
            increment: number("seqincrement")?,
            max: number("seqmax")?,
            min: number("seqmin")?,
            cache: number("seqcache")?,
            cycle: row.bool("seqcycle")?,
        }))
    }

    /// A constraint, by OID.
    pub fn constraint(&self, oid: Oid) -> Result<Option<ConstraintDesc>> {
        self.one(indexes::PG_CONSTRAINT_OID, oid)?.map(|row| constraint(&row)).transpose()
    }

    /// The checks of a domain, by name.
    pub fn domain_constraints(&self, type_oid: Oid) -> Result<Vec<ConstraintDesc>> {
        let rows = self.rows.index_scan(indexes::PG_CONSTRAINT_TYPID, &[key(type_oid)])?;
        let mut all = rows.iter().map(constraint).collect::<Result<Vec<_>>>()?;
        all.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(all)
    }

    /// A type that a user made.
    pub fn type_(&self, oid: Oid) -> Result<Option<TypeDesc>> {
        let Some(row) = self.one(indexes::PG_TYPE_OID, oid)? else { return Ok(None) };
        let mut t = type_desc(&row)?;
        let range = match t.kind {
            b'r' => self.one(indexes::PG_RANGE_TYPID, oid)?,
            b'm' => self.one(indexes::PG_RANGE_MULTI, oid)?,
            _ => None,
        };
        if let Some(r) = range {
            if t.kind == b'm' {
                t.range_subtype = r.oid("rngtypid")?;
            } else {
                t.range_subtype = r.oid("rngsubtype")?;
                t.multirange = r.oid("rngmultitypid")?;
                t.range_opclass = r.oid("rngsubopc")?;
                t.range_collation = r.oid("rngcollation")?;
                t.range_canonical = r.oid("rngcanonical")?;
                t.range_subdiff = r.oid("rngsubdiff")?;
            }
        }
        Ok(Some(t))
    }

    /// The OID of the type of this name in a schema.
    pub fn type_oid(&self, namespace: Oid, name: &str) -> Result<Option<Oid>> {
        let keys = [Datum::text(name), key(namespace)];
        self.first(indexes::PG_TYPE_NAME, &keys)?.map(|row| row.oid("oid")).transpose()
    }

    /// The labels of an enum, in order.
    pub fn enum_labels(&self, type_oid: Oid) -> Result<Vec<EnumLabel>> {
        let rows = self.rows.index_scan(indexes::PG_ENUM_SORT, &[key(type_oid)])?;
        rows.iter()
            .map(|row| {
                Ok(EnumLabel {
                    oid: row.oid("oid")?,
                    type_oid,
                    sort_order: row.f32("enumsortorder")?,
                    label: row.text("enumlabel")?,
                })
            })
            .collect()
    }

    /// A label of an enum, by its OID.
    pub fn enum_label(&self, oid: Oid) -> Result<Option<EnumLabel>> {
        let Some(row) = self.one(indexes::PG_ENUM_OID, oid)? else { return Ok(None) };
        Ok(Some(EnumLabel {
            oid,
            type_oid: row.oid("enumtypid")?,
            sort_order: row.f32("enumsortorder")?,
            label: row.text("enumlabel")?,
        }))
    }

    /// A function that a user made.
    pub fn proc(&self, oid: Oid) -> Result<Option<ProcDesc>> {
        self.one(indexes::PG_PROC_OID, oid)?.map(|row| proc(&row)).transpose()
    }

    /// Functions of a name that users made.
    pub fn procs_named(&self, name: &str) -> Result<Vec<Arc<ProcDesc>>> {
        let rows = self.rows.index_scan(indexes::PG_PROC_NAME, &[Datum::text(name)])?;
        user_made(&rows)?.into_iter().map(|row| Ok(Arc::new(proc(row)?))).collect()
    }

    /// What makes a user's function an aggregate.
    pub fn aggregate(&self, oid: Oid) -> Result<Option<AggregateDesc>> {
        self.one(indexes::PG_AGGREGATE_FNOID, oid)?.map(|row| aggregate(&row)).transpose()
    }

    /// An operator that a user made.
    pub fn operator(&self, oid: Oid) -> Result<Option<OperatorDesc>> {
        self.one(indexes::PG_OPERATOR_OID, oid)?.map(|row| operator(&row)).transpose()
    }

    /// Operators of a name that users made.
    pub fn operators_named(&self, name: &str) -> Result<Vec<Arc<OperatorDesc>>> {
        let rows = self.rows.index_scan(indexes::PG_OPERATOR_NAME, &[Datum::text(name)])?;
        user_made(&rows)?.into_iter().map(|row| Ok(Arc::new(operator(row)?))).collect()
    }

    /// A cast that a user made.
    pub fn cast(&self, source: Oid, target: Oid) -> Result<Option<CastDesc>> {
        let found = self.first(indexes::PG_CAST_SOURCE, &[key(source), key(target)])?;
        found
            .map(|row| {
                Ok(CastDesc {
                    oid: row.oid("oid")?,
                    source,
                    target,
                    function: row.oid("castfunc")?,
                    context: CastContext::from_u8(row.char("castcontext")?),
                    method: CastMethod::from_u8(row.char("castmethod")?),
                })
            })
            .transpose()
    }

    /// Operator classes of an access method that users made.
    pub fn opclasses_of(&self, am: Oid) -> Result<Vec<Arc<OpclassDesc>>> {
        let rows = self.rows.index_scan(indexes::PG_OPCLASS_AM, &[key(am)])?;
        user_made(&rows)?.into_iter().map(|row| Ok(Arc::new(opclass(row)?))).collect()
    }

    /// An operator class that a user made.
    pub fn opclass_desc(&self, oid: Oid) -> Result<Option<OpclassDesc>> {
        self.one(indexes::PG_OPCLASS_OID, oid)?.map(|row| opclass(&row)).transpose()
    }

    /// An operator family that a user made.
    pub fn opfamily(&self, oid: Oid) -> Result<Option<OpfamilyDesc>> {
        let Some(row) = self.one(indexes::PG_OPFAMILY_OID, oid)? else { return Ok(None) };
        Ok(Some(OpfamilyDesc {
            oid,
            am: row.oid("opfmethod")?,
            name: row.text("opfname")?,
            namespace: row.oid("opfnamespace")?,
        }))
    }

    /// Operators that users added to a family.
    pub fn amops_of_family(&self, family: Oid) -> Result<Vec<AmopDesc>> {
        let rows = self.rows.index_scan(indexes::PG_AMOP_FAMILY, &[key(family)])?;
        user_made(&rows)?.into_iter().map(amop).collect()
    }

    /// Families that users added an operator to.
    pub fn amops_of_operator(&self, operator: Oid) -> Result<Vec<AmopDesc>> {
        let rows = self.rows.index_scan(indexes::PG_AMOP_OPERATOR, &[key(operator)])?;
        user_made(&rows)?.into_iter().map(amop).collect()
    }

    /// Support functions that users added to a family.
    pub fn amprocs_of_family(&self, family: Oid) -> Result<Vec<AmprocDesc>> {
        let rows = self.rows.index_scan(indexes::PG_AMPROC_FAMILY, &[key(family)])?;
        let amproc = |row: &SysRow| {
            Ok(AmprocDesc {
                oid: row.oid("oid")?,
                family,
                left: row.oid("amproclefttype")?,
                right: row.oid("amprocrighttype")?,
                number: row.i16("amprocnum")?,
                function: row.oid("amproc")?,
            })
        };
        user_made(&rows)?.into_iter().map(amproc).collect()
    }

    /// A collation that a user made.
    pub fn collation(&self, oid: Oid) -> Result<Option<CollationDesc>> {
        let Some(row) = self.one(indexes::PG_COLLATION_OID, oid)? else { return Ok(None) };
        let made = CollationDesc {
            oid,
            name: row.text("collname")?,
            namespace: row.oid("collnamespace")?,
            owner: row.oid("collowner")?,
            provider: row.char("collprovider")?,
            is_deterministic: row.bool("collisdeterministic")?,
            encoding: row.i32("collencoding")?,
            collate: row.opt_text("collcollate")?,
            ctype: row.opt_text("collctype")?,
            locale: row.opt_text("colllocale")?,
            rules: row.opt_text("collicurules")?,
        };
        // What compares values has no catalog at hand.
        let facts = functions::collation::Facts {
            provider: made.provider,
            deterministic: made.is_deterministic,
            locale: made.locale.as_ref().or(made.collate.as_ref()).map_or("C", |l| l).to_string(),
            rules: made.rules.as_deref().map(str::to_string),
        };
        functions::collation::register(oid, facts);
        Ok(Some(made))
    }

    /// The OID of the collation of this name in a schema.
    pub fn collation_oid(&self, namespace: Oid, name: &str) -> Result<Option<Oid>> {
        for row in self.rows.index_scan(indexes::PG_COLLATION_NAME, &[Datum::text(name)])? {
            if row.oid("collnamespace")? == namespace {
                return Ok(Some(row.oid("oid")?));
            }
        }
        Ok(None)
    }

    /// A schema, by OID.
    pub fn namespace(&self, oid: Oid) -> Result<Option<NamespaceDesc>> {
        self.one(indexes::PG_NAMESPACE_OID, oid)?.map(|row| namespace(&row)).transpose()
    }

    /// A schema, by name.
    pub fn namespace_named(&self, name: &str) -> Result<Option<NamespaceDesc>> {
        let found = self.first(indexes::PG_NAMESPACE_NAME, &[Datum::text(name)])?;
        found.map(|row| namespace(&row)).transpose()
    }

    /// A role, by OID.
    pub fn role(&self, oid: Oid) -> Result<Option<RoleDesc>> {
        self.one(indexes::PG_AUTHID_OID, oid)?.map(|row| self.role_desc(&row)).transpose()
    }

    /// A role, by name.
    pub fn role_named(&self, name: &str) -> Result<Option<RoleDesc>> {
        let found = self.first(indexes::PG_AUTHID_NAME, &[Datum::text(name)])?;
        found.map(|row| self.role_desc(&row)).transpose()
    }

    fn role_desc(&self, row: &SysRow) -> Result<RoleDesc> {
        let oid = row.oid("oid")?;
        let mut member_of = Vec::new();
        for m in self.rows.index_scan(indexes::PG_AUTH_MEMBERS_MEMBER, &[key(oid)])? {
            member_of.push((
                m.oid("roleid")?,
                m.bool("admin_option")?,
                m.bool("inherit_option")?,
                m.bool("set_option")?,
            ));
        }
        Ok(RoleDesc {
            oid,
            name: row.text("rolname")?,
            superuser: row.bool("rolsuper")?,
            inherit: row.bool("rolinherit")?,
            create_role: row.bool("rolcreaterole")?,
            create_db: row.bool("rolcreatedb")?,
            can_login: row.bool("rolcanlogin")?,
            replication: row.bool("rolreplication")?,
            bypass_rls: row.bool("rolbypassrls")?,
            connection_limit: row.i32("rolconnlimit")?,
            password: row.opt_text("rolpassword")?,
            valid_until: row.opt_i64("rolvaliduntil")?,
            member_of,
        })
    }

    /// A database, by OID.
    pub fn database(&self, oid: Oid) -> Result<Option<DatabaseDesc>> {
        self.one(indexes::PG_DATABASE_OID, oid)?.map(|row| database(&row)).transpose()
    }

    /// A database, by name.
    pub fn database_named(&self, name: &str) -> Result<Option<DatabaseDesc>> {
        let found = self.first(indexes::PG_DATABASE_NAME, &[Datum::text(name)])?;
        found.map(|row| database(&row)).transpose()
    }
}

/// Those rows that are not built in.
fn user_made(rows: &[SysRow]) -> Result<Vec<&SysRow>> {
    let mut all = Vec::new();
    for row in rows {
        if row.oid("oid")? >= Oid::FIRST_NORMAL {
            all.push(row);
        }
    }
    Ok(all)
}

fn type_desc(row: &SysRow) -> Result<TypeDesc> {
    Ok(TypeDesc {
        oid: row.oid("oid")?,
        name: row.text("typname")?,
        namespace: row.oid("typnamespace")?,
        owner: row.oid("typowner")?,
        len: row.i16("typlen")?,
        by_val: row.bool("typbyval")?,
        kind: row.char("typtype")?,
        category: row.char("typcategory")?,
        is_preferred: row.bool("typispreferred")?,
        is_defined: row.bool("typisdefined")?,
        delim: row.char("typdelim")?,
        relation: row.oid("typrelid")?,
        subscript: row.oid("typsubscript")?,
        elem: row.oid("typelem")?,
        array: row.oid("typarray")?,
        input: row.oid("typinput")?,
        output: row.oid("typoutput")?,
        receive: row.oid("typreceive")?,
        send: row.oid("typsend")?,
        modin: row.oid("typmodin")?,
        modout: row.oid("typmodout")?,
        analyze: row.oid("typanalyze")?,
        align: row.char("typalign")?,
        storage: row.char("typstorage")?,
        not_null: row.bool("typnotnull")?,
        base_type: row.oid("typbasetype")?,
        typmod: row.i32("typtypmod")?,
        ndims: row.i32("typndims")?,
        collation: row.oid("typcollation")?,
        default_expr: row.opt_text("typdefaultbin")?,
        default: row.opt_text("typdefault")?,
        range_subtype: Oid::INVALID,
        multirange: Oid::INVALID,
        range_opclass: Oid::INVALID,
        range_collation: Oid::INVALID,
        range_canonical: Oid::INVALID,
        range_subdiff: Oid::INVALID,
        acl: row.acl("typacl")?,
    })
}

fn proc(row: &SysRow) -> Result<ProcDesc> {
    let filled = |v: Vec<Oid>| (!v.is_empty()).then_some(v);
    let modes = row.texts("proargmodes")?;
    Ok(ProcDesc {
        oid: row.oid("oid")?,
        name: row.text("proname")?,
        namespace: row.oid("pronamespace")?,
        owner: row.oid("proowner")?,
        language: row.oid("prolang")?,
        cost: row.f32("procost")?,
        rows: row.f32("prorows")?,
        variadic: row.oid("provariadic")?,
        support: row.oid("prosupport")?,
        kind: row.char("prokind")?,
        security_definer: row.bool("prosecdef")?,
        leakproof: row.bool("proleakproof")?,
        strict: row.bool("proisstrict")?,
        returns_set: row.bool("proretset")?,
        volatility: row.char("provolatile")?,
        parallel: row.char("proparallel")?,
        n_defaults: row.i16("pronargdefaults")? as u16,
        return_type: row.oid("prorettype")?,
        arg_types: row.oids("proargtypes")?,
        all_arg_types: filled(row.oids("proallargtypes")?),
        arg_modes: modes.map(|v| v.iter().map(|s| s.bytes().next().unwrap_or(0)).collect()),
        arg_names: row.texts("proargnames")?,
        arg_defaults: row.opt_text("proargdefaults")?,
        source: row.text("prosrc")?,
        binary: row.opt_text("probin")?,
        sql_body: row.opt_text("prosqlbody")?,
        config: row.texts("proconfig")?,
        acl: row.acl("proacl")?,
    })
}

fn aggregate(row: &SysRow) -> Result<AggregateDesc> {
    Ok(AggregateDesc {
        function: row.oid("aggfnoid")?,
        kind: row.char("aggkind")?,
        n_direct_args: row.i16("aggnumdirectargs")?,
        trans: row.oid("aggtransfn")?,
        final_: row.oid("aggfinalfn")?,
        combine: row.oid("aggcombinefn")?,
        serial: row.oid("aggserialfn")?,
        deserial: row.oid("aggdeserialfn")?,
        m_trans: row.oid("aggmtransfn")?,
        m_inv_trans: row.oid("aggminvtransfn")?,
        m_final: row.oid("aggmfinalfn")?,
        final_extra: row.bool("aggfinalextra")?,
        final_modify: row.char("aggfinalmodify")?,
        sort_op: row.oid("aggsortop")?,
        trans_type: row.oid("aggtranstype")?,
        trans_space: row.i32("aggtransspace")?,
        m_trans_type: row.oid("aggmtranstype")?,
        init_value: row.opt_text("agginitval")?,
        m_init_value: row.opt_text("aggminitval")?,
    })
}

fn operator(row: &SysRow) -> Result<OperatorDesc> {
    Ok(OperatorDesc {
        oid: row.oid("oid")?,
        name: row.text("oprname")?,
        namespace: row.oid("oprnamespace")?,
        owner: row.oid("oprowner")?,
        kind: row.char("oprkind")?,
        can_merge: row.bool("oprcanmerge")?,
        can_hash: row.bool("oprcanhash")?,
        left: row.oid("oprleft")?,
        right: row.oid("oprright")?,
        result: row.oid("oprresult")?,
        commutator: row.oid("oprcom")?,
        negator: row.oid("oprnegate")?,
        function: row.oid("oprcode")?,
        rest: row.oid("oprrest")?,
        join: row.oid("oprjoin")?,
    })
}

fn opclass(row: &SysRow) -> Result<OpclassDesc> {
    Ok(OpclassDesc {
        oid: row.oid("oid")?,
        am: row.oid("opcmethod")?,
        name: row.text("opcname")?,
        namespace: row.oid("opcnamespace")?,
        owner: row.oid("opcowner")?,
        family: row.oid("opcfamily")?,
        input_type: row.oid("opcintype")?,
        is_default: row.bool("opcdefault")?,
        key_type: row.oid("opckeytype")?,
    })
}

fn amop(row: &SysRow) -> Result<AmopDesc> {
    Ok(AmopDesc {
        oid: row.oid("oid")?,
        family: row.oid("amopfamily")?,
        left: row.oid("amoplefttype")?,
        right: row.oid("amoprighttype")?,
        strategy: row.i16("amopstrategy")?,
        purpose: row.char("amoppurpose")?,
        operator: row.oid("amopopr")?,
        am: row.oid("amopmethod")?,
        sort_family: row.oid("amopsortfamily")?,
    })
}

fn namespace(row: &SysRow) -> Result<NamespaceDesc> {
    Ok(NamespaceDesc {
        oid: row.oid("oid")?,
        name: row.text("nspname")?,
        owner: row.oid("nspowner")?,
        acl: row.acl("nspacl")?,
    })
}

fn database(row: &SysRow) -> Result<DatabaseDesc> {
    Ok(DatabaseDesc {
        oid: row.oid("oid")?,
        name: row.text("datname")?,
        owner: row.oid("datdba")?,
        encoding: row.i32("encoding")?,
        locale_provider: row.char("datlocprovider")?,
        is_template: row.bool("datistemplate")?,
        allow_connections: row.bool("datallowconn")?,
        connection_limit: row.i32("datconnlimit")?,
        tablespace: row.oid("dattablespace")?,
        collate: row.text("datcollate")?,
        ctype: row.text("datctype")?,
        locale: row.opt_text("datlocale")?,
        rules: row.opt_text("daticurules")?,
        acl: row.acl("datacl")?,
    })
}
