//! CALL.

use crate::Session;
use crate::sink::{ResultColumn, Sink};
use base::{Error, Result};
use functions::{CallInfo, FnEnv};
use ir::Expr;
use parser::ast::FuncCall;
use std::sync::Arc;
use types::Datum;

impl Session {
    /// Runs a procedure; its outputs are a row.
    pub(crate) fn call_stmt(
        &mut self,
        call: &FuncCall,
        params: &[Datum],
        sink: &mut dyn Sink,
    ) -> Result<&'static str> {
        let env = self.env()?;
        let cx = crate::analysis::env(&env);
        let mut types = Vec::new();
        let made = analyze::call(&cx, call, analyze::Params::Infer(&mut types))?;
        let Expr::Func(f) = &made else {
            return Err(Error::internal("CALL of something that is no function"));
        };
        self.core.check_execute(&env.view, self.core.users().current, f.func)?;
        let p = env.view.proc(f.func)?;
        // What stands for an output only says its type.
        let mode = |i: usize| p.arg_modes.as_ref().and_then(|m| m.get(i)).copied().unwrap_or(b'i');
        let inputs: Vec<&Expr> =
            f.args.iter().enumerate().filter(|(i, _)| mode(*i) != b'o').map(|(_, a)| a).collect();
        let mut args = Vec::new();
        for arg in &inputs {
            args.push(self.evaluate(&env, (*arg).clone(), Arc::from(params))?);
        }
        let info = CallInfo {
            fn_oid: f.func,
            collation: env.view.concrete_collation(f.input_collation),
            arg_types: inputs.iter().map(|a| a.ty()).collect(),
            ret_type: f.ret_type,
            ret_typmod: -1,
            variadic: f.variadic,
            columns: None,
        };
        let outputs: Vec<(String, base::Oid)> = (0..f.args.len())
            .filter(|i| matches!(mode(*i), b'o' | b'b'))
            .map(|i| {
                let name = p.arg_names.as_ref().and_then(|n| n.get(i)).cloned();
                (name.unwrap_or_default(), f.args[i].ty())
            })
            .collect();
        let row = match crate::sql_function::procedure(&env, &info, &args) {
            Some(row) => row?,
            None => return Err(Error::unsupported("calling a built-in procedure")),
        };
        if !outputs.is_empty() {
            let mut columns = Vec::new();
            for (name, ty) in &outputs {
                columns.push(ResultColumn {
                    name: name.clone(),
                    table: base::Oid::INVALID,
                    attnum: 0,
                    type_oid: *ty,
                    type_len: env.view.type_(*ty)?.len,
                    typmod: -1,
                });
            }
            sink.row_description(&columns, &[])?;
            crate::rows::RowWriter::new(&columns, &[]).row(&row, &env.io(), sink)?;
        }
        drop(env);
        self.after_query()?;
        Ok("CALL")
    }
}
