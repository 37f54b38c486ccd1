//! CREATE FUNCTION and PROCEDURE, and ALTER of both.

use super::Ddl;
use super::describe::Found;
use super::name::split;
use super::table::def_text;
use base::{Error, Oid, Result, bail, err};
use catalog::depend::{self, DependKind, ObjectAddress};
use catalog::{ProcDesc, SysRow, indexes, oids, vector};
use parser::ast::{
    AlterFunctionStmt, CreateFunctionStmt, DefElem, DefValue, FuncBody, ParamMode, Stmt,
};
use std::sync::Arc;
use types::Datum;

/// A function to be recorded.
#[derive(Clone, Debug)]
pub struct NewProc<'a> {
    pub name: &'a str,
    pub namespace: Oid,
    pub language: Oid,
    pub cost: f32,
    pub rows: f32,
    pub variadic: Oid,
    /// `f`, `p`, `a` or `w`.
    pub kind: u8,
    pub security_definer: bool,
    pub leakproof: bool,
    pub strict: bool,
    pub returns_set: bool,
    pub volatility: u8,
    pub parallel: u8,
    pub return_type: Oid,
    pub args: Vec<Oid>,
    pub all_args: Option<Vec<Oid>>,
    pub modes: Option<Vec<u8>>,
    pub names: Option<Vec<String>>,
    pub defaults: Vec<ir::Expr>,
    pub source: &'a str,
    pub binary: Option<&'a str>,
    pub body: Option<String>,
    pub config: Vec<String>,
}

impl Default for NewProc<'_> {
    fn default() -> Self {
        NewProc {
            name: "",
            namespace: Oid::INVALID,
            language: oids::SQL_LANGUAGE,
            cost: 1.0,
            rows: 0.0,
            variadic: Oid::INVALID,
            kind: b'f',
            security_definer: false,
            leakproof: false,
            strict: false,
            returns_set: false,
            volatility: b'v',
            parallel: b'u',
            return_type: Oid::INVALID,
            args: Vec::new(),
            all_args: None,
            modes: None,
            names: None,
            defaults: Vec::new(),
            source: "",
            binary: None,
            body: None,
            config: Vec::new(),
        }
    }
}

/// The parameters of a function as they are declared.
#[derive(Default)]
struct Declared {
    args: Vec<Oid>,
    all: Vec<Oid>,
    modes: Vec<u8>,
    names: Vec<String>,
    defaults: Vec<ir::Expr>,
    variadic: Oid,
    /// What the outputs make: nothing, one type, or a record.
    result: Option<Oid>,
}

fn is_polymorphic(ty: Oid) -> bool {
    matches!(ty.0, 2283 | 2277 | 2776 | 3500 | 3831 | 4537 | 5077 | 5078 | 5079 | 5080 | 4538)
}

/// What an input must be for a result of this polymorphic type to be known.
pub(super) fn polymorphic_inputs(ty: Oid) -> &'static str {
    match ty.0 {
        2283 | 2277 | 2776 | 3500 => {
            "anyelement, anyarray, anynonarray, anyenum, anyrange, or anymultirange"
        }
        3831 | 4537 => "anyrange or anymultirange",
        _ => {
            "anycompatible, anycompatiblearray, anycompatiblenonarray, anycompatiblerange, or \
             anycompatiblemultirange"
        }
    }
}

impl Ddl<'_> {
    fn fill_proc(&self, row: &mut SysRow, new: &NewProc<'_>) -> Result<()> {
        row.set_text("proname", new.name)?
            .set_oid("pronamespace", new.namespace)?
            .set_oid("prolang", new.language)?
            .set_f32("procost", new.cost)?
            .set_f32("prorows", new.rows)?
            .set_oid("provariadic", new.variadic)?
            .set_oid("prosupport", Oid::INVALID)?
            .set_char("prokind", new.kind)?
            .set_bool("prosecdef", new.security_definer)?
            .set_bool("proleakproof", new.leakproof)?
            .set_bool("proisstrict", new.strict)?
            .set_bool("proretset", new.returns_set)?
            .set_char("provolatile", new.volatility)?
            .set_char("proparallel", new.parallel)?
            .set_i16("pronargs", new.args.len() as i16)?
            .set_i16("pronargdefaults", new.defaults.len() as i16)?
            .set_oid("prorettype", new.return_type)?
            .set("proargtypes", vector::from_oids(oids::OIDVECTOR, &new.args))?
            .set_text("prosrc", new.source)?
            .set_opt_text("probin", new.binary)?
            .set_opt_text("prosqlbody", new.body.as_deref())?;
        let or_null = |some: Option<Datum>| some.unwrap_or(Datum::Null);
        row.set(
            "proallargtypes",
            or_null(new.all_args.as_ref().map(|a| vector::from_oids(oids::OID_ARRAY, a))),
        )?;
        row.set("proargmodes", or_null(new.modes.as_ref().map(|m| vector::from_chars(m))))?;
        row.set(
            "proargnames",
            or_null(new.names.as_ref().map(|n| vector::from_texts(oids::TEXT, n))),
        )?;
        let defaults = match new.defaults.is_empty() {
            true => None,
            false => Some(crate::cook::to_text(&new.defaults)?),
        };
        row.set_opt_text("proargdefaults", defaults.as_deref())?;
        let config = (!new.config.is_empty()).then(|| vector::from_texts(oids::TEXT, &new.config));
        row.set("proconfig", or_null(config))?;
        Ok(())
    }

    /// Writes a new function's row and what it depends on; gives its OID.
    pub fn insert_proc(&self, new: &NewProc<'_>) -> Result<Oid> {
        let oid = self.rows.new_oid(oids::PG_PROC)?;
        let mut row = SysRow::new(oids::PG_PROC)?;
        row.set_oid("oid", oid)?.set_oid("proowner", self.user())?;
        self.fill_proc(&mut row, new)?;
        let kind = catalog::privilege::Grantable::Function;
        let acl = self.acl_of_new(kind, self.user(), new.namespace)?;
        self.set_new_acl(&mut row, "proacl", &acl)?;
        self.rows.insert(row)?;
        let own = ObjectAddress::new(oids::PG_PROC, oid);
        self.depend_owner(own, self.user())?;
        self.depend_new_acl(own, self.user(), &acl)?;
        self.depend_proc(own, new)?;
        Ok(oid)
    }

    fn depend_proc(&self, own: ObjectAddress, new: &NewProc<'_>) -> Result<()> {
        let schema = ObjectAddress::new(oids::PG_NAMESPACE, new.namespace);
        depend::record(self.rows, own, schema, DependKind::Normal)?;
        let language = ObjectAddress::new(oids::PG_LANGUAGE, new.language);
        depend::record(self.rows, own, language, DependKind::Normal)?;
        let mut types = vec![new.return_type];
        types.extend(new.all_args.as_ref().unwrap_or(&new.args));
        types.sort();
        types.dedup();
        for t in types {
            let t = ObjectAddress::new(oids::PG_TYPE, t);
            depend::record(self.rows, own, t, DependKind::Normal)?;
        }
        for e in &new.defaults {
            self.depend_expr(own, e, Oid::INVALID)?;
        }
        if let Some(body) = &new.body {
            let queries = crate::cook::body_from_text(body)?;
            for q in &queries {
                self.depend_query(own, q)?;
            }
        }
        Ok(())
    }

    fn declared(&self, stmt: &CreateFunctionStmt) -> Result<Declared> {
        let mut d = Declared::default();
        let mut outputs = Vec::new();
        let mut variadic_seen = false;
        for p in &stmt.params {
            let t = self.argument_type(stmt, &p.type_name)?;
            if p.type_name.setof {
                let what = if stmt.procedure { "procedures" } else { "functions" };
                let e = err!(INVALID_FUNCTION_DEFINITION, "{what} cannot accept set arguments");
                return Err(e.at(p.type_name.pos));
            }
            let letter = match p.mode {
                ParamMode::Default | ParamMode::In => b'i',
                ParamMode::Out => b'o',
                ParamMode::InOut => b'b',
                ParamMode::Variadic => b'v',
                ParamMode::Table => b't',
            };
            let input = matches!(letter, b'i' | b'b' | b'v') || stmt.procedure && letter == b'o';
            if matches!(letter, b'i' | b'b' | b'v') {
                if variadic_seen {
                    let text = "VARIADIC parameter must be the last input parameter";
                    return Err(err!(INVALID_FUNCTION_DEFINITION, "{text}").at(p.pos));
                }
                d.args.push(t.oid);
            } else if stmt.procedure && letter == b'o' {
                // OUT parameters are part of a procedure's signature, but not of its inputs.
                if variadic_seen {
                    let text = "VARIADIC parameter must be the last parameter";
                    return Err(err!(INVALID_FUNCTION_DEFINITION, "{text}").at(p.pos));
                }
                if !d.defaults.is_empty() {
                    let text = "procedure OUT parameters cannot appear after one with a default \
                                value";
                    return Err(err!(INVALID_FUNCTION_DEFINITION, "{text}").at(p.pos));
                }
            }
            if letter == b'v' {
                variadic_seen = true;
                d.variadic = match t.oid.0 {
                    2277 => Oid(2283),
                    2276 => Oid(2276),
                    5078 => Oid(5077),
                    _ => {
                        let elem = self.view.type_(t.oid)?;
                        if !elem.is_array() {
                            let text = "VARIADIC parameter must be an array";
                            return Err(err!(INVALID_FUNCTION_DEFINITION, "{text}").at(p.pos));
                        }
                        elem.elem
                    }
                };
            }
            if matches!(letter, b'o' | b'b' | b't') {
                outputs.push(t.oid);
            }
            if let Some(name) = p.name.as_ref().filter(|n| !n.is_empty()) {
                let clash = d.names.iter().zip(&d.modes).any(|(n, m)| {
                    let pure = |m: u8| matches!(m, b'i' | b'v');
                    let out = |m: u8| matches!(m, b'o' | b't');
                    n == name && !(pure(letter) && out(*m)) && !(out(letter) && pure(*m))
                });
                if clash {
                    let e = err!(
                        INVALID_FUNCTION_DEFINITION,
                        "parameter name \"{name}\" used more than once"
                    );
                    return Err(e.at(p.pos));
                }
            }
            match &p.default {
                Some(e) if !matches!(letter, b'i' | b'b' | b'v') => {
                    let text = "only input parameters can have default values";
                    let _ = e;
                    return Err(err!(INVALID_FUNCTION_DEFINITION, "{text}").at(p.pos));
                }
                Some(e) => {
                    let env = crate::analysis::env(self.env);
                    d.defaults.push(analyze::parameter_default(&env, t.oid, e)?);
                }
                None if !d.defaults.is_empty() && matches!(letter, b'i' | b'b') => {
                    let text = "input parameters after one with a default value must also have \
                                defaults";
                    return Err(err!(INVALID_FUNCTION_DEFINITION, "{text}").at(p.pos));
                }
                None => {}
            }
            let _ = input;
            d.all.push(t.oid);
            d.modes.push(letter);
            d.names.push(p.name.clone().unwrap_or_default());
        }
        d.result = match outputs[..] {
            [] => None,
            [one] if !stmt.procedure => Some(one),
            _ => Some(oids::RECORD),
        };
        Ok(d)
    }

    fn result_type(&self, stmt: &CreateFunctionStmt, d: &Declared) -> Result<(Oid, bool)> {
        if stmt.procedure {
            return Ok((d.result.unwrap_or(oids::VOID), false));
        }
        if stmt.returns_table {
            return Ok((d.result.unwrap_or(oids::VOID), true));
        }
        let Some(name) = &stmt.returns else {
            return match d.result {
                Some(t) => Ok((t, false)),
                None => {
                    bail!(INVALID_FUNCTION_DEFINITION, "function result type must be specified")
                }
            };
        };
        let t = self.returned_type(stmt, name)?;
        if let Some(wanted) = d.result
            && wanted != t.oid
        {
            bail!(
                INVALID_FUNCTION_DEFINITION,
                "function result type must be {} because of OUT parameters",
                self.format_type(wanted, -1)
            );
        }
        let inputs = d.args.iter().any(|a| is_polymorphic(*a));
        if is_polymorphic(t.oid) && !inputs {
            return Err(err!(INVALID_FUNCTION_DEFINITION, "cannot determine result data type")
                .detail(format!(
                    "A result of type {} requires at least one input of type {}.",
                    self.format_type(t.oid, -1),
                    polymorphic_inputs(t.oid)
                )));
        }
        Ok((t.oid, name.setof))
    }

    /// Trusted languages are for who has USAGE, others for superusers.
    fn check_language(&self, language: Oid) -> Result<()> {
        use catalog::privilege::{Grantable, Rights};
        if self.is_superuser()? {
            return Ok(());
        }
        let row = self.row_by_oid(indexes::PG_LANGUAGE_OID, language)?;
        let acl = row.acl("lanacl")?;
        let owner = row.oid("lanowner")?;
        let rights = Rights { kind: Grantable::Language, owner, acl: acl.as_deref() };
        let usage = rights.of(&self.view, self.user(), catalog::acl::bit(b'U'))? != 0;
        if row.bool("lanpltrusted")? && usage {
            return Ok(());
        }
        Err(super::grant::permission_denied("language", &row.text("lanname")?))
    }

    fn language(&self, name: &str) -> Result<Oid> {
        let key = [Datum::text(name)];
        let found = self.rows.index_scan(indexes::PG_LANGUAGE_NAME, &key)?;
        match found.first() {
            Some(row) => row.oid("oid"),
            None => Err(err!(UNDEFINED_OBJECT, "language \"{name}\" does not exist")),
        }
    }

    /// CREATE FUNCTION and CREATE PROCEDURE.
    pub fn create_function(&self, stmt: &CreateFunctionStmt) -> Result<()> {
        let (schema, name) = split(&stmt.name);
        let namespace = self.creation_namespace(schema)?;
        let options = read_options(&stmt.options, stmt.procedure)?;
        let language = match (&options.language, &stmt.body) {
            (Some(l), _) => l.to_ascii_lowercase(),
            (None, Some(_)) => "sql".to_string(),
            (None, None) => bail!(INVALID_FUNCTION_DEFINITION, "no language specified"),
        };
        let language_oid = self.language(&language)?;
        self.check_language(language_oid)?;
        let d = self.declared(stmt)?;
        let (return_type, returns_set) = self.result_type(stmt, &d)?;
        let outputs = d.modes.iter().any(|m| *m != b'i');
        let default_cost = if matches!(language_oid, oids::INTERNAL_LANGUAGE | oids::C_LANGUAGE) {
            1.0
        } else {
            100.0
        };
        if options.rows.is_some() && !returns_set {
            bail!(
                INVALID_PARAMETER_VALUE,
                "ROWS is not applicable when function does not return a set"
            );
        }
        let mut new = NewProc {
            name,
            namespace,
            language: language_oid,
            cost: options.cost.unwrap_or(default_cost),
            rows: options.rows.unwrap_or(if returns_set { 1000.0 } else { 0.0 }),
            variadic: d.variadic,
            kind: match () {
                () if stmt.procedure => b'p',
                () if options.window => b'w',
                () => b'f',
            },
            security_definer: options.security.unwrap_or(false),
            leakproof: options.leakproof.unwrap_or(false),
            strict: options.strict.unwrap_or(false),
            returns_set,
            volatility: options.volatility.unwrap_or(b'v'),
            parallel: options.parallel.unwrap_or(b'u'),
            return_type,
            args: d.args.clone(),
            all_args: d.modes.iter().any(|m| !matches!(m, b'i' | b'v')).then(|| d.all.clone()),
            modes: outputs.then(|| d.modes.clone()),
            names: d.names.iter().any(|n| !n.is_empty()).then(|| d.names.clone()),
            defaults: d.defaults.clone(),
            config: options.config.clone(),
            ..NewProc::default()
        };
        self.check_config(&options.config)?;
        if options.leakproof == Some(true) && !self.is_superuser()? {
            bail!(INSUFFICIENT_PRIVILEGE, "only superuser can define a leakproof function");
        }
        let texts = options.source.clone();
        match (&stmt.body, &texts) {
            (Some(_), Some(_)) => {
                bail!(INVALID_FUNCTION_DEFINITION, "duplicate function body specified")
            }
            (None, None) => bail!(INVALID_FUNCTION_DEFINITION, "no function body specified"),
            (Some(_), None) if language_oid != oids::SQL_LANGUAGE => bail!(
                INVALID_FUNCTION_DEFINITION,
                "inline SQL function body only valid for language SQL"
            ),
            (Some(body), None) => {
                if d.args.iter().any(|a| is_polymorphic(*a)) {
                    bail!(
                        FEATURE_NOT_SUPPORTED,
                        "SQL function with unquoted function body cannot have polymorphic arguments"
                    );
                }
                new.body = Some(self.cook_body(body, name, &d, &new)?);
            }
            (None, Some(texts)) => {
                self.check_source(texts, name, &language, language_oid)?;
                new.source = texts[0].as_str();
            }
        }
        if new.language == oids::SQL_LANGUAGE
            && new.body.is_none()
            && self.settings.bool("check_function_bodies")
        {
            self.check_body(&new, &d)?;
        }
        let found = self.proc_of_signature(namespace, name, &d, stmt.procedure)?;
        match found {
            Some(old) if !stmt.replace => {
                let _ = old;
                bail!(
                    DUPLICATE_FUNCTION,
                    "function \"{name}\" already exists with same argument types"
                )
            }
            Some(old) => self.replace_proc(&old, &new),
            None => self.insert_proc(&new).map(|_| ()),
        }
    }

    /// The text of a function, as far as its language is known here.
    fn check_source(
        &self,
        texts: &[String],
        name: &str,
        language: &str,
        language_oid: Oid,
    ) -> Result<()> {
        if texts.len() > 1 && language_oid != oids::C_LANGUAGE {
            bail!(
                INVALID_FUNCTION_DEFINITION,
                "only one AS item needed for language \"{language}\""
            );
        }
        match language_oid {
            oids::C_LANGUAGE => {
                if !self.is_superuser()? {
                    bail!(INSUFFICIENT_PRIVILEGE, "permission denied for language {language}");
                }
                bail!(
                    UNDEFINED_FILE,
                    "could not access file \"{}\": No such file or directory",
                    texts[0]
                )
            }
            oids::INTERNAL_LANGUAGE => {
                let text = if texts[0].is_empty() { name } else { texts[0].as_str() };
                if functions::builtin::proc_by_source(text).is_none() {
                    bail!(UNDEFINED_FUNCTION, "there is no built-in function named \"{text}\"");
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn proc_of_signature(
        &self,
        namespace: Oid,
        name: &str,
        d: &Declared,
        _procedure: bool,
    ) -> Result<Option<Arc<ProcDesc>>> {
        let all = self.view.all_procs_named(name)?;
        Ok(all.iter().find(|p| p.namespace == namespace && p.arg_types == d.args).cloned())
    }

    pub(super) fn replace_proc(&self, old: &ProcDesc, new: &NewProc<'_>) -> Result<()> {
        let own = ObjectAddress::new(oids::PG_PROC, old.oid);
        self.require_owner(own)?;
        if old.kind != new.kind {
            let was = match old.kind {
                b'a' => "is an aggregate function",
                b'p' => "is a procedure",
                b'w' => "is a window function",
                _ => "is a function",
            };
            return Err(err!(WRONG_OBJECT_TYPE, "cannot change routine kind")
                .detail(format!("\"{}\" {was}.", old.name)));
        }
        let args: Vec<String> = old.arg_types.iter().map(|t| self.format_type(*t, -1)).collect();
        let what = match old.kind {
            b'p' => "PROCEDURE",
            b'a' => "AGGREGATE",
            _ => "FUNCTION",
        };
        let hint = format!("Use DROP {what} {}({}) first.", old.name, args.join(","));
        if old.return_type != new.return_type || old.returns_set != new.returns_set {
            let text = match old.kind {
                b'p' => "cannot change whether a procedure has output parameters",
                _ => "cannot change return type of existing function",
            };
            return Err(err!(INVALID_FUNCTION_DEFINITION, "{text}").hint(hint));
        }
        if old.return_type == oids::RECORD && outputs_of(old) != outputs_of_new(new) {
            return Err(err!(
                INVALID_FUNCTION_DEFINITION,
                "cannot change return type of existing function"
            )
            .detail("Row type defined by OUT parameters is different.")
            .hint(hint));
        }
        let names = |n: &Option<Vec<String>>, m: &Option<Vec<u8>>| -> Vec<String> {
            let Some(n) = n else { return Vec::new() };
            let input = |i: usize| {
                m.as_ref().is_none_or(|m| m.get(i).is_none_or(|m| matches!(m, b'i' | b'b' | b'v')))
            };
            n.iter().enumerate().filter(|(i, _)| input(*i)).map(|(_, n)| n.clone()).collect()
        };
        let (before, after) =
            (names(&old.arg_names, &old.arg_modes), names(&new.names, &new.modes));
        for (i, name) in before.iter().enumerate().filter(|(_, n)| !n.is_empty()) {
            if after.get(i) != Some(name) {
                return Err(err!(
                    INVALID_FUNCTION_DEFINITION,
                    "cannot change name of input parameter \"{name}\""
                )
                .hint(hint));
            }
        }
        if usize::from(old.n_defaults) > new.defaults.len() {
            return Err(err!(
                INVALID_FUNCTION_DEFINITION,
                "cannot remove parameter defaults from existing function"
            )
            .hint(hint));
        }
        let mut row = self.row_by_oid(indexes::PG_PROC_OID, old.oid)?;
        self.fill_proc(&mut row, new)?;
        self.rows.update(row)?;
        depend::forget(self.rows, own)?;
        self.depend_proc(own, new)
    }

    /// Analyses an SQL-standard body, as it is stored.
    fn cook_body(
        &self,
        body: &FuncBody,
        name: &str,
        d: &Declared,
        new: &NewProc<'_>,
    ) -> Result<String> {
        let env = crate::analysis::env(self.env);
        let params = function_params(name, &d.all, &d.modes, &d.names);
        let params = analyze::Params::Function(&params);
        let mut queries = Vec::new();
        match body {
            FuncBody::Return(e) => queries.push(analyze::return_query(&env, e, params)?),
            FuncBody::Atomic(stmts) => {
                let params = function_params(name, &d.all, &d.modes, &d.names);
                for s in stmts {
                    if !crate::session::is_query(&s.stmt) {
                        bail!(
                            FEATURE_NOT_SUPPORTED,
                            "{} is not yet supported in unquoted SQL function body",
                            crate::session::statement_name(&s.stmt)
                        );
                    }
                    let params = analyze::Params::Function(&params);
                    queries.push(analyze::analyze_stmt(&env, &s.stmt, params)?);
                }
            }
        }
        for q in &mut queries {
            analyze::clear_places(q);
        }
        self.check_result(&queries, new, &d.all, &d.modes)?;
        match (body, queries.as_slice()) {
            (FuncBody::Return(_), [query]) => crate::cook::to_text(query),
            _ => crate::cook::to_text(&queries),
        }
    }

    /// Analyses a body in a string, to find mistakes early.
    fn check_body(&self, new: &NewProc<'_>, d: &Declared) -> Result<()> {
        if d.args.iter().any(|a| is_polymorphic(*a)) {
            return self.env.core.parse(new.source).map(|_| ());
        }
        let in_function = |e: Error| match e.place() {
            Some(at) => match self.place_in_body(new.source, at) {
                Some(place) => e.placed(Some(place)),
                None => e.placed(None).context(format!("SQL function \"{}\"", new.name)),
            },
            None => e.context(format!("SQL function \"{}\"", new.name)),
        };
        let stmts = self.env.core.parse(new.source).map_err(in_function)?;
        let env = crate::analysis::env(self.env);
        let params = function_params(new.name, &d.all, &d.modes, &d.names);
        let mut queries = Vec::new();
        for s in &stmts {
            if !crate::session::is_query(&s.stmt) {
                queries.push(ir::Query::new(ir::CmdType::Nothing));
                continue;
            }
            let params = analyze::Params::Function(&params);
            queries.push(analyze::analyze_stmt(&env, &s.stmt, params).map_err(in_function)?);
        }
        self.check_result(&queries, new, &d.all, &d.modes).map_err(in_function)
    }

    /// Where a place in a function's body is in the statement's own text.
    fn place_in_body(&self, body: &str, at: u32) -> Option<u32> {
        let doubled = body.replace('\'', "''");
        let (found, shift) = match self.text.find(body) {
            Some(found) => (found, 0),
            None => {
                let quotes = body.get(..at as usize)?.matches('\'').count();
                (self.text.find(&doubled)?, quotes)
            }
        };
        Some(found as u32 + at + shift as u32)
    }

    /// The last statement gives what the function returns.
    fn check_result(
        &self,
        queries: &[ir::Query],
        new: &NewProc<'_>,
        all: &[Oid],
        modes: &[u8],
    ) -> Result<()> {
        let ty = new.return_type;
        if ty == oids::VOID || new.kind == b'p' && ty != oids::RECORD {
            return Ok(());
        }
        let mismatch = |detail: String| {
            err!(
                INVALID_FUNCTION_DEFINITION,
                "return type mismatch in function declared to return {}",
                self.format_type(ty, -1)
            )
            .detail(detail)
        };
        let last = queries.iter().rev().find(|q| q.can_set_tag);
        let list = match last {
            Some(q) if q.command == ir::CmdType::Select => &q.target_list,
            Some(q) if !q.returning.is_empty() => &q.returning,
            _ => {
                return Err(mismatch(
                    "Function's final statement must be SELECT or INSERT/UPDATE/DELETE/MERGE \
                     RETURNING."
                        .into(),
                ));
            }
        };
        let columns: Vec<&ir::TargetEntry> = list.iter().filter(|t| !t.junk).collect();
        let desc = self.view.type_(ty)?;
        let scalar = matches!(desc.kind, b'b' | b'd' | b'e' | b'r' | b'm')
            || matches!(ty.0, 2276..=2278)
            || is_polymorphic(ty);
        let env = crate::analysis::env(self.env);
        let fits = |from: &ir::Expr, to: Oid| -> Result<bool> {
            Ok(analyze::coerce_assignment(&env, from.clone(), to, -1)?.is_some())
        };
        if scalar {
            let [one] = columns[..] else {
                return Err(mismatch("Final statement must return exactly one column.".into()));
            };
            if !fits(&one.expr, ty)? {
                return Err(mismatch(format!(
                    "Actual return type is {}.",
                    self.format_type(one.expr.ty(), -1)
                )));
            }
            return Ok(());
        }
        let wanted: Vec<Oid> = match desc.kind {
            b'c' => {
                let rel = self.view.relation(desc.relation)?;
                // One column of the type itself is the row.
                if let [one] = columns[..]
                    && one.expr.ty() == ty
                {
                    return Ok(());
                }
                rel.tuple.attrs.iter().filter(|a| !a.dropped).map(|a| a.type_oid).collect()
            }
            _ => {
                let outs: Vec<Oid> = all
                    .iter()
                    .zip(modes)
                    .filter(|(_, m)| matches!(m, b'o' | b'b' | b't'))
                    .map(|(t, _)| *t)
                    .collect();
                if outs.is_empty() {
                    return Ok(());
                }
                outs
            }
        };
        for (i, w) in wanted.iter().enumerate() {
            let Some(c) = columns.get(i) else {
                return Err(mismatch("Final statement returns too few columns.".into()));
            };
            if !fits(&c.expr, *w)? {
                return Err(mismatch(format!(
                    "Final statement returns {} instead of {} at column {}.",
                    self.format_type(c.expr.ty(), -1),
                    self.format_type(*w, -1),
                    i + 1
                )));
            }
        }
        if columns.len() > wanted.len() {
            return Err(mismatch("Final statement returns too many columns.".into()));
        }
        Ok(())
    }

    /// ALTER FUNCTION with options.
    pub fn alter_function(&self, stmt: &AlterFunctionStmt) -> Result<()> {
        let Found::Object(a) = self.find_object(&stmt.object, false)? else { return Ok(()) };
        self.require_owner(a)?;
        let p = self.view.proc(a.object)?;
        if p.kind == b'a' {
            bail!(WRONG_OBJECT_TYPE, "\"{}\" is an aggregate function", p.name);
        }
        let o = read_options(&stmt.options, p.kind == b'p')?;
        let mut row = self.row_by_oid(indexes::PG_PROC_OID, p.oid)?;
        if let Some(v) = o.volatility {
            row.set_char("provolatile", v)?;
        }
        if let Some(v) = o.strict {
            row.set_bool("proisstrict", v)?;
        }
        if let Some(v) = o.security {
            row.set_bool("prosecdef", v)?;
        }
        if let Some(v) = o.leakproof {
            if v && !self.is_superuser()? {
                bail!(INSUFFICIENT_PRIVILEGE, "only superuser can define a leakproof function");
            }
            row.set_bool("proleakproof", v)?;
        }
        if let Some(v) = o.cost {
            row.set_f32("procost", v)?;
        }
        if let Some(v) = o.rows {
            if !p.returns_set {
                bail!(
                    INVALID_PARAMETER_VALUE,
                    "ROWS is not applicable when function does not return a set"
                );
            }
            row.set_f32("prorows", v)?;
        }
        if let Some(v) = o.parallel {
            row.set_char("proparallel", v)?;
        }
        self.check_config(&o.config)?;
        if !o.config.is_empty() || o.reset_all {
            let mut all =
                if o.reset_all { Vec::new() } else { p.config.clone().unwrap_or_default() };
            for c in o.config {
                let name = c.split('=').next().unwrap_or("").to_string();
                all.retain(|x| x.split('=').next() != Some(name.as_str()));
                if c.contains('=') {
                    all.push(c);
                }
            }
            let value = match all.is_empty() {
                true => Datum::Null,
                false => vector::from_texts(oids::TEXT, &all),
            };
            row.set("proconfig", value)?;
        }
        self.rows.update(row)?;
        Ok(())
    }
}

fn outputs_of(p: &ProcDesc) -> Vec<(Oid, String)> {
    outputs(p.all_arg_types.as_ref(), p.arg_modes.as_ref(), p.arg_names.as_ref())
}

fn outputs_of_new(p: &NewProc<'_>) -> Vec<(Oid, String)> {
    outputs(p.all_args.as_ref(), p.modes.as_ref(), p.names.as_ref())
}

fn outputs(
    types: Option<&Vec<Oid>>,
    modes: Option<&Vec<u8>>,
    names: Option<&Vec<String>>,
) -> Vec<(Oid, String)> {
    let (Some(types), Some(modes)) = (types, modes) else { return Vec::new() };
    let name = |i: usize| names.and_then(|n| n.get(i)).cloned().unwrap_or_default();
    types
        .iter()
        .zip(modes)
        .enumerate()
        .filter(|(_, (_, m))| matches!(m, b'o' | b'b' | b't'))
        .map(|(i, (t, _))| (*t, name(i)))
        .collect()
}

/// The input parameters, as analysis takes them.
pub fn function_params(
    function: &str,
    all: &[Oid],
    modes: &[u8],
    names: &[String],
) -> analyze::FunctionParams {
    let mut p = analyze::FunctionParams { function: function.to_string(), ..Default::default() };
    for (i, t) in all.iter().enumerate() {
        if matches!(modes.get(i).copied().unwrap_or(b'i'), b'i' | b'b' | b'v') {
            p.types.push(*t);
            p.names.push(names.get(i).cloned().unwrap_or_default());
        }
    }
    p
}

/// What the options say.
#[derive(Default)]
struct Options {
    language: Option<String>,
    source: Option<Vec<String>>,
    volatility: Option<u8>,
    strict: Option<bool>,
    security: Option<bool>,
    leakproof: Option<bool>,
    window: bool,
    cost: Option<f32>,
    rows: Option<f32>,
    parallel: Option<u8>,
    config: Vec<String>,
    reset_all: bool,
}

fn read_options(options: &[DefElem], procedure: bool) -> Result<Options> {
    let mut o = Options::default();
    let mut seen: Vec<&str> = Vec::new();
    for option in options {
        let name = option.name.as_str();
        if seen.contains(&name) && name != "set" {
            return Err(err!(SYNTAX_ERROR, "conflicting or redundant options").at(option.pos));
        }
        seen.push(name);
        if procedure
            && matches!(
                name,
                "volatility" | "strict" | "leakproof" | "window" | "cost" | "rows" | "parallel"
            )
        {
            let text = "invalid attribute in procedure definition";
            return Err(err!(INVALID_FUNCTION_DEFINITION, "{text}").at(option.pos));
        }
        let flag = || matches!(option.value, Some(DefValue::Bool(true)) | None);
        let number = |what: &str| -> Result<f32> {
            let text = def_text(option).unwrap_or_default();
            let n: f32 = text.parse().unwrap_or(0.0);
            if n <= 0.0 {
                bail!(INVALID_PARAMETER_VALUE, "{what} must be positive");
            }
            Ok(n)
        };
        match name {
            "language" => o.language = def_text(option),
            "as" => match &option.value {
                Some(DefValue::Names(list)) => o.source = Some(list.clone()),
                _ => o.source = def_text(option).map(|t| vec![t]),
            },
            "volatility" => {
                o.volatility = Some(match def_text(option).as_deref() {
                    Some("immutable") => b'i',
                    Some("stable") => b's',
                    _ => b'v',
                });
            }
            "strict" => o.strict = Some(flag()),
            "security" => o.security = Some(flag()),
            "leakproof" => o.leakproof = Some(flag()),
            "window" => o.window = true,
            "cost" => o.cost = Some(number("COST")?),
            "rows" => o.rows = Some(number("ROWS")?),
            "parallel" => {
                o.parallel = Some(match def_text(option).as_deref() {
                    Some("safe") => b's',
                    Some("restricted") => b'r',
                    Some("unsafe") => b'u',
                    _ => bail!(
                        SYNTAX_ERROR,
                        "parameter \"parallel\" must be SAFE, RESTRICTED, or UNSAFE"
                    ),
                });
            }
            "set" => {
                if let Some(DefValue::Set(s)) = &option.value {
                    match crate::command::set::config_item(s)? {
                        Some(item) => o.config.push(item),
                        None => o.reset_all = true,
                    }
                }
            }
            "transform" | "support" => {
                return Err(Error::unsupported(format!("function option {name}")));
            }
            _ => return Err(Error::internal(format!("function option {name}"))),
        }
    }
    Ok(o)
}

/// True for statements that a function in SQL may hold as text only.
pub fn is_plain(stmt: &Stmt) -> bool {
    crate::session::is_query(stmt)
}
