//! Values: how one is held in memory, in a batch of columns, in a row on a page and on the wire.
//!
//! Entry points: [`Datum`] and [`Blob`] (a value), [`batch`] (columns of values), [`tuple`]
//! (rows as bytes), [`io`] (text and binary forms).
//! Invariants: a value of a given type has exactly one [`PhysType`]; a `Bytes` payload has no
//! length header and no padding; bytes from disk or network never panic.
//! It must never know: catalogs, transactions, pages, sessions.

pub mod acl;
pub mod array;
pub mod batch;
pub mod bits;
mod blob;
pub mod compare;
pub mod datetime;
mod datum;
pub mod encoding;
pub mod ext_stats;
pub mod geo;
pub mod io;
pub mod json;
pub mod jsonpath;
pub mod math;
pub mod net;
pub mod numeric;
pub mod oid;
pub mod range;
pub mod record;
pub mod snapshot;
pub mod ts;
pub mod tuple;
pub mod xml;

pub use batch::{BATCH_ROWS, Batch, Bitmap, BytesColumn, Column, ColumnBuilder, ColumnData};
pub use blob::Blob;
pub use datum::{Datum, PhysType, phys_type};
pub use io::{Format, IoCtx, TypeInfo, TypeLookup};
pub use tuple::{Attr, Detoast, NoDetoast, TupleDesc};
