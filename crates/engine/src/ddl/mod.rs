//! Statements that define, change and drop objects, one file a family. All work on rows of the
//! system tables through [`catalog::RowWriter`], and on files through [`RelStorage`]: both are
//! undone if the transaction is.

mod aggregate;
pub mod alter;
mod base_type;
mod cast;
pub mod collation;
mod column;
pub mod comment;
pub mod create_type;
pub mod describe;
mod detach;
pub mod drop;
mod event_trigger;
mod exclude;
mod foreign;
pub mod foreign_key;
mod foreign_key_tree;
pub mod function;
pub(crate) mod generated;
pub mod grant;
mod identity;
pub mod index;
pub mod inherit;
pub mod key;
mod language;
pub mod like;
mod lookup;
pub mod name;
pub mod no_files;
mod opclass;
mod operator;
pub mod option;
pub mod partition;
pub mod policy;
mod publication;
mod publication_filter;
pub mod references;
pub mod relation;
pub mod reloption;
pub mod role;
mod rule;
pub mod schema;
pub mod sequence;
pub mod shared_depend;
mod statistics;
mod subscription;
pub mod table;
pub mod text_search;
pub mod trigger;
pub mod type_name;

pub mod view;

pub use identity::{Identity, is_class};

use crate::session::StatementEnv;
use crate::settings::SessionSettings;
use base::{Error, Oid, RelFile, Result, Xid};
use catalog::{
    CatalogView, ConstraintDesc, IndexDesc, Persistence, RelationDesc, RowWriter, SysRow,
};
use parser::ast::LockMode;
use std::cell::RefCell;

/// What the build of an index has found.
pub struct BuiltIndex {
    /// Rows of the table.
    pub rows: u64,
    /// Entries of the index: a partial one has fewer.
    pub entries: u64,
    /// Pages of the table.
    pub table_pages: u32,
    /// Pages of the index.
    pub pages: u32,
}

/// What definitions do to files and locks.
pub trait RelStorage {
    /// Fails inside a transaction block.
    fn prevent_in_block(&self, _what: &str) -> Result<()> {
        Ok(())
    }
    /// Takes a lock on a relation until the end of the transaction.
    fn lock(&self, relation: Oid, mode: LockMode) -> Result<()>;
    /// True if an open portal of the session reads the table or index.
    fn in_use(&self, relation: Oid) -> bool;
    /// A number for a new relation's files.
    fn new_file(&self, tablespace: Oid, persistence: Persistence) -> Result<RelFile>;
    /// The id of the oldest transaction that runs: rows written from now on have none older.
    fn oldest_id(&self) -> Xid;
    /// A relation has another file from now on.
    fn moved(&self, _from: RelFile, _to: RelFile) {}
    /// Makes the empty files; they go if the transaction is rolled back.
    fn create(&self, rel: &RelationDesc) -> Result<()>;
    /// Removes files when the transaction commits.
    fn drop_at_commit(&self, file: RelFile, persistence: Persistence);
    /// Fills a new index from its table.
    fn build_index(&self, table: &RelationDesc, index: &IndexDesc) -> Result<BuiltIndex>;
    /// Fails if a row of the table has NULL in the column.
    fn check_not_null(&self, table: &RelationDesc, attnum: i16) -> Result<()>;
    /// Fails if a row of the table does not pass the check.
    fn check_rows(&self, table: &RelationDesc, name: &str, check: &ir::Expr) -> Result<()>;
    /// Fails if a row of the table refers to nothing.
    fn check_foreign_key(&self, table: &RelationDesc, fk: &ConstraintDesc) -> Result<()>;
    /// Fails if a row of the table refers to one of a partition that is to go.
    fn check_not_referenced(&self, fk: &ConstraintDesc) -> Result<()>;
    /// Fails if two rows of a table conflict in an exclusion constraint.
    fn check_excluded(&self, table: &RelationDesc, index: &IndexDesc) -> Result<()>;
    /// Changes a table's row of `pg_class` apart from the transaction: others that make indexes
    /// need not wait for it. False if only this transaction knows the row. `change` tells whether
    /// there was something to change.
    fn note_index(
        &self,
        table: Oid,
        row: base::Tid,
        change: &dyn Fn(&mut SysRow) -> Result<bool>,
    ) -> Result<bool>;
    /// Opens a table's files, so that they can be read after it has got others.
    fn open(&self, table: &RelationDesc) -> Result<()>;
    /// Writes the rows of `old` to the files of `new`, with some columns computed: from the old
    /// row, or (`true`) from the new one.
    fn rewrite(
        &self,
        old: &RelationDesc,
        new: &RelationDesc,
        values: &[(i16, ir::Expr, bool)],
    ) -> Result<()>;
    /// The table at or below a partition that has a row which does not belong there.
    fn stray(&self, partition: Oid, parent: Oid) -> Result<Option<Oid>>;
    /// True if a condition is false for some row of a table.
    fn violates(&self, table: &RelationDesc, condition: &ir::Expr) -> Result<bool>;
    /// The value of an expression without columns.
    fn evaluate(&self, expr: &ir::Expr) -> Result<types::Datum>;
    /// The last value of a sequence, and whether it was used.
    fn sequence_state(&self, rel: &RelationDesc) -> Result<(i64, bool)>;
    /// Writes a sequence's first row.
    fn start_sequence(&self, rel: &RelationDesc, last: i64, called: bool) -> Result<()>;
}

/// What a definition works with.
pub struct Ddl<'a> {
    /// Rows of the system tables.
    pub rows: &'a dyn RowWriter,
    /// The same as descriptors; always up to date with the rows.
    pub view: CatalogView,
    /// Files and locks.
    pub storage: &'a dyn RelStorage,
    /// The session's settings.
    pub settings: &'a SessionSettings,
    /// What to tell the client.
    pub notices: &'a RefCell<Vec<Error>>,
    /// The statement's surroundings.
    pub env: &'a StatementEnv<'a>,
    /// The text that positions in the syntax tree count in.
    pub text: &'a str,
}

impl Ddl<'_> {
    /// Tells the client.
    pub fn notice(&self, notice: Error) {
        self.notices.borrow_mut().push(notice);
    }

    /// The current user.
    pub fn user(&self) -> Oid {
        self.view.context().user
    }

    /// True if the current user is a superuser.
    pub fn is_superuser(&self) -> Result<bool> {
        Ok(self.view.role(self.user())?.superuser)
    }
}
