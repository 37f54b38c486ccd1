//! ALTER of anything.

use super::alter::is_relation;
use super::*;

impl Parser<'_> {
    /// ALTER ..
    pub(super) fn alter(&mut self) -> Result<Stmt> {
        self.bump();
        match (self.kw(), self.kw_ahead(1)) {
            (Kw::System, _) => {
                self.bump();
                if self.is_kw(Kw::Set) {
                    self.bump();
                    let kind = self.set_rest_more()?;
                    return Ok(Stmt::AlterSystem(SetStmt { local: false, kind }));
                }
                return Ok(Stmt::AlterSystem(self.set_or_reset()?));
            }
            (Kw::Default, _) => return self.alter_default_privileges(),
            (Kw::User, Kw::Mapping) => {
                self.at -= 1;
                return self.user_mapping();
            }
            (Kw::Role | Kw::User | Kw::Group, _) => return self.alter_any_role(),
            _ => {}
        }
        let start = self.at;
        let kind = self.object_kind()?;
        if is_relation(kind) {
            return self.alter_relation(kind);
        }
        use ObjectKind::*;
        match kind {
            Type => return self.alter_type_stmt(),
            Domain => return self.alter_domain(),
            Database => return self.alter_database(),
            Extension => return self.alter_extension(),
            Policy => return self.alter_policy(),
            EventTrigger => return self.alter_event_trigger(),
            ForeignDataWrapper if self.not_generic(1) => {
                self.at = start;
                return self.foreign_data_wrapper(false);
            }
            ForeignServer if self.not_generic(1) => return self.alter_server(),
            Publication if self.not_generic(1) => return self.alter_publication(),
            Subscription if self.not_generic(1) => return self.alter_subscription(),
            Tablespace if self.not_generic(1) => return self.alter_tablespace(),
            Statistics => {
                let missing_ok = self.if_exists()?;
                let object = self.object_of(kind)?;
                if self.accept_kws(&[Kw::Set, Kw::Statistics]) {
                    let target = self.set_target_value()?;
                    let name = object.name;
                    return Ok(Stmt::AlterStatistics(AlterStatisticsStmt {
                        name,
                        missing_ok,
                        target,
                    }));
                }
                return self.alter_generic(object, missing_ok);
            }
            TsDictionary | TsConfiguration | Collation | OpFamily | Operator => {
                return self.alter_by_name(kind);
            }
            LargeObject => {
                let object = self.object_of(kind)?;
                return self.alter_generic(object, false);
            }
            Column | Constraint | Cast | Transform | AccessMethod => {
                self.at = start;
                return Err(self.unexpected());
            }
            _ => {}
        }
        let missing_ok = self.if_exists()?;
        let object = self.object_of(kind)?;
        if matches!(kind, Function | Procedure | Routine) && self.at_function_option() {
            return self.alter_function(object);
        }
        self.alter_generic(object, missing_ok)
    }

    /// Whether the words after a name are none of those that all kinds share.
    fn not_generic(&self, name_tokens: usize) -> bool {
        !matches!(
            (self.kw_ahead(name_tokens), self.kw_ahead(name_tokens + 1)),
            (Kw::Rename, _) | (Kw::Owner, Kw::To)
        )
    }

    /// RENAME TO, OWNER TO, SET SCHEMA, DEPENDS.
    pub(super) fn alter_generic(&mut self, object: Object, missing_ok: bool) -> Result<Stmt> {
        match self.kw() {
            Kw::Rename => {
                self.bump();
                self.expect_kw(Kw::To)?;
                let new_name = self.name()?;
                let relation_kind = object.kind;
                Ok(Stmt::Rename(Box::new(RenameStmt {
                    object,
                    relation_kind,
                    new_name,
                    missing_ok,
                    cascade: false,
                })))
            }
            Kw::Owner => {
                self.bump();
                self.expect_kw(Kw::To)?;
                let owner = self.role_spec()?;
                Ok(Stmt::Owner(Box::new(OwnerStmt { object, owner })))
            }
            Kw::Set => {
                self.bump();
                self.expect_kw(Kw::Schema)?;
                let schema = self.name()?;
                Ok(Stmt::SetSchema(Box::new(SetSchemaStmt { object, schema, missing_ok })))
            }
            Kw::Depends | Kw::No => self.depends(object),
            _ => Err(self.unexpected()),
        }
    }

    /// [NO] DEPENDS ON EXTENSION name.
    pub(super) fn depends(&mut self, object: Object) -> Result<Stmt> {
        let remove = self.accept_kw(Kw::No);
        self.expect_kws(&[Kw::Depends, Kw::On, Kw::Extension])?;
        let extension = self.name()?;
        Ok(Stmt::Depends(Box::new(DependsStmt { object, extension, remove })))
    }

    fn alter_any_role(&mut self) -> Result<Stmt> {
        if self.kw_ahead(2) == Kw::Rename {
            self.bump();
            let object = self.object_of(ObjectKind::Role)?;
            return self.alter_generic(object, false);
        }
        self.alter_role()
    }

    fn alter_type_stmt(&mut self) -> Result<Stmt> {
        let name = self.any_name()?;
        match (self.kw(), self.kw_ahead(1)) {
            (Kw::Add | Kw::Drop | Kw::Alter, Kw::Attribute) => return self.alter_composite(name),
            (Kw::Add, Kw::Value) => {
                self.at += 2;
                let if_not_exists = self.if_not_exists()?;
                let new_value = self.sconst()?;
                let after = self.is_kw(Kw::After);
                let mut neighbor = None;
                if after || self.is_kw(Kw::Before) {
                    self.bump();
                    neighbor = Some(self.sconst()?);
                }
                return Ok(Stmt::AlterEnum(AlterEnumStmt {
                    name,
                    old_value: None,
                    new_value,
                    neighbor,
                    after,
                    if_not_exists,
                }));
            }
            (Kw::Drop, Kw::Value) => {
                let message = "dropping an enum value is not implemented";
                return Err(base::err!(FEATURE_NOT_SUPPORTED, "{message}").at(self.pos()));
            }
            (Kw::Rename, Kw::Value) => {
                self.at += 2;
                let old_value = Some(self.sconst()?);
                self.expect_kw(Kw::To)?;
                return Ok(Stmt::AlterEnum(AlterEnumStmt {
                    name,
                    old_value,
                    new_value: self.sconst()?,
                    neighbor: None,
                    after: false,
                    if_not_exists: false,
                }));
            }
            (Kw::Rename, Kw::Attribute) => {
                self.at += 2;
                let detail = ObjectDetail::Member(self.name()?);
                self.expect_kw(Kw::To)?;
                let new_name = self.name()?;
                let kind = ObjectKind::Attribute;
                return Ok(Stmt::Rename(Box::new(RenameStmt {
                    object: Object { kind, name, only: false, detail },
                    relation_kind: ObjectKind::Type,
                    new_name,
                    missing_ok: false,
                    cascade: self.opt_cascade(),
                })));
            }
            (Kw::Set, _) if self.ahead(1).kind == T::LParen => {
                self.bump();
                return Ok(Stmt::AlterType { name, options: self.operator_options()? });
            }
            _ => {}
        }
        let of = super::expr::plain_type(name.parts.clone(), name.pos);
        let detail = ObjectDetail::Type(of);
        self.alter_generic(Object { kind: ObjectKind::Type, name, only: false, detail }, false)
    }

    fn alter_domain(&mut self) -> Result<Stmt> {
        use AlterDomainAction::*;
        let name = self.any_name()?;
        let action = match (self.kw(), self.kw_ahead(1)) {
            (Kw::Set, Kw::Default) => {
                self.at += 2;
                SetDefault(self.expr()?)
            }
            (Kw::Drop, Kw::Default) => {
                self.at += 2;
                DropDefault
            }
            (Kw::Set, Kw::Not) => {
                self.at += 2;
                self.expect_kw(Kw::Null)?;
                SetNotNull
            }
            (Kw::Drop, Kw::Not) => {
                self.at += 2;
                self.expect_kw(Kw::Null)?;
                DropNotNull
            }
            (Kw::Add, _) => {
                self.bump();
                AddConstraint(self.table_constraint(super::constraint::Place::Domain)?)
            }
            (Kw::Drop, Kw::Constraint) => {
                self.at += 2;
                let missing_ok = self.if_exists()?;
                let name = self.name()?;
                DropConstraint { name, missing_ok, cascade: self.opt_cascade() }
            }
            (Kw::Validate, Kw::Constraint) => {
                self.at += 2;
                ValidateConstraint(self.name()?)
            }
            (Kw::Rename, Kw::Constraint) => {
                self.at += 2;
                let detail = ObjectDetail::Member(self.name()?);
                self.expect_kw(Kw::To)?;
                let kind = ObjectKind::DomainConstraint;
                return Ok(Stmt::Rename(Box::new(RenameStmt {
                    object: Object { kind, name, only: false, detail },
                    relation_kind: ObjectKind::Domain,
                    new_name: self.name()?,
                    missing_ok: false,
                    cascade: false,
                })));
            }
            _ => {
                let of = super::expr::plain_type(name.parts.clone(), name.pos);
                let detail = ObjectDetail::Type(of);
                let kind = ObjectKind::Domain;
                return self.alter_generic(Object { kind, name, only: false, detail }, false);
            }
        };
        Ok(Stmt::AlterDomain(Box::new(AlterDomainStmt { name, action })))
    }

    fn alter_database(&mut self) -> Result<Stmt> {
        if !self.not_generic(1) {
            let object = self.object_of(ObjectKind::Database)?;
            return self.alter_generic(object, false);
        }
        let name = self.name()?;
        if self.accept_kws(&[Kw::Refresh, Kw::Collation, Kw::Version]) {
            return Ok(Stmt::AlterDatabase(AlterDatabaseStmt::RefreshCollation { name }));
        }
        if self.is_kws(&[Kw::Set, Kw::Tablespace]) {
            let pos = self.pos();
            self.at += 2;
            let options = vec![super::lists::text_option("tablespace", self.name()?, pos)];
            return Ok(Stmt::AlterDatabase(AlterDatabaseStmt::Options { name, options }));
        }
        if self.is_any(&[Kw::Set, Kw::Reset]) {
            let set = self.set_or_reset()?;
            return Ok(Stmt::AlterDatabase(AlterDatabaseStmt::Set { name, set }));
        }
        self.accept_kw(Kw::With);
        let options = self.database_options()?;
        Ok(Stmt::AlterDatabase(AlterDatabaseStmt::Options { name, options }))
    }

    fn alter_extension(&mut self) -> Result<Stmt> {
        let name_pos = self.pos();
        let name = self.name()?;
        match self.kw() {
            Kw::Update => {
                self.bump();
                let mut options = Vec::new();
                let pos = self.pos();
                if self.accept_kw(Kw::To) {
                    let version = self.word_or_sconst()?;
                    options.push(super::lists::text_option("new_version", version, pos));
                }
                Ok(Stmt::AlterExtensionUpdate { name, options })
            }
            Kw::Add | Kw::Drop => {
                let add = self.bump().kw == Kw::Add;
                let kind = self.object_kind()?;
                let object = Box::new(self.object_of(kind)?);
                Ok(Stmt::AlterExtensionContents { name, add, object })
            }
            _ => {
                let name = Name { parts: vec![name], pos: name_pos };
                let kind = ObjectKind::Extension;
                let detail = ObjectDetail::None;
                self.alter_generic(Object { kind, name, only: false, detail }, false)
            }
        }
    }

    fn alter_policy(&mut self) -> Result<Stmt> {
        if self.is_kws(&[Kw::If, Kw::Exists]) || self.rename_after_on() {
            let missing_ok = self.if_exists()?;
            let object = self.object_of(ObjectKind::Policy)?;
            return self.alter_generic(object, missing_ok);
        }
        self.at -= 1;
        self.policy(false)
    }

    /// `name ON relation RENAME`.
    fn rename_after_on(&self) -> bool {
        let mut end = 3;
        while self.ahead(end).kind == T::Dot {
            end += 2;
        }
        self.kw_ahead(end) == Kw::Rename
    }

    fn alter_event_trigger(&mut self) -> Result<Stmt> {
        if !self.not_generic(1) {
            let object = self.object_of(ObjectKind::EventTrigger)?;
            return self.alter_generic(object, false);
        }
        let name = self.name()?;
        let state = if self.accept_kw(Kw::Disable) {
            TriggerState::Disable
        } else {
            self.expect_kw(Kw::Enable)?;
            if self.accept_kw(Kw::Always) {
                TriggerState::EnableAlways
            } else if self.accept_kw(Kw::Replica) {
                TriggerState::EnableReplica
            } else {
                TriggerState::Enable
            }
        };
        Ok(Stmt::AlterEventTrigger { name, state })
    }

    fn alter_tablespace(&mut self) -> Result<Stmt> {
        let name = self.name()?;
        let reset = self.accept_kw(Kw::Reset);
        if !reset {
            self.expect_kw(Kw::Set)?;
        }
        Ok(Stmt::AlterTablespace { name, options: self.reloptions()?, reset })
    }

    /// Kinds with commands of their own beside the shared ones.
    fn alter_by_name(&mut self, kind: ObjectKind) -> Result<Stmt> {
        let missing_ok = self.if_exists()?;
        let object = self.object_of(kind)?;
        match (kind, self.kw()) {
            (ObjectKind::Collation, Kw::Refresh) => {
                self.bump();
                self.expect_kw(Kw::Version)?;
                Ok(Stmt::AlterCollationRefresh(object.name))
            }
            (ObjectKind::TsDictionary, _) if self.is(T::LParen) => {
                let options = self.definition()?;
                Ok(Stmt::AlterTsDictionary { name: object.name, options })
            }
            (ObjectKind::TsConfiguration, Kw::Add | Kw::Alter | Kw::Drop) => {
                self.alter_ts_configuration(object.name)
            }
            (ObjectKind::OpFamily, Kw::Add | Kw::Drop) => self.alter_op_family(object),
            (ObjectKind::Operator, Kw::Set) if self.ahead(1).kind == T::LParen => {
                self.bump();
                let options = self.operator_options()?;
                let stmt = AlterOperatorStmt { object, options };
                Ok(Stmt::AlterOperator(Box::new(stmt)))
            }
            _ => self.alter_generic(object, missing_ok),
        }
    }

    /// operator_def_list: a value of NONE is none.
    pub(super) fn operator_options(&mut self) -> Result<Vec<DefElem>> {
        self.paren_list(|p| {
            let pos = p.pos();
            let name = p.col_label()?;
            let mut value = None;
            if p.accept(T::Eq) && !p.accept_kw(Kw::None) {
                value = Some(p.def_arg()?);
            }
            Ok(super::lists::option(name, value, pos))
        })
    }

    fn alter_ts_configuration(&mut self, name: Name) -> Result<Stmt> {
        use TsConfigAction::*;
        let word = self.bump().kw;
        self.expect_kw(Kw::Mapping)?;
        let action = if word == Kw::Drop {
            let missing_ok = self.if_exists()?;
            self.expect_kw(Kw::For)?;
            Drop { tokens: self.name_list()?, missing_ok }
        } else {
            let mut tokens = Vec::new();
            if self.accept_kw(Kw::For) {
                tokens = self.name_list()?;
            }
            if word == Kw::Alter && self.accept_kw(Kw::Replace) {
                let old = self.any_name()?;
                self.expect_kw(Kw::With)?;
                Replace { tokens, old, new: self.any_name()? }
            } else {
                self.expect_kw(Kw::With)?;
                let dicts = self.list(|p| p.any_name())?;
                if word == Kw::Add { Add { tokens, dicts } } else { Alter { tokens, dicts } }
            }
        };
        Ok(Stmt::AlterTsConfiguration(AlterTsConfigurationStmt { name, action }))
    }
}
