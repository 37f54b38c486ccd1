//! CREATE TRIGGER, and ENABLE and DISABLE. A row trigger of a partitioned table is made again on
//! each partition.

use super::Ddl;
use super::key::NewConstraint;
use base::{Error, Oid, Result, bail, err};
use catalog::depend::{self, DependKind, ObjectAddress};
use catalog::{RelKind, RelationDesc, SysRow, TriggerDesc, indexes, oids, vector};
use parser::ast::{
    CreateTriggerStmt, LockMode, TriggerEvent, TriggerState, TriggerTarget, TriggerTiming,
};
use std::sync::Arc;
use types::Datum;

/// Bits of `pg_trigger.tgtype`.
pub mod bits {
    pub const ROW: i16 = 1;
    pub const BEFORE: i16 = 2;
    pub const INSERT: i16 = 4;
    pub const DELETE: i16 = 8;
    pub const UPDATE: i16 = 16;
    pub const TRUNCATE: i16 = 32;
    pub const INSTEAD: i16 = 64;
}

/// A trigger to be, on one table of a tree.
struct NewTrigger<'a> {
    stmt: &'a CreateTriggerStmt,
    kind: i16,
    function: Oid,
    columns: Vec<i16>,
    when: Option<ir::Expr>,
    other: Oid,
    parent: Oid,
    enabled: u8,
}

fn kind_of(stmt: &CreateTriggerStmt) -> i16 {
    let mut kind = match stmt.timing {
        TriggerTiming::Before => bits::BEFORE,
        TriggerTiming::After => 0,
        TriggerTiming::InsteadOf => bits::INSTEAD,
    };
    if stmt.for_row {
        kind |= bits::ROW;
    }
    for event in &stmt.events {
        kind |= match event {
            TriggerEvent::Insert => bits::INSERT,
            TriggerEvent::Delete => bits::DELETE,
            TriggerEvent::Update(_) => bits::UPDATE,
            TriggerEvent::Truncate => bits::TRUNCATE,
        };
    }
    kind
}

impl Ddl<'_> {
    /// CREATE TRIGGER.
    pub fn create_trigger(&self, stmt: &CreateTriggerStmt) -> Result<()> {
        let schema = stmt.rel.schema.as_deref();
        let rel = self.view.require_relation(schema, &stmt.rel.name)?;
        self.storage.lock(rel.oid, LockMode::ShareRowExclusive)?;
        let rel = self.view.relation(rel.oid)?;
        let kind = kind_of(stmt);
        check_relation(&rel, stmt, kind)?;
        if rel.oid < Oid::FIRST_NORMAL && !self.settings.bool("allow_system_table_mods") {
            bail!(
                INSUFFICIENT_PRIVILEGE,
                "permission denied: \"{}\" is a system catalog",
                rel.name
            );
        }
        let right = catalog::acl::bit(b't');
        crate::session::permission::require_on_relation(&self.view, self.user(), &rel, right)?;
        let other = match &stmt.constraint_rel {
            Some(name) => self.view.require_relation(name.schema.as_deref(), &name.name)?.oid,
            None => Oid::INVALID,
        };
        check_shape(stmt, kind)?;
        self.check_transitions(&rel, stmt, kind)?;
        let when = match &stmt.when {
            Some(e) => {
                let env = crate::analysis::env(self.env);
                let made = analyze::trigger_when(&env, &rel, e)?;
                check_condition(&rel, &made, kind)?;
                Some(made)
            }
            None => None,
        };
        let function = self.function_exact(&stmt.function, &[])?;
        if function.return_type != oids::TRIGGER {
            bail!(
                INVALID_OBJECT_DEFINITION,
                "function {} must return type trigger",
                stmt.function.parts.join(".")
            );
        }
        let columns = self.trigger_columns(&rel, stmt)?;
        let new = NewTrigger {
            stmt,
            kind,
            function: function.oid,
            columns,
            when,
            other,
            parent: Oid::INVALID,
            enabled: b'O',
        };
        self.put_trigger(&rel, &new).map(drop)
    }

    fn check_transitions(
        &self,
        rel: &RelationDesc,
        stmt: &CreateTriggerStmt,
        kind: i16,
    ) -> Result<()> {
        let (mut old, mut new): (Option<&str>, Option<&str>) = (None, None);
        for t in &stmt.transitions {
            let refuse = |text: &str| Err(err!(INVALID_OBJECT_DEFINITION, "{text}"));
            if !t.is_table {
                return Err(err!(
                    FEATURE_NOT_SUPPORTED,
                    "ROW variable naming in the REFERENCING clause is not supported"
                )
                .hint("Use OLD TABLE or NEW TABLE for naming transition tables."));
            }
            if kind & (bits::BEFORE | bits::INSTEAD) != 0 {
                return refuse("transition table name can only be specified for an AFTER trigger");
            }
            if kind & bits::TRUNCATE != 0 {
                return refuse("TRUNCATE triggers cannot have transition tables");
            }
            let events = (kind & (bits::INSERT | bits::DELETE | bits::UPDATE)).count_ones();
            if events != 1 {
                return Err(err!(
                    FEATURE_NOT_SUPPORTED,
                    "transition tables cannot be specified for triggers with more than one event"
                ));
            }
            if stmt.events.iter().any(|e| matches!(e, TriggerEvent::Update(c) if !c.is_empty())) {
                return Err(err!(
                    FEATURE_NOT_SUPPORTED,
                    "transition tables cannot be specified for triggers with column lists"
                ));
            }
            if rel.kind == RelKind::Partitioned && kind & bits::ROW != 0 {
                return Err(err!(WRONG_OBJECT_TYPE, "\"{}\" is a partitioned table", rel.name)
                    .detail(
                        "ROW triggers with transition tables are not supported on partitioned \
                         tables.",
                    ));
            }
            if t.is_new {
                if kind & (bits::INSERT | bits::UPDATE) == 0 {
                    return refuse(
                        "NEW TABLE can only be specified for an INSERT or UPDATE trigger",
                    );
                }
                if new.replace(&t.name).is_some() {
                    return refuse("NEW TABLE cannot be specified multiple times");
                }
            } else {
                if kind & (bits::DELETE | bits::UPDATE) == 0 {
                    return refuse(
                        "OLD TABLE can only be specified for a DELETE or UPDATE trigger",
                    );
                }
                if old.replace(&t.name).is_some() {
                    return refuse("OLD TABLE cannot be specified multiple times");
                }
            }
        }
        if old.is_some() && old == new {
            bail!(
                INVALID_OBJECT_DEFINITION,
                "OLD TABLE name and NEW TABLE name cannot be the same"
            );
        }
        Ok(())
    }

    fn trigger_columns(&self, rel: &RelationDesc, stmt: &CreateTriggerStmt) -> Result<Vec<i16>> {
        let mut columns = Vec::new();
        for event in &stmt.events {
            let TriggerEvent::Update(names) = event else { continue };
            for name in names {
                let n = super::column::named(rel, name)?;
                if columns.contains(&n) {
                    bail!(DUPLICATE_COLUMN, "column \"{name}\" specified more than once");
                }
                columns.push(n);
            }
        }
        Ok(columns)
    }

    /// Writes a trigger, or replaces the one of this name, on a table and its partitions.
    fn put_trigger(&self, rel: &Arc<RelationDesc>, new: &NewTrigger<'_>) -> Result<Oid> {
        let stmt = new.stmt;
        let old = rel.triggers.iter().find(|t| *t.name == *stmt.name);
        if let Some(old) = old {
            self.check_replace(rel, old, stmt)?;
        }
        let oid = match old {
            Some(old) => old.oid,
            None => self.rows.new_oid(oids::PG_TRIGGER)?,
        };
        let own = ObjectAddress::new(oids::PG_TRIGGER, oid);
        let constraint = match stmt.is_constraint {
            true => self.insert_constraint(NewConstraint {
                deferrable: stmt.deferrable,
                deferred: stmt.initially_deferred,
                no_inherit: true,
                ..NewConstraint::new(&stmt.name, rel.namespace, b't', rel.oid)
            })?,
            false => Oid::INVALID,
        };
        let mut args = Vec::new();
        for a in &stmt.args {
            args.extend_from_slice(a.as_bytes());
            args.push(0);
        }
        let transition = |is_new: bool| {
            let found = stmt.transitions.iter().find(|t| t.is_new == is_new);
            found.map(|t| t.name.as_str())
        };
        let mut row = match old {
            Some(old) => self.row_by_oid(indexes::PG_TRIGGER_OID, old.oid)?,
            None => SysRow::new(oids::PG_TRIGGER)?,
        };
        row.set_oid("oid", oid)?
            .set_oid("tgrelid", rel.oid)?
            .set_oid("tgparentid", new.parent)?
            .set_text("tgname", &stmt.name)?
            .set_oid("tgfoid", new.function)?
            .set_i16("tgtype", new.kind)?
            .set_char("tgenabled", new.enabled)?
            .set_bool("tgisinternal", false)?
            .set_oid("tgconstrrelid", new.other)?
            .set_oid("tgconstrindid", Oid::INVALID)?
            .set_oid("tgconstraint", constraint)?
            .set_bool("tgdeferrable", stmt.deferrable)?
            .set_bool("tginitdeferred", stmt.initially_deferred)?
            .set_i16("tgnargs", stmt.args.len() as i16)?
            .set("tgattr", vector::from_i16s(oids::INT2VECTOR, &new.columns))?
            .set("tgargs", Datum::bytes(args))?
            .set_opt_text("tgoldtable", transition(false))?
            .set_opt_text("tgnewtable", transition(true))?;
        let when = new.when.as_ref().map(crate::cook::to_text).transpose()?;
        row.set_opt_text("tgqual", when.as_deref())?;
        match old {
            Some(_) => {
                depend::forget(self.rows, own)?;
                self.rows.update(row)?
            }
            None => self.rows.insert(row)?,
        };
        self.depend_trigger(own, rel, new, constraint)?;
        let mut class = self.class_row(rel.oid)?;
        class.set_bool("relhastriggers", true)?;
        self.rows.update(class)?;
        if rel.kind == RelKind::Partitioned && new.kind & bits::ROW != 0 {
            for child in self.view.children(rel.oid)? {
                self.storage.lock(child, LockMode::ShareRowExclusive)?;
                self.pass_on_trigger(rel, child, new, oid)?;
            }
        }
        Ok(oid)
    }

    fn check_replace(
        &self,
        rel: &RelationDesc,
        old: &TriggerDesc,
        stmt: &CreateTriggerStmt,
    ) -> Result<()> {
        let name = &stmt.name;
        if !stmt.replace {
            bail!(
                DUPLICATE_OBJECT,
                "trigger \"{name}\" for relation \"{}\" already exists",
                rel.name
            );
        }
        let what = match (old.is_internal, old.constraint.is_valid(), stmt.is_constraint) {
            (true, ..) => "an internal or a child trigger",
            (_, true, _) => "a constraint trigger",
            _ => return Ok(()),
        };
        bail!(DUPLICATE_OBJECT, "trigger \"{name}\" for relation \"{}\" is {what}", rel.name)
    }

    fn depend_trigger(
        &self,
        own: ObjectAddress,
        rel: &RelationDesc,
        new: &NewTrigger<'_>,
        constraint: Oid,
    ) -> Result<()> {
        let function = ObjectAddress::new(oids::PG_PROC, new.function);
        depend::record(self.rows, own, function, DependKind::Normal)?;
        let table = ObjectAddress::relation(rel.oid);
        depend::record(self.rows, own, table, DependKind::Auto)?;
        if new.other.is_valid() {
            let other = ObjectAddress::relation(new.other);
            depend::record(self.rows, own, other, DependKind::Auto)?;
        }
        if constraint.is_valid() {
            // The trigger is what was asked for; its constraint goes with it.
            let made = ObjectAddress::new(oids::PG_CONSTRAINT, constraint);
            depend::forget(self.rows, made)?;
            depend::record(self.rows, made, own, DependKind::Internal)?;
        }
        if new.parent.is_valid() {
            let above = ObjectAddress::new(oids::PG_TRIGGER, new.parent);
            depend::record(self.rows, own, above, DependKind::PartitionPrimary)?;
            depend::record(self.rows, own, table, DependKind::PartitionSecondary)?;
        }
        for n in &new.columns {
            let column = ObjectAddress::column(rel.oid, *n);
            depend::record(self.rows, own, column, DependKind::Normal)?;
        }
        if let Some(when) = &new.when {
            self.require_expr_types(when)?;
            for entry in [1, 2] {
                let mut columns = Vec::new();
                ir::walk::each(when, &mut |e| {
                    if let ir::Expr::Var(v) = e
                        && v.varno == entry
                        && v.attno > 0
                    {
                        columns.push(v.attno);
                    }
                });
                for n in columns {
                    let column = ObjectAddress::column(rel.oid, n);
                    depend::record(self.rows, own, column, DependKind::Normal)?;
                }
            }
        }
        Ok(())
    }

    fn pass_on_trigger(
        &self,
        parent: &RelationDesc,
        child: Oid,
        new: &NewTrigger<'_>,
        above: Oid,
    ) -> Result<()> {
        let part = self.view.relation(child)?;
        let number =
            |n: i16| part.column_number(&parent.tuple.attrs[n as usize - 1].name).unwrap_or(0);
        let when = match &new.when {
            Some(e) => {
                let mut e = e.clone();
                ir::walk::replace(&mut e, &mut |x| match x {
                    ir::Expr::Var(v) if v.attno > 0 => {
                        let attno = number(v.attno);
                        Some(ir::Expr::Var(ir::Var { attno, syn_attno: attno, ..v.clone() }))
                    }
                    _ => None,
                });
                Some(e)
            }
            None => None,
        };
        let own = NewTrigger {
            stmt: new.stmt,
            kind: new.kind,
            function: new.function,
            columns: new.columns.iter().map(|n| number(*n)).collect(),
            when,
            other: new.other,
            parent: above,
            enabled: new.enabled,
        };
        self.put_trigger(&part, &own).map(drop)
    }

    /// A new partition gets the row triggers of its parent.
    pub(super) fn inherit_triggers(&self, child: Oid, parent: &RelationDesc) -> Result<()> {
        let own = |t: &&TriggerDesc| !t.is_internal && t.kind & bits::ROW != 0;
        for t in parent.triggers.iter().filter(own) {
            let stmt = statement_of(t);
            let when = match &t.when {
                Some(text) => Some(crate::cook::from_text(text)?),
                None => None,
            };
            let new = NewTrigger {
                stmt: &stmt,
                kind: t.kind,
                function: t.function,
                columns: t.columns.clone(),
                when,
                other: t.constraint_relation,
                parent: t.oid,
                enabled: t.enabled,
            };
            self.pass_on_trigger(parent, child, &new, t.oid)?;
        }
        Ok(())
    }

    /// A partition that leaves gives up the triggers it has from its parent.
    pub(super) fn drop_inherited_triggers(&self, child: &RelationDesc) -> Result<()> {
        for t in child.triggers.iter().filter(|t| !t.is_internal) {
            let row = self.row_by_oid(indexes::PG_TRIGGER_OID, t.oid)?;
            let above = row.oid("tgparentid")?;
            if above.is_valid() {
                let own = ObjectAddress::new(oids::PG_TRIGGER, t.oid);
                let above = ObjectAddress::new(oids::PG_TRIGGER, above);
                depend::forget_one(self.rows, own, above)?;
                self.drop_quietly(&[own])?;
            }
        }
        Ok(())
    }

    /// ALTER TABLE .. ENABLE and DISABLE TRIGGER.
    pub(super) fn set_trigger_state(
        &self,
        rel: &RelationDesc,
        state: TriggerState,
        target: &TriggerTarget,
    ) -> Result<()> {
        let letter = match state {
            TriggerState::Enable => b'O',
            TriggerState::EnableAlways => b'A',
            TriggerState::EnableReplica => b'R',
            TriggerState::Disable => b'D',
        };
        let mut found = false;
        for t in &rel.triggers {
            match target {
                TriggerTarget::Name(name) if *t.name != **name => continue,
                TriggerTarget::User if t.is_internal => continue,
                _ => {}
            }
            if t.is_internal && !self.is_superuser()? {
                bail!(
                    INSUFFICIENT_PRIVILEGE,
                    "permission denied: \"{}\" is a system trigger",
                    t.name
                );
            }
            found = true;
            let mut row = self.row_by_oid(indexes::PG_TRIGGER_OID, t.oid)?;
            if row.char("tgenabled")? != letter {
                row.set_char("tgenabled", letter)?;
                self.rows.update(row)?;
            }
        }
        match target {
            TriggerTarget::Name(name) if !found => bail!(
                UNDEFINED_OBJECT,
                "trigger \"{name}\" for table \"{}\" does not exist",
                rel.name
            ),
            _ => {}
        }
        // Descriptors hold their triggers.
        self.rows.update(self.class_row(rel.oid)?)?;
        if rel.kind == RelKind::Partitioned {
            for child in self.view.children(rel.oid)? {
                let child = self.view.relation(child)?;
                let has = |t: &TriggerDesc| match target {
                    TriggerTarget::Name(name) => *t.name == **name,
                    _ => true,
                };
                if child.triggers.iter().any(has) {
                    self.set_trigger_state(&child, state, target)?;
                }
            }
        }
        Ok(())
    }
}

/// A trigger that is there as a statement, as far as copies need it.
fn statement_of(t: &TriggerDesc) -> CreateTriggerStmt {
    CreateTriggerStmt {
        replace: false,
        is_constraint: t.constraint.is_valid(),
        name: t.name.to_string(),
        rel: parser::ast::RelName {
            catalog: None,
            schema: None,
            name: String::new(),
            pos: parser::ast::NO_POS,
        },
        timing: TriggerTiming::After,
        events: Vec::new(),
        for_row: true,
        transitions: Vec::new(),
        when: None,
        function: parser::ast::Name { parts: Vec::new(), pos: parser::ast::NO_POS },
        args: t.args.clone(),
        deferrable: t.deferrable,
        initially_deferred: t.initially_deferred,
        constraint_rel: None,
    }
}

/// What kind of trigger a kind of relation may have.
fn check_relation(rel: &RelationDesc, stmt: &CreateTriggerStmt, kind: i16) -> Result<()> {
    let wrong = |what: &str, detail: &str| {
        Err(err!(WRONG_OBJECT_TYPE, "\"{}\" is {what}", rel.name).detail(detail))
    };
    match rel.kind {
        RelKind::Table if kind & bits::INSTEAD != 0 => {
            wrong("a table", "Tables cannot have INSTEAD OF triggers.")
        }
        RelKind::Partitioned if kind & bits::INSTEAD != 0 => {
            wrong("a table", "Tables cannot have INSTEAD OF triggers.")
        }
        RelKind::Table | RelKind::Partitioned => Ok(()),
        RelKind::View if kind & bits::INSTEAD == 0 && stmt.for_row => {
            wrong("a view", "Views cannot have row-level BEFORE or AFTER triggers.")
        }
        RelKind::View if kind & bits::TRUNCATE != 0 => {
            wrong("a view", "Views cannot have TRUNCATE triggers.")
        }
        RelKind::View => Ok(()),
        RelKind::Foreign if kind & bits::INSTEAD != 0 => {
            wrong("a foreign table", "Foreign tables cannot have INSTEAD OF triggers.")
        }
        RelKind::Foreign if stmt.is_constraint => {
            wrong("a foreign table", "Foreign tables cannot have constraint triggers.")
        }
        RelKind::Foreign => Ok(()),
        kind => Err(err!(WRONG_OBJECT_TYPE, "relation \"{}\" cannot have triggers", rel.name)
            .detail(super::alter::not_supported(kind))),
    }
}

/// WHEN may only speak of rows that there are.
fn check_condition(rel: &RelationDesc, when: &ir::Expr, kind: i16) -> Result<()> {
    let mut failed: Option<Error> = None;
    ir::walk::each(when, &mut |e| {
        let ir::Expr::Var(v) = e else { return };
        let refuse = |text: &str| err!(INVALID_OBJECT_DEFINITION, "{text}").at(v.location);
        let before = kind & bits::BEFORE != 0 && v.varno == 2;
        let made = if kind & bits::ROW == 0 {
            refuse("statement trigger's WHEN condition cannot reference column values")
        } else if v.varno == 1 && kind & bits::INSERT != 0 {
            refuse("INSERT trigger's WHEN condition cannot reference OLD values")
        } else if v.varno == 2 && kind & bits::DELETE != 0 {
            refuse("DELETE trigger's WHEN condition cannot reference NEW values")
        } else if before && v.attno < 0 {
            let text = "BEFORE trigger's WHEN condition cannot reference NEW system columns";
            err!(FEATURE_NOT_SUPPORTED, "{text}").at(v.location)
        } else if before
            && v.attno > 0
            && rel.tuple.attrs.get(v.attno as usize - 1).is_some_and(|a| a.generated != 0)
        {
            let name = &rel.tuple.attrs[v.attno as usize - 1].name;
            refuse("BEFORE trigger's WHEN condition cannot reference NEW generated columns")
                .detail(format!("Column \"{name}\" is a generated column."))
        } else if before
            && v.attno == 0
            && rel.tuple.attrs.iter().any(|a| a.generated != 0 && !a.dropped)
        {
            refuse("BEFORE trigger's WHEN condition cannot reference NEW generated columns")
                .detail("A whole-row reference is used and the table contains generated columns.")
        } else {
            return;
        };
        failed.get_or_insert(made);
    });
    failed.map_or(Ok(()), Err)
}

fn check_shape(stmt: &CreateTriggerStmt, kind: i16) -> Result<()> {
    let refuse = |text: &str| Err(err!(FEATURE_NOT_SUPPORTED, "{text}"));
    if kind & bits::TRUNCATE != 0 && stmt.for_row {
        return refuse("TRUNCATE FOR EACH ROW triggers are not supported");
    }
    if kind & bits::INSTEAD == 0 {
        return Ok(());
    }
    if !stmt.for_row {
        return refuse("INSTEAD OF triggers must be FOR EACH ROW");
    }
    if stmt.when.is_some() {
        return refuse("INSTEAD OF triggers cannot have WHEN conditions");
    }
    if stmt.events.iter().any(|e| matches!(e, TriggerEvent::Update(c) if !c.is_empty())) {
        return refuse("INSTEAD OF triggers cannot have column lists");
    }
    Ok(())
}
