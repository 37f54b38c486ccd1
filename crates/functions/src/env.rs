//! What a function's body may ask of the session.

use crate::builtin;
use crate::call::CallInfo;
use crate::ts::{Dictionary, TsConfig};
use base::{Error, Oid, Result};
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;
use types::io::{Format, IoCtx, TypeInfo, TypeLookup};
use types::{Datum, TupleDesc};

/// What bodies need of the catalogs beyond [`TypeLookup`].
pub trait CatalogLookup: TypeLookup {
    /// As [`TypeLookup`], for reading and writing values.
    fn types(&self) -> &dyn TypeLookup;
    /// A type's name as `format_type` gives it: qualified unless visible, without modifier.
    fn type_name(&self, oid: Oid) -> Option<String>;
    /// A function's name, for messages.
    fn proc_name(&self, oid: Oid) -> Option<String> {
        builtin::proc(oid).map(|p| p.proname.to_string())
    }
    /// The function of the default btree operator class that compares two values of this type.
    fn compare_proc(&self, type_oid: Oid) -> Option<Oid>;
    /// The function of the default hash operator class that hashes a value of this type, and the
    /// seeded one.
    fn hash_procs(&self, type_oid: Oid) -> Option<(Oid, Oid)>;
    /// The labels of an enum type in order, with their OIDs.
    fn enum_values(&self, type_oid: Oid) -> Vec<(Oid, String)>;
    /// The name of a schema.
    fn schema_name(&self, oid: Oid) -> Option<String>;
    /// The name of a database.
    fn database_name(&self, oid: Oid) -> Option<String>;
    /// The body of a function that is not built in is run by the session.
    fn call_user_function(&self, _fn_oid: Oid, _args: &[Datum]) -> Result<Datum> {
        Err(Error::unsupported("calling a user's function here"))
    }
    /// A type by its name, with the modifier that is written after it or -1.
    fn type_and_modifier(&self, name: &str) -> Result<(Oid, i32)> {
        Ok((self.types().reg_in(types::oid::REGTYPE, name)?, -1))
    }
    /// The cast function from one type to another, if a cast exists that needs one.
    fn cast_proc(&self, source: Oid, target: Oid) -> Option<Oid> {
        builtin::cast_between(source, target).map(|c| c.castfunc).filter(|f| f.is_valid())
    }
}

/// The rows of a query that a body runs.
#[derive(Clone, Debug, Default)]
pub struct QueryRows {
    /// Name, type and type modifier of each column.
    pub columns: Vec<(String, Oid, i32)>,
    /// The rows.
    pub rows: Vec<Vec<Datum>>,
}

/// The session as bodies see it.
pub trait FnEnv {
    /// Settings that change the form of values.
    fn format(&self) -> &Format;
    /// The catalogs.
    fn catalog(&self) -> &dyn CatalogLookup;
    /// A setting's current value by name, as `SHOW` prints it.
    fn setting(&self, name: &str) -> Option<String>;
    /// Fails if the current user may not read the setting.
    fn check_may_read_setting(&self, _name: &str) -> Result<()> {
        Ok(())
    }
    /// Start of the transaction, in microseconds from 2000-01-01 UTC.
    fn transaction_timestamp(&self) -> i64;
    /// Start of the statement, likewise.
    fn statement_timestamp(&self) -> i64;
    /// Now, likewise.
    fn clock_timestamp(&self) -> i64;
    /// The user whose privileges count.
    fn current_user(&self) -> Oid;
    /// The user of `SET SESSION AUTHORIZATION`.
    fn session_user(&self) -> Oid;
    /// The connected database.
    fn database(&self) -> Oid;
    /// The schemas that names are looked for in: OIDs, implicit ones included if asked for.
    fn search_path(&self, implicit: bool) -> Vec<Oid>;
    /// State of the session's random number generator.
    fn random_state(&self) -> &Cell<[u64; 2]>;
    /// `n` bytes of strong randomness.
    fn random_bytes(&self, out: &mut [u8]);
    /// The collation that the database's default one stands for.
    fn default_collation(&self) -> Oid {
        Oid(950)
    }
    /// Fails if the statement was cancelled.
    fn check_interrupts(&self) -> Result<()> {
        Ok(())
    }
    /// Sends a notice or warning to the client.
    fn notice(&self, _notice: Error) {}
    /// Runs a function that only the session can (sequences, sizes, locks, object definitions);
    /// None if the session has no body for it either.
    fn call_session_fn(&self, call: &CallInfo, args: &[Datum]) -> Option<Result<Datum>> {
        let _ = (call, args);
        None
    }
    /// The rows of a set-returning function that only the session knows; None if it does not.
    fn session_rows(&self, call: &CallInfo, args: &[Datum]) -> Option<Result<Vec<Vec<Datum>>>> {
        let _ = (call, args);
        None
    }

    /// The text search configuration of this OID.
    fn ts_config(&self, oid: Oid) -> Result<Arc<TsConfig>> {
        match TsConfig::builtin(oid) {
            Some(config) => Ok(Arc::new(config)),
            None => Err(Error::internal(format!(
                "cache lookup failed for text search configuration {oid}"
            ))),
        }
    }
    /// The text search dictionary of this OID.
    fn ts_dictionary(&self, oid: Oid) -> Result<Arc<Dictionary>> {
        let _ = oid;
        Err(Error::unsupported("text search without a session"))
    }
    /// Runs a query; gives its columns and at most `most` of its rows.
    fn run_query(&self, sql: &str, most: Option<usize>) -> Result<QueryRows> {
        let _ = (sql, most);
        Err(Error::unsupported("running a query here"))
    }

    /// What reading and writing values needs.
    fn io(&self) -> IoCtx<'_> {
        IoCtx {
            format: self.format(),
            lookup: self.catalog().types(),
            now: self.transaction_timestamp(),
        }
    }
}

/// Facts about types that are not built in, for comparisons without a session.
pub type KnownTypes = Arc<TypeFacts>;

/// What comparisons have to know of types.
#[derive(Clone, Debug, Default)]
pub struct TypeFacts {
    /// How their values are held.
    pub types: HashMap<Oid, Arc<TypeInfo>>,
    /// The values of enum types, in order.
    pub enums: HashMap<Oid, Vec<Oid>>,
}

/// A session of nothing but the built-in rows, for constant folding and tests.
pub struct StaticEnv {
    format: Format,
    types: KnownTypes,
    random: Cell<[u64; 2]>,
    now: i64,
}

impl StaticEnv {
    /// With default settings and this moment as `now()`.
    pub fn new(now: i64) -> StaticEnv {
        StaticEnv::with_format(Format::default(), now)
    }

    /// With these types beside the built-in ones.
    pub fn with_types(types: &KnownTypes) -> StaticEnv {
        StaticEnv { types: types.clone(), ..StaticEnv::new(0) }
    }

    /// With these settings.
    pub fn with_format(format: Format, now: i64) -> StaticEnv {
        StaticEnv { format, types: KnownTypes::default(), random: Cell::new([1, 2]), now }
    }
}

impl FnEnv for StaticEnv {
    fn format(&self) -> &Format {
        &self.format
    }
    fn catalog(&self) -> &dyn CatalogLookup {
        self
    }
    fn setting(&self, _: &str) -> Option<String> {
        None
    }
    fn transaction_timestamp(&self) -> i64 {
        self.now
    }
    fn statement_timestamp(&self) -> i64 {
        self.now
    }
    fn clock_timestamp(&self) -> i64 {
        self.now
    }
    fn current_user(&self) -> Oid {
        Oid(10)
    }
    fn session_user(&self) -> Oid {
        Oid(10)
    }
    fn database(&self) -> Oid {
        Oid(5)
    }
    fn search_path(&self, implicit: bool) -> Vec<Oid> {
        if implicit { vec![Oid(11), Oid(2200)] } else { vec![Oid(2200)] }
    }
    fn random_state(&self) -> &Cell<[u64; 2]> {
        &self.random
    }
    fn random_bytes(&self, out: &mut [u8]) {
        out.fill(7);
    }
}

/// Facts about a built-in type from its row.
pub fn builtin_type_info(oid: Oid) -> Option<TypeInfo> {
    let row = builtin::type_(oid)?;
    let array_subscript = Oid(6179);
    let range = builtin::ranges();
    let base = match row.typtype {
        b'd' => row.typbasetype,
        b'r' => range.iter().find(|r| r.rngtypid == oid).map_or(Oid(0), |r| r.rngsubtype),
        b'm' => range.iter().find(|r| r.rngmultitypid == oid).map_or(Oid(0), |r| r.rngtypid),
        _ => Oid(0),
    };
    Some(TypeInfo {
        oid,
        name: row.typname.into(),
        len: row.typlen,
        byval: row.typbyval,
        align: match row.typalign {
            b'c' => 1,
            b's' => 2,
            b'i' => 4,
            _ => 8,
        },
        storage: row.typstorage,
        phys: types::phys_type(
            if row.typtype == b'd' { base } else { oid },
            row.typlen,
            row.typbyval,
        ),
        typtype: row.typtype,
        category: row.typcategory,
        delim: row.typdelim,
        elem: if row.typsubscript == array_subscript { row.typelem } else { Oid(0) },
        array: row.typarray,
        base,
        base_typmod: row.typtypmod,
        relid: row.typrelid,
        collation: row.typcollation,
    })
}

impl TypeLookup for StaticEnv {
    fn type_info(&self, oid: Oid) -> Option<Arc<TypeInfo>> {
        builtin_type_info(oid).map(Arc::new).or_else(|| self.types.types.get(&oid).cloned())
    }
    fn row_desc(&self, _: Oid, _: i32) -> Option<Arc<TupleDesc>> {
        None
    }
    fn enum_label(&self, _: Oid) -> Option<String> {
        None
    }
    fn enum_value(&self, _: Oid, _: &str) -> Option<Oid> {
        None
    }
    fn reg_in(&self, reg_type: Oid, text: &str) -> Result<Oid> {
        if reg_type == types::oid::REGTYPE
            && let Some(row) = builtin::type_by_name(text)
        {
            return Ok(row.oid);
        }
        Err(Error::unsupported(format!("name lookup of \"{text}\" without a session")))
    }
    fn reg_out(&self, _: Oid, _: Oid) -> Option<String> {
        None
    }
    fn role_oid(&self, name: &str) -> Option<Oid> {
        (name == "postgres").then_some(Oid(10))
    }
    fn role_name(&self, oid: Oid) -> Option<String> {
        (oid == Oid(10)).then(|| "postgres".to_string())
    }
}

impl CatalogLookup for StaticEnv {
    fn types(&self) -> &dyn TypeLookup {
        self
    }
    fn type_name(&self, oid: Oid) -> Option<String> {
        builtin::type_(oid).map(|t| t.typname.to_string())
    }
    fn compare_proc(&self, type_oid: Oid) -> Option<Oid> {
        use types::oid;
        let general = match self.types.types.get(&type_oid) {
            Some(t) if t.elem.is_valid() => oid::ANYARRAY,
            Some(t) => match t.typtype {
                b'e' => oid::ANYENUM,
                b'r' => oid::ANYRANGE,
                b'm' => oid::ANYMULTIRANGE,
                b'c' => oid::RECORD,
                b'd' => return self.compare_proc(t.base),
                _ => type_oid,
            },
            None => type_oid,
        };
        builtin_compare_proc(general)
    }
    fn hash_procs(&self, type_oid: Oid) -> Option<(Oid, Oid)> {
        builtin_hash_procs(type_oid)
    }
    fn enum_values(&self, type_oid: Oid) -> Vec<(Oid, String)> {
        let values = self.types.enums.get(&type_oid).into_iter().flatten();
        values.map(|v| (*v, String::new())).collect()
    }
    fn schema_name(&self, oid: Oid) -> Option<String> {
        builtin::namespace(oid).map(|n| n.nspname.to_string())
    }
    fn database_name(&self, oid: Oid) -> Option<String> {
        (oid == Oid(5)).then(|| "postgres".to_string())
    }
}

/// The type whose operator class serves `type_oid`.
fn opclass_input(type_oid: Oid) -> Oid {
    use types::oid;
    match type_oid {
        oid::VARCHAR => oid::TEXT,
        oid::CIDR => oid::INET,
        _ => match builtin::type_(type_oid) {
            Some(t) if t.typsubscript == Oid(6179) => oid::ANYARRAY,
            Some(t) if t.typtype == b'e' => oid::ANYENUM,
            Some(t) if t.typtype == b'r' => oid::ANYRANGE,
            Some(t) if t.typtype == b'm' => oid::ANYMULTIRANGE,
            Some(t) if t.typtype == b'c' => oid::RECORD,
            _ => type_oid,
        },
    }
}

/// [`CatalogLookup::compare_proc`] for built-in types.
pub fn builtin_compare_proc(type_oid: Oid) -> Option<Oid> {
    let class = builtin::default_opclass(Oid(403), opclass_input(type_oid))?;
    support(class, 1)
}

/// [`CatalogLookup::hash_procs`] for built-in types.
pub fn builtin_hash_procs(type_oid: Oid) -> Option<(Oid, Oid)> {
    let class = builtin::default_opclass(Oid(405), opclass_input(type_oid))?;
    Some((support(class, 1)?, support(class, 2)?))
}

fn support(class: &builtin::OpclassRow, number: i16) -> Option<Oid> {
    builtin::amprocs()
        .iter()
        .find(|p| {
            p.amprocfamily == class.opcfamily
                && p.amproclefttype == class.opcintype
                && p.amprocrighttype == class.opcintype
                && p.amprocnum == number
        })
        .map(|p| p.amproc)
}
