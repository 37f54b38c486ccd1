//! Macros that make a [`FnDef`](crate::FnDef) of a body, and the loops of batch kernels.
//!
//! `total!` and `checked!` bodies are over fixed-size or byte-string arguments and make a tight
//! loop over columns; `row!` bodies get typed arguments; `raw!` bodies get everything.

use crate::call::{Arg, Rows};
use base::{Oid, Result};
use types::batch::{Bitmap, BytesColumn};
use types::{Blob, Column, ColumnBuilder, ColumnData, Datum};

/// A type that a body takes as an argument.
pub(crate) trait ArgType<'a>: Sized {
    /// Reads the values of a column.
    type Reader: Copy;
    /// The reader of a column; the column has this type's physical type.
    fn reader(column: &'a Column) -> Self::Reader;
    /// Value `i`, which is not NULL.
    fn read(reader: Self::Reader, i: usize) -> Self;
    /// The value.
    fn of(value: &'a Datum) -> Self;
}

/// A type that a body returns from a batch kernel's loop.
pub(crate) trait Native: Copy + Default {
    /// The values of a builder of this type.
    fn values(out: &mut ColumnBuilder) -> &mut [Self];
}

/// Anything a body returns.
pub(crate) trait IntoDatum {
    /// The value.
    fn into_datum(self) -> Datum;
}

/// Anything a body returns, or an error.
pub(crate) trait IntoResult {
    /// The value or the error.
    fn into_result(self) -> Result<Datum>;
}

impl<T: IntoDatum> IntoResult for T {
    #[inline]
    fn into_result(self) -> Result<Datum> {
        Ok(self.into_datum())
    }
}

impl<T: IntoDatum> IntoResult for Result<T> {
    #[inline]
    fn into_result(self) -> Result<Datum> {
        self.map(T::into_datum)
    }
}

#[cold]
fn wrong_type() -> ! {
    panic!("a column of another physical type than the function's argument")
}

macro_rules! native {
    ($($t:ty, $variant:ident);*) => {$(
        impl<'a> ArgType<'a> for $t {
            type Reader = &'a [$t];
            #[inline]
            fn reader(column: &'a Column) -> &'a [$t] {
                match &column.data {
                    ColumnData::$variant(v) => v,
                    _ => wrong_type(),
                }
            }
            #[inline(always)]
            fn read(reader: &'a [$t], i: usize) -> $t {
                reader[i]
            }
            #[inline(always)]
            fn of(value: &'a Datum) -> $t {
                if let Datum::$variant(x) = value { *x } else { <$t>::default() }
            }
        }
        impl Native for $t {
            #[inline]
            fn values(out: &mut ColumnBuilder) -> &mut [$t] {
                match out.data_mut() {
                    ColumnData::$variant(v) => v,
                    _ => wrong_type(),
                }
            }
        }
        impl IntoDatum for $t {
            #[inline(always)]
            fn into_datum(self) -> Datum {
                Datum::$variant(self)
            }
        }
    )*};
}
native!(bool, Bool; u8, Char; i16, I16; i32, I32; i64, I64; u32, U32; f32, F32; f64, F64);

impl<'a> ArgType<'a> for &'a [u8] {
    type Reader = &'a BytesColumn;
    #[inline]
    fn reader(column: &'a Column) -> &'a BytesColumn {
        match &column.data {
            ColumnData::Bytes(v) => v,
            _ => wrong_type(),
        }
    }
    #[inline(always)]
    fn read(reader: &'a BytesColumn, i: usize) -> &'a [u8] {
        reader.get(i)
    }
    #[inline(always)]
    fn of(value: &'a Datum) -> &'a [u8] {
        value.as_bytes()
    }
}

impl<'a> ArgType<'a> for &'a str {
    type Reader = &'a BytesColumn;
    #[inline]
    fn reader(column: &'a Column) -> &'a BytesColumn {
        <&[u8]>::reader(column)
    }
    #[inline(always)]
    fn read(reader: &'a BytesColumn, i: usize) -> &'a str {
        std::str::from_utf8(reader.get(i)).unwrap_or("")
    }
    #[inline(always)]
    fn of(value: &'a Datum) -> &'a str {
        value.as_str()
    }
}

impl<'a> ArgType<'a> for &'a Datum {
    type Reader = ();
    fn reader(_: &'a Column) {}
    fn read(_: (), _: usize) -> &'a Datum {
        &Datum::Null
    }
    #[inline(always)]
    fn of(value: &'a Datum) -> &'a Datum {
        value
    }
}

impl<'a, T: ArgType<'a>> ArgType<'a> for Option<T> {
    type Reader = (&'a Column, T::Reader);
    fn reader(column: &'a Column) -> Self::Reader {
        (column, T::reader(column))
    }
    fn read(reader: Self::Reader, i: usize) -> Option<T> {
        (!reader.0.is_null(i)).then(|| T::read(reader.1, i))
    }
    fn of(value: &'a Datum) -> Option<T> {
        (!value.is_null()).then(|| T::of(value))
    }
}

macro_rules! into_datum {
    ($($t:ty, $x:ident => $e:expr);* $(;)?) => {$(
        impl IntoDatum for $t {
            #[inline]
            fn into_datum(self) -> Datum {
                let $x = self;
                $e
            }
        }
    )*};
}
into_datum!(
    Datum, x => x;
    &Datum, x => x.clone();
    &str, x => Datum::text(x);
    String, x => Datum::string(x);
    &[u8], x => Datum::Bytes(Blob::new(x));
    Vec<u8>, x => Datum::bytes(x);
    Blob, x => Datum::Bytes(x);
    Oid, x => Datum::U32(x.0);
    (), _x => Datum::Null;
);

impl<T: IntoDatum> IntoDatum for Option<T> {
    #[inline]
    fn into_datum(self) -> Datum {
        self.map_or(Datum::Null, T::into_datum)
    }
}

/// The union of the arguments' nulls: None if no argument is NULL anywhere, Err if all results
/// are NULL.
fn nulls_of(args: &[Arg]) -> std::result::Result<Option<Bitmap>, ()> {
    let mut nulls: Option<Bitmap> = None;
    for arg in args {
        match arg {
            Arg::Const(Datum::Null) => return Err(()),
            Arg::Const(_) => {}
            Arg::Column(c) => nulls = Bitmap::union(nulls.as_ref(), c.nulls.as_ref()),
        }
    }
    Ok(nulls.filter(Bitmap::any))
}

fn all_null(rows: Rows, out: &mut ColumnBuilder) {
    out.resize(rows.len);
    out.set_nulls(Some(Bitmap::ones(rows.len)));
}

/// Fills `out` with `f` of each position that counts and has no NULL argument.
#[inline(always)]
fn fill<R: Native>(
    rows: Rows,
    nulls: Option<Bitmap>,
    out: &mut ColumnBuilder,
    f: impl Fn(usize) -> Result<R>,
) -> Result<()> {
    out.resize(rows.len);
    let values = R::values(out);
    match (rows.sel, &nulls) {
        (None, None) => {
            for (i, slot) in values.iter_mut().enumerate() {
                *slot = f(i)?;
            }
        }
        (Some(sel), None) => {
            for &i in sel {
                values[i as usize] = f(i as usize)?;
            }
        }
        (_, Some(n)) => rows.each(|i| {
            if !n.get(i) {
                values[i] = f(i)?;
            }
            Ok(())
        })?,
    }
    out.set_nulls(nulls);
    Ok(())
}

/// The loop of a kernel of one argument.
#[inline(always)]
pub(crate) fn unary<'a, A: ArgType<'a>, R: Native>(
    args: &'a [Arg<'a>],
    rows: Rows,
    out: &mut ColumnBuilder,
    f: impl Fn(A) -> Result<R>,
) -> Result<()> {
    let Ok(nulls) = nulls_of(args) else {
        all_null(rows, out);
        return Ok(());
    };
    match args[0] {
        Arg::Column(c) => {
            let a = A::reader(c);
            fill(rows, nulls, out, |i| f(A::read(a, i)))
        }
        Arg::Const(d) => fill(rows, nulls, out, |_| f(A::of(d))),
    }
}

/// The loop of a kernel of two arguments.
#[inline(always)]
pub(crate) fn binary<'a, A: ArgType<'a>, B: ArgType<'a>, R: Native>(
    args: &'a [Arg<'a>],
    rows: Rows,
    out: &mut ColumnBuilder,
    f: impl Fn(A, B) -> Result<R>,
) -> Result<()> {
    let Ok(nulls) = nulls_of(args) else {
        all_null(rows, out);
        return Ok(());
    };
    match (args[0], args[1]) {
        (Arg::Column(x), Arg::Column(y)) => {
            let (a, b) = (A::reader(x), B::reader(y));
            fill(rows, nulls, out, |i| f(A::read(a, i), B::read(b, i)))
        }
        (Arg::Column(x), Arg::Const(y)) => {
            let a = A::reader(x);
            fill(rows, nulls, out, |i| f(A::read(a, i), B::of(y)))
        }
        (Arg::Const(x), Arg::Column(y)) => {
            let b = B::reader(y);
            fill(rows, nulls, out, |i| f(A::of(x), B::read(b, i)))
        }
        (Arg::Const(x), Arg::Const(y)) => fill(rows, nulls, out, |_| f(A::of(x), B::of(y))),
    }
}

/// The loop of a kernel of two byte strings that makes a third one, without a value of its own
/// for each row.
pub(crate) fn joined_bytes<'a>(
    args: &'a [Arg<'a>],
    rows: Rows,
    out: &mut ColumnBuilder,
    f: impl Fn(&'a [u8], &'a [u8], &mut Vec<u8>) -> Result<()>,
) -> Result<()> {
    let Ok(nulls) = nulls_of(args) else {
        all_null(rows, out);
        return Ok(());
    };
    let get = |arg: &'a Arg<'a>, i: usize| -> &'a [u8] {
        match arg {
            Arg::Column(c) => ArgType::read(<&[u8]>::reader(c), i),
            Arg::Const(d) => d.as_bytes(),
        }
    };
    let (a, b) = (&args[0], &args[1]);
    let mut made = Vec::new();
    let mut selected = rows.sel.map(|sel| sel.iter().peekable());
    for i in 0..rows.len {
        let wanted = match &mut selected {
            None => true,
            Some(sel) => sel.next_if(|s| **s as usize == i).is_some(),
        };
        made.clear();
        if wanted && !nulls.as_ref().is_some_and(|n| n.get(i)) {
            f(get(a, i), get(b, i), &mut made)?;
            base::interrupt::room(made.len())?;
        }
        out.push_bytes(&made);
    }
    out.set_nulls(nulls);
    Ok(())
}

/// A strict body that cannot fail, over one or two arguments: `total!(int4eq(a: i32, b: i32) ->
/// bool { a == b })`.
macro_rules! total {
    ($name:ident($($arg:ident: $t:ty),*) -> $r:ty $body:block) => {
        checked!($name($($arg: $t),*) -> $r { Ok($body) })
    };
}

/// A strict body that may fail, over one or two arguments; the block is a `Result`.
macro_rules! checked {
    ($name:ident($a:ident: $ta:ty) -> $r:ty $body:block) => {
        $crate::call::FnDef {
            symbol: stringify!($name),
            row: |_, args| {
                let f = |$a: $ta| -> base::Result<$r> { $body };
                f($crate::kernel::ArgType::of(&args[0])).map($crate::kernel::IntoDatum::into_datum)
            },
            batch: Some(|_, args, rows, out| {
                $crate::kernel::unary(args, rows, out, |$a: $ta| -> base::Result<$r> { $body })
            }),
        }
    };
    ($name:ident($a:ident: $ta:ty, $b:ident: $tb:ty) -> $r:ty $body:block) => {
        $crate::call::FnDef {
            symbol: stringify!($name),
            row: |_, args| {
                let f = |$a: $ta, $b: $tb| -> base::Result<$r> { $body };
                f($crate::kernel::ArgType::of(&args[0]), $crate::kernel::ArgType::of(&args[1]))
                    .map($crate::kernel::IntoDatum::into_datum)
            },
            batch: Some(|_, args, rows, out| {
                $crate::kernel::binary(args, rows, out, |$a: $ta, $b: $tb| -> base::Result<$r> {
                    $body
                })
            }),
        }
    };
}

/// A body with typed arguments, `Option` for those of a function that is not strict; the block
/// makes a value or a `Result`. `row!(cx; name(...) {...})` gets the context.
macro_rules! row {
    ($cx:ident; $name:tt($($arg:ident: $t:ty),* $(,)?) $body:block) => {
        $crate::call::FnDef {
            symbol: symbol!($name),
            row: {
                #[allow(unused_variables, unused_mut, unused_assignments)]
                fn body($cx: &mut $crate::call::FnCtx, args: &[types::Datum])
                    -> base::Result<types::Datum>
                {
                    let mut at = 0;
                    $(
                        let $arg: $t = $crate::kernel::ArgType::of(
                            args.get(at).unwrap_or(&types::Datum::Null),
                        );
                        at += 1;
                    )*
                    $crate::kernel::IntoResult::into_result($body)
                }
                body
            },
            batch: None,
        }
    };
    ($name:tt($($arg:ident: $t:ty),* $(,)?) $body:block) => {
        row!(_cx; $name($($arg: $t),*) $body)
    };
}

/// A body that gets the context and the values.
macro_rules! raw {
    ($name:tt($cx:ident, $args:ident) $body:block) => {
        $crate::call::FnDef {
            symbol: symbol!($name),
            row: {
                #[allow(unused_variables)]
                fn body(
                    $cx: &mut $crate::call::FnCtx,
                    $args: &[types::Datum],
                ) -> base::Result<types::Datum> {
                    $crate::kernel::IntoResult::into_result($body)
                }
                body
            },
            batch: None,
        }
    };
}

/// A symbol from an identifier or a string literal.
macro_rules! symbol {
    ($name:literal) => {
        $name
    };
    ($name:ident) => {
        stringify!($name)
    };
}
