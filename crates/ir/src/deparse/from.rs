//! FROM: tables, joins, subselects, functions.

use super::{Printer, STEP, VAR_STEP, quote_ident};
use crate::expr::Expr;
use crate::query::*;

impl<'a> Printer<'a> {
    pub(super) fn from_clause(&mut self, query: &'a Query, word: &str) {
        let items = query.jointree.items.iter().filter(|item| match item {
            FromItem::Table(index) => *index != query.result_relation && query.rte(*index).in_from,
            _ => true,
        });
        for (i, item) in items.enumerate() {
            if i == 0 {
                self.clause(word, -STEP, STEP, 2);
                self.from_item(item, query);
                continue;
            }
            self.put(", ");
            let text = self.aside(|p| p.from_item(item, query));
            self.wrapped(&text, true, false);
        }
    }

    fn from_item(&mut self, item: &'a FromItem, query: &'a Query) {
        match item {
            FromItem::Table(index) => self.from_table(*index, query),
            FromItem::Join(join) => self.join(join, query),
            FromItem::From(_) => {}
        }
    }

    fn from_table(&mut self, index: u32, query: &'a Query) {
        let rte = query.rte(index);
        if rte.lateral {
            self.put("LATERAL ");
        }
        let mut alias = rte.alias.is_some();
        let name = self.scopes.last().and_then(|s| s.tables[index as usize - 1].clone());
        let name = name.unwrap_or_default();
        let mut listed = self.scopes.last().is_some_and(|s| s.list_columns[index as usize - 1]);
        let mut definitions: Option<&'a RangeFunction> = None;
        match &rte.kind {
            RteKind::Relation { relid, inherit, .. } => {
                if !inherit {
                    self.put("ONLY ");
                }
                let text = self.relation_name(*relid);
                self.put(&text);
                alias |= self.names.relation(*relid).is_some_and(|n| n.name != name);
            }
            RteKind::Subquery { query, .. } => {
                self.put("(");
                self.nested_query(query, true);
                self.put(")");
                alias = true;
            }
            RteKind::Function { functions, .. } if functions.iter().any(|f| f.is_table()) => {
                functions.iter().for_each(|f| self.expr(&f.expr, true));
                listed &= alias;
            }
            RteKind::Function { functions, ordinality } => {
                definitions = self.from_functions(functions, *ordinality);
                alias = true;
            }
            RteKind::Values { lists, .. } => {
                self.put("(");
                self.values(lists);
                self.put(")");
                alias = true;
            }
            RteKind::Cte { name: cte, .. } => {
                self.put_ident(cte);
                alias |= *cte != name;
            }
            RteKind::NamedTuplestore { name, .. } => self.put_ident(name),
            _ => {}
        }
        if alias || listed {
            self.put(" ");
            self.put_ident(&name);
        }
        if let Some(function) = definitions {
            self.column_definitions(function);
        } else if listed {
            self.column_list(index);
        }
        if let RteKind::Relation { sample: Some(sample), .. } = &rte.kind {
            self.sample(sample);
        }
    }

    fn sample(&mut self, sample: &'a TableSample) {
        let name = self.function_name(sample.handler);
        self.put(&format!(" TABLESAMPLE {name} ("));
        self.list(&sample.args, |p, e| p.expr(e, true));
        self.put(")");
        if let Some(seed) = &sample.repeatable {
            self.put(" REPEATABLE (");
            self.expr(seed, true);
            self.put(")");
        }
    }

    /// Prints functions; gives the one whose columns must be defined behind the alias.
    fn from_functions(
        &mut self,
        functions: &'a [RangeFunction],
        ordinality: bool,
    ) -> Option<&'a RangeFunction> {
        let alone = match functions {
            [one] if one.col_types.is_empty() || !ordinality => Some(one),
            _ => None,
        };
        if let Some(one) = alone {
            self.from_function(&one.expr);
        } else {
            self.put("ROWS FROM(");
            self.list(functions, |p, f| {
                p.from_function(&f.expr);
                if !f.col_types.is_empty() {
                    p.put(" AS ");
                    p.column_definitions(f);
                }
            });
            self.put(")");
        }
        if ordinality {
            self.put(" WITH ORDINALITY");
        }
        alone.filter(|f| !f.col_types.is_empty())
    }

    /// A function in FROM must look like a call.
    fn from_function(&mut self, expr: &'a Expr) {
        let call = super::looks_like_call(expr);
        self.put(if call { "" } else { "CAST(" });
        self.expr(expr, true);
        if !call {
            let ty = self.names.type_name(expr.ty(), expr.typmod());
            self.put(&format!(" AS {ty})"));
        }
    }

    fn column_definitions(&mut self, f: &'a RangeFunction) {
        self.put("(");
        for (i, name) in f.col_names.iter().enumerate() {
            let ty = self.names.type_name(f.col_types[i], f.col_typmods[i]);
            let gap = if i > 0 { ", " } else { "" };
            self.put(&format!("{gap}{} {ty}", quote_ident(name)));
            let collation = f.col_collations.get(i).copied().unwrap_or_default();
            if collation.is_valid() && collation != self.names.type_collation(f.col_types[i]) {
                self.collate(collation);
            }
        }
        self.put(")");
    }

    fn column_list(&mut self, index: u32) {
        let listed = self.scopes.last().map(|s| s.listed_names.clone());
        let names = listed.as_ref().and_then(|l| l.get(index as usize - 1)).into_iter().flatten();
        let text: Vec<String> = names.map(|c| quote_ident(c)).collect();
        if !text.is_empty() {
            self.put(&format!("({})", text.join(", ")));
        }
    }

    fn join(&mut self, join: &'a JoinExpr, query: &'a Query) {
        let alias = (join.rtindex > 0).then(|| query.rte(join.rtindex).alias.as_ref()).flatten();
        let paren = !self.style.spare_parens || alias.is_some();
        self.put(if paren { "(" } else { "" });
        self.from_item(&join.left, query);
        let word = match join.kind {
            JoinKind::Left => " LEFT JOIN ",
            JoinKind::Full => " FULL JOIN ",
            JoinKind::Right => " RIGHT JOIN ",
            _ if join.quals.is_none() && join.using.is_empty() => " CROSS JOIN ",
            _ => " JOIN ",
        };
        self.clause(word, -STEP, STEP, VAR_STEP + 1 - 1);
        let right_paren = self.style.spare_parens
            && match &join.right {
                FromItem::Join(j) => j.rtindex == 0 || query.rte(j.rtindex).alias.is_none(),
                _ => false,
            };
        self.put(if right_paren { "(" } else { "" });
        self.from_item(&join.right, query);
        self.put(if right_paren { ")" } else { "" });
        if !join.using.is_empty() {
            let names = self.scopes.last().and_then(|s| s.using.get(join.rtindex as usize - 1));
            let names: Vec<String> = names.into_iter().flatten().map(|n| quote_ident(n)).collect();
            self.put(&format!(" USING ({})", names.join(", ")));
            if let Some(name) = &join.using_alias {
                self.put(" AS ");
                self.put_ident(name);
            }
        } else if let Some(quals) = &join.quals {
            self.put(" ON ");
            self.open();
            self.expr(quals, false);
            self.close();
        } else if join.kind != JoinKind::Inner {
            self.put(" ON TRUE");
        }
        self.put(if paren { ")" } else { "" });
        if alias.is_some() {
            let name = self.table_name(join.rtindex).unwrap_or_default();
            self.put(&format!(" {name}"));
            if self.scopes.last().is_some_and(|s| s.list_columns[join.rtindex as usize - 1]) {
                self.column_list(join.rtindex);
            }
        }
    }
}
