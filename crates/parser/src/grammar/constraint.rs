//! Constraints of columns, tables and domains.

use super::*;

/// Where a constraint stands.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Place {
    Table,
    Domain,
}

pub(super) fn constraint(name: Option<String>, kind: ConstraintKind, pos: Pos) -> Constraint {
    Constraint {
        name,
        kind,
        deferrable: false,
        initially_deferred: false,
        not_valid: false,
        enforced: true,
        no_inherit: false,
        pos,
    }
}

impl Parser<'_> {
    /// ColQualList: constraints, their attributes, COLLATE.
    pub(super) fn column_qualifiers(
        &mut self,
        place: Place,
    ) -> Result<(Vec<Constraint>, Option<Name>)> {
        let mut list: Vec<Constraint> = Vec::new();
        let mut collation = None;
        loop {
            let pos = self.pos();
            if self.is_kw(Kw::Collate) {
                self.bump();
                let name = Name { pos, ..self.any_name()? };
                if collation.replace(name).is_some() {
                    return Err(self.error_at(pos, "multiple COLLATE clauses not allowed"));
                }
                continue;
            }
            if self.column_attribute(&mut list, place)? {
                continue;
            }
            let mut name = None;
            if self.accept_kw(Kw::Constraint) {
                name = Some(self.name()?);
            }
            match self.column_constraint_kind()? {
                Some((kind, no_inherit)) => {
                    let made = constraint(name, kind, pos);
                    list.push(Constraint { no_inherit, ..made });
                }
                None if name.is_some() => return Err(self.unexpected()),
                None => return Ok((list, collation)),
            }
        }
    }

    /// DEFERRABLE and its kin after a column's constraint, which they change.
    fn column_attribute(&mut self, list: &mut [Constraint], place: Place) -> Result<bool> {
        let pos = self.pos();
        let clause = match (self.kw(), self.kw_ahead(1)) {
            (Kw::Deferrable, _) => "DEFERRABLE",
            (Kw::Not, Kw::Deferrable) => "NOT DEFERRABLE",
            (Kw::Initially, Kw::Deferred) => "INITIALLY DEFERRED",
            (Kw::Initially, Kw::Immediate) => "INITIALLY IMMEDIATE",
            (Kw::Enforced, _) => "ENFORCED",
            (Kw::Not, Kw::Enforced) => "NOT ENFORCED",
            (Kw::Initially, _) => {
                self.bump();
                return Err(self.unexpected());
            }
            _ => return Ok(false),
        };
        // What stands right before, for clauses that may only come once.
        let after_enforced = self.at > 0 && self.tokens[self.at - 1].kw == Kw::Enforced;
        self.at += if clause.contains(' ') { 2 } else { 1 };
        if place == Place::Domain {
            let what =
                if clause.ends_with("ENFORCED") { "enforceability" } else { "deferrability" };
            let message = format!("specifying constraint {what} not supported for domains");
            return Err(base::err!(FEATURE_NOT_SUPPORTED, "{message}").at(pos));
        }
        let check_ok = clause.ends_with("ENFORCED");
        let target = list.last_mut().filter(|c| match c.kind {
            ConstraintKind::PrimaryKey(_)
            | ConstraintKind::Unique(_)
            | ConstraintKind::Exclude(_) => !check_ok,
            ConstraintKind::ForeignKey(_) => true,
            ConstraintKind::Check(_) => check_ok,
            _ => false,
        });
        let Some(target) = target else {
            return Err(self.error_at(pos, &format!("misplaced {clause} clause")));
        };
        if clause.ends_with("ENFORCED") && (after_enforced || !target.enforced) {
            let message = "multiple ENFORCED/NOT ENFORCED clauses not allowed";
            return Err(self.error_at(pos, message));
        }
        match clause {
            "DEFERRABLE" => target.deferrable = true,
            "NOT DEFERRABLE" if target.initially_deferred => {
                let message = "constraint declared INITIALLY DEFERRED must be DEFERRABLE";
                return Err(self.error_at(pos, message));
            }
            "INITIALLY DEFERRED" => {
                target.deferrable = true;
                target.initially_deferred = true;
            }
            "ENFORCED" => target.enforced = true,
            "NOT ENFORCED" => {
                target.enforced = false;
                target.not_valid = true;
            }
            _ => {}
        }
        Ok(true)
    }

    fn column_constraint_kind(&mut self) -> Result<Option<(ConstraintKind, bool)>> {
        let kind = match self.kw() {
            Kw::Not => {
                self.bump();
                self.expect_kw(Kw::Null)?;
                let no_inherit = self.accept_kws(&[Kw::No, Kw::Inherit]);
                return Ok(Some((ConstraintKind::NotNull(None), no_inherit)));
            }
            Kw::Null => {
                self.bump();
                ConstraintKind::Null
            }
            Kw::Unique => {
                self.bump();
                let nulls_not_distinct = self.opt_nulls_not_distinct();
                let mut key = self.key_tail(KeyConstraint::default())?;
                key.nulls_not_distinct = nulls_not_distinct;
                ConstraintKind::Unique(key)
            }
            Kw::Primary => {
                self.bump();
                self.expect_kw(Kw::Key)?;
                ConstraintKind::PrimaryKey(self.key_tail(KeyConstraint::default())?)
            }
            Kw::Check => {
                self.bump();
                let check = self.check_body()?;
                let no_inherit = self.accept_kws(&[Kw::No, Kw::Inherit]);
                return Ok(Some((check, no_inherit)));
            }
            Kw::Default => {
                self.bump();
                ConstraintKind::Default(Box::new(self.b_expr()?))
            }
            Kw::Generated => self.generated()?,
            Kw::References => {
                self.bump();
                ConstraintKind::ForeignKey(Box::new(self.references(Vec::new(), false)?))
            }
            _ => return Ok(None),
        };
        Ok(Some((kind, false)))
    }

    fn check_body(&mut self) -> Result<ConstraintKind> {
        self.expect(T::LParen)?;
        let expr = self.boxed_expr()?;
        self.expect(T::RParen)?;
        Ok(ConstraintKind::Check(expr))
    }

    /// GENERATED ALWAYS | BY DEFAULT: true for ALWAYS.
    pub(super) fn generated_when(&mut self) -> Result<bool> {
        self.expect_kw(Kw::Generated)?;
        if self.accept_kw(Kw::Always) {
            return Ok(true);
        }
        self.expect_kws(&[Kw::By, Kw::Default])?;
        Ok(false)
    }

    fn generated(&mut self) -> Result<ConstraintKind> {
        let pos = self.ahead(1).start;
        let always = self.generated_when()?;
        self.expect_kw(Kw::As)?;
        if self.accept_kw(Kw::Identity) {
            let options = self.opt_seq_options_in_parens()?;
            return Ok(ConstraintKind::Identity { always, options });
        }
        self.expect(T::LParen)?;
        let expr = self.boxed_expr()?;
        self.expect(T::RParen)?;
        let stored = self.accept_kw(Kw::Stored);
        if !stored {
            self.accept_kw(Kw::Virtual);
        }
        if !always {
            let message = "for a generated column, GENERATED ALWAYS must be specified";
            return Err(self.error_at(pos, message));
        }
        Ok(ConstraintKind::Generated { expr, stored, always })
    }

    pub(super) fn opt_seq_options_in_parens(&mut self) -> Result<Vec<SeqOption>> {
        let mut options = Vec::new();
        if self.accept(T::LParen) {
            while !self.is(T::RParen) {
                options.push(self.seq_option()?);
            }
            self.expect(T::RParen)?;
        }
        Ok(options)
    }

    /// INCLUDE, WITH, USING INDEX TABLESPACE.
    fn key_tail(&mut self, mut key: KeyConstraint) -> Result<KeyConstraint> {
        key.including = self.opt_include()?;
        if self.accept_kw(Kw::With) {
            key.options = self.definition()?;
        }
        key.tablespace = self.opt_index_tablespace()?;
        Ok(key)
    }

    fn opt_index_tablespace(&mut self) -> Result<Option<String>> {
        if self.accept_kws(&[Kw::Using, Kw::Index, Kw::Tablespace]) {
            return Ok(Some(self.name()?));
        }
        Ok(None)
    }

    /// After REFERENCES.
    fn references(&mut self, columns: Vec<String>, period: bool) -> Result<ForeignKey> {
        let target = self.rel_name()?;
        let mut key = ForeignKey {
            columns,
            period,
            target,
            target_columns: Vec::new(),
            target_period: false,
            matching: FkMatch::Simple,
            on_delete: FkAction::NoAction,
            delete_columns: Vec::new(),
            on_update: FkAction::NoAction,
        };
        if self.is(T::LParen) {
            (key.target_columns, key.target_period) = self.columns_with_period()?;
        }
        if self.accept_kw(Kw::Match) {
            let pos = self.pos();
            key.matching = match self.kw() {
                Kw::Full => FkMatch::Full,
                Kw::Simple => FkMatch::Simple,
                Kw::Partial => {
                    return Err(base::err!(
                        FEATURE_NOT_SUPPORTED,
                        "MATCH PARTIAL not yet implemented"
                    )
                    .at(pos - 6));
                }
                _ => return Err(self.unexpected()),
            };
            self.bump();
        }
        let (mut delete_seen, mut update_seen) = (false, false);
        while self.is_kw(Kw::On) {
            if !delete_seen && self.kw_ahead(1) == Kw::Delete {
                self.at += 2;
                (key.on_delete, key.delete_columns) = self.fk_action()?;
                delete_seen = true;
            } else if !update_seen && self.kw_ahead(1) == Kw::Update {
                let pos = self.pos();
                self.at += 2;
                let (action, columns) = self.fk_action()?;
                if !columns.is_empty() {
                    let word = if action == FkAction::SetNull { "NULL" } else { "DEFAULT" };
                    return Err(base::err!(
                        FEATURE_NOT_SUPPORTED,
                        "a column list with SET {word} is only supported for ON DELETE actions"
                    )
                    .at(pos));
                }
                key.on_update = action;
                update_seen = true;
            } else {
                self.bump();
                return Err(self.unexpected());
            }
        }
        Ok(key)
    }

    /// `(a, b, PERIOD c)`.
    fn columns_with_period(&mut self) -> Result<(Vec<String>, bool)> {
        let mut period = false;
        let columns = self.paren_list(|p| {
            if p.is_kw(Kw::Period)
                && p.token_in(p.ahead(1), &[Category::Unreserved, Category::ColName])
            {
                p.bump();
                period = true;
            }
            p.col_id()
        })?;
        Ok((columns, period))
    }

    fn fk_action(&mut self) -> Result<(FkAction, Vec<String>)> {
        let action = match self.kw() {
            Kw::No => {
                self.bump();
                if !self.is_kw(Kw::Action) {
                    return Err(self.unexpected());
                }
                FkAction::NoAction
            }
            Kw::Restrict => FkAction::Restrict,
            Kw::Cascade => FkAction::Cascade,
            Kw::Set => {
                self.bump();
                let action = match self.kw() {
                    Kw::Null => FkAction::SetNull,
                    Kw::Default => FkAction::SetDefault,
                    _ => return Err(self.unexpected()),
                };
                self.bump();
                return Ok((action, self.opt_paren_names()?));
            }
            _ => return Err(self.unexpected()),
        };
        self.bump();
        Ok((action, Vec::new()))
    }

    pub(super) fn at_table_constraint(&self) -> bool {
        match self.kw() {
            Kw::Constraint | Kw::Check | Kw::Unique | Kw::Primary | Kw::Foreign => true,
            Kw::Exclude => self.ahead(1).kind == T::LParen || self.kw_ahead(1) == Kw::Using,
            Kw::Not => self.kw_ahead(1) == Kw::Null,
            _ => false,
        }
    }

    /// TableConstraint / DomainConstraint.
    pub(super) fn table_constraint(&mut self, place: Place) -> Result<Constraint> {
        let pos = self.pos();
        let name = if self.accept_kw(Kw::Constraint) { Some(self.name()?) } else { None };
        let kind = match self.kw() {
            Kw::Check => {
                self.bump();
                self.check_body()?
            }
            Kw::Not => {
                self.bump();
                self.expect_kw(Kw::Null)?;
                match place {
                    Place::Table => ConstraintKind::NotNull(Some(self.col_id()?)),
                    Place::Domain => ConstraintKind::NotNull(None),
                }
            }
            Kw::Unique if place == Place::Table => {
                self.bump();
                let distinct = self.opt_nulls_not_distinct();
                let mut key = self.table_key()?;
                key.nulls_not_distinct = distinct;
                ConstraintKind::Unique(key)
            }
            Kw::Primary if place == Place::Table => {
                self.bump();
                self.expect_kw(Kw::Key)?;
                ConstraintKind::PrimaryKey(self.table_key()?)
            }
            Kw::Exclude if place == Place::Table => self.exclude()?,
            Kw::Foreign if place == Place::Table => {
                self.bump();
                self.expect_kw(Kw::Key)?;
                let (columns, period) = self.columns_with_period()?;
                self.expect_kw(Kw::References)?;
                ConstraintKind::ForeignKey(Box::new(self.references(columns, period)?))
            }
            _ => return Err(self.unexpected()),
        };
        let mut made = constraint(name, kind, pos);
        self.table_attributes(&mut made, place)?;
        Ok(made)
    }

    /// ConstraintAttributeSpec of a table's constraint.
    fn table_attributes(&mut self, made: &mut Constraint, place: Place) -> Result<()> {
        let what = match made.kind {
            ConstraintKind::Check(_) => "CHECK",
            ConstraintKind::NotNull(_) => "NOT NULL",
            ConstraintKind::Unique(_) => "UNIQUE",
            ConstraintKind::PrimaryKey(_) => "PRIMARY KEY",
            ConstraintKind::Exclude(_) => "EXCLUDE",
            _ => "FOREIGN KEY",
        };
        let index = matches!(what, "UNIQUE" | "PRIMARY KEY" | "EXCLUDE");
        let refuse = |p: &Self, pos: Pos, attribute: &str| {
            let _ = p;
            let message = format!("{what} constraints cannot be marked {attribute}");
            Err(base::err!(FEATURE_NOT_SUPPORTED, "{message}").at(pos))
        };
        loop {
            let pos = self.pos();
            match (self.kw(), self.kw_ahead(1)) {
                (Kw::Deferrable, _) | (Kw::Initially, Kw::Deferred) => {
                    let initially = self.is_kw(Kw::Initially);
                    self.at += 1 + initially as usize;
                    if !index && what != "FOREIGN KEY" {
                        return refuse(self, pos, "DEFERRABLE");
                    }
                    made.deferrable = true;
                    made.initially_deferred |= initially;
                }
                (Kw::Not, Kw::Deferrable) | (Kw::Initially, Kw::Immediate) => {
                    self.at += 2;
                    if made.initially_deferred && self.tokens[self.at - 1].kw == Kw::Deferrable {
                        let message = "constraint declared INITIALLY DEFERRED must be DEFERRABLE";
                        return Err(self.error_at(pos, message));
                    }
                }
                (Kw::Not, Kw::Valid) => {
                    self.at += 2;
                    if index {
                        return refuse(self, pos, "NOT VALID");
                    }
                    made.not_valid = true;
                }
                (Kw::No, Kw::Inherit) => {
                    self.at += 2;
                    if index || what == "FOREIGN KEY" {
                        return refuse(self, pos, "NO INHERIT");
                    }
                    made.no_inherit = true;
                }
                (Kw::Enforced, _) => {
                    self.bump();
                    if index || what == "NOT NULL" || place == Place::Domain {
                        return refuse(self, pos, "ENFORCED");
                    }
                }
                (Kw::Not, Kw::Enforced) => {
                    self.at += 2;
                    if index || what == "NOT NULL" || place == Place::Domain {
                        return refuse(self, pos, "NOT ENFORCED");
                    }
                    made.enforced = false;
                    made.not_valid = true;
                }
                _ => return Ok(()),
            }
        }
    }

    /// `(columns [WITHOUT OVERLAPS]) ..` or USING INDEX name.
    fn table_key(&mut self) -> Result<KeyConstraint> {
        if self.is_kws(&[Kw::Using, Kw::Index]) {
            self.at += 2;
            return Ok(KeyConstraint { index: Some(self.name()?), ..KeyConstraint::default() });
        }
        let mut key = KeyConstraint::default();
        self.expect(T::LParen)?;
        key.columns = self.name_list()?;
        key.without_overlaps = self.accept_kws(&[Kw::Without, Kw::Overlaps]);
        self.expect(T::RParen)?;
        self.key_tail(key)
    }

    fn exclude(&mut self) -> Result<ConstraintKind> {
        self.bump();
        let access_method = self.opt_access_method()?;
        let elems = self.paren_list(|p| {
            let elem = p.index_elem()?;
            p.expect_kw(Kw::With)?;
            let op = if p.is_kw(Kw::Operator) { p.operator_name()? } else { p.any_operator()? };
            Ok((elem, op))
        })?;
        let key = self.key_tail(KeyConstraint::default())?;
        let mut predicate = None;
        if self.accept_kw(Kw::Where) {
            self.expect(T::LParen)?;
            predicate = Some(self.expr()?);
            self.expect(T::RParen)?;
        }
        Ok(ConstraintKind::Exclude(Box::new(ExcludeConstraint {
            access_method,
            elems,
            including: key.including,
            options: key.options,
            tablespace: key.tablespace,
            predicate,
        })))
    }
}
