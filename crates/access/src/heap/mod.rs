//! The heap: rows with their versions in slotted pages.

pub mod change;
pub mod decode;
pub mod page;
pub mod prune;
pub mod record;
pub mod vm;
