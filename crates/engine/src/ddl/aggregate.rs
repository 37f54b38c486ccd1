//! CREATE AGGREGATE.

use super::Ddl;
use super::function::NewProc;
use super::lookup::{bool_of, name_of, operator_of, type_of};
use super::name::split;
use super::table::def_text;
use base::{Error, Oid, Result, SqlState, bail, err};
use catalog::depend::{self, DependKind, ObjectAddress};
use catalog::generic::{is_polymorphic, resolve};
use catalog::{ProcDesc, SysRow, indexes, oids};
use parser::ast::{
    DefElem, DefineStmt, FuncParam, FuncSignature, Name, OpName, ParamMode, TypeName,
};
use types::Datum;

/// What the definition says.
#[derive(Default)]
struct Options {
    trans: Option<Name>,
    final_: Option<Name>,
    combine: Option<Name>,
    serial: Option<Name>,
    deserial: Option<Name>,
    m_trans: Option<Name>,
    m_inv: Option<Name>,
    m_final: Option<Name>,
    final_extra: bool,
    m_final_extra: bool,
    final_modify: Option<u8>,
    m_final_modify: Option<u8>,
    sort_op: Option<OpName>,
    base_type: Option<TypeName>,
    hypothetical: bool,
    state: Option<TypeName>,
    m_state: Option<TypeName>,
    space: i32,
    m_space: i32,
    initial: Option<String>,
    m_initial: Option<String>,
    parallel: u8,
}

/// Its parameters.
#[derive(Default)]
struct Params {
    args: Vec<Oid>,
    modes: Vec<u8>,
    names: Vec<String>,
    variadic: Oid,
    /// Direct arguments of an ordered-set aggregate.
    direct: usize,
    /// `n`, `o` or `h`.
    kind: u8,
}

/// The functions and types of one way to compute the aggregate.
struct Support {
    state: Oid,
    trans: Oid,
    inverse: Oid,
    final_: Oid,
    result: Oid,
}

fn modify_of(e: &DefElem) -> Result<u8> {
    match def_text(e).unwrap_or_default().to_ascii_lowercase().as_str() {
        "read_only" => Ok(b'r'),
        "shareable" => Ok(b's'),
        "read_write" => Ok(b'w'),
        _ => bail!(
            SYNTAX_ERROR,
            "parameter \"{}\" must be READ_ONLY, SHAREABLE, or READ_WRITE",
            e.name
        ),
    }
}

fn number_of(e: &DefElem) -> Result<i32> {
    match &e.value {
        Some(parser::ast::DefValue::Integer(n)) => Ok(*n),
        _ => bail!(SYNTAX_ERROR, "{} requires an integer value", e.name),
    }
}

fn text_of(e: &DefElem) -> Result<Option<String>> {
    match def_text(e) {
        Some(s) => Ok(Some(s)),
        None => bail!(SYNTAX_ERROR, "{} requires a parameter", e.name),
    }
}

fn missing(text: &str) -> Error {
    Error::new(SqlState::INVALID_FUNCTION_DEFINITION, text)
}

impl Options {
    fn set(&mut self, e: &DefElem) -> Result<bool> {
        match e.name.as_str() {
            "sfunc" | "sfunc1" => self.trans = Some(name_of(e)?),
            "finalfunc" => self.final_ = Some(name_of(e)?),
            "combinefunc" => self.combine = Some(name_of(e)?),
            "serialfunc" => self.serial = Some(name_of(e)?),
            "deserialfunc" => self.deserial = Some(name_of(e)?),
            "msfunc" => self.m_trans = Some(name_of(e)?),
            "minvfunc" => self.m_inv = Some(name_of(e)?),
            "mfinalfunc" => self.m_final = Some(name_of(e)?),
            "finalfunc_extra" => self.final_extra = bool_of(e)?,
            "mfinalfunc_extra" => self.m_final_extra = bool_of(e)?,
            "finalfunc_modify" => self.final_modify = Some(modify_of(e)?),
            "mfinalfunc_modify" => self.m_final_modify = Some(modify_of(e)?),
            "sortop" => self.sort_op = Some(operator_of(e)?),
            "basetype" => self.base_type = Some(type_of(e)?),
            "hypothetical" => self.hypothetical = bool_of(e)?,
            "stype" | "stype1" => self.state = Some(type_of(e)?),
            "mstype" => self.m_state = Some(type_of(e)?),
            "sspace" => self.space = number_of(e)?,
            "msspace" => self.m_space = number_of(e)?,
            "initcond" | "initcond1" => self.initial = text_of(e)?,
            "minitcond" => self.m_initial = text_of(e)?,
            "parallel" => {
                self.parallel = match def_text(e).unwrap_or_default().as_str() {
                    "safe" => b's',
                    "restricted" => b'r',
                    "unsafe" => b'u',
                    _ => bail!(
                        SYNTAX_ERROR,
                        "parameter \"parallel\" must be SAFE, RESTRICTED, or UNSAFE"
                    ),
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn check(&self) -> Result<()> {
        if self.state.is_none() {
            return Err(missing("aggregate stype must be specified"));
        }
        if self.trans.is_none() {
            return Err(missing("aggregate sfunc must be specified"));
        }
        if self.m_state.is_some() {
            if self.m_trans.is_none() {
                let text = "aggregate msfunc must be specified when mstype is specified";
                return Err(missing(text));
            }
            if self.m_inv.is_none() {
                let text = "aggregate minvfunc must be specified when mstype is specified";
                return Err(missing(text));
            }
            return Ok(());
        }
        let all = [
            (self.m_trans.is_some(), "msfunc"),
            (self.m_inv.is_some(), "minvfunc"),
            (self.m_final.is_some(), "mfinalfunc"),
            (self.m_space != 0, "msspace"),
            (self.m_initial.is_some(), "minitcond"),
        ];
        match all.iter().find(|(given, _)| *given) {
            Some((_, what)) => {
                Err(missing(&format!("aggregate {what} must not be specified without mstype")))
            }
            None => Ok(()),
        }
    }
}

impl Ddl<'_> {
    /// CREATE AGGREGATE.
    pub fn create_aggregate(&self, stmt: &DefineStmt) -> Result<()> {
        let (schema, name) = split(&stmt.name);
        let namespace = self.creation_namespace(schema)?;
        let mut o = Options { parallel: b'u', ..Options::default() };
        for e in stmt.definition.as_deref().unwrap_or(&[]) {
            if !o.set(e)? {
                self.notice(Error::with_severity(
                    base::Severity::Warning,
                    SqlState::SYNTAX_ERROR,
                    format!("aggregate attribute \"{}\" not recognized", e.name),
                ));
            }
        }
        o.check()?;
        let mut p = self.aggregate_params(&o, stmt.signature.as_ref())?;
        if o.hypothetical && p.kind == b'o' {
            p.kind = b'h';
        }
        let plain = self.plain_support(&o, &p)?;
        let moving = self.moving_support(&o, &p, plain.result)?;
        let (combine, serial, deserial) = self.partial_support(&o, plain.state)?;
        if plain.result == oids::INTERNAL && !p.args.contains(&oids::INTERNAL) {
            return Err(err!(
                INVALID_FUNCTION_DEFINITION,
                "unsafe use of pseudo-type \"internal\""
            )
            .detail(
                "A function returning \"internal\" must have at least one \"internal\" argument.",
            ));
        }
        let sort_op = match &o.sort_op {
            Some(_) if p.args.len() != 1 => {
                let text = "sort operator can only be specified for single-argument aggregates";
                return Err(missing(text));
            }
            Some(op) => self.require_operator(op, p.args[0], p.args[0])?.oid,
            None => Oid::INVALID,
        };
        let new = NewProc {
            name,
            namespace,
            language: oids::INTERNAL_LANGUAGE,
            kind: b'a',
            volatility: b'i',
            parallel: o.parallel,
            return_type: plain.result,
            variadic: p.variadic,
            args: p.args.clone(),
            all_args: p.modes.contains(&b'v').then(|| p.args.clone()),
            modes: p.modes.contains(&b'v').then(|| p.modes.clone()),
            names: p.names.iter().any(|n| !n.is_empty()).then(|| p.names.clone()),
            source: "aggregate_dummy",
            ..NewProc::default()
        };
        let oid = self.put_aggregate_proc(&new, &p, stmt.replace)?;
        let modify = if p.kind == b'n' { b'r' } else { b'w' };
        let mut row = SysRow::new(oids::PG_AGGREGATE)?;
        let none = Support {
            state: Oid::INVALID,
            trans: Oid::INVALID,
            inverse: Oid::INVALID,
            final_: Oid::INVALID,
            result: Oid::INVALID,
        };
        let m = moving.as_ref().unwrap_or(&none);
        row.set_oid("aggfnoid", oid)?
            .set_char("aggkind", p.kind)?
            .set_i16("aggnumdirectargs", p.direct as i16)?
            .set_oid("aggtransfn", plain.trans)?
            .set_oid("aggfinalfn", plain.final_)?
            .set_oid("aggcombinefn", combine)?
            .set_oid("aggserialfn", serial)?
            .set_oid("aggdeserialfn", deserial)?
            .set_oid("aggmtransfn", m.trans)?
            .set_oid("aggminvtransfn", m.inverse)?
            .set_oid("aggmfinalfn", m.final_)?
            .set_bool("aggfinalextra", o.final_extra)?
            .set_bool("aggmfinalextra", o.m_final_extra)?
            .set_char("aggfinalmodify", o.final_modify.unwrap_or(modify))?
            .set_char("aggmfinalmodify", o.m_final_modify.unwrap_or(modify))?
            .set_oid("aggsortop", sort_op)?
            .set_oid("aggtranstype", plain.state)?
            .set_i32("aggtransspace", o.space)?
            .set_oid("aggmtranstype", m.state)?
            .set_i32("aggmtransspace", o.m_space)?
            .set_opt_text("agginitval", o.initial.as_deref())?
            .set_opt_text("aggminitval", o.m_initial.as_deref())?;
        for old in self.rows.index_scan(indexes::PG_AGGREGATE_FNOID, &[Datum::U32(oid.0)])? {
            self.rows.delete(&old)?;
        }
        self.rows.insert(row)?;
        let functions =
            [plain.trans, plain.final_, combine, serial, deserial, m.trans, m.inverse, m.final_];
        self.record_aggregate_needs(oid, functions, sort_op)
    }

    /// An aggregate needs the functions that it is made of, and its sort operator.
    fn record_aggregate_needs(&self, oid: Oid, functions: [Oid; 8], sort_op: Oid) -> Result<()> {
        let own = ObjectAddress::new(oids::PG_PROC, oid);
        for f in functions.into_iter().filter(|f| f.is_valid()) {
            let f = ObjectAddress::new(oids::PG_PROC, f);
            depend::record(self.rows, own, f, DependKind::Normal)?;
        }
        let op = ObjectAddress::new(oids::PG_OPERATOR, sort_op);
        depend::record(self.rows, own, op, DependKind::Normal)
    }

    /// Writes the function's row, or replaces that of an aggregate of the same kind.
    fn put_aggregate_proc(&self, new: &NewProc<'_>, p: &Params, replace: bool) -> Result<Oid> {
        let all = self.view.all_procs_named(new.name)?;
        let same =
            |o: &&std::sync::Arc<ProcDesc>| o.namespace == new.namespace && o.arg_types == new.args;
        let Some(old) = all.iter().find(same) else { return self.insert_proc(new) };
        if !replace {
            bail!(
                DUPLICATE_FUNCTION,
                "function \"{}\" already exists with same argument types",
                new.name
            );
        }
        if old.kind == b'a' {
            let was = self.view.aggregate(old.oid)?;
            if was.kind != p.kind {
                let text = match was.kind {
                    b'n' => "an ordinary aggregate function",
                    b'o' => "an ordered-set aggregate",
                    _ => "a hypothetical-set aggregate",
                };
                return Err(err!(WRONG_OBJECT_TYPE, "cannot change routine kind")
                    .detail(format!("\"{}\" is {text}.", new.name)));
            }
            if was.n_direct_args as usize != p.direct {
                bail!(
                    INVALID_FUNCTION_DEFINITION,
                    "cannot change number of direct arguments of an aggregate function"
                );
            }
        }
        self.replace_proc(old, new)?;
        Ok(old.oid)
    }

    fn aggregate_params(&self, o: &Options, signature: Option<&FuncSignature>) -> Result<Params> {
        let mut p = Params { kind: b'n', ..Params::default() };
        let Some(signature) = signature else {
            let Some(base) = &o.base_type else {
                return Err(missing("aggregate input type must be specified"));
            };
            let any = base.names.last().is_some_and(|n| n.eq_ignore_ascii_case("any"));
            if !any || base.names.len() != 1 {
                p.args.push(self.resolve_type(base).map_err(|e| e.placed(None))?.oid);
                p.modes.push(b'i');
                p.names.push(String::new());
            }
            return Ok(p);
        };
        if o.base_type.is_some() {
            let text = "basetype is redundant with aggregate input type specification";
            return Err(missing(text));
        }
        if let Some(direct) = signature.direct {
            p.kind = b'o';
            p.direct = direct;
        }
        for param in &signature.params {
            self.aggregate_param(param, &mut p)?;
        }
        Ok(p)
    }

    fn aggregate_param(&self, param: &FuncParam, p: &mut Params) -> Result<()> {
        let t = self.resolve_type(&param.type_name)?.oid;
        if param.type_name.setof {
            let e = err!(INVALID_FUNCTION_DEFINITION, "aggregates cannot accept set arguments");
            return Err(e.at(param.type_name.pos));
        }
        let mode = match param.mode {
            ParamMode::Variadic => b'v',
            ParamMode::Default | ParamMode::In => b'i',
            _ => {
                let e =
                    err!(INVALID_FUNCTION_DEFINITION, "aggregates cannot have output arguments");
                return Err(e.at(param.pos));
            }
        };
        if let Some(e) = &param.default {
            let text = "aggregate parameters cannot have default values";
            let _ = e;
            return Err(err!(INVALID_FUNCTION_DEFINITION, "{text}").at(param.pos));
        }
        if mode == b'v' {
            p.variadic = match t.0 {
                2277 => Oid(2283),
                2276 => Oid(2276),
                5078 => Oid(5077),
                _ => self.view.type_(t)?.elem,
            };
            if !p.variadic.is_valid() {
                let text = "VARIADIC parameter must be an array";
                return Err(err!(INVALID_FUNCTION_DEFINITION, "{text}").at(param.pos));
            }
        }
        p.args.push(t);
        p.modes.push(mode);
        p.names.push(param.name.clone().unwrap_or_default());
        Ok(())
    }

    fn state_type(&self, name: &TypeName, p: &Params, initial: Option<&str>) -> Result<Oid> {
        let state = self.resolve_type(name).map_err(|e| e.placed(None))?.oid;
        let kind = self.view.type_(state)?.kind;
        let internal = state == oids::INTERNAL && self.is_superuser()?;
        if kind == b'p' && !is_polymorphic(state) && !internal {
            bail!(
                INVALID_FUNCTION_DEFINITION,
                "aggregate transition data type cannot be {}",
                self.format_type(state, -1)
            );
        }
        if let Some(text) = initial.filter(|_| kind != b'p') {
            use functions::FnEnv;
            types::io::input(state, text, -1, &self.env.io())?;
        }
        if is_polymorphic(state) && resolve(&self.view, &p.args, &p.args, state)?.is_none() {
            let (ty, of) =
                (self.format_type(state, -1), super::function::polymorphic_inputs(state));
            return Err(err!(INVALID_FUNCTION_DEFINITION, "cannot determine transition data type")
                .detail(format!(
                    "A result of type {ty} requires at least one input of type {of}."
                )));
        }
        Ok(state)
    }

    /// The arguments of a transition function: the state and what is aggregated.
    fn trans_args(&self, state: Oid, p: &Params) -> Vec<Oid> {
        let mut args = vec![state];
        let variadic_any = p.variadic == oids::ANY;
        match p.kind {
            b'n' => args.extend(&p.args),
            // One VARIADIC "any" stands for the direct and the aggregated arguments.
            _ if variadic_any => args.extend(p.args.last()),
            _ => args.extend(&p.args[p.direct..]),
        }
        args
    }

    fn final_args(&self, state: Oid, p: &Params, extra: bool) -> Vec<Oid> {
        let mut args = vec![state];
        match (p.kind, extra) {
            (_, true) => args.extend(&p.args),
            (b'n', false) => {}
            _ => args.extend(&p.args[..p.direct.min(p.args.len())]),
        }
        args
    }

    fn trans_function(
        &self,
        name: &Name,
        args: &[Oid],
        what: &str,
    ) -> Result<std::sync::Arc<ProcDesc>> {
        let (f, result) = self.function_for(name, args)?;
        let fits = result == args[0] || is_polymorphic(f.return_type) && is_polymorphic(args[0]);
        if !fits {
            bail!(
                DATATYPE_MISMATCH,
                "return type of {what} function {} is not {}",
                name.parts.join("."),
                self.format_type(args[0], -1)
            );
        }
        Ok(f)
    }

    /// A strict transition function starts from the first row's value.
    fn check_first_state(&self, f: &ProcDesc, state: Oid, initial: bool, p: &Params) -> Result<()> {
        let fits = match p.args.get(p.direct) {
            Some(first) => self.same_bytes(*first, state)?,
            None => false,
        };
        if f.strict && !initial && !fits {
            let text = "must not omit initial value when transition function is strict and \
                        transition type is not compatible with input type";
            return Err(missing(text));
        }
        Ok(())
    }

    fn final_function(
        &self,
        name: Option<&Name>,
        state: Oid,
        p: &Params,
        extra: bool,
    ) -> Result<(Oid, Oid)> {
        let Some(name) = name else { return Ok((Oid::INVALID, state)) };
        let (f, result) = self.function_for(name, &self.final_args(state, p, extra))?;
        if extra && f.strict {
            let text = "final function with extra arguments must not be declared STRICT";
            return Err(missing(text));
        }
        Ok((f.oid, result))
    }

    fn plain_support(&self, o: &Options, p: &Params) -> Result<Support> {
        let (Some(state), Some(trans)) = (&o.state, &o.trans) else {
            return Err(Error::internal("an aggregate without a transition function"));
        };
        let state = self.state_type(state, p, o.initial.as_deref())?;
        let f = self.trans_function(trans, &self.trans_args(state, p), "transition")?;
        self.check_first_state(&f, state, o.initial.is_some(), p)?;
        let (final_, result) = self.final_function(o.final_.as_ref(), state, p, o.final_extra)?;
        if is_polymorphic(result) && resolve(&self.view, &p.args, &p.args, result)?.is_none() {
            let (ty, of) =
                (self.format_type(result, -1), super::function::polymorphic_inputs(result));
            return Err(err!(DATATYPE_MISMATCH, "cannot determine result data type").detail(
                format!("A result of type {ty} requires at least one input of type {of}."),
            ));
        }
        Ok(Support { state, trans: f.oid, inverse: Oid::INVALID, final_, result })
    }

    fn moving_support(&self, o: &Options, p: &Params, plain: Oid) -> Result<Option<Support>> {
        let (Some(state), Some(trans), Some(inverse)) = (&o.m_state, &o.m_trans, &o.m_inv) else {
            return Ok(None);
        };
        let state = self.state_type(state, p, o.m_initial.as_deref())?;
        let args = self.trans_args(state, p);
        let f = self.trans_function(trans, &args, "transition")?;
        self.check_first_state(&f, state, o.m_initial.is_some(), p)?;
        let back = self.trans_function(inverse, &args, "inverse transition")?;
        if f.strict != back.strict {
            let text =
                "strictness of aggregate's forward and inverse transition functions must match";
            return Err(missing(text));
        }
        let (final_, result) =
            self.final_function(o.m_final.as_ref(), state, p, o.m_final_extra)?;
        if result != plain {
            bail!(
                INVALID_FUNCTION_DEFINITION,
                "moving-aggregate implementation returns type {}, but plain implementation returns \
                 type {}",
                self.format_type(result, -1),
                self.format_type(plain, -1)
            );
        }
        Ok(Some(Support { state, trans: f.oid, inverse: back.oid, final_, result }))
    }

    /// Functions that combine, write and read states.
    fn partial_support(&self, o: &Options, state: Oid) -> Result<(Oid, Oid, Oid)> {
        if o.serial.is_some() != o.deserial.is_some() {
            let text =
                "must specify both or neither of serialization and deserialization functions";
            return Err(missing(text));
        }
        if o.serial.is_some() && state != oids::INTERNAL {
            let text = format!(
                "serialization functions may be specified only when the aggregate transition data \
                 type is {}",
                self.format_type(oids::INTERNAL, -1)
            );
            return Err(missing(&text));
        }
        let mut found = [Oid::INVALID; 3];
        if let Some(name) = &o.combine {
            let f = self.trans_function(name, &[state, state], "combine")?;
            if state == oids::INTERNAL && f.strict {
                let text = format!(
                    "combine function with transition type {} must not be declared STRICT",
                    self.format_type(state, -1)
                );
                return Err(missing(&text));
            }
            found[0] = f.oid;
        }
        let others = [
            (&o.serial, vec![oids::INTERNAL], oids::BYTEA, "serialization"),
            (&o.deserial, vec![oids::BYTEA, oids::INTERNAL], oids::INTERNAL, "deserialization"),
        ];
        for (i, (name, args, wanted, what)) in others.into_iter().enumerate() {
            let Some(name) = name else { continue };
            let (f, result) = self.function_for(name, &args)?;
            if result != wanted {
                bail!(
                    DATATYPE_MISMATCH,
                    "return type of {what} function {} is not {}",
                    name.parts.join("."),
                    self.format_type(wanted, -1)
                );
            }
            found[i + 1] = f.oid;
        }
        Ok((found[0], found[1], found[2]))
    }
}
