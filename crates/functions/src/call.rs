//! How a function is called: row by row, or over columns.

use crate::env::FnEnv;
use base::{Oid, Result};
use std::any::Any;
use types::{Column, ColumnBuilder, Datum};

/// What is fixed about one place that calls a function.
#[derive(Clone, Debug, Default)]
pub struct CallInfo {
    /// The function.
    pub fn_oid: Oid,
    /// The collation to use, 0 if none.
    pub collation: Oid,
    /// Types of the arguments as given (after coercion; polymorphic ones resolved).
    pub arg_types: Vec<Oid>,
    /// Type of the result, polymorphic ones resolved.
    pub ret_type: Oid,
    /// Type modifier of the result, -1 if none.
    pub ret_typmod: i32,
    /// Name, type and modifier of the result's columns, if the query says them.
    pub columns: Option<std::sync::Arc<Vec<(String, Oid, i32)>>>,
    /// The last argument was given with VARIADIC: it is the array itself.
    pub variadic: bool,
}

impl CallInfo {
    /// The call of a function whose argument types follow from its row.
    pub fn of(fn_oid: Oid) -> CallInfo {
        let row = crate::builtin::proc(fn_oid);
        CallInfo {
            fn_oid,
            arg_types: row.map(|r| r.proargtypes.clone()).unwrap_or_default(),
            ret_type: row.map(|r| r.prorettype).unwrap_or_default(),
            ret_typmod: -1,
            ..CallInfo::default()
        }
    }

    /// The type of argument `i`, 0 if there is none.
    pub fn arg_type(&self, i: usize) -> Oid {
        self.arg_types.get(i).copied().unwrap_or_default()
    }
}

/// What a body keeps between calls from one place: a compiled pattern, facts about a type.
#[derive(Default)]
pub struct CallState(Option<Box<dyn Any + Send>>);

impl CallState {
    /// The kept value, made by `make` if there is none of this type.
    pub fn get_or_try<T: Any + Send>(
        &mut self,
        make: impl FnOnce() -> Result<T>,
    ) -> Result<&mut T> {
        if !self.0.as_ref().is_some_and(|v| v.is::<T>()) {
            self.0 = Some(Box::new(make()?));
        }
        match self.0.as_mut().and_then(|v| v.downcast_mut()) {
            Some(v) => Ok(v),
            None => unreachable!("the value was just made with this type"),
        }
    }

    /// The kept value, if it is of this type.
    pub fn get<T: Any + Send>(&mut self) -> Option<&mut T> {
        self.0.as_mut()?.downcast_mut()
    }

    /// Keeps a value.
    pub fn set<T: Any + Send>(&mut self, value: T) {
        self.0 = Some(Box::new(value));
    }
}

/// What a body gets besides its arguments.
pub struct FnCtx<'a> {
    /// The session.
    pub env: &'a dyn FnEnv,
    /// The place that calls.
    pub call: &'a CallInfo,
    /// What this place keeps between calls.
    pub state: &'a mut CallState,
}

/// A body over single values. NULL arguments of a strict function are the caller's to handle.
pub type RowFn = fn(&mut FnCtx, &[Datum]) -> Result<Datum>;

/// A body over columns: fills `out`, empty when called, with `rows.len` values aligned with the
/// positions of the arguments. Values at positions that are not selected are arbitrary; errors
/// are only raised for selected ones. A strict function's kernel handles NULLs itself.
pub type BatchFn = fn(&mut FnCtx, &[Arg], Rows, &mut ColumnBuilder) -> Result<()>;

/// An argument of a batch kernel.
#[derive(Clone, Copy)]
pub enum Arg<'a> {
    /// A value for each position.
    Column(&'a Column),
    /// The same value for all.
    Const(&'a Datum),
}

impl Arg<'_> {
    /// The value at position `i`.
    #[inline]
    pub fn get(&self, i: usize) -> Datum {
        match self {
            Arg::Column(c) => c.get(i),
            Arg::Const(d) => (*d).clone(),
        }
    }

    /// Whether the value at position `i` is NULL.
    #[inline]
    pub fn is_null(&self, i: usize) -> bool {
        match self {
            Arg::Column(c) => c.is_null(i),
            Arg::Const(d) => d.is_null(),
        }
    }
}

/// Which positions of the columns count.
#[derive(Clone, Copy)]
pub struct Rows<'a> {
    /// Values in each column.
    pub len: usize,
    /// The positions that count, ascending; all when None.
    pub sel: Option<&'a [u16]>,
}

impl<'a> Rows<'a> {
    /// All of `len` positions.
    pub const fn all(len: usize) -> Rows<'static> {
        Rows { len, sel: None }
    }

    /// Runs `f` for each position that counts.
    #[inline]
    pub fn each(self, mut f: impl FnMut(usize) -> Result<()>) -> Result<()> {
        match self.sel {
            None => (0..self.len).try_for_each(&mut f),
            Some(sel) => sel.iter().try_for_each(|&i| f(i as usize)),
        }
    }

    /// How many positions count.
    pub fn count(self) -> usize {
        self.sel.map_or(self.len, <[u16]>::len)
    }
}

/// A body and the symbol it binds by. See `pg_proc.prosrc`; a function that PostgreSQL writes in
/// SQL binds by its OID in decimal.
pub struct FnDef {
    /// `prosrc` of the rows it serves.
    pub symbol: &'static str,
    /// The body over single values.
    pub row: RowFn,
    /// The body over columns, if there is a better one than a loop over `row`.
    pub batch: Option<BatchFn>,
}
