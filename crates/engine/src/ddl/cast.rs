//! CREATE CAST and CREATE CONVERSION.

use super::Ddl;
use super::describe::Found;
use super::name::split;
use base::{Error, Oid, Result, SqlState, bail, err};
use catalog::depend::{self, DependKind, ObjectAddress};
use catalog::{ProcDesc, SysRow, indexes, oids};
use parser::ast::{CastContext, CreateCastStmt, CreateConversionStmt, Object, ObjectDetail};
use types::Datum;

fn refuse(text: &str) -> Error {
    Error::new(SqlState::INVALID_OBJECT_DEFINITION, text)
}

impl Ddl<'_> {
    /// CREATE CAST.
    pub fn create_cast(&self, stmt: &CreateCastStmt) -> Result<()> {
        let resolve = |t| -> Result<Oid> {
            let found = super::type_name::resolve(&self.view, t);
            Ok(found.map_err(|e| e.placed(None))?.oid)
        };
        let (source, target) = (resolve(&stmt.source)?, resolve(&stmt.target)?);
        for (ty, what) in [(source, "source"), (target, "target")] {
            if self.view.type_(ty)?.kind == b'p' {
                let name = self.format_type(ty, -1);
                bail!(WRONG_OBJECT_TYPE, "{what} data type {name} is a pseudo-type");
            }
        }
        let owns = |ty: Oid| self.has_rights_of(self.view.type_(ty)?.owner);
        if !owns(source)? && !owns(target)? {
            bail!(
                INSUFFICIENT_PRIVILEGE,
                "must be owner of type {} or type {}",
                self.format_type(source, -1),
                self.format_type(target, -1)
            );
        }
        self.require_type_usage(source)?;
        self.require_type_usage(target)?;
        for (ty, what) in [(source, "source"), (target, "target")] {
            if self.view.type_(ty)?.kind == b'd' {
                let text = format!("cast will be ignored because the {what} data type is a domain");
                let code = SqlState::WRONG_OBJECT_TYPE;
                self.notice(Error::with_severity(base::Severity::Warning, code, text));
            }
        }
        let (function, method) = match &stmt.function {
            Some(object) => {
                let f = self.cast_function(object, source, target)?;
                (f, b'f')
            }
            None if stmt.inout => (Oid::INVALID, b'i'),
            None => {
                self.check_same_bytes(source, target)?;
                (Oid::INVALID, b'b')
            }
        };
        let args = match function.is_valid() {
            true => self.view.proc(function)?.arg_types.len(),
            false => 0,
        };
        if source == target && args < 2 {
            return Err(refuse("source data type and target data type are the same"));
        }
        let key = [Datum::U32(source.0), Datum::U32(target.0)];
        if !self.rows.index_scan(indexes::PG_CAST_SOURCE, &key)?.is_empty() {
            bail!(
                DUPLICATE_OBJECT,
                "cast from type {} to type {} already exists",
                self.format_type(source, -1),
                self.format_type(target, -1)
            );
        }
        let context = match stmt.context {
            CastContext::Implicit => b'i',
            CastContext::Assignment => b'a',
            CastContext::Explicit => b'e',
        };
        let own =
            self.insert_cast((source, target), function, (context, method), DependKind::Normal)?;
        self.depend_cast_steps(own, source, target, function)
    }

    /// Adds a cast's row; it depends in this way on its types, and its function if it has one.
    pub(super) fn insert_cast(
        &self,
        (source, target): (Oid, Oid),
        function: Oid,
        (context, method): (u8, u8),
        kind: DependKind,
    ) -> Result<ObjectAddress> {
        let oid = self.rows.new_oid(oids::PG_CAST)?;
        let mut row = SysRow::new(oids::PG_CAST)?;
        row.set_oid("oid", oid)?
            .set_oid("castsource", source)?
            .set_oid("casttarget", target)?
            .set_oid("castfunc", function)?
            .set_char("castcontext", context)?
            .set_char("castmethod", method)?;
        self.rows.insert(row)?;
        let own = ObjectAddress::new(oids::PG_CAST, oid);
        for a in [
            ObjectAddress::new(oids::PG_TYPE, source),
            ObjectAddress::new(oids::PG_TYPE, target),
            ObjectAddress::new(oids::PG_PROC, function),
        ] {
            depend::record(self.rows, own, a, kind)?;
        }
        Ok(own)
    }

    /// A cast whose function takes or gives another type needs the casts that make them one.
    fn depend_cast_steps(
        &self,
        own: ObjectAddress,
        source: Oid,
        target: Oid,
        function: Oid,
    ) -> Result<()> {
        if !function.is_valid() {
            return Ok(());
        }
        let f = self.view.proc(function)?;
        let takes = f.arg_types.first().copied().unwrap_or_default();
        for (from, to) in [(source, takes), (f.return_type, target)] {
            let key = [Datum::U32(from.0), Datum::U32(to.0)];
            if from == to {
                continue;
            }
            if let Some(row) = self.rows.index_scan(indexes::PG_CAST_SOURCE, &key)?.first() {
                let on = ObjectAddress::new(oids::PG_CAST, row.oid("oid")?);
                depend::record(self.rows, own, on, DependKind::Normal)?;
            }
        }
        Ok(())
    }

    fn cast_function(&self, object: &Object, source: Oid, target: Oid) -> Result<Oid> {
        let Found::Object(a) = self.find_object(object, false)? else {
            return Err(Error::internal("a cast without its function"));
        };
        let f: std::sync::Arc<ProcDesc> = self.view.proc(a.object)?;
        if f.arg_types.is_empty() || f.arg_types.len() > 3 {
            return Err(refuse("cast function must take one to three arguments"));
        }
        if !self.same_bytes(source, f.arg_types[0])? {
            return Err(refuse(
                "argument of cast function must match or be binary-coercible from source data type",
            ));
        }
        if f.arg_types.get(1).is_some_and(|t| *t != oids::INT4) {
            return Err(refuse("second argument of cast function must be type integer"));
        }
        if f.arg_types.get(2).is_some_and(|t| *t != oids::BOOL) {
            return Err(refuse("third argument of cast function must be type boolean"));
        }
        if !self.same_bytes(f.return_type, target)? {
            return Err(refuse(
                "return data type of cast function must match or be binary-coercible to target \
                 data type",
            ));
        }
        if f.kind != b'f' {
            return Err(refuse("cast function must be a normal function"));
        }
        if f.returns_set {
            return Err(refuse("cast function must not return a set"));
        }
        Ok(f.oid)
    }

    /// WITHOUT FUNCTION: the types are held alike, and the cast says nothing about their meaning.
    fn check_same_bytes(&self, source: Oid, target: Oid) -> Result<()> {
        if !self.is_superuser()? {
            bail!(INSUFFICIENT_PRIVILEGE, "must be superuser to create a cast WITHOUT FUNCTION");
        }
        let (s, t) = (self.view.type_(source)?, self.view.type_(target)?);
        if s.len != t.len || s.by_val != t.by_val || s.align != t.align {
            return Err(refuse("source and target data types are not physically compatible"));
        }
        let kinds: [(&dyn Fn(&catalog::TypeDesc) -> bool, &str); 4] = [
            (&|t| t.kind == b'c', "composite data types are not binary-compatible"),
            (&|t| t.is_array(), "array data types are not binary-compatible"),
            (&|t| matches!(t.kind, b'r' | b'm'), "range data types are not binary-compatible"),
            (&|t| t.kind == b'e', "enum data types are not binary-compatible"),
        ];
        for (is, text) in kinds {
            if is(&s) || is(&t) {
                return Err(refuse(text));
            }
        }
        if s.kind == b'd' || t.kind == b'd' {
            return Err(refuse("domain data types must not be marked binary-compatible"));
        }
        Ok(())
    }

    /// The cast that a statement names by its two types.
    pub(super) fn find_cast_object(&self, object: &Object, missing_ok: bool) -> Result<Found> {
        let ObjectDetail::Cast(source, target) = &object.detail else {
            return Err(Error::internal("a cast without types"));
        };
        if missing_ok {
            for t in [source, target] {
                if let Some(text) = self.missing_type(t)? {
                    return Ok(Found::Missing(text));
                }
            }
        }
        let both = [source, target].map(|t| super::type_name::resolve(&self.view, t));
        let mut types = Vec::new();
        for t in both {
            match t {
                Ok(t) => types.push(t.oid),
                Err(e) if missing_ok => return Ok(Found::Missing(e.message().to_string())),
                Err(e) => return Err(e.placed(None)),
            }
        }
        let key = [Datum::U32(types[0].0), Datum::U32(types[1].0)];
        let found = self.rows.index_scan(indexes::PG_CAST_SOURCE, &key)?;
        if let Some(row) = found.first() {
            return Ok(Found::Object(ObjectAddress::new(oids::PG_CAST, row.oid("oid")?)));
        }
        if missing_ok {
            let shown = |t: &parser::ast::TypeName| t.names.last().cloned().unwrap_or_default();
            return Ok(Found::Missing(format!(
                "cast from type {} to type {} does not exist",
                shown(source),
                shown(target)
            )));
        }
        bail!(
            UNDEFINED_OBJECT,
            "cast from type {} to type {} does not exist",
            self.format_type(types[0], -1),
            self.format_type(types[1], -1)
        )
    }

    /// CREATE CONVERSION.
    pub fn create_conversion(&self, stmt: &CreateConversionStmt) -> Result<()> {
        let (schema, name) = split(&stmt.name);
        let namespace = self.creation_namespace(schema)?;
        let number = |name: &str, what: &str| -> Result<i32> {
            match crate::sysfn::encoding_number(name) {
                n if n >= 0 => Ok(n),
                _ => bail!(UNDEFINED_OBJECT, "{what} encoding \"{name}\" does not exist"),
            }
        };
        let from = number(&stmt.source, "source")?;
        let to = number(&stmt.target, "destination")?;
        if from == 0 || to == 0 {
            bail!(
                INVALID_OBJECT_DEFINITION,
                "encoding conversion to or from \"SQL_ASCII\" is not supported"
            );
        }
        let (int4, internal) = (oids::INT4, oids::INTERNAL);
        let args = [int4, int4, oids::CSTRING, internal, int4, oids::BOOL];
        let f = self.function_exact(&stmt.function, &args)?;
        if f.return_type != int4 {
            bail!(
                INVALID_OBJECT_DEFINITION,
                "encoding conversion function {} must return type integer",
                stmt.function.parts.join(".")
            );
        }
        for row in self.rows.table_scan(oids::PG_CONVERSION)? {
            if row.oid("connamespace")? != namespace {
                continue;
            }
            if *row.text("conname")? == *name {
                bail!(DUPLICATE_OBJECT, "conversion \"{name}\" already exists");
            }
            let same = row.i32("conforencoding")? == from && row.i32("contoencoding")? == to;
            if stmt.default && same && row.bool("condefault")? {
                let shown = |n: i32| crate::sysfn::encoding_name(i64::from(n));
                bail!(
                    DUPLICATE_OBJECT,
                    "default conversion for {} to {} already exists",
                    shown(from),
                    shown(to)
                );
            }
        }
        let oid = self.rows.new_oid(oids::PG_CONVERSION)?;
        let mut row = SysRow::new(oids::PG_CONVERSION)?;
        row.set_oid("oid", oid)?
            .set_text("conname", name)?
            .set_oid("connamespace", namespace)?
            .set_oid("conowner", self.user())?
            .set_i32("conforencoding", from)?
            .set_i32("contoencoding", to)?
            .set_oid("conproc", f.oid)?
            .set_bool("condefault", stmt.default)?;
        self.rows.insert(row)?;
        let own = ObjectAddress::new(oids::PG_CONVERSION, oid);
        let function = ObjectAddress::new(oids::PG_PROC, f.oid);
        depend::record(self.rows, own, function, DependKind::Normal)?;
        let schema = ObjectAddress::new(oids::PG_NAMESPACE, namespace);
        depend::record(self.rows, own, schema, DependKind::Normal)?;
        self.depend_owner(own, self.user())
    }

    /// The row of an object in a table that has an OID but no index on it here.
    pub(super) fn row_of(&self, class: Oid, oid: Oid) -> Result<SysRow> {
        let found = self.find_row(class, oid)?;
        found.ok_or_else(|| err!(INTERNAL_ERROR, "cache lookup failed for object {oid}"))
    }
}
