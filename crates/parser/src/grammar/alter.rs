//! ALTER of relations.

use super::*;

/// Whether ALTER's subject is a relation.
pub(super) fn is_relation(kind: ObjectKind) -> bool {
    use ObjectKind::*;
    matches!(kind, Table | Index | Sequence | View | MatView | ForeignTable)
}

impl Parser<'_> {
    /// ALTER TABLE and its kin, after the words of the kind.
    pub(super) fn alter_relation(&mut self, kind: ObjectKind) -> Result<Stmt> {
        if self.is_kws(&[Kw::All, Kw::In, Kw::Tablespace]) {
            return self.move_all(kind);
        }
        let missing_ok = self.if_exists()?;
        let tablelike = matches!(kind, ObjectKind::Table | ObjectKind::ForeignTable);
        let (rel, only) = if tablelike { self.relation_expr()? } else { (self.rel_name()?, false) };
        match (self.kw(), self.kw_ahead(1)) {
            (Kw::Rename, _) => return self.rename_in_relation(kind, rel, only, missing_ok),
            (Kw::Set, Kw::Schema) => {
                self.at += 2;
                let object = relation_object(kind, rel, only);
                let schema = self.name()?;
                let stmt = SetSchemaStmt { object, schema, missing_ok };
                return Ok(Stmt::SetSchema(Box::new(stmt)));
            }
            (Kw::Depends, _) | (Kw::No, Kw::Depends)
                if matches!(kind, ObjectKind::Index | ObjectKind::MatView) =>
            {
                return self.depends(relation_object(kind, rel, only));
            }
            _ => {}
        }
        if kind == ObjectKind::Sequence && self.at_seq_option() {
            let mut options = Vec::new();
            while self.at_seq_option() {
                options.push(self.seq_option()?);
            }
            let stmt = AlterSequenceStmt { rel, missing_ok, options };
            return Ok(Stmt::AlterSequence(Box::new(stmt)));
        }
        let commands = self.list(|p| p.alter_command())?;
        let stmt = AlterTableStmt { kind, rel, only, missing_ok, commands };
        Ok(Stmt::AlterTable(Box::new(stmt)))
    }

    fn move_all(&mut self, kind: ObjectKind) -> Result<Stmt> {
        self.at += 3;
        let source = self.name()?;
        let mut roles = Vec::new();
        if self.accept_kws(&[Kw::Owned, Kw::By]) {
            roles = self.role_list()?;
        }
        self.expect_kws(&[Kw::Set, Kw::Tablespace])?;
        let target = self.name()?;
        let nowait = self.accept_kw(Kw::Nowait);
        Ok(Stmt::MoveAll(MoveAllStmt { kind, source, roles, target, nowait }))
    }

    fn rename_in_relation(
        &mut self,
        kind: ObjectKind,
        rel: RelName,
        only: bool,
        missing_ok: bool,
    ) -> Result<Stmt> {
        self.bump();
        let mut object = relation_object(kind, rel, only);
        if !self.is_kw(Kw::To) {
            if self.accept_kw(Kw::Constraint) {
                object.kind = ObjectKind::Constraint;
            } else {
                self.accept_kw(Kw::Column);
                object.kind = ObjectKind::Column;
            }
            object.detail = ObjectDetail::Member(self.name()?);
        }
        self.expect_kw(Kw::To)?;
        let new_name = self.name()?;
        Ok(Stmt::Rename(Box::new(RenameStmt {
            object,
            relation_kind: kind,
            new_name,
            missing_ok,
            cascade: false,
        })))
    }

    fn alter_command(&mut self) -> Result<AlterTableCommand> {
        let pos = self.pos();
        Ok(AlterTableCommand { kind: self.alter_command_kind()?, pos })
    }

    fn alter_command_kind(&mut self) -> Result<AlterTableKind> {
        use AlterTableKind::*;
        match self.kw() {
            Kw::Add => {
                self.bump();
                if self.at_table_constraint() {
                    return Ok(AddConstraint(self.table_constraint(constraint_place())?));
                }
                self.accept_kw(Kw::Column);
                let if_not_exists = self.if_not_exists()?;
                Ok(AddColumn { column: self.column_def()?, if_not_exists, cascade: false })
            }
            Kw::Drop => {
                self.bump();
                if self.accept_kw(Kw::Constraint) {
                    let missing_ok = self.if_exists()?;
                    let name = self.name()?;
                    return Ok(DropConstraint { name, missing_ok, cascade: self.opt_cascade() });
                }
                self.accept_kw(Kw::Column);
                let missing_ok = self.if_exists()?;
                let name = self.col_id()?;
                Ok(DropColumn { name, missing_ok, cascade: self.opt_cascade() })
            }
            Kw::Alter => self.alter_member(),
            Kw::Validate => {
                self.bump();
                self.expect_kw(Kw::Constraint)?;
                Ok(ValidateConstraint(self.name()?))
            }
            Kw::Set => self.alter_set(),
            Kw::Reset => {
                self.bump();
                Ok(ResetOptions(self.reloptions()?))
            }
            Kw::Cluster => {
                self.bump();
                self.expect_kw(Kw::On)?;
                Ok(ClusterOn(self.name()?))
            }
            Kw::Enable | Kw::Disable => self.enable_disable(),
            Kw::Inherit => {
                self.bump();
                Ok(Inherit(self.rel_name()?))
            }
            Kw::No => {
                self.bump();
                if self.accept_kws(&[Kw::Force, Kw::Row, Kw::Level, Kw::Security]) {
                    return Ok(ForceRowSecurity(false));
                }
                self.expect_kw(Kw::Inherit)?;
                Ok(NoInherit(self.rel_name()?))
            }
            Kw::Force => {
                self.bump();
                self.expect_kws(&[Kw::Row, Kw::Level, Kw::Security])?;
                Ok(ForceRowSecurity(true))
            }
            Kw::Of => {
                self.bump();
                let name = self.any_name()?;
                Ok(Of(super::expr::plain_type(name.parts, name.pos)))
            }
            Kw::Not => {
                self.bump();
                self.expect_kw(Kw::Of)?;
                Ok(NotOf)
            }
            Kw::Owner => {
                self.bump();
                self.expect_kw(Kw::To)?;
                Ok(Owner(self.role_spec()?))
            }
            Kw::Replica => self.replica_identity(),
            Kw::Options => Ok(FdwOptions(self.alter_options()?)),
            Kw::Attach => {
                self.bump();
                self.expect_kw(Kw::Partition)?;
                let rel = self.rel_name()?;
                let has_bound = self.is_any(&[Kw::For, Kw::Default]);
                let bound = if has_bound { Some(self.partition_bound()?) } else { None };
                Ok(AttachPartition { rel, bound })
            }
            Kw::Detach => {
                self.bump();
                self.expect_kw(Kw::Partition)?;
                let rel = self.rel_name()?;
                if self.accept_kw(Kw::Finalize) {
                    return Ok(FinalizeDetach(rel));
                }
                Ok(DetachPartition { rel, concurrently: self.accept_kw(Kw::Concurrently) })
            }
            _ => Err(self.unexpected()),
        }
    }

    fn alter_set(&mut self) -> Result<AlterTableKind> {
        use AlterTableKind::*;
        self.bump();
        if self.is(T::LParen) {
            return Ok(SetOptions(self.reloptions()?));
        }
        let kind = match self.kw() {
            Kw::Without => {
                self.bump();
                if self.accept_kw(Kw::Oids) {
                    return Ok(SetWithoutOids);
                }
                if !self.is_kw(Kw::Cluster) {
                    return Err(self.unexpected());
                }
                SetWithoutCluster
            }
            Kw::Logged => SetLogged,
            Kw::Unlogged => SetUnlogged,
            Kw::Access => {
                self.bump();
                self.expect_kw(Kw::Method)?;
                if self.accept_kw(Kw::Default) {
                    return Ok(SetAccessMethod(None));
                }
                return Ok(SetAccessMethod(Some(self.col_id()?)));
            }
            Kw::Tablespace => {
                self.bump();
                return Ok(SetTablespace(self.name()?));
            }
            _ => return Err(self.unexpected()),
        };
        self.bump();
        Ok(kind)
    }

    fn enable_disable(&mut self) -> Result<AlterTableKind> {
        let enable = self.bump().kw == Kw::Enable;
        if self.accept_kws(&[Kw::Row, Kw::Level, Kw::Security]) {
            return Ok(AlterTableKind::RowSecurity(enable));
        }
        let state = if !enable {
            TriggerState::Disable
        } else if self.accept_kw(Kw::Always) {
            TriggerState::EnableAlways
        } else if self.accept_kw(Kw::Replica) {
            TriggerState::EnableReplica
        } else {
            TriggerState::Enable
        };
        if self.accept_kw(Kw::Rule) {
            return Ok(AlterTableKind::Rule { state, name: self.name()? });
        }
        self.expect_kw(Kw::Trigger)?;
        let special = matches!(state, TriggerState::Enable | TriggerState::Disable);
        let target = if special && self.accept_kw(Kw::All) {
            TriggerTarget::All
        } else if special && self.accept_kw(Kw::User) {
            TriggerTarget::User
        } else {
            TriggerTarget::Name(self.name()?)
        };
        Ok(AlterTableKind::Trigger { state, target })
    }

    fn replica_identity(&mut self) -> Result<AlterTableKind> {
        self.bump();
        self.expect_kw(Kw::Identity)?;
        let identity = match self.kw() {
            Kw::Nothing => ReplicaIdentity::Nothing,
            Kw::Full => ReplicaIdentity::Full,
            Kw::Default => ReplicaIdentity::Default,
            Kw::Using => {
                self.bump();
                self.expect_kw(Kw::Index)?;
                let name = self.name()?;
                return Ok(AlterTableKind::ReplicaIdentity(ReplicaIdentity::Index(name)));
            }
            _ => return Err(self.unexpected()),
        };
        self.bump();
        Ok(AlterTableKind::ReplicaIdentity(identity))
    }

    /// ALTER [COLUMN] .. or ALTER CONSTRAINT .. within ALTER TABLE.
    fn alter_member(&mut self) -> Result<AlterTableKind> {
        use AlterTableKind::*;
        self.bump();
        if self.accept_kw(Kw::Constraint) {
            return self.alter_constraint();
        }
        self.accept_kw(Kw::Column);
        if self.is(T::Int) {
            let at = self.pos();
            let number = self.iconst()?;
            if !(1..=i16::MAX as i32).contains(&number) {
                let message = "column number must be in range from 1 to 32767";
                return Err(base::err!(INVALID_PARAMETER_VALUE, "{message}").at(at));
            }
            self.expect_kws(&[Kw::Set, Kw::Statistics])?;
            return Ok(SetStatistics { column: Err(number), target: self.set_target_value()? });
        }
        let pos = self.pos();
        let column = self.col_id()?;
        match self.kw() {
            Kw::Type => {
                self.bump();
                self.alter_type(column, pos, false)
            }
            Kw::Drop => {
                self.bump();
                let word = self.kw();
                let kind = match word {
                    Kw::Default => DropDefault { column },
                    Kw::Not => {
                        self.bump();
                        if !self.is_kw(Kw::Null) {
                            return Err(self.unexpected());
                        }
                        DropNotNull { column }
                    }
                    Kw::Expression | Kw::Identity => {
                        self.bump();
                        let missing_ok = self.if_exists()?;
                        return Ok(if word == Kw::Expression {
                            DropExpression { column, missing_ok }
                        } else {
                            DropIdentity { column, missing_ok }
                        });
                    }
                    _ => return Err(self.unexpected()),
                };
                self.bump();
                Ok(kind)
            }
            Kw::Add => {
                self.bump();
                let pos = self.pos();
                let always = self.generated_when()?;
                self.expect_kws(&[Kw::As, Kw::Identity])?;
                let options = self.opt_seq_options_in_parens()?;
                Ok(AddIdentity { column, always, options, pos })
            }
            Kw::Restart => self.set_identity(column),
            Kw::Set => self.alter_column_set(column, pos),
            Kw::Reset => {
                self.bump();
                Ok(ResetColumnOptions { column, options: self.reloptions()? })
            }
            Kw::Options => Ok(ColumnFdwOptions { column, options: self.alter_options()? }),
            _ => Err(self.unexpected()),
        }
    }

    /// A statistics target: a number or DEFAULT.
    pub(super) fn set_target_value(&mut self) -> Result<Option<i32>> {
        if self.accept_kw(Kw::Default) { Ok(None) } else { Ok(Some(self.signed_iconst()?)) }
    }

    fn alter_column_set(&mut self, column: String, pos: Pos) -> Result<AlterTableKind> {
        use AlterTableKind::*;
        if self.ahead(1).kind == T::LParen {
            self.bump();
            return Ok(SetColumnOptions { column, options: self.reloptions()? });
        }
        match self.kw_ahead(1) {
            Kw::Data => {
                self.at += 2;
                self.expect_kw(Kw::Type)?;
                self.alter_type(column, pos, false)
            }
            Kw::Default => {
                self.at += 2;
                Ok(SetDefault { column, default: self.expr()? })
            }
            Kw::Not => {
                self.at += 2;
                self.expect_kw(Kw::Null)?;
                Ok(SetNotNull { column })
            }
            Kw::Expression => {
                self.at += 2;
                self.expect_kw(Kw::As)?;
                self.expect(T::LParen)?;
                let expr = self.expr()?;
                self.expect(T::RParen)?;
                Ok(SetExpression { column, expr })
            }
            Kw::Statistics => {
                self.at += 2;
                Ok(SetStatistics { column: Ok(column), target: self.set_target_value()? })
            }
            Kw::Storage => {
                self.at += 2;
                Ok(SetStorage { column, storage: self.name_or_default()? })
            }
            Kw::Compression => {
                self.at += 2;
                Ok(SetCompression { column, method: self.name_or_default()? })
            }
            _ => self.set_identity(column),
        }
    }

    /// alter_identity_column_option_list.
    fn set_identity(&mut self, column: String) -> Result<AlterTableKind> {
        let mut always = None;
        let mut options = Vec::new();
        loop {
            let pos = self.pos();
            if self.is_kw(Kw::Restart) {
                options.push(self.seq_option()?);
            } else if self.accept_kw(Kw::Set) {
                if self.is_kw(Kw::Generated) {
                    always = Some(self.generated_when()?);
                } else {
                    let option = self.seq_option()?;
                    options.push(SeqOption { pos, ..option });
                }
            } else {
                return Ok(AlterTableKind::SetIdentity { column, always, options });
            }
        }
    }

    fn alter_type(&mut self, column: String, pos: Pos, attribute: bool) -> Result<AlterTableKind> {
        let type_name = self.type_name()?;
        let collation = self.opt_collate()?;
        let mut using = None;
        if !attribute && self.accept_kw(Kw::Using) {
            using = Some(self.expr()?);
        }
        let cascade = attribute && self.opt_cascade();
        Ok(AlterTableKind::AlterColumnType { column, pos, type_name, collation, using, cascade })
    }

    fn alter_constraint(&mut self) -> Result<AlterTableKind> {
        let name = self.name()?;
        let (mut deferrable, mut initially_deferred) = (None, None);
        let (mut enforced, mut inherit) = (None, None);
        let start = self.at;
        loop {
            let pos = self.pos();
            let before = (deferrable, initially_deferred, enforced, inherit);
            match (self.kw(), self.kw_ahead(1)) {
                (Kw::Deferrable, _) => {
                    self.bump();
                    deferrable = Some(true);
                }
                (Kw::Not, Kw::Deferrable) => {
                    self.at += 2;
                    deferrable = Some(false);
                }
                (Kw::Initially, Kw::Deferred | Kw::Immediate) => {
                    self.bump();
                    initially_deferred = Some(self.bump().kw == Kw::Deferred);
                }
                (Kw::Enforced, _) => {
                    self.bump();
                    enforced = Some(true);
                }
                (Kw::Not, Kw::Enforced) => {
                    self.at += 2;
                    enforced = Some(false);
                }
                (Kw::No, Kw::Inherit) => {
                    self.at += 2;
                    inherit = Some(false);
                }
                (Kw::Inherit, _) => {
                    self.bump();
                    inherit = Some(true);
                }
                (Kw::Not, Kw::Valid) => {
                    let message = "constraints cannot be altered to be NOT VALID";
                    return Err(base::err!(FEATURE_NOT_SUPPORTED, "{message}").at(pos));
                }
                _ => break,
            }
            if deferrable == Some(false) && initially_deferred == Some(true) {
                let message = "constraint declared INITIALLY DEFERRED must be DEFERRABLE";
                return Err(self.error_at(pos, message));
            }
            let changed = |old: Option<bool>, new| old.is_some() && old != new;
            if changed(before.0, deferrable)
                || changed(before.1, initially_deferred)
                || changed(before.2, enforced)
                || changed(before.3, inherit)
            {
                return Err(self.error_at(pos, "conflicting constraint properties"));
            }
        }
        if start == self.at && !matches!(self.tok().kind, T::Eof | T::Semi | T::Comma) {
            return Err(self.unexpected());
        }
        Ok(AlterTableKind::AlterConstraint {
            name,
            deferrable,
            initially_deferred,
            enforced,
            inherit,
        })
    }

    // Composite types.

    /// ADD / DROP / ALTER ATTRIBUTE of ALTER TYPE.
    pub(super) fn alter_composite(&mut self, name: Name) -> Result<Stmt> {
        let commands = self.list(|p| {
            let pos = p.pos();
            let word = p.bump().kw;
            p.expect_kw(Kw::Attribute)?;
            let kind = match word {
                Kw::Add => {
                    let column = p.func_column()?;
                    let cascade = p.opt_cascade();
                    AlterTableKind::AddColumn { column, if_not_exists: false, cascade }
                }
                Kw::Drop => {
                    let missing_ok = p.if_exists()?;
                    let name = p.col_id()?;
                    AlterTableKind::DropColumn { name, missing_ok, cascade: p.opt_cascade() }
                }
                _ => {
                    let pos = p.pos();
                    let column = p.col_id()?;
                    p.accept_kws(&[Kw::Set, Kw::Data]);
                    p.expect_kw(Kw::Type)?;
                    p.alter_type(column, pos, true)?
                }
            };
            Ok(AlterTableCommand { kind, pos })
        })?;
        let rel = self.rel_of(name)?;
        let kind = ObjectKind::Type;
        let stmt = AlterTableStmt { kind, rel, only: false, missing_ok: false, commands };
        Ok(Stmt::AlterTable(Box::new(stmt)))
    }
}

fn constraint_place() -> super::constraint::Place {
    super::constraint::Place::Table
}

/// A relation's name as that of an object.
pub(super) fn relation_object(kind: ObjectKind, rel: RelName, only: bool) -> Object {
    let pos = rel.pos;
    let parts = rel.catalog.into_iter().chain(rel.schema).chain([rel.name]).collect();
    Object { kind, name: Name { parts, pos }, only, detail: ObjectDetail::None }
}
