//! OIDs of the system tables' indexes that lookups use.

macro_rules! indexes {
    ($($name:ident = $value:literal, $columns:literal;)*) => {
        $(
            #[doc = concat!("On ", $columns, ".")]
            pub const $name: base::Oid = base::Oid($value);
        )*
    };
}

indexes! {
    PG_CLASS_OID = 2662, "oid";
    PG_CLASS_NAME = 2663, "relname, relnamespace";
    PG_ATTRIBUTE_NAME = 2658, "attrelid, attname";
    PG_ATTRIBUTE_NUM = 2659, "attrelid, attnum";
    PG_ATTRDEF_ADRELID = 2656, "adrelid, adnum";
    PG_INDEX_INDRELID = 2678, "indrelid";
    PG_INDEX_INDEXRELID = 2679, "indexrelid";
    PG_CONSTRAINT_CONRELID = 2665, "conrelid, contypid, conname";
    PG_CONSTRAINT_NAME = 2664, "conname, connamespace";
    PG_CONSTRAINT_TYPID = 2666, "contypid";
    PG_CONSTRAINT_OID = 2667, "oid";
    PG_CONSTRAINT_PARENT = 2579, "conparentid";
    PG_TRIGGER_CONSTRAINT = 2699, "tgconstraint";
    PG_TRIGGER_RELID = 2701, "tgrelid, tgname";
    PG_TRIGGER_OID = 2702, "oid";
    PG_REWRITE_OID = 2692, "oid";
    PG_REWRITE_REL = 2693, "ev_class, rulename";
    PG_POLICY_OID = 3257, "oid";
    PG_POLICY_NAME = 3258, "polrelid, polname";
    PG_INHERITS_PARENT = 2187, "inhparent";
    PG_INHERITS_RELID = 2680, "inhrelid, inhseqno";
    PG_PARTITIONED_TABLE_PARTRELID = 3351, "partrelid";
    PG_STATISTIC_RELID = 2696, "starelid, staattnum, stainherit";
    PG_STATISTIC_EXT_RELID = 3379, "stxrelid";
    PG_STATISTIC_EXT_DATA_OID = 3433, "stxoid, stxdinherit";
    PG_SEQUENCE_SEQRELID = 5002, "seqrelid";
    PG_TYPE_OID = 2703, "oid";
    PG_TYPE_NAME = 2704, "typname, typnamespace";
    PG_ENUM_OID = 3502, "oid";
    PG_ENUM_LABEL = 3503, "enumtypid, enumlabel";
    PG_ENUM_SORT = 3534, "enumtypid, enumsortorder";
    PG_RANGE_TYPID = 3542, "rngtypid";
    PG_RANGE_MULTI = 2228, "rngmultitypid";
    PG_PROC_OID = 2690, "oid";
    PG_PROC_NAME = 2691, "proname, proargtypes, pronamespace";
    PG_AGGREGATE_FNOID = 2650, "aggfnoid";
    PG_OPERATOR_OID = 2688, "oid";
    PG_OPERATOR_NAME = 2689, "oprname, oprleft, oprright, oprnamespace";
    PG_CAST_SOURCE = 2661, "castsource, casttarget";
    PG_OPCLASS_OID = 2687, "oid";
    PG_OPCLASS_AM = 2686, "opcmethod, opcname, opcnamespace";
    PG_OPFAMILY_OID = 2755, "oid";
    PG_AMOP_FAMILY = 2653, "amopfamily, amoplefttype, amoprighttype, amopstrategy";
    PG_AMOP_OPERATOR = 2654, "amopopr, amoppurpose, amopfamily";
    PG_AMPROC_FAMILY = 2655, "amprocfamily, amproclefttype, amprocrighttype, amprocnum";
    PG_COLLATION_OID = 3085, "oid";
    PG_COLLATION_NAME = 3164, "collname, collencoding, collnamespace";
    PG_NAMESPACE_NAME = 2684, "nspname";
    PG_NAMESPACE_OID = 2685, "oid";
    PG_AUTHID_NAME = 2676, "rolname";
    PG_AUTHID_OID = 2677, "oid";
    PG_AUTH_MEMBERS_MEMBER = 2695, "member, roleid, grantor";
    PG_AUTH_MEMBERS_ROLE = 2694, "roleid, member, grantor";
    PG_AUTH_MEMBERS_OID = 6303, "oid";
    PG_AUTH_MEMBERS_GRANTOR = 6302, "grantor";
    PG_DEFAULT_ACL_ROLE = 827, "defaclrole, defaclnamespace, defaclobjtype";
    PG_DEFAULT_ACL_OID = 828, "oid";
    PG_PARAMETER_ACL_NAME = 6246, "parname";
    PG_PARAMETER_ACL_OID = 6247, "oid";
    PG_LANGUAGE_OID = 2682, "oid";
    PG_FOREIGN_DATA_WRAPPER_OID = 112, "oid";
    PG_FOREIGN_TABLE_RELID = 3119, "ftrelid";
    PG_FOREIGN_SERVER_OID = 113, "oid";
    PG_LARGEOBJECT_METADATA_OID = 2996, "oid";
    PG_LARGEOBJECT_PAGE = 2683, "loid, pageno";
    PG_DATABASE_NAME = 2671, "datname";
    PG_DATABASE_OID = 2672, "oid";
    PG_TABLESPACE_NAME = 2698, "spcname";
    PG_TABLESPACE_OID = 2697, "oid";
    PG_DEPEND_DEPENDER = 2673, "classid, objid, objsubid";
    PG_DEPEND_REFERENCE = 2674, "refclassid, refobjid, refobjsubid";
    PG_SHDEPEND_DEPENDER = 1232, "dbid, classid, objid, objsubid";
    PG_SHDEPEND_REFERENCE = 1233, "refclassid, refobjid";
    PG_DESCRIPTION_OBJECT = 2675, "objoid, classoid, objsubid";
    PG_SHDESCRIPTION_OBJECT = 2397, "objoid, classoid";
    PG_DB_ROLE_SETTING_DATABASE = 2965, "setdatabase, setrole";
    PG_LANGUAGE_NAME = 2681, "lanname";
    PG_AM_NAME = 2651, "amname";
    PG_EXTENSION_NAME = 3081, "extname";
}
