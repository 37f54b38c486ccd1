//! SQL/JSON.

use super::constant::Label;
use super::{Printer, VAR_STEP, quote_ident};
use crate::expr::{Aggref, Expr, WindowFunc};
use crate::json::*;

const JSON: base::Oid = base::Oid(114);

impl<'a> Printer<'a> {
    pub(super) fn json(&mut self, j: &'a JsonExpr, expr: &'a Expr) {
        match &j.op {
            JsonOp::Formatted => {
                self.expr(&j.args[0], false);
                self.json_format(j.format);
            }
            JsonOp::IsJson { kind, unique } => {
                self.open();
                self.operand(&j.args[0], true, expr);
                self.put(" IS JSON");
                self.put(match kind {
                    JsonKind::Value => "",
                    JsonKind::Array => " ARRAY",
                    JsonKind::Object => " OBJECT",
                    JsonKind::Scalar => " SCALAR",
                });
                self.put(if *unique { " WITH UNIQUE KEYS" } else { "" });
                self.close();
            }
            JsonOp::Query(q) => self.json_query(j, q),
            JsonOp::Table(t) => self.json_table(j, t),
            JsonOp::ObjectAgg { .. } | JsonOp::ArrayAgg { .. } => self.json_aggregate(j),
            _ => self.json_constructor(j),
        }
    }

    fn json_format(&mut self, format: JsonFormat) {
        self.put(match format {
            JsonFormat::Default => "",
            JsonFormat::Json => " FORMAT JSON",
            JsonFormat::JsonUtf8 => " FORMAT JSON ENCODING UTF8",
        });
    }

    fn json_returning(&mut self, j: &JsonExpr) {
        let ty = self.names.type_name(j.ty, j.typmod);
        self.put(&format!(" RETURNING {ty}"));
    }

    fn json_constructor(&mut self, j: &'a JsonExpr) {
        self.put(match j.op {
            JsonOp::Object { .. } => "JSON_OBJECT(",
            JsonOp::Array { .. } => "JSON_ARRAY(",
            JsonOp::Parse { .. } => "JSON(",
            JsonOp::Scalar => "JSON_SCALAR(",
            _ => "JSON_SERIALIZE(",
        });
        let object = matches!(j.op, JsonOp::Object { .. });
        for (i, arg) in j.args.iter().enumerate() {
            if i > 0 {
                self.put(if object && i % 2 == 1 { " : " } else { ", " });
            }
            self.expr(arg, true);
        }
        self.json_options(j);
        self.put(")");
    }

    fn json_options(&mut self, j: &JsonExpr) {
        match j.op {
            JsonOp::Object { absent_on_null: true, .. }
            | JsonOp::ObjectAgg { absent_on_null: true, .. } => self.put(" ABSENT ON NULL"),
            JsonOp::Array { absent_on_null: false }
            | JsonOp::ArrayAgg { absent_on_null: false } => self.put(" NULL ON NULL"),
            _ => {}
        }
        if let JsonOp::Object { unique: true, .. }
        | JsonOp::ObjectAgg { unique: true, .. }
        | JsonOp::Parse { unique: true } = j.op
        {
            self.put(" WITH UNIQUE KEYS");
        }
        let plain = matches!(j.op, JsonOp::Parse { .. } | JsonOp::Scalar) && j.ty == JSON;
        if !plain {
            self.json_returning(j);
        }
    }

    fn json_aggregate(&mut self, j: &'a JsonExpr) {
        match &j.args[0] {
            Expr::Agg(a) => self.json_aggregate_call(j, a),
            Expr::Window(w) => self.json_window_call(j, w),
            other => self.expr(other, false),
        }
    }

    fn json_aggregate_name(&mut self, j: &JsonExpr) -> &'static str {
        match j.op {
            JsonOp::ObjectAgg { .. } => {
                self.put("JSON_OBJECTAGG(");
                " : "
            }
            _ => {
                self.put("JSON_ARRAYAGG(");
                ", "
            }
        }
    }

    fn json_aggregate_call(&mut self, j: &'a JsonExpr, a: &'a Aggref) {
        let between = self.json_aggregate_name(j);
        for (i, arg) in a.args.iter().filter(|t| !t.junk).enumerate() {
            self.put(if i > 0 { between } else { "" });
            self.expr(&arg.expr, true);
        }
        if !a.order.is_empty() {
            self.put(" ORDER BY ");
            self.order_by(&a.order, &a.args, false);
        }
        self.json_options(j);
        if let Some(filter) = &a.filter {
            self.put(") FILTER (WHERE ");
            self.expr(filter, false);
        }
        self.put(")");
    }

    fn json_window_call(&mut self, j: &'a JsonExpr, w: &'a WindowFunc) {
        let between = self.json_aggregate_name(j);
        for (i, arg) in w.args.iter().enumerate() {
            self.put(if i > 0 { between } else { "" });
            self.expr(arg, true);
        }
        self.json_options(j);
        if let Some(filter) = &w.filter {
            self.put(") FILTER (WHERE ");
            self.expr(filter, false);
        }
        self.put(") OVER ");
        self.over(w);
    }

    fn json_query(&mut self, j: &'a JsonExpr, q: &'a JsonQuery) {
        self.put(match q.kind {
            JsonQueryKind::Exists => "JSON_EXISTS(",
            JsonQueryKind::Query => "JSON_QUERY(",
            JsonQueryKind::Value => "JSON_VALUE(",
        });
        self.expr(&j.args[0], true);
        self.put(", ");
        self.json_path(&j.args[1]);
        if !q.names.is_empty() {
            self.put(" PASSING ");
            for (i, (name, value)) in q.names.iter().zip(&j.args[2..]).enumerate() {
                self.put(if i > 0 { ", " } else { "" });
                self.expr(value, true);
                self.put(&format!(" AS {}", quote_ident(name)));
            }
        }
        if q.kind != JsonQueryKind::Exists || j.ty != base::Oid(16) {
            self.json_returning(j);
            if q.kind == JsonQueryKind::Value {
                self.json_format(j.format);
            }
        }
        self.json_query_options(j, q);
        self.put(")");
    }

    fn json_path(&mut self, path: &'a Expr) {
        match path {
            Expr::Const(c) => self.constant(c, Label::Never),
            other => self.expr(other, true),
        }
    }

    fn json_query_options(&mut self, j: &'a JsonExpr, q: &'a JsonQuery) {
        if q.kind == JsonQueryKind::Query {
            self.put(match q.wrapper {
                JsonWrapper::None => " WITHOUT WRAPPER",
                JsonWrapper::Conditional => " WITH CONDITIONAL WRAPPER",
                JsonWrapper::Unconditional => " WITH UNCONDITIONAL WRAPPER",
            });
            self.put(if q.omit_quotes { " OMIT QUOTES" } else { " KEEP QUOTES" });
        }
        let default = match q.kind {
            JsonQueryKind::Exists => JsonBehaviorKind::False,
            _ => JsonBehaviorKind::Null,
        };
        let empty = q.on_empty.as_ref().map(|b| (b, " ON EMPTY"));
        for (b, word) in empty.into_iter().chain([(&q.on_error, " ON ERROR")]) {
            if b.kind == default {
                continue;
            }
            self.put(&format!(" {}", b.kind.text()));
            if let Some(arg) = b.arg {
                self.put(" ");
                self.expr(&j.args[arg as usize], false);
            }
            self.put(word);
        }
    }

    /// JSON_TABLE, over several lines if lines are wanted.
    fn json_table(&mut self, j: &'a JsonExpr, t: &'a JsonTable) {
        self.put("JSON_TABLE(");
        let pretty = self.style.indent;
        self.indent += VAR_STEP;
        self.clause("", 0, 0, 0);
        self.expr(&j.args[0], true);
        self.put(", ");
        self.table_path(&t.root);
        if !t.names.is_empty() {
            self.clause(if pretty { "PASSING " } else { " PASSING " }, 0, VAR_STEP, 0);
            for (i, (name, value)) in t.names.iter().zip(&j.args[1..]).enumerate() {
                self.put(if i > 0 { ", " } else { "" });
                self.clause("", 0, 0, 0);
                self.expr(value, false);
                self.put(&format!(" AS {}", quote_ident(name)));
            }
            self.indent -= if pretty { VAR_STEP } else { 0 };
        }
        self.table_columns(j, t, &t.root);
        if t.error_on_error {
            self.put(" ERROR ON ERROR");
        }
        self.indent -= VAR_STEP;
        self.clause(")", 0, 0, 0);
    }

    fn table_path(&mut self, p: &JsonTablePath) {
        self.put(&super::quote_literal(&p.path));
        self.put(&format!(" AS {}", quote_ident(&p.name)));
    }

    fn table_columns(&mut self, j: &'a JsonExpr, t: &'a JsonTable, p: &'a JsonTablePath) {
        let pretty = self.style.indent;
        self.clause(if pretty { "COLUMNS (" } else { " COLUMNS (" }, 0, VAR_STEP, 0);
        let mut first = true;
        for c in &t.columns[p.columns.0 as usize..p.columns.1 as usize] {
            self.put(if std::mem::take(&mut first) { "" } else { ", " });
            self.clause("", 0, 0, 0);
            self.put_ident(&c.name);
            self.table_column(j, c);
        }
        for nested in &p.nested {
            self.put(if std::mem::take(&mut first) { "" } else { ", " });
            self.clause("NESTED PATH ", 0, 0, 0);
            self.table_path(nested);
            self.table_columns(j, t, nested);
        }
        self.indent -= if pretty { VAR_STEP } else { 0 };
        self.clause(")", 0, 0, 0);
    }

    fn table_column(&mut self, j: &'a JsonExpr, c: &'a JsonTableColumn) {
        let Some(value) = c.value else { return self.put(" FOR ORDINALITY") };
        let Expr::Json(expr) = &j.inner[value as usize] else { return };
        let JsonOp::Query(q) = &expr.op else { return };
        let ty = self.names.type_name(c.ty, c.typmod);
        self.put(&format!(" {ty}"));
        match q.kind {
            JsonQueryKind::Exists => self.put(" EXISTS"),
            JsonQueryKind::Query if c.string => {
                let utf8 = expr.format == JsonFormat::JsonUtf8;
                self.put(" FORMAT JSON");
                self.put(if utf8 { " ENCODING UTF8" } else { "" });
            }
            _ => {}
        }
        self.put(" PATH ");
        self.json_path(&expr.args[1]);
        self.json_query_options(expr, q);
    }
}
