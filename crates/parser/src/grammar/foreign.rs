//! Foreign data, publications, subscriptions.

use super::lists::{flag, option};
use super::*;

impl Parser<'_> {
    /// CREATE or ALTER FOREIGN DATA WRAPPER, at FOREIGN.
    pub(super) fn foreign_data_wrapper(&mut self, create: bool) -> Result<Stmt> {
        self.expect_kws(&[Kw::Foreign, Kw::Data, Kw::Wrapper])?;
        let name = self.name()?;
        let mut func_options = Vec::new();
        loop {
            let pos = self.pos();
            let word = match (self.kw(), self.kw_ahead(1)) {
                (Kw::No, Kw::Handler) => "handler",
                (Kw::No, Kw::Validator) => "validator",
                (Kw::Handler, _) | (Kw::Validator, _) => {
                    let token = self.bump();
                    let value = DefValue::Names(self.any_name()?.parts);
                    func_options.push(option(self.name_of(token), Some(value), pos));
                    continue;
                }
                _ => break,
            };
            self.at += 2;
            func_options.push(option(word, None, pos));
        }
        let mut options = Vec::new();
        if create {
            options = self.create_options()?;
        } else if self.is_kw(Kw::Options) {
            options = self.alter_options()?;
        } else if func_options.is_empty() {
            return Err(self.unexpected());
        }
        let stmt = ForeignDataWrapperStmt { name, func_options, options };
        Ok(if create {
            Stmt::CreateForeignDataWrapper(stmt)
        } else {
            Stmt::AlterForeignDataWrapper(stmt)
        })
    }

    pub(super) fn create_server(&mut self) -> Result<Stmt> {
        self.bump();
        let if_not_exists = self.if_not_exists()?;
        let name = self.name()?;
        let server_type = if self.accept_kw(Kw::Type) { Some(self.sconst()?) } else { None };
        let mut version = None;
        if self.accept_kw(Kw::Version) && !self.accept_kw(Kw::Null) {
            version = Some(self.sconst()?);
        }
        self.expect_kws(&[Kw::Foreign, Kw::Data, Kw::Wrapper])?;
        let wrapper = self.name()?;
        let options = self.create_options()?;
        Ok(Stmt::CreateForeignServer(CreateForeignServerStmt {
            name,
            if_not_exists,
            server_type,
            version,
            wrapper,
            options,
        }))
    }

    pub(super) fn alter_server(&mut self) -> Result<Stmt> {
        let name = self.name()?;
        let mut version = None;
        if self.accept_kw(Kw::Version) {
            version = Some(if self.accept_kw(Kw::Null) { None } else { Some(self.sconst()?) });
        }
        let mut options = Vec::new();
        if version.is_none() || self.is_kw(Kw::Options) {
            options = self.alter_options()?;
        }
        Ok(Stmt::AlterForeignServer(AlterForeignServerStmt { name, version, options }))
    }

    /// CREATE, ALTER or DROP USER MAPPING; the verb was just eaten.
    pub(super) fn user_mapping(&mut self) -> Result<Stmt> {
        if !self.is_kw(Kw::User) {
            self.bump();
        }
        let action = match self.tokens[self.at - 1].kw {
            Kw::Alter => UserMappingAction::Alter,
            Kw::Drop => UserMappingAction::Drop,
            _ => UserMappingAction::Create,
        };
        self.expect_kws(&[Kw::User, Kw::Mapping])?;
        let if_exists = match action {
            UserMappingAction::Create => self.if_not_exists()?,
            UserMappingAction::Drop => self.if_exists()?,
            UserMappingAction::Alter => false,
        };
        self.expect_kw(Kw::For)?;
        let pos = self.pos();
        let user = if self.accept_kw(Kw::User) {
            RoleSpec { kind: RoleKind::CurrentUser, pos }
        } else {
            self.role_spec()?
        };
        self.expect_kw(Kw::Server)?;
        let server = self.name()?;
        let options = match action {
            UserMappingAction::Create => self.create_options()?,
            UserMappingAction::Alter => self.alter_options()?,
            UserMappingAction::Drop => Vec::new(),
        };
        Ok(Stmt::UserMapping(UserMappingStmt { action, user, server, if_exists, options }))
    }

    pub(super) fn import_foreign_schema(&mut self) -> Result<Stmt> {
        self.expect_kws(&[Kw::Import, Kw::Foreign, Kw::Schema])?;
        let remote_schema = self.name()?;
        let mut filter = None;
        if self.accept_kws(&[Kw::Limit, Kw::To]) {
            filter = Some((true, self.paren_list(|p| p.rel_name())?));
        } else if self.accept_kw(Kw::Except) {
            filter = Some((false, self.paren_list(|p| p.rel_name())?));
        }
        self.expect_kws(&[Kw::From, Kw::Server])?;
        let server = self.name()?;
        self.expect_kw(Kw::Into)?;
        let local_schema = self.name()?;
        let options = self.create_options()?;
        Ok(Stmt::ImportForeignSchema(ImportForeignSchemaStmt {
            remote_schema,
            filter,
            server,
            local_schema,
            options,
        }))
    }

    // Publications.

    pub(super) fn create_publication(&mut self) -> Result<Stmt> {
        self.bump();
        let name = self.name()?;
        let mut all_tables = false;
        let mut objects = Vec::new();
        if self.accept_kw(Kw::For) {
            all_tables = self.accept_kws(&[Kw::All, Kw::Tables]);
            if !all_tables {
                objects = self.publication_objects()?;
            }
        }
        let options = self.opt_definition()?;
        let action = PublicationAction::Create;
        let stmt = PublicationStmt { name, action, all_tables, objects, options };
        Ok(Stmt::CreatePublication(Box::new(stmt)))
    }

    /// pub_obj_list: a bare name continues the kind before it.
    fn publication_objects(&mut self) -> Result<Vec<PublicationObject>> {
        let mut schemas = None;
        self.list(|p| {
            let pos = p.pos();
            if p.accept_kw(Kw::Table) {
                schemas = Some(false);
                return p.publication_table();
            }
            if p.is_kws(&[Kw::Tables, Kw::In]) {
                p.at += 2;
                p.expect_kw(Kw::Schema)?;
                schemas = Some(true);
                let at = p.pos();
                if p.accept_kw(Kw::CurrentSchema) {
                    return Ok(PublicationObject::CurrentSchema(at));
                }
                return Ok(PublicationObject::Schema(p.col_id()?, at));
            }
            match schemas {
                Some(true) => {
                    let at = p.pos();
                    if p.accept_kw(Kw::CurrentSchema) {
                        return Ok(PublicationObject::CurrentSchema(at));
                    }
                    if matches!(p.ahead(1).kind, T::Dot) {
                        return Err(p.error_at(at, "invalid schema name"));
                    }
                    let name = p.col_id()?;
                    if p.is(T::LParen) {
                        let message = "column specification not allowed for schema";
                        return Err(p.error_at(at, message));
                    }
                    if p.is_kw(Kw::Where) {
                        return Err(p.error_at(at, "WHERE clause not allowed for schema"));
                    }
                    Ok(PublicationObject::Schema(name, at))
                }
                Some(false) if p.is_kw(Kw::CurrentSchema) => {
                    Err(p.error_at(pos, "invalid table name"))
                }
                Some(false) => p.publication_table(),
                None => Err(p.error_at(pos, "invalid publication object list").detail(
                    "One of TABLE or TABLES IN SCHEMA must be specified before a standalone \
                     table or schema name.",
                )),
            }
        })
    }

    fn publication_table(&mut self) -> Result<PublicationObject> {
        let table = self.plain_table()?;
        let columns = self.opt_paren_names()?;
        let mut filter = None;
        if self.accept_kw(Kw::Where) {
            self.expect(T::LParen)?;
            filter = Some(self.expr()?);
            self.expect(T::RParen)?;
        }
        Ok(PublicationObject::Table { table, columns, filter })
    }

    pub(super) fn alter_publication(&mut self) -> Result<Stmt> {
        let name = self.name()?;
        let mut stmt = PublicationStmt {
            name,
            action: PublicationAction::Options,
            all_tables: false,
            objects: Vec::new(),
            options: Vec::new(),
        };
        let word = self.bump().kw;
        stmt.action = match word {
            Kw::Set if self.is(T::LParen) => {
                stmt.options = self.definition()?;
                return Ok(Stmt::AlterPublication(Box::new(stmt)));
            }
            Kw::Set => PublicationAction::Set,
            Kw::Add => PublicationAction::Add,
            Kw::Drop => PublicationAction::Drop,
            _ => {
                self.at -= 1;
                return Err(self.unexpected());
            }
        };
        stmt.objects = self.publication_objects()?;
        Ok(Stmt::AlterPublication(Box::new(stmt)))
    }

    // Subscriptions.

    pub(super) fn create_subscription(&mut self) -> Result<Stmt> {
        self.bump();
        let name = self.name()?;
        self.expect_kw(Kw::Connection)?;
        let connection = Some(self.sconst()?);
        self.expect_kw(Kw::Publication)?;
        let publications = self.list(|p| p.col_label())?;
        let options = self.opt_definition()?;
        let action = SubscriptionAction::Create;
        let stmt = SubscriptionStmt { name, action, connection, publications, options };
        Ok(Stmt::CreateSubscription(stmt))
    }

    pub(super) fn alter_subscription(&mut self) -> Result<Stmt> {
        use SubscriptionAction::*;
        let name = self.name()?;
        let mut stmt = SubscriptionStmt {
            name,
            action: Options,
            connection: None,
            publications: Vec::new(),
            options: Vec::new(),
        };
        let pos = self.pos();
        let word = self.bump().kw;
        match (word, self.kw()) {
            (Kw::Set, _) if self.is(T::LParen) => stmt.options = self.definition()?,
            (Kw::Connection, _) => {
                stmt.action = Connection;
                stmt.connection = Some(self.sconst()?);
            }
            (Kw::Refresh, Kw::Publication) => {
                self.bump();
                stmt.action = Refresh;
                stmt.options = self.opt_definition()?;
            }
            (Kw::Add | Kw::Set | Kw::Drop, Kw::Publication) => {
                self.bump();
                stmt.action = match word {
                    Kw::Add => AddPublication,
                    Kw::Set => SetPublication,
                    _ => DropPublication,
                };
                stmt.publications = self.list(|p| p.col_label())?;
                stmt.options = self.opt_definition()?;
            }
            (Kw::Enable, _) => {
                stmt.action = Enable;
                stmt.options = vec![flag("enabled", true, pos)];
            }
            (Kw::Disable, _) => {
                stmt.action = Disable;
                stmt.options = vec![flag("enabled", false, pos)];
            }
            (Kw::Skip, _) => {
                stmt.action = Skip;
                stmt.options = self.definition()?;
            }
            _ => {
                self.at -= 1;
                return Err(self.unexpected());
            }
        }
        Ok(Stmt::AlterSubscription(stmt))
    }
}
