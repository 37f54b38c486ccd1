//! Definitions of functions, triggers, operators and what else is not a relation.

use super::*;

/// CREATE AGGREGATE, OPERATOR, TYPE (base or shell), TEXT SEARCH .., COLLATION.
#[derive(Clone, Debug, PartialEq)]
pub struct DefineStmt {
    /// What.
    pub kind: ObjectKind,
    /// Its name; that of an operator has the operator last.
    pub name: Name,
    /// OR REPLACE.
    pub replace: bool,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// An aggregate's parameters; none in the old syntax.
    pub signature: Option<super::FuncSignature>,
    /// The definition; none for a shell type.
    pub definition: Option<Vec<DefElem>>,
    /// COLLATION .. FROM.
    pub from: Option<Name>,
}

/// Modes of parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ParamMode {
    Default,
    In,
    Out,
    InOut,
    Variadic,
    Table,
}

/// A parameter of a function.
#[derive(Clone, Debug, PartialEq)]
pub struct FuncParam {
    /// The name.
    pub name: Option<String>,
    /// The type.
    pub type_name: TypeName,
    /// The mode.
    pub mode: ParamMode,
    /// DEFAULT.
    pub default: Option<Expr>,
    /// Where it starts.
    pub pos: Pos,
}

/// CREATE FUNCTION and PROCEDURE.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateFunctionStmt {
    /// OR REPLACE.
    pub replace: bool,
    /// PROCEDURE.
    pub procedure: bool,
    /// The function.
    pub name: Name,
    /// Parameters; the columns of RETURNS TABLE come last with mode `Table`.
    pub params: Vec<FuncParam>,
    /// RETURNS; none for RETURNS TABLE.
    pub returns: Option<TypeName>,
    /// RETURNS TABLE was written.
    pub returns_table: bool,
    /// Options under PostgreSQL's names (`as`, `language`, `volatility`, `strict`, ...).
    pub options: Vec<DefElem>,
    /// A body in SQL.
    pub body: Option<FuncBody>,
}

/// The body of a function in SQL.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum FuncBody {
    Return(Expr),
    Atomic(Vec<super::RawStmt>),
}

/// ALTER FUNCTION, PROCEDURE, ROUTINE with options.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterFunctionStmt {
    /// The function.
    pub object: Object,
    /// Options.
    pub options: Vec<DefElem>,
}

/// When a trigger fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum TriggerTiming {
    Before,
    After,
    InsteadOf,
}

/// What fires a trigger.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum TriggerEvent {
    Insert,
    Delete,
    /// UPDATE OF columns; empty is any.
    Update(Vec<String>),
    Truncate,
}

/// REFERENCING.
#[derive(Clone, Debug, PartialEq)]
pub struct TriggerTransition {
    /// The name.
    pub name: String,
    /// NEW.
    pub is_new: bool,
    /// TABLE.
    pub is_table: bool,
}

/// CREATE TRIGGER.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateTriggerStmt {
    /// OR REPLACE.
    pub replace: bool,
    /// CONSTRAINT.
    pub is_constraint: bool,
    /// The name.
    pub name: String,
    /// The table.
    pub rel: RelName,
    /// BEFORE, AFTER, INSTEAD OF.
    pub timing: TriggerTiming,
    /// The events.
    pub events: Vec<TriggerEvent>,
    /// FOR EACH ROW.
    pub for_row: bool,
    /// REFERENCING.
    pub transitions: Vec<TriggerTransition>,
    /// WHEN.
    pub when: Option<Expr>,
    /// The function.
    pub function: Name,
    /// Its arguments.
    pub args: Vec<String>,
    /// DEFERRABLE.
    pub deferrable: bool,
    /// INITIALLY DEFERRED.
    pub initially_deferred: bool,
    /// FROM of a constraint trigger.
    pub constraint_rel: Option<RelName>,
}

/// CREATE EVENT TRIGGER.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateEventTriggerStmt {
    /// The name.
    pub name: String,
    /// ON.
    pub event: String,
    /// WHEN var IN (values).
    pub when: Vec<(Ident, Vec<String>)>,
    /// The function.
    pub function: Name,
}

/// ENABLE / DISABLE of triggers and rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum TriggerState {
    Enable,
    EnableAlways,
    EnableReplica,
    Disable,
}

/// Events of rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum RuleEvent {
    Select,
    Insert,
    Update,
    Delete,
}

/// CREATE RULE.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateRuleStmt {
    /// OR REPLACE.
    pub replace: bool,
    /// The name.
    pub name: String,
    /// The relation.
    pub rel: RelName,
    /// ON.
    pub event: RuleEvent,
    /// WHERE.
    pub where_clause: Option<Expr>,
    /// INSTEAD.
    pub instead: bool,
    /// The commands; empty is NOTHING.
    pub actions: Vec<super::RawStmt>,
}

/// CREATE and ALTER POLICY.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyStmt {
    /// The name.
    pub name: String,
    /// The table.
    pub rel: RelName,
    /// AS PERMISSIVE.
    pub permissive: bool,
    /// FOR: all, select, insert, update, delete.
    pub command: String,
    /// TO; none if ALTER does not say.
    pub roles: Option<Vec<RoleSpec>>,
    /// USING.
    pub using: Option<Expr>,
    /// WITH CHECK.
    pub check: Option<Expr>,
}

/// When a cast applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum CastContext {
    Implicit,
    Assignment,
    Explicit,
}

/// CREATE CAST.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateCastStmt {
    /// From.
    pub source: TypeName,
    /// To.
    pub target: TypeName,
    /// WITH FUNCTION.
    pub function: Option<Object>,
    /// WITH INOUT.
    pub inout: bool,
    /// AS.
    pub context: CastContext,
}

/// CREATE CONVERSION.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateConversionStmt {
    /// The name.
    pub name: Name,
    /// FOR.
    pub source: String,
    /// TO.
    pub target: String,
    /// FROM.
    pub function: Name,
    /// DEFAULT.
    pub default: bool,
}

/// CREATE TRANSFORM.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateTransformStmt {
    /// OR REPLACE.
    pub replace: bool,
    /// The type.
    pub type_name: TypeName,
    /// The language.
    pub language: String,
    /// FROM SQL WITH FUNCTION.
    pub from_sql: Option<Object>,
    /// TO SQL WITH FUNCTION.
    pub to_sql: Option<Object>,
}

/// CREATE ACCESS METHOD.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateAccessMethodStmt {
    /// The name.
    pub name: String,
    /// TYPE TABLE (else INDEX).
    pub table: bool,
    /// HANDLER.
    pub handler: Name,
}

/// CREATE LANGUAGE.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateLanguageStmt {
    /// OR REPLACE.
    pub replace: bool,
    /// TRUSTED.
    pub trusted: bool,
    /// The name.
    pub name: String,
    /// HANDLER.
    pub handler: Option<Name>,
    /// INLINE.
    pub inline: Option<Name>,
    /// VALIDATOR.
    pub validator: Option<Name>,
}

/// A member of an operator class or family.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum OpClassItem {
    Operator {
        number: i32,
        op: OpName,
        operands: Option<(Option<TypeName>, Option<TypeName>)>,
        /// FOR ORDER BY family.
        order_family: Option<Name>,
    },
    Function {
        number: i32,
        class_args: Vec<TypeName>,
        function: Name,
        signature: Option<super::FuncSignature>,
    },
    Storage(TypeName),
}

/// CREATE OPERATOR CLASS.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateOpClassStmt {
    /// The name.
    pub name: Name,
    /// DEFAULT.
    pub default: bool,
    /// FOR TYPE.
    pub type_name: TypeName,
    /// USING.
    pub access_method: String,
    /// FAMILY.
    pub family: Option<Name>,
    /// AS.
    pub items: Vec<OpClassItem>,
}

/// ALTER OPERATOR FAMILY ADD / DROP.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterOpFamilyStmt {
    /// The name.
    pub name: Name,
    /// USING.
    pub access_method: String,
    /// DROP.
    pub drop: bool,
    /// The members; those dropped have numbers and types only.
    pub items: Vec<OpClassItem>,
}

/// ALTER OPERATOR .. SET (..).
#[derive(Clone, Debug, PartialEq)]
pub struct AlterOperatorStmt {
    /// The operator.
    pub object: Object,
    /// Options; a value of none is NONE.
    pub options: Vec<DefElem>,
}

/// CREATE STATISTICS.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateStatisticsStmt {
    /// The name.
    pub name: Option<Name>,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// Kinds.
    pub kinds: Vec<String>,
    /// Columns and expressions.
    pub elems: Vec<Expr>,
    /// FROM.
    pub from: Vec<FromItem>,
}

/// ALTER STATISTICS .. SET STATISTICS.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterStatisticsStmt {
    /// The name.
    pub name: Name,
    /// IF EXISTS.
    pub missing_ok: bool,
    /// The target; none is DEFAULT.
    pub target: Option<i32>,
}

/// ALTER TEXT SEARCH CONFIGURATION.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterTsConfigurationStmt {
    /// The name.
    pub name: Name,
    /// What.
    pub action: TsConfigAction,
}

/// What ALTER TEXT SEARCH CONFIGURATION does.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum TsConfigAction {
    Add { tokens: Vec<String>, dicts: Vec<Name> },
    Alter { tokens: Vec<String>, dicts: Vec<Name> },
    Replace { tokens: Vec<String>, old: Name, new: Name },
    Drop { tokens: Vec<String>, missing_ok: bool },
}

/// CREATE EXTENSION.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateExtensionStmt {
    /// The name.
    pub name: String,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// Options: schema, new_version, cascade.
    pub options: Vec<DefElem>,
}

/// CREATE and ALTER FOREIGN DATA WRAPPER.
#[derive(Clone, Debug, PartialEq)]
pub struct ForeignDataWrapperStmt {
    /// The name.
    pub name: String,
    /// handler, validator.
    pub func_options: Vec<DefElem>,
    /// OPTIONS.
    pub options: Vec<DefElem>,
}

/// CREATE SERVER.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateForeignServerStmt {
    /// The name.
    pub name: String,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// TYPE.
    pub server_type: Option<String>,
    /// VERSION.
    pub version: Option<String>,
    /// FOREIGN DATA WRAPPER.
    pub wrapper: String,
    /// OPTIONS.
    pub options: Vec<DefElem>,
}

/// ALTER SERVER.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterForeignServerStmt {
    /// The name.
    pub name: String,
    /// VERSION; inner none is NULL.
    pub version: Option<Option<String>>,
    /// OPTIONS.
    pub options: Vec<DefElem>,
}

/// CREATE, ALTER, DROP USER MAPPING.
#[derive(Clone, Debug, PartialEq)]
pub struct UserMappingStmt {
    /// Which.
    pub action: UserMappingAction,
    /// FOR.
    pub user: RoleSpec,
    /// SERVER.
    pub server: String,
    /// IF [NOT] EXISTS.
    pub if_exists: bool,
    /// OPTIONS.
    pub options: Vec<DefElem>,
}

/// The verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum UserMappingAction {
    Create,
    Alter,
    Drop,
}

/// IMPORT FOREIGN SCHEMA.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportForeignSchemaStmt {
    /// The remote schema.
    pub remote_schema: String,
    /// LIMIT TO (true) or EXCEPT, with the tables.
    pub filter: Option<(bool, Vec<RelName>)>,
    /// FROM SERVER.
    pub server: String,
    /// INTO.
    pub local_schema: String,
    /// OPTIONS.
    pub options: Vec<DefElem>,
}

/// An object of a publication.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum PublicationObject {
    Table { table: TableRef, columns: Vec<String>, filter: Option<Expr> },
    Schema(String, Pos),
    CurrentSchema(Pos),
}

/// What a publication statement does to the objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum PublicationAction {
    Create,
    Add,
    Set,
    Drop,
    Options,
}

/// CREATE and ALTER PUBLICATION.
#[derive(Clone, Debug, PartialEq)]
pub struct PublicationStmt {
    /// The name.
    pub name: String,
    /// What.
    pub action: PublicationAction,
    /// FOR ALL TABLES.
    pub all_tables: bool,
    /// The objects.
    pub objects: Vec<PublicationObject>,
    /// WITH / SET.
    pub options: Vec<DefElem>,
}

/// What a subscription statement does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum SubscriptionAction {
    Create,
    Options,
    Connection,
    Refresh,
    AddPublication,
    SetPublication,
    DropPublication,
    Enable,
    Disable,
    Skip,
}

/// CREATE and ALTER SUBSCRIPTION.
#[derive(Clone, Debug, PartialEq)]
pub struct SubscriptionStmt {
    /// The name.
    pub name: String,
    /// What.
    pub action: SubscriptionAction,
    /// CONNECTION.
    pub connection: Option<String>,
    /// PUBLICATION.
    pub publications: Vec<String>,
    /// WITH.
    pub options: Vec<DefElem>,
}
