//! Functions, triggers, rules, policies.

use super::lists::{flag, option, text_option};
use super::*;

impl Parser<'_> {
    /// func_arg, with a default if `defaults`.
    pub(super) fn func_param(&mut self, defaults: bool) -> Result<FuncParam> {
        let pos = self.pos();
        let mut mode = self.param_mode();
        let mut name = None;
        if self.at_param_name() {
            name = Some(self.type_function_name()?);
            if mode == ParamMode::Default {
                mode = self.param_mode();
            }
        }
        let type_name = self.func_type()?;
        let mut default = None;
        if defaults && (self.accept_kw(Kw::Default) || self.accept(T::Eq)) {
            default = Some(self.expr()?);
        }
        Ok(FuncParam { name, type_name, mode, default, pos })
    }

    fn param_mode(&mut self) -> ParamMode {
        match self.kw() {
            Kw::In => {
                self.bump();
                if self.accept_kw(Kw::Out) { ParamMode::InOut } else { ParamMode::In }
            }
            Kw::Out => {
                self.bump();
                ParamMode::Out
            }
            Kw::Inout => {
                self.bump();
                ParamMode::InOut
            }
            Kw::Variadic => {
                self.bump();
                ParamMode::Variadic
            }
            _ => ParamMode::Default,
        }
    }

    /// Whether a parameter's name comes before its type: another word follows it.
    fn at_param_name(&self) -> bool {
        let names = [Category::Unreserved, Category::TypeFunc];
        if !self.token_in(self.tok(), &names) {
            return false;
        }
        if self.is_kw(Kw::Double) && self.kw_ahead(1) == Kw::Precision {
            return false;
        }
        let next = self.ahead(1);
        match next.kind {
            T::Ident => true,
            T::Keyword => match next.kw {
                Kw::Setof | Kw::In | Kw::Out | Kw::Inout | Kw::Variadic => true,
                Kw::Default | Kw::Array | Kw::Order => false,
                kw => matches!(
                    kw.category(),
                    Some(Category::Unreserved | Category::TypeFunc | Category::ColName)
                ),
            },
            _ => false,
        }
    }

    /// CREATE FUNCTION or PROCEDURE, at that word.
    pub(super) fn create_function(&mut self, replace: bool) -> Result<Stmt> {
        let procedure = self.bump().kw == Kw::Procedure;
        let name = self.func_name()?;
        self.expect(T::LParen)?;
        let mut params = Vec::new();
        if !self.is(T::RParen) {
            params = self.list(|p| p.func_param(true))?;
        }
        self.expect(T::RParen)?;
        let mut returns = None;
        let mut returns_table = false;
        if !procedure && self.accept_kw(Kw::Returns) {
            if self.is_kw(Kw::Table) {
                self.bump();
                returns_table = true;
                params.extend(self.paren_list(|p| {
                    let pos = p.pos();
                    let name = Some(p.type_function_name()?);
                    let type_name = p.func_type()?;
                    let mode = ParamMode::Table;
                    Ok(FuncParam { name, type_name, mode, default: None, pos })
                })?);
            } else {
                returns = Some(self.func_type()?);
            }
        }
        let mut options = Vec::new();
        while let Some(option) = self.function_option()? {
            options.push(option);
        }
        let body = self.opt_function_body()?;
        Ok(Stmt::CreateFunction(Box::new(CreateFunctionStmt {
            replace,
            procedure,
            name,
            params,
            returns,
            returns_table,
            options,
            body,
        })))
    }

    fn opt_function_body(&mut self) -> Result<Option<FuncBody>> {
        if self.accept_kw(Kw::Return) {
            return Ok(Some(FuncBody::Return(self.expr()?)));
        }
        if !self.is_kws(&[Kw::Begin, Kw::Atomic]) {
            return Ok(None);
        }
        self.at += 2;
        let mut list = Vec::new();
        while !self.accept_kw(Kw::End) {
            if self.accept(T::Semi) {
                continue;
            }
            let pos = self.pos();
            let stmt = if self.accept_kw(Kw::Return) {
                let expr = self.expr()?;
                let target = Target { name: None, pos: expr.pos, expr };
                let core = SelectCore { targets: vec![target], ..SelectCore::default() };
                let body = SelectBody::Select(Box::new(core));
                Stmt::Select(Box::new(super::select::bare_query(body, pos)))
            } else {
                self.statement()?
            };
            list.push(RawStmt { stmt, location: pos, len: self.last_end() - pos });
            self.expect(T::Semi)?;
        }
        Ok(Some(FuncBody::Atomic(list)))
    }

    pub(super) fn at_function_option(&self) -> bool {
        match self.kw() {
            Kw::Set => self.kw_ahead(1) != Kw::Schema,
            Kw::No => false,
            kw => matches!(
                kw,
                Kw::Called
                    | Kw::Returns
                    | Kw::Strict
                    | Kw::Immutable
                    | Kw::Stable
                    | Kw::Volatile
                    | Kw::External
                    | Kw::Security
                    | Kw::Leakproof
                    | Kw::Not
                    | Kw::Cost
                    | Kw::Rows
                    | Kw::Support
                    | Kw::Reset
                    | Kw::Parallel
            ),
        }
    }

    /// createfunc_opt_item.
    fn function_option(&mut self) -> Result<Option<DefElem>> {
        let pos = self.pos();
        match self.kw() {
            Kw::As => {
                self.bump();
                let mut list = vec![self.sconst()?];
                if self.accept(T::Comma) {
                    list.push(self.sconst()?);
                }
                Ok(Some(option("as", Some(DefValue::Names(list)), pos)))
            }
            Kw::Language => {
                self.bump();
                Ok(Some(text_option("language", self.word_or_sconst()?, pos)))
            }
            Kw::Transform => {
                self.bump();
                let list = self.list(|p| {
                    let pos = p.pos();
                    p.expect_kws(&[Kw::For, Kw::Type])?;
                    let of = DefValue::Type(p.type_name()?);
                    Ok(option("type", Some(of), pos))
                })?;
                Ok(Some(option("transform", Some(DefValue::List(list)), pos)))
            }
            Kw::Window => {
                self.bump();
                Ok(Some(flag("window", true, pos)))
            }
            _ => self.common_function_option(),
        }
    }

    /// common_func_opt_item.
    fn common_function_option(&mut self) -> Result<Option<DefElem>> {
        let pos = self.pos();
        Ok(Some(match self.kw() {
            Kw::Called => {
                self.bump();
                self.expect_kws(&[Kw::On, Kw::Null, Kw::Input])?;
                flag("strict", false, pos)
            }
            Kw::Returns => {
                self.bump();
                self.expect_kws(&[Kw::Null, Kw::On, Kw::Null, Kw::Input])?;
                flag("strict", true, pos)
            }
            Kw::Strict => {
                self.bump();
                flag("strict", true, pos)
            }
            Kw::Immutable | Kw::Stable | Kw::Volatile => {
                let token = self.bump();
                text_option("volatility", self.name_of(token), pos)
            }
            Kw::External | Kw::Security => {
                self.accept_kw(Kw::External);
                self.expect_kw(Kw::Security)?;
                let definer = self.accept_kw(Kw::Definer);
                if !definer {
                    self.expect_kw(Kw::Invoker)?;
                }
                flag("security", definer, pos)
            }
            Kw::Leakproof => {
                self.bump();
                flag("leakproof", true, pos)
            }
            Kw::Not => {
                self.bump();
                self.expect_kw(Kw::Leakproof)?;
                flag("leakproof", false, pos)
            }
            Kw::Cost | Kw::Rows => {
                let token = self.bump();
                let value = super::lists::number(self.numeric_only()?);
                option(self.name_of(token), Some(value), pos)
            }
            Kw::Support => {
                self.bump();
                option("support", Some(DefValue::Names(self.any_name()?.parts)), pos)
            }
            Kw::Set | Kw::Reset => {
                let set = self.set_or_reset()?;
                option("set", Some(DefValue::Set(Box::new(set))), pos)
            }
            Kw::Parallel => {
                self.bump();
                text_option("parallel", self.col_id()?, pos)
            }
            _ => return Ok(None),
        }))
    }

    /// ALTER FUNCTION and its kin, after the signature.
    pub(super) fn alter_function(&mut self, object: Object) -> Result<Stmt> {
        let mut options = Vec::new();
        while let Some(option) = self.common_function_option()? {
            options.push(option);
        }
        self.accept_kw(Kw::Restrict);
        Ok(Stmt::AlterFunction(Box::new(AlterFunctionStmt { object, options })))
    }

    // Triggers.

    pub(super) fn create_trigger(&mut self, replace: bool) -> Result<Stmt> {
        let is_constraint = self.accept_kw(Kw::Constraint);
        self.expect_kw(Kw::Trigger)?;
        let name = self.name()?;
        let timing = match self.bump().kw {
            Kw::Before if !is_constraint => TriggerTiming::Before,
            Kw::After => TriggerTiming::After,
            Kw::Instead if !is_constraint => {
                self.expect_kw(Kw::Of)?;
                TriggerTiming::InsteadOf
            }
            _ => {
                self.at -= 1;
                return Err(self.unexpected());
            }
        };
        let mut events = vec![self.trigger_event()?];
        while self.accept_kw(Kw::Or) {
            let event = self.trigger_event()?;
            let same =
                |e: &TriggerEvent| std::mem::discriminant(e) == std::mem::discriminant(&event);
            if events.iter().any(same) {
                return Err(self.error_near("duplicate trigger events specified"));
            }
            events.push(event);
        }
        self.expect_kw(Kw::On)?;
        let rel = self.rel_name()?;
        let mut constraint_rel = None;
        if is_constraint && self.accept_kw(Kw::From) {
            constraint_rel = Some(self.rel_name()?);
        }
        let (deferrable, initially_deferred) =
            if is_constraint { self.trigger_attributes()? } else { (false, false) };
        let transitions = if is_constraint { Vec::new() } else { self.opt_referencing()? };
        let mut for_row = false;
        if self.accept_kw(Kw::For) {
            self.accept_kw(Kw::Each);
            for_row = self.accept_kw(Kw::Row);
            if !for_row {
                self.expect_kw(Kw::Statement)?;
            }
        }
        let mut when = None;
        if self.accept_kw(Kw::When) {
            self.expect(T::LParen)?;
            when = Some(self.expr()?);
            self.expect(T::RParen)?;
        }
        let (function, args) = self.trigger_function()?;
        Ok(Stmt::CreateTrigger(Box::new(CreateTriggerStmt {
            replace,
            is_constraint,
            name,
            rel,
            timing,
            events,
            for_row,
            transitions,
            when,
            function,
            args,
            deferrable,
            initially_deferred,
            constraint_rel,
        })))
    }

    fn trigger_attributes(&mut self) -> Result<(bool, bool)> {
        let (mut deferrable, mut deferred) = (false, false);
        loop {
            let pos = self.pos();
            match (self.kw(), self.kw_ahead(1)) {
                (Kw::Deferrable, _) => {
                    self.bump();
                    deferrable = true;
                }
                (Kw::Not, Kw::Deferrable) | (Kw::Initially, Kw::Immediate) => self.at += 2,
                (Kw::Initially, Kw::Deferred) => {
                    self.at += 2;
                    (deferrable, deferred) = (true, true);
                }
                (Kw::Not, Kw::Valid) => {
                    return Err(self.refuse_trigger_mark(pos, "NOT VALID"));
                }
                (Kw::No, Kw::Inherit) => {
                    return Err(self.refuse_trigger_mark(pos, "NO INHERIT"));
                }
                (Kw::Not, Kw::Enforced) => {
                    return Err(self.refuse_trigger_mark(pos, "NOT ENFORCED"));
                }
                _ => return Ok((deferrable, deferred)),
            }
        }
    }

    fn refuse_trigger_mark(&self, pos: Pos, mark: &str) -> Error {
        base::err!(FEATURE_NOT_SUPPORTED, "TRIGGER constraints cannot be marked {mark}").at(pos)
    }

    fn trigger_event(&mut self) -> Result<TriggerEvent> {
        let event = match self.kw() {
            Kw::Insert => TriggerEvent::Insert,
            Kw::Delete => TriggerEvent::Delete,
            Kw::Truncate => TriggerEvent::Truncate,
            Kw::Update => {
                self.bump();
                let columns = if self.accept_kw(Kw::Of) { self.name_list()? } else { Vec::new() };
                return Ok(TriggerEvent::Update(columns));
            }
            _ => return Err(self.unexpected()),
        };
        self.bump();
        Ok(event)
    }

    fn opt_referencing(&mut self) -> Result<Vec<TriggerTransition>> {
        let mut list = Vec::new();
        if !self.accept_kw(Kw::Referencing) {
            return Ok(list);
        }
        while self.is_any(&[Kw::New, Kw::Old]) || list.is_empty() {
            let is_new = self.accept_kw(Kw::New);
            if !is_new {
                self.expect_kw(Kw::Old)?;
            }
            let is_table = self.accept_kw(Kw::Table);
            if !is_table {
                self.accept_kw(Kw::Row);
            }
            self.accept_kw(Kw::As);
            list.push(TriggerTransition { name: self.col_id()?, is_new, is_table });
        }
        Ok(list)
    }

    /// EXECUTE FUNCTION name (args).
    fn trigger_function(&mut self) -> Result<(Name, Vec<String>)> {
        self.expect_kw(Kw::Execute)?;
        if !self.accept_kw(Kw::Function) {
            self.expect_kw(Kw::Procedure)?;
        }
        let name = self.func_name()?;
        self.expect(T::LParen)?;
        let mut args = Vec::new();
        if !self.is(T::RParen) {
            args = self.list(|p| match p.tok().kind {
                T::Int => Ok(p.iconst()?.to_string()),
                T::Float => p.numeric_only(),
                T::Str => p.sconst(),
                _ => p.col_label(),
            })?;
        }
        self.expect(T::RParen)?;
        Ok((name, args))
    }

    pub(super) fn create_event_trigger(&mut self) -> Result<Stmt> {
        self.expect_kws(&[Kw::Event, Kw::Trigger])?;
        let name = self.name()?;
        self.expect_kw(Kw::On)?;
        let event = self.col_label()?;
        let mut when = Vec::new();
        if self.accept_kw(Kw::When) {
            loop {
                let pos = self.pos();
                let variable = Ident { name: self.col_id()?, pos };
                self.expect_kw(Kw::In)?;
                when.push((variable, self.paren_list(|p| p.sconst())?));
                if !self.accept_kw(Kw::And) {
                    break;
                }
            }
        }
        self.expect_kw(Kw::Execute)?;
        if !self.accept_kw(Kw::Function) {
            self.expect_kw(Kw::Procedure)?;
        }
        let function = self.func_name()?;
        self.expect(T::LParen)?;
        self.expect(T::RParen)?;
        Ok(Stmt::CreateEventTrigger(CreateEventTriggerStmt { name, event, when, function }))
    }

    // Rules and policies.

    pub(super) fn create_rule(&mut self, replace: bool) -> Result<Stmt> {
        self.bump();
        let name = self.name()?;
        self.expect_kws(&[Kw::As, Kw::On])?;
        let event = match self.kw() {
            Kw::Select => RuleEvent::Select,
            Kw::Insert => RuleEvent::Insert,
            Kw::Update => RuleEvent::Update,
            Kw::Delete => RuleEvent::Delete,
            _ => return Err(self.unexpected()),
        };
        self.bump();
        self.expect_kw(Kw::To)?;
        let rel = self.rel_name()?;
        let where_clause = self.opt_where()?;
        self.expect_kw(Kw::Do)?;
        let instead = self.accept_kw(Kw::Instead);
        if !instead {
            self.accept_kw(Kw::Also);
        }
        let mut actions = Vec::new();
        if self.is(T::LParen) {
            self.bump();
            while !self.is(T::RParen) {
                if !self.accept(T::Semi) {
                    actions.push(self.rule_action()?);
                    if !self.is(T::RParen) && !self.is(T::Semi) {
                        return Err(self.unexpected());
                    }
                }
            }
            self.bump();
        } else if !self.accept_kw(Kw::Nothing) {
            actions.push(self.rule_action()?);
        }
        Ok(Stmt::CreateRule(Box::new(CreateRuleStmt {
            replace,
            name,
            rel,
            event,
            where_clause,
            instead,
            actions,
        })))
    }

    fn rule_action(&mut self) -> Result<RawStmt> {
        let location = self.pos();
        let stmt = if self.is_kw(Kw::Notify) { self.command()? } else { self.preparable()? };
        Ok(RawStmt { stmt, location, len: self.last_end() - location })
    }

    /// CREATE or ALTER POLICY, at POLICY.
    pub(super) fn policy(&mut self, create: bool) -> Result<Stmt> {
        self.bump();
        let name = self.name()?;
        self.expect_kw(Kw::On)?;
        let rel = self.rel_name()?;
        let mut permissive = true;
        let mut command = "all".to_owned();
        if create && self.accept_kw(Kw::As) {
            let pos = self.pos();
            if !self.is(T::Ident) {
                return Err(self.unexpected());
            }
            let word = self.col_id()?;
            permissive = match word.as_str() {
                "permissive" => true,
                "restrictive" => false,
                _ => {
                    let message = format!("unrecognized row security option \"{word}\"");
                    return Err(self
                        .error_at(pos, &message)
                        .hint("Only PERMISSIVE or RESTRICTIVE policies are supported currently."));
                }
            };
        }
        if create && self.accept_kw(Kw::For) {
            if !self.is_any(&[Kw::All, Kw::Select, Kw::Insert, Kw::Update, Kw::Delete]) {
                return Err(self.unexpected());
            }
            let token = self.bump();
            command = self.name_of(token);
        }
        let mut roles = None;
        if self.accept_kw(Kw::To) {
            roles = Some(self.role_list()?);
        }
        let (mut using, mut check) = (None, None);
        if self.accept_kw(Kw::Using) {
            self.expect(T::LParen)?;
            using = Some(self.expr()?);
            self.expect(T::RParen)?;
        }
        if self.accept_kws(&[Kw::With, Kw::Check]) {
            self.expect(T::LParen)?;
            check = Some(self.expr()?);
            self.expect(T::RParen)?;
        }
        let stmt = Box::new(PolicyStmt { name, rel, permissive, command, roles, using, check });
        Ok(if create { Stmt::CreatePolicy(stmt) } else { Stmt::AlterPolicy(stmt) })
    }
}
