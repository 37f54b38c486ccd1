//! The heap: rows with their versions in slotted pages.

pub mod page;
