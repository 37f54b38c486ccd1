//! Programs that read the files of a stopped server: `pg_checksums`, `pg_waldump`.

pub mod pg_checksums;
pub mod pg_waldump;
