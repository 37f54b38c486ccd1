//! OIDs of the built-in types, by their names in the catalog.

use base::Oid;

/// `bool`
pub const BOOL: Oid = Oid(16);
/// `bytea`
pub const BYTEA: Oid = Oid(17);
/// `char`
pub const CHAR: Oid = Oid(18);
/// `name`
pub const NAME: Oid = Oid(19);
/// `int8`
pub const INT8: Oid = Oid(20);
/// `int2`
pub const INT2: Oid = Oid(21);
/// `int2vector`
pub const INT2VECTOR: Oid = Oid(22);
/// `int4`
pub const INT4: Oid = Oid(23);
/// `regproc`
pub const REGPROC: Oid = Oid(24);
/// `text`
pub const TEXT: Oid = Oid(25);
/// `oid`
pub const OID: Oid = Oid(26);
/// `tid`
pub const TID: Oid = Oid(27);
/// `xid`
pub const XID: Oid = Oid(28);
/// `cid`
pub const CID: Oid = Oid(29);
/// `pg_ddl_command`
pub const PG_DDL_COMMAND: Oid = Oid(32);
/// `oidvector`
pub const OIDVECTOR: Oid = Oid(30);
/// `json`
pub const JSON: Oid = Oid(114);
/// `xml`
pub const XML: Oid = Oid(142);
/// `pg_node_tree`
pub const PG_NODE_TREE: Oid = Oid(194);
/// `table_am_handler`
pub const TABLE_AM_HANDLER: Oid = Oid(269);
/// `index_am_handler`
pub const INDEX_AM_HANDLER: Oid = Oid(325);
/// `point`
pub const POINT: Oid = Oid(600);
/// `lseg`
pub const LSEG: Oid = Oid(601);
/// `path`
pub const PATH: Oid = Oid(602);
/// `box`
pub const BOX: Oid = Oid(603);
/// `polygon`
pub const POLYGON: Oid = Oid(604);
/// `line`
pub const LINE: Oid = Oid(628);
/// `cidr`
pub const CIDR: Oid = Oid(650);
/// `float4`
pub const FLOAT4: Oid = Oid(700);
/// `float8`
pub const FLOAT8: Oid = Oid(701);
/// `unknown`
pub const UNKNOWN: Oid = Oid(705);
/// `circle`
pub const CIRCLE: Oid = Oid(718);
/// `macaddr8`
pub const MACADDR8: Oid = Oid(774);
/// `money`
pub const MONEY: Oid = Oid(790);
/// `macaddr`
pub const MACADDR: Oid = Oid(829);
/// `inet`
pub const INET: Oid = Oid(869);
/// `aclitem`
pub const ACLITEM: Oid = Oid(1033);
/// `bpchar`
pub const BPCHAR: Oid = Oid(1042);
/// `varchar`
pub const VARCHAR: Oid = Oid(1043);
/// `date`
pub const DATE: Oid = Oid(1082);
/// `time`
pub const TIME: Oid = Oid(1083);
/// `timestamp`
pub const TIMESTAMP: Oid = Oid(1114);
/// `timestamptz`
pub const TIMESTAMPTZ: Oid = Oid(1184);
/// `interval`
pub const INTERVAL: Oid = Oid(1186);
/// `timetz`
pub const TIMETZ: Oid = Oid(1266);
/// `bit`
pub const BIT: Oid = Oid(1560);
/// `varbit`
pub const VARBIT: Oid = Oid(1562);
/// `numeric`
pub const NUMERIC: Oid = Oid(1700);
/// `refcursor`
pub const REFCURSOR: Oid = Oid(1790);
/// `regprocedure`
pub const REGPROCEDURE: Oid = Oid(2202);
/// `regoper`
pub const REGOPER: Oid = Oid(2203);
/// `regoperator`
pub const REGOPERATOR: Oid = Oid(2204);
/// `regclass`
pub const REGCLASS: Oid = Oid(2205);
/// `regtype`
pub const REGTYPE: Oid = Oid(2206);
/// `record`
pub const RECORD: Oid = Oid(2249);
/// `cstring`
pub const CSTRING: Oid = Oid(2275);
/// `any`
pub const ANY: Oid = Oid(2276);
/// `anyarray`
pub const ANYARRAY: Oid = Oid(2277);
/// `void`
pub const VOID: Oid = Oid(2278);
/// `trigger`
pub const TRIGGER: Oid = Oid(2279);
/// `language_handler`
pub const LANGUAGE_HANDLER: Oid = Oid(2280);
/// `internal`
pub const INTERNAL: Oid = Oid(2281);
/// `anyelement`
pub const ANYELEMENT: Oid = Oid(2283);
/// `_record`
pub const _RECORD: Oid = Oid(2287);
/// `anynonarray`
pub const ANYNONARRAY: Oid = Oid(2776);
/// `uuid`
pub const UUID: Oid = Oid(2950);
/// `txid_snapshot`
pub const TXID_SNAPSHOT: Oid = Oid(2970);
/// `fdw_handler`
pub const FDW_HANDLER: Oid = Oid(3115);
/// `pg_lsn`
pub const PG_LSN: Oid = Oid(3220);
/// `tsm_handler`
pub const TSM_HANDLER: Oid = Oid(3310);
/// `pg_ndistinct`
pub const PG_NDISTINCT: Oid = Oid(3361);
/// `pg_dependencies`
pub const PG_DEPENDENCIES: Oid = Oid(3402);
/// `anyenum`
pub const ANYENUM: Oid = Oid(3500);
/// `tsvector`
pub const TSVECTOR: Oid = Oid(3614);
/// `tsquery`
pub const TSQUERY: Oid = Oid(3615);
/// `gtsvector`
pub const GTSVECTOR: Oid = Oid(3642);
/// `regconfig`
pub const REGCONFIG: Oid = Oid(3734);
/// `regdictionary`
pub const REGDICTIONARY: Oid = Oid(3769);
/// `jsonb`
pub const JSONB: Oid = Oid(3802);
/// `anyrange`
pub const ANYRANGE: Oid = Oid(3831);
/// `event_trigger`
pub const EVENT_TRIGGER: Oid = Oid(3838);
/// `int4range`
pub const INT4RANGE: Oid = Oid(3904);
/// `numrange`
pub const NUMRANGE: Oid = Oid(3906);
/// `tsrange`
pub const TSRANGE: Oid = Oid(3908);
/// `tstzrange`
pub const TSTZRANGE: Oid = Oid(3910);
/// `daterange`
pub const DATERANGE: Oid = Oid(3912);
/// `int8range`
pub const INT8RANGE: Oid = Oid(3926);
/// `jsonpath`
pub const JSONPATH: Oid = Oid(4072);
/// `regnamespace`
pub const REGNAMESPACE: Oid = Oid(4089);
/// `regrole`
pub const REGROLE: Oid = Oid(4096);
/// `regcollation`
pub const REGCOLLATION: Oid = Oid(4191);
/// `int4multirange`
pub const INT4MULTIRANGE: Oid = Oid(4451);
/// `nummultirange`
pub const NUMMULTIRANGE: Oid = Oid(4532);
/// `tsmultirange`
pub const TSMULTIRANGE: Oid = Oid(4533);
/// `tstzmultirange`
pub const TSTZMULTIRANGE: Oid = Oid(4534);
/// `datemultirange`
pub const DATEMULTIRANGE: Oid = Oid(4535);
/// `int8multirange`
pub const INT8MULTIRANGE: Oid = Oid(4536);
/// `anymultirange`
pub const ANYMULTIRANGE: Oid = Oid(4537);
/// `anycompatiblemultirange`
pub const ANYCOMPATIBLEMULTIRANGE: Oid = Oid(4538);
/// `pg_brin_bloom_summary`
pub const PG_BRIN_BLOOM_SUMMARY: Oid = Oid(4600);
/// `pg_brin_minmax_multi_summary`
pub const PG_BRIN_MINMAX_MULTI_SUMMARY: Oid = Oid(4601);
/// `pg_mcv_list`
pub const PG_MCV_LIST: Oid = Oid(5017);
/// `pg_snapshot`
pub const PG_SNAPSHOT: Oid = Oid(5038);
/// `xid8`
pub const XID8: Oid = Oid(5069);
/// `anycompatible`
pub const ANYCOMPATIBLE: Oid = Oid(5077);
/// `anycompatiblearray`
pub const ANYCOMPATIBLEARRAY: Oid = Oid(5078);
/// `anycompatiblenonarray`
pub const ANYCOMPATIBLENONARRAY: Oid = Oid(5079);
/// `anycompatiblerange`
pub const ANYCOMPATIBLERANGE: Oid = Oid(5080);
/// `xml_array`
pub const XML_ARRAY: Oid = Oid(143);
/// `json_array`
pub const JSON_ARRAY: Oid = Oid(199);
/// `xid8_array`
pub const XID8_ARRAY: Oid = Oid(271);
/// `line_array`
pub const LINE_ARRAY: Oid = Oid(629);
/// `cidr_array`
pub const CIDR_ARRAY: Oid = Oid(651);
/// `circle_array`
pub const CIRCLE_ARRAY: Oid = Oid(719);
/// `macaddr8_array`
pub const MACADDR8_ARRAY: Oid = Oid(775);
/// `money_array`
pub const MONEY_ARRAY: Oid = Oid(791);
/// `bool_array`
pub const BOOL_ARRAY: Oid = Oid(1000);
/// `bytea_array`
pub const BYTEA_ARRAY: Oid = Oid(1001);
/// `char_array`
pub const CHAR_ARRAY: Oid = Oid(1002);
/// `name_array`
pub const NAME_ARRAY: Oid = Oid(1003);
/// `int2_array`
pub const INT2_ARRAY: Oid = Oid(1005);
/// `int2vector_array`
pub const INT2VECTOR_ARRAY: Oid = Oid(1006);
/// `int4_array`
pub const INT4_ARRAY: Oid = Oid(1007);
/// `regproc_array`
pub const REGPROC_ARRAY: Oid = Oid(1008);
/// `text_array`
pub const TEXT_ARRAY: Oid = Oid(1009);
/// `tid_array`
pub const TID_ARRAY: Oid = Oid(1010);
/// `xid_array`
pub const XID_ARRAY: Oid = Oid(1011);
/// `cid_array`
pub const CID_ARRAY: Oid = Oid(1012);
/// `oidvector_array`
pub const OIDVECTOR_ARRAY: Oid = Oid(1013);
/// `bpchar_array`
pub const BPCHAR_ARRAY: Oid = Oid(1014);
/// `varchar_array`
pub const VARCHAR_ARRAY: Oid = Oid(1015);
/// `int8_array`
pub const INT8_ARRAY: Oid = Oid(1016);
/// `point_array`
pub const POINT_ARRAY: Oid = Oid(1017);
/// `lseg_array`
pub const LSEG_ARRAY: Oid = Oid(1018);
/// `path_array`
pub const PATH_ARRAY: Oid = Oid(1019);
/// `box_array`
pub const BOX_ARRAY: Oid = Oid(1020);
/// `float4_array`
pub const FLOAT4_ARRAY: Oid = Oid(1021);
/// `float8_array`
pub const FLOAT8_ARRAY: Oid = Oid(1022);
/// `polygon_array`
pub const POLYGON_ARRAY: Oid = Oid(1027);
/// `oid_array`
pub const OID_ARRAY: Oid = Oid(1028);
/// `aclitem_array`
pub const ACLITEM_ARRAY: Oid = Oid(1034);
/// `macaddr_array`
pub const MACADDR_ARRAY: Oid = Oid(1040);
/// `inet_array`
pub const INET_ARRAY: Oid = Oid(1041);
/// `timestamp_array`
pub const TIMESTAMP_ARRAY: Oid = Oid(1115);
/// `date_array`
pub const DATE_ARRAY: Oid = Oid(1182);
/// `time_array`
pub const TIME_ARRAY: Oid = Oid(1183);
/// `timestamptz_array`
pub const TIMESTAMPTZ_ARRAY: Oid = Oid(1185);
/// `interval_array`
pub const INTERVAL_ARRAY: Oid = Oid(1187);
/// `numeric_array`
pub const NUMERIC_ARRAY: Oid = Oid(1231);
/// `cstring_array`
pub const CSTRING_ARRAY: Oid = Oid(1263);
/// `timetz_array`
pub const TIMETZ_ARRAY: Oid = Oid(1270);
/// `bit_array`
pub const BIT_ARRAY: Oid = Oid(1561);
/// `varbit_array`
pub const VARBIT_ARRAY: Oid = Oid(1563);
/// `refcursor_array`
pub const REFCURSOR_ARRAY: Oid = Oid(2201);
/// `regprocedure_array`
pub const REGPROCEDURE_ARRAY: Oid = Oid(2207);
/// `regoper_array`
pub const REGOPER_ARRAY: Oid = Oid(2208);
/// `regoperator_array`
pub const REGOPERATOR_ARRAY: Oid = Oid(2209);
/// `regclass_array`
pub const REGCLASS_ARRAY: Oid = Oid(2210);
/// `regtype_array`
pub const REGTYPE_ARRAY: Oid = Oid(2211);
/// `record_array`
pub const RECORD_ARRAY: Oid = Oid(2287);
/// `txid_snapshot_array`
pub const TXID_SNAPSHOT_ARRAY: Oid = Oid(2949);
/// `uuid_array`
pub const UUID_ARRAY: Oid = Oid(2951);
/// `pg_lsn_array`
pub const PG_LSN_ARRAY: Oid = Oid(3221);
/// `tsvector_array`
pub const TSVECTOR_ARRAY: Oid = Oid(3643);
/// `gtsvector_array`
pub const GTSVECTOR_ARRAY: Oid = Oid(3644);
/// `tsquery_array`
pub const TSQUERY_ARRAY: Oid = Oid(3645);
/// `regconfig_array`
pub const REGCONFIG_ARRAY: Oid = Oid(3735);
/// `regdictionary_array`
pub const REGDICTIONARY_ARRAY: Oid = Oid(3770);
/// `jsonb_array`
pub const JSONB_ARRAY: Oid = Oid(3807);
/// `int4range_array`
pub const INT4RANGE_ARRAY: Oid = Oid(3905);
/// `numrange_array`
pub const NUMRANGE_ARRAY: Oid = Oid(3907);
/// `tsrange_array`
pub const TSRANGE_ARRAY: Oid = Oid(3909);
/// `tstzrange_array`
pub const TSTZRANGE_ARRAY: Oid = Oid(3911);
/// `daterange_array`
pub const DATERANGE_ARRAY: Oid = Oid(3913);
/// `int8range_array`
pub const INT8RANGE_ARRAY: Oid = Oid(3927);
/// `jsonpath_array`
pub const JSONPATH_ARRAY: Oid = Oid(4073);
/// `regnamespace_array`
pub const REGNAMESPACE_ARRAY: Oid = Oid(4090);
/// `regrole_array`
pub const REGROLE_ARRAY: Oid = Oid(4097);
/// `regcollation_array`
pub const REGCOLLATION_ARRAY: Oid = Oid(4192);
/// `pg_snapshot_array`
pub const PG_SNAPSHOT_ARRAY: Oid = Oid(5039);
/// `int4multirange_array`
pub const INT4MULTIRANGE_ARRAY: Oid = Oid(6150);
/// `nummultirange_array`
pub const NUMMULTIRANGE_ARRAY: Oid = Oid(6151);
/// `tsmultirange_array`
pub const TSMULTIRANGE_ARRAY: Oid = Oid(6152);
/// `tstzmultirange_array`
pub const TSTZMULTIRANGE_ARRAY: Oid = Oid(6153);
/// `datemultirange_array`
pub const DATEMULTIRANGE_ARRAY: Oid = Oid(6155);
/// `int8multirange_array`
pub const INT8MULTIRANGE_ARRAY: Oid = Oid(6157);

/// Whether a type is one of those that name an object by its OID, as `regclass`.
pub const fn is_reg(type_oid: Oid) -> bool {
    matches!(
        type_oid,
        REGPROC
            | REGPROCEDURE
            | REGOPER
            | REGOPERATOR
            | REGCLASS
            | REGTYPE
            | REGROLE
            | REGNAMESPACE
            | REGCONFIG
            | REGDICTIONARY
            | REGCOLLATION
    )
}

/// Whether a built-in type's values are unsigned 32-bit numbers.
pub const fn is_oid_like(type_oid: Oid) -> bool {
    matches!(type_oid, OID | XID | CID) || is_reg(type_oid)
}
