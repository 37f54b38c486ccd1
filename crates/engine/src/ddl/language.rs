//! CREATE LANGUAGE, CREATE TRANSFORM and CREATE ACCESS METHOD: what code of others brings with it.

use super::Ddl;
use super::describe::Found;
use base::{Error, Oid, Result, SqlState, bail, err};
use catalog::depend::{self, DependKind, ObjectAddress};
use catalog::{RelKind, RelationDesc, SysRow, indexes, oids};
use parser::ast::{
    CreateAccessMethodStmt, CreateLanguageStmt, CreateTransformStmt, Name, Object, ObjectDetail,
};
use types::Datum;

const LANGUAGE_HANDLER: Oid = Oid(2280);
const INDEX_AM_HANDLER: Oid = Oid(325);
const TABLE_AM_HANDLER: Oid = Oid(269);

fn refuse(text: &str) -> Error {
    Error::new(SqlState::INVALID_OBJECT_DEFINITION, text)
}

impl Ddl<'_> {
    /// CREATE LANGUAGE.
    pub fn create_language(&self, stmt: &CreateLanguageStmt) -> Result<()> {
        let name = stmt.name.as_str();
        let Some(handler) = &stmt.handler else {
            // Without a handler it is a way to install the extension of this name.
            if self.named_row(oids::PG_EXTENSION, "extname", name)?.is_some() {
                bail!(DUPLICATE_OBJECT, "extension \"{name}\" already exists");
            }
            return Err(err!(FEATURE_NOT_SUPPORTED, "extension \"{name}\" is not available").hint(
                "The extension must first be installed on the system where PostgreSQL is \
                     running.",
            ));
        };
        if !self.is_superuser()? {
            bail!(INSUFFICIENT_PRIVILEGE, "must be superuser to create custom procedural language");
        }
        let handler = self.function_exact(handler, &[])?;
        if handler.return_type != LANGUAGE_HANDLER {
            bail!(
                WRONG_OBJECT_TYPE,
                "function {} must return type language_handler",
                stmt.handler.as_ref().map_or("", Name::last)
            );
        }
        let other = |name: &Option<Name>, arg: Oid| -> Result<Oid> {
            match name {
                Some(name) => Ok(self.function_exact(name, &[arg])?.oid),
                None => Ok(Oid::INVALID),
            }
        };
        let inline = other(&stmt.inline, oids::INTERNAL)?;
        let validator = other(&stmt.validator, oids::OID)?;
        let found = self.named_row(oids::PG_LANGUAGE, "lanname", name)?;
        if found.is_some() && !stmt.replace {
            bail!(DUPLICATE_OBJECT, "language \"{name}\" already exists");
        }
        let replaced = found.is_some();
        let mut row = match found {
            Some(row) => row,
            None => {
                let mut row = SysRow::new(oids::PG_LANGUAGE)?;
                row.set_oid("oid", self.rows.new_oid(oids::PG_LANGUAGE)?)?
                    .set_oid("lanowner", self.user())?
                    .set("lanacl", Datum::Null)?;
                row
            }
        };
        let own = ObjectAddress::new(oids::PG_LANGUAGE, row.oid("oid")?);
        self.require_owner_if(replaced, own)?;
        row.set_text("lanname", name)?
            .set_bool("lanispl", true)?
            .set_bool("lanpltrusted", stmt.trusted)?
            .set_oid("lanplcallfoid", handler.oid)?
            .set_oid("laninline", inline)?
            .set_oid("lanvalidator", validator)?;
        match replaced {
            true => {
                self.rows.update(row)?;
                depend::forget(self.rows, own)?;
            }
            false => {
                self.rows.insert(row)?;
                self.depend_owner(own, self.user())?;
            }
        }
        for f in [handler.oid, inline, validator] {
            let f = ObjectAddress::new(oids::PG_PROC, f);
            depend::record(self.rows, own, f, DependKind::Normal)?;
        }
        Ok(())
    }

    fn require_owner_if(&self, needed: bool, a: ObjectAddress) -> Result<()> {
        if needed { self.require_owner(a) } else { Ok(()) }
    }

    /// CREATE ACCESS METHOD.
    pub fn create_access_method(&self, stmt: &CreateAccessMethodStmt) -> Result<()> {
        let name = stmt.name.as_str();
        if !self.is_superuser()? {
            return Err(err!(
                INSUFFICIENT_PRIVILEGE,
                "permission denied to create access method \"{name}\""
            )
            .hint("Must be superuser to create an access method."));
        }
        if self.named_row(oids::PG_AM, "amname", name)?.is_some() {
            bail!(DUPLICATE_OBJECT, "access method \"{name}\" already exists");
        }
        let handler = self.function_exact(&stmt.handler, &[oids::INTERNAL])?;
        let wanted = if stmt.table { TABLE_AM_HANDLER } else { INDEX_AM_HANDLER };
        if handler.return_type != wanted {
            bail!(
                WRONG_OBJECT_TYPE,
                "function {} must return type {}",
                handler.name,
                self.format_type(wanted, -1)
            );
        }
        let oid = self.rows.new_oid(oids::PG_AM)?;
        let mut row = SysRow::new(oids::PG_AM)?;
        row.set_oid("oid", oid)?
            .set_text("amname", name)?
            .set_oid("amhandler", handler.oid)?
            .set_char("amtype", if stmt.table { b't' } else { b'i' })?;
        self.rows.insert(row)?;
        let on = ObjectAddress::new(oids::PG_PROC, handler.oid);
        depend::record(self.rows, ObjectAddress::new(oids::PG_AM, oid), on, DependKind::Normal)
    }

    /// The access method of a new table: the one named, or that of the setting.
    pub(crate) fn table_method(&self, name: Option<&str>) -> Result<Oid> {
        let name = name.unwrap_or_else(|| self.settings.str("default_table_access_method"));
        if name == "heap" {
            return Ok(oids::HEAP_AM);
        }
        let found = self.rows.index_scan(indexes::PG_AM_NAME, &[Datum::text(name)])?;
        let Some(row) = found.first() else {
            bail!(UNDEFINED_OBJECT, "access method \"{name}\" does not exist");
        };
        if row.char("amtype")? != b't' {
            bail!(
                OBJECT_NOT_IN_PREREQUISITE_STATE,
                "access method \"{name}\" is not of type TABLE"
            );
        }
        // heap_tableam_handler
        match row.oid("amhandler")? {
            Oid(3) => row.oid("oid"),
            _ => Err(Error::unsupported(format!("access method \"{name}\""))),
        }
    }

    /// A relation needs its access method.
    pub(crate) fn depend_method(&self, relation: Oid, am: Oid) -> Result<()> {
        let on = ObjectAddress::new(oids::PG_AM, am);
        depend::record(self.rows, ObjectAddress::relation(relation), on, DependKind::Normal)
    }

    /// ALTER TABLE .. SET ACCESS METHOD.
    pub(crate) fn set_access_method(&self, rel: &RelationDesc, name: Option<&str>) -> Result<()> {
        let mut am = self.table_method(name)?;
        if rel.kind == RelKind::Partitioned && name.is_none() && am == oids::HEAP_AM {
            am = Oid::INVALID;
        }
        if am == rel.am {
            return Ok(());
        }
        // All methods that there are keep rows the same way: there is nothing to write anew.
        depend::forget_one(
            self.rows,
            ObjectAddress::relation(rel.oid),
            ObjectAddress::new(oids::PG_AM, rel.am),
        )?;
        let mut class = self.class_row(rel.oid)?;
        class.set_oid("relam", am)?;
        self.rows.update(class)?;
        self.depend_method(rel.oid, am)
    }

    /// One of a transform's two functions: it takes `internal` and gives a type.
    fn transform_function(&self, object: &Object, result: Oid, refusal: &str) -> Result<Oid> {
        let Found::Object(a) = self.find_object(object, false)? else {
            return Err(Error::internal("a transform without its function"));
        };
        let f = self.view.proc(a.object)?;
        if !self.has_rights_of(f.owner)? {
            bail!(INSUFFICIENT_PRIVILEGE, "must be owner of function {}", f.name);
        }
        if f.return_type != result {
            return Err(refuse(refusal));
        }
        if f.volatility == b'v' {
            return Err(refuse("transform function must not be volatile"));
        }
        if f.kind != b'f' {
            return Err(refuse("transform function must be a normal function"));
        }
        if f.returns_set {
            return Err(refuse("transform function must not return a set"));
        }
        if f.arg_types.len() != 1 {
            return Err(refuse("transform function must take one argument"));
        }
        if f.arg_types[0] != oids::INTERNAL {
            return Err(refuse("first argument of transform function must be type internal"));
        }
        Ok(f.oid)
    }

    /// CREATE TRANSFORM.
    pub fn create_transform(&self, stmt: &CreateTransformStmt) -> Result<()> {
        let ty = self.resolve_type(&stmt.type_name)?.oid;
        let desc = self.view.type_(ty)?;
        let shown = self.format_type(ty, -1);
        match desc.kind {
            b'p' => bail!(WRONG_OBJECT_TYPE, "data type {shown} is a pseudo-type"),
            b'd' => bail!(WRONG_OBJECT_TYPE, "data type {shown} is a domain"),
            _ => {}
        }
        self.require_owner(ObjectAddress::new(oids::PG_TYPE, ty))?;
        self.require_type_usage(ty)?;
        let word = stmt.language.as_str();
        let Some(language) = self.named_row(oids::PG_LANGUAGE, "lanname", word)? else {
            bail!(UNDEFINED_OBJECT, "language \"{word}\" does not exist");
        };
        let language = language.oid("oid")?;
        let from = stmt.from_sql.as_ref().map(|f| {
            let text = "return data type of FROM SQL function must be internal";
            self.transform_function(f, oids::INTERNAL, text)
        });
        let from = from.transpose()?.unwrap_or_default();
        let to = stmt.to_sql.as_ref().map(|f| {
            let text = "return data type of TO SQL function must be the transform data type";
            self.transform_function(f, ty, text)
        });
        let to = to.transpose()?.unwrap_or_default();
        let found = self.find_transform(ty, language)?;
        if found.is_some() && !stmt.replace {
            bail!(
                DUPLICATE_OBJECT,
                "transform for type {shown} language \"{word}\" already exists"
            );
        }
        let replaced = found.is_some();
        let mut row = match found {
            Some(row) => row,
            None => {
                let mut row = SysRow::new(oids::PG_TRANSFORM)?;
                row.set_oid("oid", self.rows.new_oid(oids::PG_TRANSFORM)?)?;
                row
            }
        };
        let own = ObjectAddress::new(oids::PG_TRANSFORM, row.oid("oid")?);
        row.set_oid("trftype", ty)?
            .set_oid("trflang", language)?
            .set_oid("trffromsql", from)?
            .set_oid("trftosql", to)?;
        match replaced {
            true => {
                self.rows.update(row)?;
                depend::forget(self.rows, own)?;
            }
            false => drop(self.rows.insert(row)?),
        }
        for on in [
            ObjectAddress::new(oids::PG_LANGUAGE, language),
            ObjectAddress::new(oids::PG_TYPE, ty),
            ObjectAddress::new(oids::PG_PROC, from),
            ObjectAddress::new(oids::PG_PROC, to),
        ] {
            depend::record(self.rows, own, on, DependKind::Normal)?;
        }
        Ok(())
    }

    fn find_transform(&self, ty: Oid, language: Oid) -> Result<Option<SysRow>> {
        for row in self.rows.table_scan(oids::PG_TRANSFORM)? {
            if row.oid("trftype")? == ty && row.oid("trflang")? == language {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    /// The transform that a statement names by its type and language.
    pub(super) fn find_transform_object(&self, object: &Object, missing_ok: bool) -> Result<Found> {
        let ObjectDetail::Transform(type_name, language) = &object.detail else {
            return Err(Error::internal("a transform without its type"));
        };
        let ty = self.resolve_type(type_name)?.oid;
        let found = self.oid_by_name(indexes::PG_LANGUAGE_NAME, language)?;
        let Some(language_oid) = found else {
            let text = format!("language \"{language}\" does not exist");
            return match missing_ok {
                true => Ok(Found::Missing(text)),
                false => Err(Error::new(SqlState::UNDEFINED_OBJECT, text)),
            };
        };
        if let Some(row) = self.find_transform(ty, language_oid)? {
            let a = ObjectAddress::new(oids::PG_TRANSFORM, row.oid("oid")?);
            return Ok(Found::Object(a));
        }
        if missing_ok {
            let shown = type_name.names.join(".");
            let text = format!("transform for type {shown} language \"{language}\" does not exist");
            return Ok(Found::Missing(text));
        }
        bail!(
            UNDEFINED_OBJECT,
            "transform for type {} language \"{language}\" does not exist",
            self.format_type(ty, -1)
        )
    }
}
