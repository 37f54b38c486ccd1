//! The syntax tree: what was written, with byte offsets, before any name is looked up.
//!
//! A node keeps the user's structure where PostgreSQL's messages or deparsing need it, and
//! rewrites pure sugar as PostgreSQL's grammar does (`AT TIME ZONE` is a call of `timezone`).

mod alter;
mod command;
mod ddl;
mod define;
mod expr;
mod query;
mod role;
pub mod walk;

pub use alter::*;
pub use command::*;
pub use ddl::*;
pub use define::*;
pub use expr::*;
pub use query::*;
pub use role::*;

/// A byte offset into the statement's text.
pub type Pos = u32;

/// The place of a node that was not in the text.
pub const NO_POS: Pos = u32::MAX;

/// A statement of a query string.
#[derive(Clone, Debug, PartialEq)]
pub struct RawStmt {
    /// The statement.
    pub stmt: Stmt,
    /// Byte offset of its first token.
    pub location: Pos,
    /// Its length in bytes, without the semicolon.
    pub len: u32,
}

/// Any statement.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Stmt {
    Select(Box<SelectStmt>),
    Insert(Box<InsertStmt>),
    Update(Box<UpdateStmt>),
    Delete(Box<DeleteStmt>),
    Merge(Box<MergeStmt>),
    Transaction(TransactionStmt),
    Copy(Box<CopyStmt>),
    Truncate(TruncateStmt),
    Explain(Box<ExplainStmt>),
    Prepare(Box<PrepareStmt>),
    Execute(ExecuteStmt),
    /// DEALLOCATE name; none is ALL.
    Deallocate(Option<String>),
    Set(SetStmt),
    Show(ShowStmt),
    Vacuum(VacuumStmt),
    /// CHECKPOINT with its options.
    Checkpoint(Vec<DefElem>),
    Reindex(ReindexStmt),
    Cluster(ClusterStmt),
    Lock(LockStmt),
    Listen(String),
    /// UNLISTEN; none is *.
    Unlisten(Option<String>),
    Notify(NotifyStmt),
    DeclareCursor(Box<DeclareCursorStmt>),
    Fetch(FetchStmt),
    /// CLOSE; none is ALL.
    Close(Option<String>),
    Discard(DiscardTarget),
    Do(Vec<DefElem>),
    Call(Box<FuncCall>),
    Load(String),
    SetConstraints(SetConstraintsStmt),

    CreateTable(Box<CreateTableStmt>),
    CreateTableAs(Box<CreateTableAsStmt>),
    CreateIndex(Box<CreateIndexStmt>),
    CreateSequence(Box<CreateSequenceStmt>),
    CreateView(Box<CreateViewStmt>),
    RefreshMatView(RefreshMatViewStmt),
    CreateSchema(Box<CreateSchemaStmt>),
    CreateDatabase(CreateDatabaseStmt),
    DropDatabase(DropDatabaseStmt),
    AlterDatabase(AlterDatabaseStmt),
    CreateTablespace(CreateTablespaceStmt),
    DropTablespace {
        name: String,
        missing_ok: bool,
    },
    AlterTablespace {
        name: String,
        options: Vec<DefElem>,
        reset: bool,
    },
    CreateType(Box<CreateTypeStmt>),
    CreateDomain(Box<CreateDomainStmt>),
    AlterDomain(Box<AlterDomainStmt>),
    AlterEnum(AlterEnumStmt),
    Define(Box<DefineStmt>),
    CreateFunction(Box<CreateFunctionStmt>),
    AlterFunction(Box<AlterFunctionStmt>),
    CreateTrigger(Box<CreateTriggerStmt>),
    CreateEventTrigger(CreateEventTriggerStmt),
    AlterEventTrigger {
        name: String,
        state: TriggerState,
    },
    CreateRule(Box<CreateRuleStmt>),
    CreatePolicy(Box<PolicyStmt>),
    AlterPolicy(Box<PolicyStmt>),
    CreateCast(Box<CreateCastStmt>),
    CreateConversion(CreateConversionStmt),
    CreateTransform(Box<CreateTransformStmt>),
    CreateAccessMethod(CreateAccessMethodStmt),
    CreateLanguage(CreateLanguageStmt),
    CreateOpClass(Box<CreateOpClassStmt>),
    CreateOpFamily {
        name: Name,
        access_method: String,
    },
    AlterOpFamily(Box<AlterOpFamilyStmt>),
    AlterOperator(Box<AlterOperatorStmt>),
    AlterType {
        name: Name,
        options: Vec<DefElem>,
    },
    CreateStatistics(Box<CreateStatisticsStmt>),
    AlterStatistics(AlterStatisticsStmt),
    AlterCollationRefresh(Name),
    AlterTsDictionary {
        name: Name,
        options: Vec<DefElem>,
    },
    AlterTsConfiguration(AlterTsConfigurationStmt),
    CreateExtension(CreateExtensionStmt),
    AlterExtensionUpdate {
        name: String,
        options: Vec<DefElem>,
    },
    AlterExtensionContents {
        name: String,
        add: bool,
        object: Box<Object>,
    },
    CreateForeignDataWrapper(ForeignDataWrapperStmt),
    AlterForeignDataWrapper(ForeignDataWrapperStmt),
    CreateForeignServer(CreateForeignServerStmt),
    AlterForeignServer(AlterForeignServerStmt),
    UserMapping(UserMappingStmt),
    ImportForeignSchema(ImportForeignSchemaStmt),
    CreatePublication(Box<PublicationStmt>),
    AlterPublication(Box<PublicationStmt>),
    CreateSubscription(SubscriptionStmt),
    AlterSubscription(SubscriptionStmt),
    DropSubscription {
        name: String,
        missing_ok: bool,
        cascade: bool,
    },

    AlterTable(Box<AlterTableStmt>),
    /// ALTER TABLE ALL IN TABLESPACE.
    MoveAll(MoveAllStmt),
    AlterSequence(Box<AlterSequenceStmt>),
    Rename(Box<RenameStmt>),
    SetSchema(Box<SetSchemaStmt>),
    Owner(Box<OwnerStmt>),
    Depends(Box<DependsStmt>),
    Drop(Box<DropStmt>),
    Comment(Box<CommentStmt>),
    SecurityLabel(Box<SecurityLabelStmt>),

    CreateRole(CreateRoleStmt),
    AlterRole(AlterRoleStmt),
    AlterRoleSet(AlterRoleSetStmt),
    DropRole {
        roles: Vec<RoleSpec>,
        missing_ok: bool,
    },
    Grant(Box<GrantStmt>),
    GrantRole(GrantRoleStmt),
    AlterDefaultPrivileges(Box<AlterDefaultPrivilegesStmt>),
    DropOwned {
        roles: Vec<RoleSpec>,
        cascade: bool,
    },
    ReassignOwned {
        roles: Vec<RoleSpec>,
        new_role: RoleSpec,
    },
    AlterSystem(SetStmt),
}
