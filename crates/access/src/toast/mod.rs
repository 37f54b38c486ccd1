//! Values too long for a row: compressed in place or stored apart in a TOAST table, a heap with
//! columns `chunk_id`, `chunk_seq` and `chunk_data` and an index on the first two.

pub mod reduce;
