//! System tables as descriptors: what exists, by OID and by name, as one transaction sees it.
//!
//! Entry points: [`CatalogView`], a cheap handle with every lookup; [`desc`], what lookups give;
//! [`Source`], where a view gets its rows from: [`CachedSource`] over the tables, or
//! [`MemorySource`] with the built-in objects and what a test adds; [`rows`], to read and change
//! rows of system tables.
//! Invariants: a descriptor never changes once it is handed out; a change makes a new one; the
//! shared cache holds committed rows only.
//! It must never know about statements, plans or the wire.

pub mod acl;
pub mod acl_change;
mod bootstrap;
pub mod builtin;
pub mod cache;
mod cached;
mod change;
pub mod computed;
pub mod depend;
pub mod desc;
pub mod file_map;
pub mod generic;
mod heap_store;
pub mod indexes;
mod load_object;
mod load_relation;
mod load_statistic;
mod memory;
mod objects;
pub mod oids;
mod open;
pub mod partition;
pub mod privilege;
pub mod prune;
pub mod rows;
mod source;
pub mod vector;
mod view;
pub mod views;

pub use acl::AclItem;
pub use bootstrap::{BootstrapOptions, bootstrap};
pub use cached::{CachedSource, Overlay};
pub use change::{Change, changes_of};
pub use desc::*;
pub use file_map::FileMap;
pub use heap_store::{HeapStore, KeptLocks, OidSource, OpenTable, SysTables};
pub use load_relation::{Loader, options};
pub use memory::MemorySource;
pub use objects::Objects;
pub use open::{
    OpenRelation, Opened, builtin_support, heap_desc, held_like, key_cmp, open_index,
    open_relation, type_info,
};
pub use rows::{RowStore, RowWriter, SysRow};
pub use source::Source;
pub use view::{CatalogView, ViewContext};
