//! What the session does around changes of rows: triggers and foreign keys.

use base::{Error, Oid, Result, Tid};
use catalog::RelationDesc;
use ir::CmdType;
use types::Datum;

/// One row that changes, or has changed.
pub struct RowChange<'a> {
    /// The table.
    pub rel: &'a RelationDesc,
    /// Insert, update or delete.
    pub command: CmdType,
    /// The old version's place and columns; None for an insertion.
    pub old: Option<(Tid, &'a [Datum])>,
    /// The new version's place (once it has one) and columns; None for a deletion.
    pub new: Option<(Option<Tid>, &'a [Datum])>,
    /// Columns that the statement assigns to, for an update.
    pub assigned: &'a [i16],
    /// A deletion that is half of a move to another partition.
    pub moving: bool,
}

/// Called around changes of rows of tables that have triggers or foreign keys.
pub trait Hooks {
    /// Before the first row of a statement (also if there is none).
    fn before_statement(
        &self,
        rel: &RelationDesc,
        command: CmdType,
        assigned: &[i16],
    ) -> Result<()> {
        let _ = (rel, command, assigned);
        Ok(())
    }

    /// After the last row of a statement.
    fn after_statement(
        &self,
        rel: &RelationDesc,
        command: CmdType,
        assigned: &[i16],
    ) -> Result<()> {
        let _ = (rel, command, assigned);
        Ok(())
    }

    /// Before a row changes: None leaves it alone, else the new version (for a deletion the value
    /// does not matter).
    fn before_row(&self, change: &RowChange<'_>) -> Result<Option<Vec<Datum>>> {
        Ok(Some(change.new.map(|(_, v)| v.to_vec()).unwrap_or_default()))
    }

    /// After a row has changed: queues triggers and foreign key checks.
    fn after_row(&self, change: &RowChange<'_>) -> Result<()> {
        let _ = change;
        Ok(())
    }

    /// After a row has moved from the partition `leaf` to another: the change is an update of the
    /// table that the statement names.
    fn after_move(&self, leaf: &RelationDesc, change: &RowChange<'_>) -> Result<()> {
        let _ = (leaf, change);
        Ok(())
    }

    /// The columns of a relation that the user may read, where that is not all of it: messages
    /// must not show others.
    fn readable_columns(&self, rel: &RelationDesc) -> Option<Vec<i16>> {
        let _ = rel;
        None
    }

    /// Policies decide which rows of a relation the user sees: messages show none.
    fn hides_rows(&self, rel: &RelationDesc) -> bool {
        let _ = rel;
        false
    }

    /// The key columns of an index, or of a partitioned table, as text with their expressions.
    fn key_columns(&self, relation: Oid) -> Result<String> {
        let _ = relation;
        Err(Error::unsupported("the text of a key"))
    }

    /// A row may violate a unique constraint that is checked later.
    fn defer_unique(&self, rel: &RelationDesc, index: Oid, tid: Tid) -> Result<()> {
        let _ = (rel, index, tid);
        Err(Error::unsupported("a deferrable unique constraint"))
    }
}

/// No triggers and no foreign keys.
pub struct NoHooks;

impl Hooks for NoHooks {}
