//! Types, domains, aggregates, operators and their classes, casts, languages, text search.

use super::*;

impl Parser<'_> {
    fn define(
        &mut self,
        kind: ObjectKind,
        name: Name,
        definition: Option<Vec<DefElem>>,
    ) -> DefineStmt {
        DefineStmt {
            kind,
            name,
            replace: false,
            if_not_exists: false,
            signature: None,
            definition,
            from: None,
        }
    }

    pub(super) fn create_type(&mut self) -> Result<Stmt> {
        self.bump();
        let name = self.any_name()?;
        if self.is(T::LParen) {
            let definition = Some(self.definition()?);
            return Ok(Stmt::Define(Box::new(self.define(ObjectKind::Type, name, definition))));
        }
        if !self.accept_kw(Kw::As) {
            return Ok(Stmt::Define(Box::new(self.define(ObjectKind::Type, name, None))));
        }
        let kind = if self.accept_kw(Kw::Enum) {
            self.expect(T::LParen)?;
            let labels = if self.is(T::RParen) { Vec::new() } else { self.list(|p| p.sconst())? };
            self.expect(T::RParen)?;
            CreateTypeKind::Enum(labels)
        } else if self.accept_kw(Kw::Range) {
            CreateTypeKind::Range(self.definition()?)
        } else {
            self.expect(T::LParen)?;
            let columns =
                if self.is(T::RParen) { Vec::new() } else { self.list(|p| p.func_column())? };
            self.expect(T::RParen)?;
            CreateTypeKind::Composite(columns)
        };
        Ok(Stmt::CreateType(Box::new(CreateTypeStmt { name, kind })))
    }

    pub(super) fn create_domain(&mut self) -> Result<Stmt> {
        self.bump();
        let name = self.any_name()?;
        self.accept_kw(Kw::As);
        let type_name = self.type_name()?;
        let (constraints, collation) = self.column_qualifiers(super::constraint::Place::Domain)?;
        let stmt = CreateDomainStmt { name, type_name, collation, constraints };
        Ok(Stmt::CreateDomain(Box::new(stmt)))
    }

    pub(super) fn create_aggregate(&mut self, replace: bool) -> Result<Stmt> {
        self.bump();
        let name = self.func_name()?;
        // The old syntax has options where the new one has parameters.
        let old = self.ahead(2).kind == T::Eq
            || (self.ahead(1).kind == T::RParen && self.ahead(2).kind != T::LParen);
        let signature = if old { None } else { Some(self.aggr_args()?) };
        let definition = Some(self.definition()?);
        let stmt = self.define(ObjectKind::Aggregate, name, definition);
        Ok(Stmt::Define(Box::new(DefineStmt { replace, signature, ..stmt })))
    }

    /// aggr_args.
    pub(super) fn aggr_args(&mut self) -> Result<FuncSignature> {
        self.expect(T::LParen)?;
        if self.accept(T::Star) {
            self.expect(T::RParen)?;
            return Ok(FuncSignature { params: Vec::new(), direct: None });
        }
        let mut params = Vec::new();
        let mut direct = None;
        if !self.is_kw(Kw::Order) {
            params = self.list(|p| p.func_param(false))?;
        }
        if self.accept_kws(&[Kw::Order, Kw::By]) {
            direct = Some(params.len());
            let ordered = self.list(|p| p.func_param(false))?;
            // A VARIADIC direct argument is written again as the aggregated one.
            let variadic = params.last().is_some_and(|p| p.mode == ParamMode::Variadic);
            if !variadic {
                params.extend(ordered);
            }
        }
        self.expect(T::RParen)?;
        Ok(FuncSignature { params, direct })
    }

    /// CREATE OPERATOR [CLASS | FAMILY], at OPERATOR.
    pub(super) fn create_operator(&mut self) -> Result<Stmt> {
        self.bump();
        if self.accept_kw(Kw::Class) {
            return self.create_op_class();
        }
        if self.accept_kw(Kw::Family) {
            let name = self.any_name()?;
            self.expect_kw(Kw::Using)?;
            return Ok(Stmt::CreateOpFamily { name, access_method: self.name()? });
        }
        let pos = self.pos();
        let op = self.any_operator()?;
        let mut parts = op.schema;
        parts.push(op.name.into_owned());
        let definition = Some(self.definition()?);
        let stmt = self.define(ObjectKind::Operator, Name { parts, pos }, definition);
        Ok(Stmt::Define(Box::new(stmt)))
    }

    fn create_op_class(&mut self) -> Result<Stmt> {
        let name = self.any_name()?;
        let default = self.accept_kw(Kw::Default);
        self.expect_kws(&[Kw::For, Kw::Type])?;
        let type_name = self.type_name()?;
        self.expect_kw(Kw::Using)?;
        let access_method = self.name()?;
        let family = if self.accept_kw(Kw::Family) { Some(self.any_name()?) } else { None };
        self.expect_kw(Kw::As)?;
        let items = self.list(|p| p.op_class_item())?;
        Ok(Stmt::CreateOpClass(Box::new(CreateOpClassStmt {
            name,
            default,
            type_name,
            access_method,
            family,
            items,
        })))
    }

    fn op_class_item(&mut self) -> Result<OpClassItem> {
        match self.bump().kw {
            Kw::Operator => {
                let number = self.iconst()?;
                let op = self.any_operator()?;
                let operands = if self.is(T::LParen) { Some(self.oper_args()?) } else { None };
                let mut order_family = None;
                if self.accept_kw(Kw::For) {
                    if self.accept_kw(Kw::Order) {
                        self.expect_kw(Kw::By)?;
                        order_family = Some(self.any_name()?);
                    } else {
                        self.expect_kw(Kw::Search)?;
                    }
                }
                Ok(OpClassItem::Operator { number, op, operands, order_family })
            }
            Kw::Function => {
                let number = self.iconst()?;
                let mut class_args = Vec::new();
                if self.is(T::LParen) {
                    class_args = self.paren_list(|p| p.type_name())?;
                }
                let function = self.func_name()?;
                let signature = self.opt_func_args()?;
                Ok(OpClassItem::Function { number, class_args, function, signature })
            }
            Kw::Storage => Ok(OpClassItem::Storage(self.type_name()?)),
            _ => {
                self.at -= 1;
                Err(self.unexpected())
            }
        }
    }

    /// ADD or DROP of ALTER OPERATOR FAMILY.
    pub(super) fn alter_op_family(&mut self, object: Object) -> Result<Stmt> {
        let drop = self.bump().kw == Kw::Drop;
        let items = self.list(|p| if drop { p.op_class_drop() } else { p.op_class_item() })?;
        let ObjectDetail::Using(access_method) = object.detail else {
            return Err(Error::internal("operator family without an access method"));
        };
        let stmt = AlterOpFamilyStmt { name: object.name, access_method, drop, items };
        Ok(Stmt::AlterOpFamily(Box::new(stmt)))
    }

    fn op_class_drop(&mut self) -> Result<OpClassItem> {
        let operator = self.accept_kw(Kw::Operator);
        if !operator {
            self.expect_kw(Kw::Function)?;
        }
        let pos = self.pos();
        let number = self.iconst()?;
        let types = self.paren_list(|p| p.type_name())?;
        if operator {
            let mut types = types.into_iter();
            let left = types.next();
            let right = types.next().or_else(|| left.clone());
            let op = OpName { schema: Vec::new(), name: "".into(), pos };
            let operands = Some((left, right));
            return Ok(OpClassItem::Operator { number, op, operands, order_family: None });
        }
        let function = Name { parts: vec![String::new()], pos };
        Ok(OpClassItem::Function { number, class_args: types, function, signature: None })
    }

    pub(super) fn create_cast(&mut self) -> Result<Stmt> {
        self.bump();
        self.expect(T::LParen)?;
        let source = self.type_name()?;
        self.expect_kw(Kw::As)?;
        let target = self.type_name()?;
        self.expect(T::RParen)?;
        let (mut function, mut inout) = (None, false);
        if self.accept_kws(&[Kw::Without, Kw::Function]) {
        } else {
            self.expect_kw(Kw::With)?;
            inout = self.accept_kw(Kw::Inout);
            if !inout {
                self.expect_kw(Kw::Function)?;
                function = Some(self.object_of(ObjectKind::Function)?);
            }
        }
        let mut context = CastContext::Explicit;
        if self.accept_kw(Kw::As) {
            context = if self.accept_kw(Kw::Implicit) {
                CastContext::Implicit
            } else {
                self.expect_kw(Kw::Assignment)?;
                CastContext::Assignment
            };
        }
        let stmt = CreateCastStmt { source, target, function, inout, context };
        Ok(Stmt::CreateCast(Box::new(stmt)))
    }

    pub(super) fn create_conversion(&mut self) -> Result<Stmt> {
        let default = self.accept_kw(Kw::Default);
        self.expect_kw(Kw::Conversion)?;
        let name = self.any_name()?;
        self.expect_kw(Kw::For)?;
        let source = self.sconst()?;
        self.expect_kw(Kw::To)?;
        let target = self.sconst()?;
        self.expect_kw(Kw::From)?;
        let function = self.any_name()?;
        let stmt = CreateConversionStmt { name, source, target, function, default };
        Ok(Stmt::CreateConversion(stmt))
    }

    pub(super) fn create_transform(&mut self, replace: bool) -> Result<Stmt> {
        self.bump();
        self.expect_kw(Kw::For)?;
        let type_name = self.type_name()?;
        self.expect_kw(Kw::Language)?;
        let language = self.name()?;
        let (mut from_sql, mut to_sql) = (None, None);
        self.paren_list(|p| {
            let from = p.accept_kw(Kw::From);
            if !from {
                p.expect_kw(Kw::To)?;
            }
            p.expect_kws(&[Kw::Sql, Kw::With, Kw::Function])?;
            let function = Some(p.object_of(ObjectKind::Function)?);
            if from {
                from_sql = function
            } else {
                to_sql = function
            }
            Ok(())
        })?;
        let stmt = CreateTransformStmt { replace, type_name, language, from_sql, to_sql };
        Ok(Stmt::CreateTransform(Box::new(stmt)))
    }

    pub(super) fn create_language(&mut self, replace: bool) -> Result<Stmt> {
        let trusted = self.accept_kw(Kw::Trusted);
        self.accept_kw(Kw::Procedural);
        self.expect_kw(Kw::Language)?;
        let name = self.name()?;
        let (mut handler, mut inline, mut validator) = (None, None, None);
        if self.accept_kw(Kw::Handler) {
            handler = Some(self.any_name()?);
            if self.accept_kw(Kw::Inline) {
                inline = Some(self.any_name()?);
            }
            if self.accept_kws(&[Kw::No, Kw::Validator]) {
            } else if self.accept_kw(Kw::Validator) {
                validator = Some(self.any_name()?);
            }
        }
        let stmt = CreateLanguageStmt { replace, trusted, name, handler, inline, validator };
        Ok(Stmt::CreateLanguage(stmt))
    }

    pub(super) fn create_collation(&mut self) -> Result<Stmt> {
        self.bump();
        let if_not_exists = self.if_not_exists()?;
        let name = self.any_name()?;
        let mut from = None;
        let mut definition = None;
        if self.accept_kw(Kw::From) {
            from = Some(self.any_name()?);
        } else {
            definition = Some(self.definition()?);
        }
        let stmt = self.define(ObjectKind::Collation, name, definition);
        Ok(Stmt::Define(Box::new(DefineStmt { if_not_exists, from, ..stmt })))
    }

    pub(super) fn create_text_search(&mut self) -> Result<Stmt> {
        let kind = self.object_kind()?;
        let name = self.any_name()?;
        let definition = Some(self.definition()?);
        Ok(Stmt::Define(Box::new(self.define(kind, name, definition))))
    }
}
