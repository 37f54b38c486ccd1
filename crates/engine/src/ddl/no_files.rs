//! Definitions looked at where nothing may be changed: no files, no locks.

use super::{BuiltIndex, RelStorage};
use base::{Error, Oid, RelFile, Result, Tid, Xid};
use catalog::{ConstraintDesc, IndexDesc, Persistence, RelationDesc, SysRow};
use parser::ast::LockMode;

/// Refuses everything.
pub struct NoFiles;

fn refuse<T>() -> Result<T> {
    Err(Error::internal("a definition is changed where it may only be read"))
}

impl RelStorage for NoFiles {
    fn lock(&self, _: Oid, _: LockMode) -> Result<()> {
        refuse()
    }
    fn in_use(&self, _: Oid) -> bool {
        false
    }
    fn new_file(&self, _: Oid, _: Persistence) -> Result<RelFile> {
        refuse()
    }
    fn oldest_id(&self) -> Xid {
        Xid::FIRST_NORMAL
    }
    fn create(&self, _: &RelationDesc) -> Result<()> {
        refuse()
    }
    fn drop_at_commit(&self, _: RelFile, _: Persistence) {}
    fn build_index(&self, _: &RelationDesc, _: &IndexDesc) -> Result<BuiltIndex> {
        refuse()
    }
    fn check_not_null(&self, _: &RelationDesc, _: i16) -> Result<()> {
        refuse()
    }
    fn check_rows(&self, _: &RelationDesc, _: &str, _: &ir::Expr) -> Result<()> {
        refuse()
    }
    fn check_foreign_key(&self, _: &RelationDesc, _: &ConstraintDesc) -> Result<()> {
        refuse()
    }
    fn check_not_referenced(&self, _: &ConstraintDesc) -> Result<()> {
        refuse()
    }
    fn check_excluded(&self, _: &RelationDesc, _: &IndexDesc) -> Result<()> {
        refuse()
    }
    fn note_index(&self, _: Oid, _: Tid, _: &dyn Fn(&mut SysRow) -> Result<bool>) -> Result<bool> {
        refuse()
    }
    fn open(&self, _: &RelationDesc) -> Result<()> {
        refuse()
    }
    fn rewrite(
        &self,
        _: &RelationDesc,
        _: &RelationDesc,
        _: &[(i16, ir::Expr, bool)],
    ) -> Result<()> {
        refuse()
    }
    fn stray(&self, _: Oid, _: Oid) -> Result<Option<Oid>> {
        refuse()
    }
    fn violates(&self, _: &RelationDesc, _: &ir::Expr) -> Result<bool> {
        refuse()
    }
    fn evaluate(&self, _: &ir::Expr) -> Result<types::Datum> {
        refuse()
    }
    fn sequence_state(&self, _: &RelationDesc) -> Result<(i64, bool)> {
        refuse()
    }
    fn start_sequence(&self, _: &RelationDesc, _: i64, _: bool) -> Result<()> {
        refuse()
    }
}
