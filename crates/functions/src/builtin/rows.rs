//! Typed rows of the catalogs that are read all the time. Columns nobody reads are left out.

use super::parse::Field;
use super::table;
use base::Oid;

macro_rules! rows {
    ($($(#[$doc:meta])* $row:ident $table:literal {
        $($(#[$fdoc:meta])* $field:ident: $t:ty),* $(,)?
    })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $row {
            $($(#[$fdoc])* pub $field: $t,)*
        }

        impl $row {
            pub(super) fn load() -> Vec<$row> {
                let Some(table) = table($table) else { return Vec::new() };
                let columns = table.columns();
                let at = |name: &str| columns.iter().position(|c| *c == name);
                $(let $field = at(stringify!($field)).unwrap_or(usize::MAX);)*
                let mut fields = Vec::with_capacity(columns.len());
                table
                    .lines()
                    .map(|line| {
                        fields.clear();
                        fields.extend(line.split('\t'));
                        $row {
                            $($field: <$t>::parse(fields.get($field).copied().unwrap_or("\\N")),)*
                        }
                    })
                    .collect()
            }
        }
    )*};
}

rows! {
    /// A row of `pg_proc`.
    ProcRow "pg_proc" {
        /// `oid`
        oid: Oid,
        /// `proname`
        proname: &'static str,
        /// `pronamespace`
        pronamespace: Oid,
        /// `proowner`
        proowner: Oid,
        /// `prolang`
        prolang: Oid,
        /// `procost`
        procost: f32,
        /// `prorows`
        prorows: f32,
        /// `provariadic`
        provariadic: Oid,
        /// `prosupport`
        prosupport: Oid,
        /// `prokind`
        prokind: u8,
        /// `prosecdef`
        prosecdef: bool,
        /// `proleakproof`
        proleakproof: bool,
        /// `proisstrict`
        proisstrict: bool,
        /// `proretset`
        proretset: bool,
        /// `provolatile`
        provolatile: u8,
        /// `proparallel`
        proparallel: u8,
        /// `pronargs`
        pronargs: i16,
        /// `pronargdefaults`
        pronargdefaults: i16,
        /// `prorettype`
        prorettype: Oid,
        /// `proargtypes`
        proargtypes: Vec<Oid>,
        /// `proallargtypes`
        proallargtypes: Vec<Oid>,
        /// `proargmodes`
        proargmodes: Vec<u8>,
        /// `proargnames`
        proargnames: Vec<&'static str>,
        /// `proargdefaults`
        proargdefaults: Option<&'static str>,
        /// `prosrc`
        prosrc: &'static str,
        /// `probin`
        probin: Option<&'static str>,
        /// `prosqlbody`
        prosqlbody: Option<&'static str>,
    }
    /// A row of `pg_type`.
    TypeRow "pg_type" {
        /// `oid`
        oid: Oid,
        /// `typname`
        typname: &'static str,
        /// `typnamespace`
        typnamespace: Oid,
        /// `typowner`
        typowner: Oid,
        /// `typlen`
        typlen: i16,
        /// `typbyval`
        typbyval: bool,
        /// `typtype`
        typtype: u8,
        /// `typcategory`
        typcategory: u8,
        /// `typispreferred`
        typispreferred: bool,
        /// `typisdefined`
        typisdefined: bool,
        /// `typdelim`
        typdelim: u8,
        /// `typrelid`
        typrelid: Oid,
        /// `typsubscript`
        typsubscript: Oid,
        /// `typelem`
        typelem: Oid,
        /// `typarray`
        typarray: Oid,
        /// `typinput`
        typinput: Oid,
        /// `typoutput`
        typoutput: Oid,
        /// `typreceive`
        typreceive: Oid,
        /// `typsend`
        typsend: Oid,
        /// `typmodin`
        typmodin: Oid,
        /// `typmodout`
        typmodout: Oid,
        /// `typanalyze`
        typanalyze: Oid,
        /// `typalign`
        typalign: u8,
        /// `typstorage`
        typstorage: u8,
        /// `typnotnull`
        typnotnull: bool,
        /// `typbasetype`
        typbasetype: Oid,
        /// `typtypmod`
        typtypmod: i32,
        /// `typndims`
        typndims: i32,
        /// `typcollation`
        typcollation: Oid,
        /// `typdefault`
        typdefault: Option<&'static str>,
    }
    /// A row of `pg_operator`.
    OperatorRow "pg_operator" {
        /// `oid`
        oid: Oid,
        /// `oprname`
        oprname: &'static str,
        /// `oprnamespace`
        oprnamespace: Oid,
        /// `oprowner`
        oprowner: Oid,
        /// `oprkind`
        oprkind: u8,
        /// `oprcanmerge`
        oprcanmerge: bool,
        /// `oprcanhash`
        oprcanhash: bool,
        /// `oprleft`
        oprleft: Oid,
        /// `oprright`
        oprright: Oid,
        /// `oprresult`
        oprresult: Oid,
        /// `oprcom`
        oprcom: Oid,
        /// `oprnegate`
        oprnegate: Oid,
        /// `oprcode`
        oprcode: Oid,
        /// `oprrest`
        oprrest: Oid,
        /// `oprjoin`
        oprjoin: Oid,
    }
    /// A row of `pg_cast`.
    CastRow "pg_cast" {
        /// `oid`
        oid: Oid,
        /// `castsource`
        castsource: Oid,
        /// `casttarget`
        casttarget: Oid,
        /// `castfunc`
        castfunc: Oid,
        /// `castcontext`
        castcontext: u8,
        /// `castmethod`
        castmethod: u8,
    }
    /// A row of `pg_aggregate`.
    AggregateRow "pg_aggregate" {
        /// `aggfnoid`
        aggfnoid: Oid,
        /// `aggkind`
        aggkind: u8,
        /// `aggnumdirectargs`
        aggnumdirectargs: i16,
        /// `aggtransfn`
        aggtransfn: Oid,
        /// `aggfinalfn`
        aggfinalfn: Oid,
        /// `aggcombinefn`
        aggcombinefn: Oid,
        /// `aggserialfn`
        aggserialfn: Oid,
        /// `aggdeserialfn`
        aggdeserialfn: Oid,
        /// `aggmtransfn`
        aggmtransfn: Oid,
        /// `aggminvtransfn`
        aggminvtransfn: Oid,
        /// `aggmfinalfn`
        aggmfinalfn: Oid,
        /// `aggfinalextra`
        aggfinalextra: bool,
        /// `aggmfinalextra`
        aggmfinalextra: bool,
        /// `aggfinalmodify`
        aggfinalmodify: u8,
        /// `aggmfinalmodify`
        aggmfinalmodify: u8,
        /// `aggsortop`
        aggsortop: Oid,
        /// `aggtranstype`
        aggtranstype: Oid,
        /// `aggtransspace`
        aggtransspace: i32,
        /// `aggmtranstype`
        aggmtranstype: Oid,
        /// `aggmtransspace`
        aggmtransspace: i32,
        /// `agginitval`
        agginitval: Option<&'static str>,
        /// `aggminitval`
        aggminitval: Option<&'static str>,
    }
    /// A row of `pg_opclass`.
    OpclassRow "pg_opclass" {
        /// `oid`
        oid: Oid,
        /// `opcmethod`
        opcmethod: Oid,
        /// `opcname`
        opcname: &'static str,
        /// `opcnamespace`
        opcnamespace: Oid,
        /// `opcowner`
        opcowner: Oid,
        /// `opcfamily`
        opcfamily: Oid,
        /// `opcintype`
        opcintype: Oid,
        /// `opcdefault`
        opcdefault: bool,
        /// `opckeytype`
        opckeytype: Oid,
    }
    /// A row of `pg_opfamily`.
    OpfamilyRow "pg_opfamily" {
        /// `oid`
        oid: Oid,
        /// `opfmethod`
        opfmethod: Oid,
        /// `opfname`
        opfname: &'static str,
        /// `opfnamespace`
        opfnamespace: Oid,
        /// `opfowner`
        opfowner: Oid,
    }
    /// A row of `pg_amop`.
    AmopRow "pg_amop" {
        /// `oid`
        oid: Oid,
        /// `amopfamily`
        amopfamily: Oid,
        /// `amoplefttype`
        amoplefttype: Oid,
        /// `amoprighttype`
        amoprighttype: Oid,
        /// `amopstrategy`
        amopstrategy: i16,
        /// `amoppurpose`
        amoppurpose: u8,
        /// `amopopr`
        amopopr: Oid,
        /// `amopmethod`
        amopmethod: Oid,
        /// `amopsortfamily`
        amopsortfamily: Oid,
    }
    /// A row of `pg_amproc`.
    AmprocRow "pg_amproc" {
        /// `oid`
        oid: Oid,
        /// `amprocfamily`
        amprocfamily: Oid,
        /// `amproclefttype`
        amproclefttype: Oid,
        /// `amprocrighttype`
        amprocrighttype: Oid,
        /// `amprocnum`
        amprocnum: i16,
        /// `amproc`
        amproc: Oid,
    }
    /// A row of `pg_am`.
    AmRow "pg_am" {
        /// `oid`
        oid: Oid,
        /// `amname`
        amname: &'static str,
        /// `amhandler`
        amhandler: Oid,
        /// `amtype`
        amtype: u8,
    }
    /// A row of `pg_collation`.
    CollationRow "pg_collation" {
        /// `oid`
        oid: Oid,
        /// `collname`
        collname: &'static str,
        /// `collnamespace`
        collnamespace: Oid,
        /// `collowner`
        collowner: Oid,
        /// `collprovider`
        collprovider: u8,
        /// `collisdeterministic`
        collisdeterministic: bool,
        /// `collencoding`
        collencoding: i32,
        /// `collcollate`
        collcollate: Option<&'static str>,
        /// `collctype`
        collctype: Option<&'static str>,
        /// `colllocale`
        colllocale: Option<&'static str>,
    }
    /// A row of `pg_namespace`.
    NamespaceRow "pg_namespace" {
        /// `oid`
        oid: Oid,
        /// `nspname`
        nspname: &'static str,
        /// `nspowner`
        nspowner: Oid,
    }
    /// A row of `pg_language`.
    LanguageRow "pg_language" {
        /// `oid`
        oid: Oid,
        /// `lanname`
        lanname: &'static str,
        /// `lanowner`
        lanowner: Oid,
        /// `lanispl`
        lanispl: bool,
        /// `lanpltrusted`
        lanpltrusted: bool,
        /// `lanplcallfoid`
        lanplcallfoid: Oid,
        /// `laninline`
        laninline: Oid,
        /// `lanvalidator`
        lanvalidator: Oid,
    }
    /// A row of `pg_class`.
    ClassRow "pg_class" {
        /// `oid`
        oid: Oid,
        /// `relname`
        relname: &'static str,
        /// `relnamespace`
        relnamespace: Oid,
        /// `reltype`
        reltype: Oid,
        /// `reloftype`
        reloftype: Oid,
        /// `relowner`
        relowner: Oid,
        /// `relam`
        relam: Oid,
        /// `relfilenode`
        relfilenode: Oid,
        /// `reltablespace`
        reltablespace: Oid,
        /// `reltoastrelid`
        reltoastrelid: Oid,
        /// `relhasindex`
        relhasindex: bool,
        /// `relisshared`
        relisshared: bool,
        /// `relpersistence`
        relpersistence: u8,
        /// `relkind`
        relkind: u8,
        /// `relnatts`
        relnatts: i16,
        /// `relchecks`
        relchecks: i16,
        /// `relhasrules`
        relhasrules: bool,
        /// `relhastriggers`
        relhastriggers: bool,
        /// `relhassubclass`
        relhassubclass: bool,
        /// `relrowsecurity`
        relrowsecurity: bool,
        /// `relforcerowsecurity`
        relforcerowsecurity: bool,
        /// `relispopulated`
        relispopulated: bool,
        /// `relreplident`
        relreplident: u8,
        /// `relispartition`
        relispartition: bool,
        /// `relrewrite`
        relrewrite: Oid,
    }
    /// A row of `pg_attribute`.
    AttributeRow "pg_attribute" {
        /// `attrelid`
        attrelid: Oid,
        /// `attname`
        attname: &'static str,
        /// `atttypid`
        atttypid: Oid,
        /// `attlen`
        attlen: i16,
        /// `attnum`
        attnum: i16,
        /// `atttypmod`
        atttypmod: i32,
        /// `attndims`
        attndims: i16,
        /// `attbyval`
        attbyval: bool,
        /// `attalign`
        attalign: u8,
        /// `attstorage`
        attstorage: u8,
        /// `attcompression`
        attcompression: u8,
        /// `attnotnull`
        attnotnull: bool,
        /// `atthasdef`
        atthasdef: bool,
        /// `atthasmissing`
        atthasmissing: bool,
        /// `attidentity`
        attidentity: u8,
        /// `attgenerated`
        attgenerated: u8,
        /// `attisdropped`
        attisdropped: bool,
        /// `attislocal`
        attislocal: bool,
        /// `attcollation`
        attcollation: Oid,
    }
    /// A row of `pg_index`.
    IndexRow "pg_index" {
        /// `indexrelid`
        indexrelid: Oid,
        /// `indrelid`
        indrelid: Oid,
        /// `indnatts`
        indnatts: i16,
        /// `indnkeyatts`
        indnkeyatts: i16,
        /// `indisunique`
        indisunique: bool,
        /// `indnullsnotdistinct`
        indnullsnotdistinct: bool,
        /// `indisprimary`
        indisprimary: bool,
        /// `indisexclusion`
        indisexclusion: bool,
        /// `indimmediate`
        indimmediate: bool,
        /// `indisclustered`
        indisclustered: bool,
        /// `indisvalid`
        indisvalid: bool,
        /// `indcheckxmin`
        indcheckxmin: bool,
        /// `indisready`
        indisready: bool,
        /// `indislive`
        indislive: bool,
        /// `indisreplident`
        indisreplident: bool,
        /// `indkey`
        indkey: Vec<i16>,
        /// `indcollation`
        indcollation: Vec<Oid>,
        /// `indclass`
        indclass: Vec<Oid>,
        /// `indoption`
        indoption: Vec<i16>,
    }
    /// A row of `pg_constraint`.
    ConstraintRow "pg_constraint" {
        /// `oid`
        oid: Oid,
        /// `conname`
        conname: &'static str,
        /// `connamespace`
        connamespace: Oid,
        /// `contype`
        contype: u8,
        /// `condeferrable`
        condeferrable: bool,
        /// `condeferred`
        condeferred: bool,
        /// `conenforced`
        conenforced: bool,
        /// `convalidated`
        convalidated: bool,
        /// `conrelid`
        conrelid: Oid,
        /// `contypid`
        contypid: Oid,
        /// `conindid`
        conindid: Oid,
        /// `conparentid`
        conparentid: Oid,
        /// `confrelid`
        confrelid: Oid,
        /// `confupdtype`
        confupdtype: u8,
        /// `confdeltype`
        confdeltype: u8,
        /// `confmatchtype`
        confmatchtype: u8,
        /// `conislocal`
        conislocal: bool,
        /// `coninhcount`
        coninhcount: i16,
        /// `connoinherit`
        connoinherit: bool,
        /// `conperiod`
        conperiod: bool,
        /// `conkey`
        conkey: Vec<i16>,
        /// `confkey`
        confkey: Vec<i16>,
        /// `conpfeqop`
        conpfeqop: Vec<Oid>,
        /// `conppeqop`
        conppeqop: Vec<Oid>,
        /// `conffeqop`
        conffeqop: Vec<Oid>,
        /// `confdelsetcols`
        confdelsetcols: Vec<i16>,
    }
    /// A row of `pg_range`.
    RangeRow "pg_range" {
        /// `rngtypid`
        rngtypid: Oid,
        /// `rngsubtype`
        rngsubtype: Oid,
        /// `rngmultitypid`
        rngmultitypid: Oid,
        /// `rngcollation`
        rngcollation: Oid,
        /// `rngsubopc`
        rngsubopc: Oid,
        /// `rngcanonical`
        rngcanonical: Oid,
        /// `rngsubdiff`
        rngsubdiff: Oid,
    }
}
