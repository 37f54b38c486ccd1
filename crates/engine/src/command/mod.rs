//! Commands that are neither queries nor definitions, one file a family.

pub mod analyze;
pub mod copy;
pub mod create_as;
pub mod explain;
pub mod set;
pub mod truncate;
pub mod vacuum;
