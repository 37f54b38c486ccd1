//! System tables as descriptors: what exists, by OID and by name, as one transaction sees it.
//!
//! Entry points: [`CatalogView`], a cheap handle with every lookup; [`desc`], what lookups give;
//! [`Source`], where a view gets its rows from ([`MemorySource`] has the built-in objects and what
//! a test adds).
//! Invariants: a descriptor never changes once it is handed out; a change makes a new one.
//! It must never know about statements, plans or the wire.

mod builtin;
pub mod desc;
mod memory;
mod objects;
pub mod oids;
mod source;
mod view;

pub use desc::*;
pub use memory::MemorySource;
pub use objects::Objects;
pub use source::Source;
pub use view::{CatalogView, ViewContext};
