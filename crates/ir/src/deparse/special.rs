//! Functions that SQL has a syntax of its own for.

use super::Printer;
use crate::expr::{Const, Expr, FuncExpr};
use types::Datum;

impl<'a> Printer<'a> {
    /// Prints the call in its own syntax; false if the function has none.
    pub(super) fn special_syntax(&mut self, f: &'a FuncExpr) -> bool {
        match (f.func.0, f.args.as_slice()) {
            (1026 | 1159 | 2037 | 2038 | 2069 | 2070, [zone, time]) => {
                self.put("(");
                self.operand_of_syntax(time);
                self.put(" AT TIME ZONE ");
                self.operand_of_syntax(zone);
                self.put(")");
            }
            (2614, [path, document]) => {
                self.put("XMLEXISTS((");
                self.expr(path, false);
                self.put(") PASSING (");
                self.expr(document, false);
                self.put("))");
            }
            (6334..=6336, [time]) => {
                self.put("(");
                self.operand_of_syntax(time);
                self.put(" AT LOCAL)");
            }
            (1304..=1311 | 1271 | 2041..=2044, [a, b, c, d]) => {
                self.put("((");
                self.pair(a, b, ", ");
                self.put(") OVERLAPS (");
                self.pair(c, d, ", ");
                self.put("))");
            }
            (6199..=6204, [field, from]) => {
                self.put("EXTRACT(");
                let field = word(field);
                self.put(&field);
                self.put(" FROM ");
                self.expr(from, false);
                self.put(")");
            }
            (4351, [text, rest @ ..]) => {
                self.put("(");
                self.operand_of_syntax(text);
                self.put(" IS");
                if let Some(form) = rest.first() {
                    let form = format!(" {}", word(form));
                    self.put(&form);
                }
                self.put(" NORMALIZED)");
            }
            (4350, [text, rest @ ..]) => {
                self.put("NORMALIZE(");
                self.expr(text, false);
                if let Some(form) = rest.first() {
                    let form = format!(", {}", word(form));
                    self.put(&form);
                }
                self.put(")");
            }
            (3162, [arg]) => {
                self.put("COLLATION FOR (");
                self.expr(arg, false);
                self.put(")");
            }
            (6311, []) => self.put("SYSTEM_USER"),
            _ => return self.special_text(f),
        }
        true
    }

    fn special_text(&mut self, f: &'a FuncExpr) -> bool {
        let trim = |p: &mut Self, side: &str, args: &'a [Expr]| {
            p.put(side);
            if let Some(what) = args.get(1) {
                p.put(" ");
                p.expr(what, false);
            }
            p.put(" FROM ");
            p.expr(&args[0], false);
            p.put(")");
        };
        match (f.func.0, f.args.as_slice()) {
            (749 | 752 | 1404 | 1405 | 3030 | 3031, [text, new, from, rest @ ..]) => {
                self.put("OVERLAY(");
                self.pair(text, new, " PLACING ");
                self.put(" FROM ");
                self.expr(from, false);
                if let Some(count) = rest.first() {
                    self.put(" FOR ");
                    self.expr(count, false);
                }
                self.put(")");
            }
            (849 | 1698 | 2014, [text, what]) => {
                self.put("POSITION((");
                self.pair(what, text, ") IN (");
                self.put("))");
            }
            (936 | 937 | 1680 | 1699 | 2012 | 2013, [text, from, rest @ ..]) => {
                self.put("SUBSTRING(");
                self.pair(text, from, " FROM ");
                if let Some(count) = rest.first() {
                    self.put(" FOR ");
                    self.expr(count, false);
                }
                self.put(")");
            }
            (2074, [text, pattern, escape]) => {
                self.put("SUBSTRING(");
                self.pair(text, pattern, " SIMILAR ");
                self.put(" ESCAPE ");
                self.expr(escape, false);
                self.put(")");
            }
            (884 | 885 | 2015, args @ [_, ..]) => trim(self, "TRIM(BOTH", args),
            (875 | 881 | 6195, args @ [_, ..]) => trim(self, "TRIM(LEADING", args),
            (876 | 882 | 6196, args @ [_, ..]) => trim(self, "TRIM(TRAILING", args),
            (2614, [path, document]) => {
                self.put("XMLEXISTS((");
                self.pair(path, document, ") PASSING (");
                self.put("))");
            }
            _ => return false,
        }
        true
    }

    fn pair(&mut self, a: &'a Expr, b: &'a Expr, between: &str) {
        self.expr(a, false);
        self.put(between);
        self.expr(b, false);
    }

    /// An operand of a syntax without delimiters.
    fn operand_of_syntax(&mut self, e: &'a Expr) {
        let parent = Expr::Func(FuncExpr {
            func: base::Oid::INVALID,
            ret_type: base::Oid::INVALID,
            ret_set: false,
            variadic: false,
            form: crate::expr::CoercionForm::SqlSyntax,
            collation: base::Oid::INVALID,
            input_collation: base::Oid::INVALID,
            args: Vec::new(),
            location: None,
        });
        self.operand(e, false, &parent);
    }
}

/// A constant that is written as a word.
fn word(e: &Expr) -> String {
    match e {
        Expr::Const(Const { value: Datum::Bytes(text), .. }) => {
            String::from_utf8_lossy(text).into_owned()
        }
        _ => String::new(),
    }
}
