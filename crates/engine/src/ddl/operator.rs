//! CREATE, ALTER and DROP OPERATOR. Commutators and negators that are not there yet are made as
//! shells, to be filled in later.

use super::Ddl;
use super::describe::Found;
use super::lookup::{bool_of, name_of, operator_of, type_of};
use super::name::split;
use base::{Error, Oid, Result, SqlState, bail, err};
use catalog::depend::{self, DependKind, ObjectAddress};
use catalog::{OperatorDesc, SysRow, indexes, oids};
use parser::ast::{
    AlterOperatorStmt, DefValue, DefineStmt, NO_POS, Name, Object, ObjectDetail, OpName, TypeName,
};

/// What the definition says.
#[derive(Default)]
struct Options {
    left: Option<TypeName>,
    right: Option<TypeName>,
    function: Option<Name>,
    commutator: Option<OpName>,
    negator: Option<OpName>,
    restrict: Option<Name>,
    join: Option<Name>,
    hashes: bool,
    merges: bool,
}

/// An operator to be.
struct NewOperator<'a> {
    name: &'a str,
    namespace: Oid,
    left: Oid,
    right: Oid,
}

fn refuse(text: &str) -> Error {
    Error::new(SqlState::INVALID_FUNCTION_DEFINITION, text)
}

impl Ddl<'_> {
    fn operator_options(&self, stmt: &DefineStmt) -> Result<Options> {
        let mut o = Options::default();
        for e in stmt.definition.as_deref().unwrap_or(&[]) {
            match e.name.as_str() {
                "leftarg" | "rightarg" => {
                    let t = type_of(e)?;
                    if t.setof {
                        return Err(refuse("SETOF type not allowed for operator argument"));
                    }
                    if e.name == "leftarg" { o.left = Some(t) } else { o.right = Some(t) }
                }
                "function" | "procedure" => o.function = Some(name_of(e)?),
                "commutator" => o.commutator = Some(operator_of(e)?),
                "negator" => o.negator = Some(operator_of(e)?),
                "restrict" => o.restrict = Some(name_of(e)?),
                "join" => o.join = Some(name_of(e)?),
                "hashes" => o.hashes = bool_of(e)?,
                "merges" => o.merges = bool_of(e)?,
                // These mean no more than that it can be merged.
                "sort1" | "sort2" | "ltcmp" | "gtcmp" => o.merges = true,
                other => self.notice(Error::with_severity(
                    base::Severity::Warning,
                    SqlState::SYNTAX_ERROR,
                    format!("operator attribute \"{other}\" not recognized"),
                )),
            }
        }
        Ok(o)
    }

    /// CREATE OPERATOR.
    pub fn create_operator(&self, stmt: &DefineStmt) -> Result<()> {
        let (schema, name) = split(&stmt.name);
        let namespace = self.creation_namespace(schema)?;
        let o = self.operator_options(stmt)?;
        let Some(function) = &o.function else {
            return Err(refuse("operator function must be specified"));
        };
        let operand = |t: &Option<TypeName>| -> Result<Oid> {
            t.as_ref().map_or(Ok(Oid::INVALID), |t| {
                Ok(self.resolve_type(t).map_err(|e| e.placed(None))?.oid)
            })
        };
        let (left, right) = (operand(&o.left)?, operand(&o.right)?);
        if !left.is_valid() && !right.is_valid() {
            return Err(refuse("operator argument types must be specified"));
        }
        if !right.is_valid() {
            return Err(refuse("operator right argument type must be specified")
                .detail("Postfix operators are not supported."));
        }
        let args: Vec<Oid> = [left, right].into_iter().filter(|t| t.is_valid()).collect();
        let f = self.function_exact(function, &args)?;
        let rest = self.estimator(o.restrict.as_ref(), false)?;
        let join = self.estimator(o.join.as_ref(), true)?;
        check_traits(left.is_valid(), f.return_type == oids::BOOL, &o)?;
        let new = NewOperator { name, namespace, left, right };
        let old = self.operator_in(namespace, name, left, right)?;
        if old.as_ref().is_some_and(|o| o.function.is_valid()) {
            bail!(DUPLICATE_FUNCTION, "operator {name} already exists");
        }
        let mut row = match &old {
            Some(shell) => self.row_by_oid(indexes::PG_OPERATOR_OID, shell.oid)?,
            None => SysRow::new(oids::PG_OPERATOR)?,
        };
        let oid = match &old {
            Some(shell) => shell.oid,
            None => self.rows.new_oid(oids::PG_OPERATOR)?,
        };
        self.fill_operator(&mut row, oid, &new)?;
        row.set_oid("oprresult", f.return_type)?
            .set_oid("oprcode", f.oid)?
            .set_oid("oprrest", rest)?
            .set_oid("oprjoin", join)?
            .set_bool("oprcanmerge", o.merges)?
            .set_bool("oprcanhash", o.hashes)?;
        let commutator = match &o.commutator {
            Some(op) => self.other_operator(op, &new, oid, right, left, false)?,
            None => old.as_ref().map_or(Oid::INVALID, |o| o.commutator),
        };
        let negator = match &o.negator {
            Some(op) => self.other_operator(op, &new, oid, left, right, true)?,
            None => old.as_ref().map_or(Oid::INVALID, |o| o.negator),
        };
        row.set_oid("oprcom", commutator)?.set_oid("oprnegate", negator)?;
        match &old {
            Some(_) => self.rows.update(row)?,
            None => self.rows.insert(row)?,
        };
        self.depend_operator(oid)?;
        self.link_operator(oid, commutator, "oprcom")?;
        self.link_operator(oid, negator, "oprnegate")
    }

    fn operator_in(
        &self,
        namespace: Oid,
        name: &str,
        left: Oid,
        right: Oid,
    ) -> Result<Option<std::sync::Arc<OperatorDesc>>> {
        let all = self.view.source().operators_named(name)?;
        let same = |o: &&std::sync::Arc<OperatorDesc>| {
            o.namespace == namespace && o.left == left && o.right == right
        };
        Ok(all.iter().find(same).cloned())
    }

    fn fill_operator(&self, row: &mut SysRow, oid: Oid, new: &NewOperator<'_>) -> Result<()> {
        row.set_oid("oid", oid)?
            .set_text("oprname", new.name)?
            .set_oid("oprnamespace", new.namespace)?
            .set_oid("oprowner", self.user())?
            .set_char("oprkind", if new.left.is_valid() { b'b' } else { b'l' })?
            .set_oid("oprleft", new.left)?
            .set_oid("oprright", new.right)?;
        Ok(())
    }

    /// An estimator's function, by name.
    fn estimator(&self, name: Option<&Name>, join: bool) -> Result<Oid> {
        let Some(name) = name else { return Ok(Oid::INVALID) };
        let (internal, oid) = (oids::INTERNAL, oids::OID);
        let f = match join {
            true => {
                let full = [internal, oid, internal, oids::INT2, internal];
                match self.function_exact(name, &full) {
                    Ok(f) => f,
                    Err(e) => self.function_exact(name, &full[..4]).map_err(|_| e)?,
                }
            }
            false => self.function_exact(name, &[internal, oid, internal, oids::INT4])?,
        };
        if f.return_type != oids::FLOAT8 {
            let what = if join { "join" } else { "restriction" };
            bail!(
                INVALID_OBJECT_DEFINITION,
                "{what} estimator function {} must return type double precision",
                name.parts.join(".")
            );
        }
        Ok(f.oid)
    }

    /// A commutator or negator: found, the operator itself, or made as a shell.
    fn other_operator(
        &self,
        op: &OpName,
        new: &NewOperator<'_>,
        own: Oid,
        left: Oid,
        right: Oid,
        negator: bool,
    ) -> Result<Oid> {
        if let Some(found) = self.find_operator(op, left, right)? {
            if found.oid == own && negator {
                return Err(refuse("operator cannot be its own negator"));
            }
            return Ok(found.oid);
        }
        let namespace = match op.schema.last() {
            Some(schema) => self.creation_namespace(Some(schema))?,
            None => self.creation_namespace(None)?,
        };
        let itself = *op.name == *new.name
            && namespace == new.namespace
            && left == new.left
            && right == new.right;
        if itself {
            return match negator {
                true => Err(refuse("operator cannot be its own negator")),
                false => Ok(own),
            };
        }
        let oid = self.rows.new_oid(oids::PG_OPERATOR)?;
        let mut row = SysRow::new(oids::PG_OPERATOR)?;
        self.fill_operator(&mut row, oid, &NewOperator { name: &op.name, namespace, left, right })?;
        self.rows.insert(row)?;
        self.depend_operator(oid)?;
        Ok(oid)
    }

    /// The other one of a pair leads back, if it leads nowhere yet.
    fn link_operator(&self, own: Oid, other: Oid, column: &str) -> Result<()> {
        if !other.is_valid() || other == own {
            return Ok(());
        }
        let mut row = self.row_by_oid(indexes::PG_OPERATOR_OID, other)?;
        if !row.oid(column)?.is_valid() {
            row.set_oid(column, own)?;
            self.rows.update(row)?;
        }
        Ok(())
    }

    fn depend_operator(&self, oid: Oid) -> Result<()> {
        let own = ObjectAddress::new(oids::PG_OPERATOR, oid);
        depend::forget(self.rows, own)?;
        let row = self.row_by_oid(indexes::PG_OPERATOR_OID, oid)?;
        let mut seen = Vec::new();
        for (class, column) in [
            (oids::PG_NAMESPACE, "oprnamespace"),
            (oids::PG_TYPE, "oprleft"),
            (oids::PG_TYPE, "oprright"),
            (oids::PG_TYPE, "oprresult"),
            (oids::PG_PROC, "oprcode"),
            (oids::PG_PROC, "oprrest"),
            (oids::PG_PROC, "oprjoin"),
        ] {
            let a = ObjectAddress::new(class, row.oid(column)?);
            if !seen.contains(&a) {
                depend::record(self.rows, own, a, DependKind::Normal)?;
                seen.push(a);
            }
        }
        self.forget_all_roles(own)?;
        self.depend_owner(own, row.oid("oprowner")?)
    }

    /// Before an operator goes: others must not lead to it.
    pub(super) fn unlink_operator(&self, oid: Oid) -> Result<()> {
        let row = self.row_by_oid(indexes::PG_OPERATOR_OID, oid)?;
        for column in ["oprcom", "oprnegate"] {
            let other = row.oid(column)?;
            if !other.is_valid() || other == oid || other < Oid::FIRST_NORMAL {
                continue;
            }
            let mut row = self.row_by_oid(indexes::PG_OPERATOR_OID, other)?;
            if row.oid(column)? == oid {
                row.set_oid(column, Oid::INVALID)?;
                self.rows.update(row)?;
            }
        }
        Ok(())
    }

    /// The operator that a statement names with its operand types.
    pub(super) fn find_operator_object(&self, object: &Object, missing_ok: bool) -> Result<Found> {
        let op = op_name(object);
        let ObjectDetail::Operands(left, right) = &object.detail else {
            return Err(Error::internal("an operator without operands"));
        };
        if right.is_none() {
            bail!(SYNTAX_ERROR, "postfix operators are not supported");
        }
        let operand = |t: &Option<TypeName>| -> Result<Oid> {
            t.as_ref().map_or(Ok(Oid::INVALID), |t| {
                let found = super::type_name::resolve(&self.view, t);
                Ok(found.map_err(|e| e.placed(None))?.oid)
            })
        };
        if missing_ok {
            for t in [left, right].into_iter().flatten() {
                if let Some(text) = self.missing_type(t)? {
                    return Ok(Found::Missing(text));
                }
            }
        }
        let found = operand(left).and_then(|l| Ok((l, operand(right)?)));
        let (left, right) = match found {
            Err(e) if missing_ok && e.code() == SqlState::UNDEFINED_OBJECT => {
                return Ok(Found::Missing(e.message().to_string()));
            }
            other => other?,
        };
        if let Some(schema) = op.schema.last()
            && missing_ok
            && self.view.namespace_named(schema)?.is_none()
        {
            return Ok(Found::Missing(format!("schema \"{schema}\" does not exist")));
        }
        match self.find_operator(&op, left, right)? {
            Some(found) => Ok(Found::Object(ObjectAddress::new(oids::PG_OPERATOR, found.oid))),
            None if missing_ok => {
                let shown = object.name.parts.join(".");
                Ok(Found::Missing(format!("operator {shown} does not exist")))
            }
            None => Err(self.no_operator(&op, left, right)),
        }
    }

    /// ALTER OPERATOR .. SET.
    pub fn alter_operator(&self, stmt: &AlterOperatorStmt) -> Result<()> {
        let Found::Object(a) = self.find_operator_object(&stmt.object, false)? else {
            return Ok(());
        };
        let mut o = Options::default();
        let (mut rest_said, mut join_said) = (false, false);
        for e in &stmt.options {
            let none = matches!(e.value, None | Some(DefValue::Null));
            match e.name.as_str() {
                "restrict" => {
                    rest_said = true;
                    o.restrict = if none { None } else { Some(name_of(e)?) };
                }
                "join" => {
                    join_said = true;
                    o.join = if none { None } else { Some(name_of(e)?) };
                }
                "commutator" => o.commutator = Some(operator_of(e)?),
                "negator" => o.negator = Some(operator_of(e)?),
                "merges" => o.merges = bool_of(e)?,
                "hashes" => o.hashes = bool_of(e)?,
                "leftarg" | "rightarg" | "function" | "procedure" => {
                    bail!(SYNTAX_ERROR, "operator attribute \"{}\" cannot be changed", e.name)
                }
                other => bail!(SYNTAX_ERROR, "operator attribute \"{other}\" not recognized"),
            }
        }
        self.require_owner(a)?;
        self.change_operator(a.object, stmt, &o, rest_said, join_said)
    }

    fn change_operator(
        &self,
        oid: Oid,
        stmt: &AlterOperatorStmt,
        o: &Options,
        rest_said: bool,
        join_said: bool,
    ) -> Result<()> {
        let op = self.view.operator(oid)?;
        let rest = self.estimator(o.restrict.as_ref(), false)?;
        let join = self.estimator(o.join.as_ref(), true)?;
        check_traits(op.left.is_valid(), op.result == oids::BOOL, o)?;
        let own =
            NewOperator { name: &op.name, namespace: op.namespace, left: op.left, right: op.right };
        let fixed = |what: &str| {
            err!(
                INVALID_FUNCTION_DEFINITION,
                "operator attribute \"{what}\" cannot be changed if it has already been set"
            )
        };
        let mut commutator = Oid::INVALID;
        if let Some(name) = &o.commutator {
            commutator = self.other_operator(name, &own, oid, op.right, op.left, false)?;
            if op.commutator.is_valid() && op.commutator != commutator {
                return Err(fixed("commutator"));
            }
        }
        let mut negator = Oid::INVALID;
        if let Some(name) = &o.negator {
            negator = self.other_operator(name, &own, oid, op.left, op.right, true)?;
            if op.negator.is_valid() && op.negator != negator {
                return Err(fixed("negator"));
            }
        }
        for e in &stmt.options {
            let changes = match e.name.as_str() {
                "merges" => op.can_merge && !o.merges,
                "hashes" => op.can_hash && !o.hashes,
                _ => false,
            };
            if changes {
                return Err(fixed(&e.name));
            }
        }
        let mut row = self.row_by_oid(indexes::PG_OPERATOR_OID, oid)?;
        if rest_said {
            row.set_oid("oprrest", rest)?;
        }
        if join_said {
            row.set_oid("oprjoin", join)?;
        }
        if commutator.is_valid() {
            row.set_oid("oprcom", commutator)?;
        }
        if negator.is_valid() {
            row.set_oid("oprnegate", negator)?;
        }
        row.set_bool("oprcanmerge", op.can_merge || o.merges)?
            .set_bool("oprcanhash", op.can_hash || o.hashes)?;
        self.rows.update(row)?;
        self.depend_operator(oid)?;
        self.link_operator(oid, commutator, "oprcom")?;
        self.link_operator(oid, negator, "oprnegate")
    }
}

/// The operator's name of a statement's object.
fn op_name(object: &Object) -> OpName {
    let mut parts = object.name.parts.clone();
    let name = parts.pop().unwrap_or_default();
    OpName { schema: parts, name: name.into(), pos: NO_POS }
}

/// What only binary, or only boolean, operators have.
fn check_traits(binary: bool, boolean: bool, o: &Options) -> Result<()> {
    let traits = [
        (o.commutator.is_some(), "have commutators", true, false),
        (o.join.is_some(), "have join selectivity", true, false),
        (o.merges, "merge join", true, false),
        (o.hashes, "hash", true, false),
        (o.negator.is_some(), "have negators", false, true),
        (o.restrict.is_some(), "have restriction selectivity", false, true),
        (o.join.is_some(), "have join selectivity", false, true),
        (o.merges, "merge join", false, true),
        (o.hashes, "hash", false, true),
    ];
    for (given, what, of_binary, of_boolean) in traits {
        if given && of_binary && !binary {
            return Err(refuse(&format!("only binary operators can {what}")));
        }
        if given && of_boolean && !boolean {
            return Err(refuse(&format!("only boolean operators can {what}")));
        }
    }
    Ok(())
}
