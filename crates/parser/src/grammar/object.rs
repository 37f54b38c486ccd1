//! Names of objects of every kind; DROP, COMMENT, SECURITY LABEL.

use super::*;

impl Parser<'_> {
    /// The words of a kind of object.
    pub(super) fn object_kind(&mut self) -> Result<ObjectKind> {
        use ObjectKind::*;
        let (kind, words) = match (self.kw(), self.kw_ahead(1)) {
            (Kw::Access, Kw::Method) => (AccessMethod, 2),
            (Kw::Aggregate, _) => (Aggregate, 1),
            (Kw::Cast, _) => (Cast, 1),
            (Kw::Collation, _) => (Collation, 1),
            (Kw::Column, _) => (Column, 1),
            (Kw::Constraint, _) => (Constraint, 1),
            (Kw::Conversion, _) => (Conversion, 1),
            (Kw::Database, _) => (Database, 1),
            (Kw::Domain, _) => (Domain, 1),
            (Kw::Event, Kw::Trigger) => (EventTrigger, 2),
            (Kw::Extension, _) => (Extension, 1),
            (Kw::Foreign, Kw::Data) => (ForeignDataWrapper, 3),
            (Kw::Foreign, Kw::Table) => (ForeignTable, 2),
            (Kw::Foreign, _) => {
                self.bump();
                return Err(self.unexpected());
            }
            (Kw::Function, _) => (Function, 1),
            (Kw::Index, _) => (Index, 1),
            (Kw::Procedural, Kw::Language) => (Language, 2),
            (Kw::Language, _) => (Language, 1),
            (Kw::Large, Kw::Object) => (LargeObject, 2),
            (Kw::Materialized, Kw::View) => (MatView, 2),
            (Kw::Operator, Kw::Class) => (OpClass, 2),
            (Kw::Operator, Kw::Family) => (OpFamily, 2),
            (Kw::Operator, _) => (Operator, 1),
            (Kw::Policy, _) => (Policy, 1),
            (Kw::Procedure, _) => (Procedure, 1),
            (Kw::Publication, _) => (Publication, 1),
            (Kw::Role | Kw::User | Kw::Group, _) => (Role, 1),
            (Kw::Routine, _) => (Routine, 1),
            (Kw::Rule, _) => (Rule, 1),
            (Kw::Schema, _) => (Schema, 1),
            (Kw::Sequence, _) => (Sequence, 1),
            (Kw::Server, _) => (ForeignServer, 1),
            (Kw::Statistics, _) => (Statistics, 1),
            (Kw::Subscription, _) => (Subscription, 1),
            (Kw::Table, _) => (Table, 1),
            (Kw::Tablespace, _) => (Tablespace, 1),
            (Kw::Text, Kw::Search) => {
                self.at += 2;
                let kind = match self.kw() {
                    Kw::Configuration => TsConfiguration,
                    Kw::Dictionary => TsDictionary,
                    Kw::Parser => TsParser,
                    Kw::Template => TsTemplate,
                    _ => return Err(self.unexpected()),
                };
                (kind, 1)
            }
            (Kw::Transform, _) => (Transform, 1),
            (Kw::Trigger, _) => (Trigger, 1),
            (Kw::Type, _) => (Type, 1),
            (Kw::View, _) => (View, 1),
            _ => return Err(self.unexpected()),
        };
        if kind == ForeignDataWrapper && self.kw_ahead(2) != Kw::Wrapper {
            self.at += 2;
            return Err(self.unexpected());
        }
        self.at += words;
        Ok(kind)
    }

    fn plain_object(&mut self, kind: ObjectKind) -> Result<Object> {
        Ok(Object { kind, name: self.any_name()?, only: false, detail: ObjectDetail::None })
    }

    /// An object named by one word.
    fn single_name(&mut self, kind: ObjectKind) -> Result<Object> {
        let pos = self.pos();
        let name = Name { parts: vec![self.name()?], pos };
        Ok(Object { kind, name, only: false, detail: ObjectDetail::None })
    }

    /// An object's name, after the words of its kind.
    pub(super) fn object_of(&mut self, kind: ObjectKind) -> Result<Object> {
        use ObjectKind::*;
        let pos = self.pos();
        match kind {
            Function | Procedure | Routine => {
                let name = self.func_name()?;
                let signature = self.opt_func_args()?;
                let detail = ObjectDetail::Params(signature);
                Ok(Object { kind, name, only: false, detail })
            }
            Aggregate => {
                let name = self.func_name()?;
                let detail = ObjectDetail::Params(Some(self.aggr_args()?));
                Ok(Object { kind, name, only: false, detail })
            }
            Operator => {
                let op = self.any_operator()?;
                let (left, right) = self.oper_args()?;
                let mut parts = op.schema;
                parts.push(op.name.into_owned());
                let detail = ObjectDetail::Operands(left, right);
                Ok(Object { kind, name: Name { parts, pos }, only: false, detail })
            }
            OpClass | OpFamily => {
                let name = self.any_name()?;
                self.expect_kw(Kw::Using)?;
                let detail = ObjectDetail::Using(self.name()?);
                Ok(Object { kind, name, only: false, detail })
            }
            Cast => {
                self.expect(T::LParen)?;
                let source = self.type_name()?;
                self.expect_kw(Kw::As)?;
                let target = self.type_name()?;
                self.expect(T::RParen)?;
                let name = Name { parts: source.names.clone(), pos };
                Ok(Object { kind, name, only: false, detail: ObjectDetail::Cast(source, target) })
            }
            Transform => {
                self.expect_kw(Kw::For)?;
                let of = self.type_name()?;
                self.expect_kw(Kw::Language)?;
                let name = Name { parts: of.names.clone(), pos };
                let detail = ObjectDetail::Transform(of, self.name()?);
                Ok(Object { kind, name, only: false, detail })
            }
            Type | Domain => {
                let of = self.type_name()?;
                let name = Name { parts: of.names.clone(), pos };
                Ok(Object { kind, name, only: false, detail: ObjectDetail::Type(of) })
            }
            LargeObject => {
                let number = self.numeric_only()?;
                let name = Name { parts: vec![number.clone()], pos };
                Ok(Object { kind, name, only: false, detail: ObjectDetail::LargeObject(number) })
            }
            Trigger | Rule | Policy => {
                let member = self.name()?;
                self.expect_kw(Kw::On)?;
                let name = self.any_name()?;
                Ok(Object { kind, name, only: false, detail: ObjectDetail::Member(member) })
            }
            Constraint => {
                let member = self.name()?;
                self.expect_kw(Kw::On)?;
                let domain = self.accept_kw(Kw::Domain);
                let name = self.any_name()?;
                let kind = if domain { DomainConstraint } else { Constraint };
                Ok(Object { kind, name, only: false, detail: ObjectDetail::Member(member) })
            }
            AccessMethod | Database | EventTrigger | Extension | ForeignDataWrapper
            | ForeignServer | Language | Publication | Schema | Subscription | Tablespace => {
                self.single_name(kind)
            }
            Role => {
                let spec = self.role_spec()?;
                let name = match spec.kind {
                    RoleKind::Name(name) => name,
                    RoleKind::Public => "public".into(),
                    RoleKind::CurrentRole => "current_role".into(),
                    RoleKind::CurrentUser => "current_user".into(),
                    RoleKind::SessionUser => "session_user".into(),
                };
                let name = Name { parts: vec![name], pos };
                Ok(Object { kind, name, only: false, detail: ObjectDetail::None })
            }
            _ => self.plain_object(kind),
        }
    }

    /// oper_argtypes.
    pub(super) fn oper_args(&mut self) -> Result<(Option<TypeName>, Option<TypeName>)> {
        self.expect(T::LParen)?;
        let left = if self.accept_kw(Kw::None) { None } else { Some(self.type_name()?) };
        if self.is(T::RParen) {
            return Err(self
                .error_at(self.pos(), "missing argument")
                .hint("Use NONE to denote the missing argument of a unary operator."));
        }
        self.expect(T::Comma)?;
        let right =
            if left.is_some() && self.accept_kw(Kw::None) { None } else { Some(self.type_name()?) };
        self.expect(T::RParen)?;
        Ok((left, right))
    }

    /// func_args, if parentheses are written.
    pub(super) fn opt_func_args(&mut self) -> Result<Option<FuncSignature>> {
        if !self.is(T::LParen) {
            return Ok(None);
        }
        self.bump();
        let params =
            if self.is(T::RParen) { Vec::new() } else { self.list(|p| p.func_param(false))? };
        self.expect(T::RParen)?;
        Ok(Some(FuncSignature { params, direct: None }))
    }

    /// DROP ..
    pub(super) fn drop(&mut self) -> Result<Stmt> {
        self.bump();
        match self.kw() {
            Kw::Owned => {
                self.bump();
                self.expect_kw(Kw::By)?;
                let roles = self.role_list()?;
                return Ok(Stmt::DropOwned { roles, cascade: self.opt_cascade() });
            }
            Kw::User if self.kw_ahead(1) == Kw::Mapping => {
                self.at -= 1;
                return self.user_mapping();
            }
            Kw::Role | Kw::User | Kw::Group => {
                self.bump();
                let missing_ok = self.if_exists()?;
                return Ok(Stmt::DropRole { roles: self.role_list()?, missing_ok });
            }
            Kw::Database => {
                self.bump();
                let missing_ok = self.if_exists()?;
                let name = self.name()?;
                let mut options = Vec::new();
                if self.accept_kw(Kw::With) || self.is(T::LParen) {
                    options = self.paren_list(|p| {
                        let pos = p.pos();
                        p.expect_kw(Kw::Force)?;
                        Ok(super::lists::option("force", None, pos))
                    })?;
                }
                return Ok(Stmt::DropDatabase(DropDatabaseStmt { name, missing_ok, options }));
            }
            Kw::Tablespace => {
                self.bump();
                let missing_ok = self.if_exists()?;
                return Ok(Stmt::DropTablespace { name: self.name()?, missing_ok });
            }
            Kw::Subscription => {
                self.bump();
                let missing_ok = self.if_exists()?;
                let name = self.name()?;
                let cascade = self.opt_cascade();
                return Ok(Stmt::DropSubscription { name, missing_ok, cascade });
            }
            _ => {}
        }
        let kind = self.object_kind()?;
        if matches!(kind, ObjectKind::Column | ObjectKind::Constraint | ObjectKind::LargeObject) {
            self.at -= 1;
            return Err(self.unexpected());
        }
        let concurrently = kind == ObjectKind::Index && self.accept_kw(Kw::Concurrently);
        let missing_ok = self.if_exists()?;
        use ObjectKind::*;
        let one = matches!(kind, Trigger | Rule | Policy | Cast | Transform | OpClass | OpFamily);
        let objects =
            if one { vec![self.object_of(kind)?] } else { self.list(|p| p.object_of(kind))? };
        let cascade = self.opt_cascade();
        let stmt = DropStmt { kind, objects, missing_ok, cascade, concurrently };
        Ok(Stmt::Drop(Box::new(stmt)))
    }

    fn comment_object(&mut self) -> Result<Object> {
        self.expect_kw(Kw::On)?;
        let kind = self.object_kind()?;
        self.object_of(kind)
    }

    /// COMMENT ON ..
    pub(super) fn comment(&mut self) -> Result<Stmt> {
        self.bump();
        let object = self.comment_object()?;
        self.expect_kw(Kw::Is)?;
        let comment = if self.accept_kw(Kw::Null) { None } else { Some(self.sconst()?) };
        Ok(Stmt::Comment(Box::new(CommentStmt { object, comment })))
    }

    /// SECURITY LABEL ..
    pub(super) fn security_label(&mut self) -> Result<Stmt> {
        self.expect_kws(&[Kw::Security, Kw::Label])?;
        let mut provider = None;
        if self.accept_kw(Kw::For) {
            provider = Some(self.word_or_sconst()?);
        }
        let object = self.comment_object()?;
        self.expect_kw(Kw::Is)?;
        let label = if self.accept_kw(Kw::Null) { None } else { Some(self.sconst()?) };
        Ok(Stmt::SecurityLabel(Box::new(SecurityLabelStmt { provider, object, label })))
    }
}
