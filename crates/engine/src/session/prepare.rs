//! PREPARE and EXECUTE.

use super::prepared::{Portal, Prepared};
use super::simple::is_query;
use super::{Session, query};
use crate::ddl::type_name::resolve;
use crate::sink::Sink;
use base::{Error, Result, bail, err};
use parser::ast::{ExecuteStmt, Expr, PrepareStmt, RawStmt};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use types::Datum;

impl Session {
    /// PREPARE.
    pub(crate) fn prepare_stmt(&mut self, stmt: &PrepareStmt, text: &str) -> Result<()> {
        if stmt.name.is_empty() {
            bail!(INVALID_PSTATEMENT_DEFINITION, "invalid statement name: must not be empty");
        }
        let types = self.with_ddl(text, |ddl| {
            stmt.arg_types
                .iter()
                .map(|t| Ok(resolve(&ddl.view, t)?.oid))
                .collect::<Result<Vec<_>>>()
        })?;
        let inner = RawStmt { stmt: stmt.query.clone(), location: stmt.query_pos, len: 0 };
        let analysed = self.analyse(Some(&inner), &types)?;
        if self.core.prepared.lock().contains_key(&stmt.name) {
            bail!(DUPLICATE_PSTATEMENT, "prepared statement \"{}\" already exists", stmt.name);
        }
        let (inner, analysed) = (Arc::new(inner), Arc::new(analysed));
        let mut made = Prepared::new(&stmt.name, Arc::from(text), Some(inner), analysed, &types);
        made.from_sql = true;
        self.core.prepared.lock().insert(stmt.name.clone(), Arc::new(made));
        Ok(())
    }

    /// The arguments of EXECUTE, as the statement's parameters take them.
    pub(crate) fn execute_arguments(
        &self,
        prepared: &Prepared,
        args: &[Expr],
    ) -> Result<Arc<[Datum]>> {
        let types = prepared.analysed.lock().params.clone();
        if types.len() != args.len() {
            return Err(err!(
                SYNTAX_ERROR,
                "wrong number of parameters for prepared statement \"{}\"",
                prepared.name
            )
            .detail(format!(
                "Expected {} parameters but got {}.",
                types.len(),
                args.len()
            )));
        }
        let env = self.env()?;
        let cx = crate::analysis::env(&env);
        let mut values = Vec::with_capacity(args.len());
        for (i, (arg, ty)) in args.iter().zip(types).enumerate() {
            let expr = analyze::execute_argument(&cx, arg, i + 1, ty)?;
            values.push(self.evaluate(&env, expr, Arc::new([]))?);
        }
        Ok(values.into())
    }

    /// EXECUTE; gives the command tag of what was run.
    pub(crate) fn execute_stmt(
        &mut self,
        stmt: &ExecuteStmt,
        sink: &mut dyn Sink,
    ) -> Result<String> {
        let prepared = self.find_prepared(&stmt.name)?;
        let params = self.execute_arguments(&prepared, &stmt.params)?;
        let Some(inner) = prepared.stmt.clone() else {
            return Ok(String::new());
        };
        // Places in the statement count in the text of PREPARE, which is another.
        let unplaced = |mut e: Error| {
            e.fields_mut().location = None;
            e
        };
        if !is_query(&inner.stmt) {
            let text = prepared.text.clone();
            return self.utility(&inner, &text, &params, sink).map_err(unplaced);
        }
        let mut portal = Portal::new("", prepared, params, self.statement_micros);
        portal.describe = true;
        let tag = self.run_portal(&mut portal, 0, sink).map_err(unplaced)?;
        Ok(tag.unwrap_or_default().into_owned())
    }

    /// True if EXECUTE would run the plan for any parameters now. Counts as a run.
    pub(crate) fn takes_generic(&self, prepared: &Prepared, params: &[Datum]) -> Result<bool> {
        if params.is_empty() {
            return Ok(true);
        }
        let env = self.env()?;
        let before = prepared.generic_plans.load(Ordering::Relaxed);
        let (analysed, _) = self.programs(&env, prepared, params, 0.0)?;
        query::main_query(&analysed)?;
        Ok(prepared.generic_plans.load(Ordering::Relaxed) > before)
    }
}
