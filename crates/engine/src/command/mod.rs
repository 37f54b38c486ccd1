//! Commands that are neither queries nor definitions, one file a family.

mod alter_system;
pub mod analyze;
mod analyze_extended;
pub mod call;
mod cluster;
pub mod copy;
pub mod create_as;
mod database;
mod db_role_setting;
pub mod explain;
pub(crate) mod freeze;
mod reindex;
mod rewrite;
pub mod set;
pub mod tablespace;
mod truncate;
pub(crate) mod upkeep_report;
pub mod vacuum;
mod vacuum_cost;
mod vacuum_options;
