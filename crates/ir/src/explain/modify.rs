//! INSERT, UPDATE, DELETE and MERGE.

use super::{Explainer, Place};
use crate::plan::{ModifyTable, Plan};
use crate::query::{CmdType, ConflictAction};
use base::Result;

impl<'a> Explainer<'a> {
    pub(super) fn modify_details(
        &mut self,
        place: Place<'a, '_>,
        m: &'a ModifyTable,
    ) -> Result<()> {
        let only_nominal = matches!(m.targets.as_slice(), [one] if one.rtindex == m.nominal);
        if !only_nominal {
            self.targets(m);
        }
        if let Some(conflict) = &m.on_conflict {
            let action = match conflict.action {
                ConflictAction::Nothing => "NOTHING",
                ConflictAction::Update => "UPDATE",
            };
            self.w.text("Conflict Resolution", action);
            if !conflict.arbiters.is_empty() {
                let indexes: Vec<String> =
                    conflict.arbiters.iter().map(|i| self.object_name(*i)).collect();
                self.w.list("Conflict Arbiter Indexes", &indexes);
            }
            if let Some(condition) = &conflict.where_ {
                let quals = std::slice::from_ref(condition);
                self.upper_quals("Conflict Filter", quals, place)?;
                self.figure("Rows Removed by Conflict Filter", place.plan, true);
            }
            self.figure("Tuples Inserted", place.plan, false);
            self.figure("Conflicting Tuples", place.plan, false);
        }
        if m.operation == CmdType::Merge {
            self.merged(place.plan);
        }
        Ok(())
    }

    fn targets(&mut self, m: &ModifyTable) {
        let word = match m.operation {
            CmdType::Insert => "Insert",
            CmdType::Update => "Update",
            CmdType::Delete => "Delete",
            _ => "Merge",
        };
        self.w.open("Target Tables", Some("Target Tables"), false);
        for target in &m.targets {
            self.w.open("Target Table", None, true);
            if self.w.is_text() {
                self.w.pad();
                self.w.out.push_str(word);
            }
            self.table(target.rtindex, None);
            if self.w.is_text() {
                self.w.out.push('\n');
            }
            self.w.close("Target Table", true);
        }
        self.w.close("Target Tables", false);
    }

    /// A count of the run; if `quiet`, the text form leaves out zeros.
    fn figure(&mut self, name: &str, plan: &Plan, quiet: bool) {
        let Some(run) = self.run(plan) else { return };
        let n = run.int(name).unwrap_or(0);
        if n > 0 || !quiet || !self.w.is_text() {
            self.w.integer(name, "", n);
        }
    }

    fn merged(&mut self, plan: &Plan) {
        let Some(run) = self.run(plan) else { return };
        let names = ["Inserted", "Updated", "Deleted", "Skipped"];
        let counts: Vec<i64> = ["Tuples Inserted", "Tuples Updated", "Tuples Deleted"]
            .iter()
            .chain(&["Tuples Skipped"])
            .map(|n| run.int(n).unwrap_or(0))
            .collect();
        if !self.w.is_text() {
            for (name, n) in names.iter().zip(&counts) {
                self.w.integer(&format!("Tuples {name}"), "", *n);
            }
            return;
        }
        let some: Vec<String> = names
            .iter()
            .zip(&counts)
            .filter(|(_, n)| **n > 0)
            .map(|(name, n)| format!("{}={n}", name.to_lowercase()))
            .collect();
        if !some.is_empty() {
            self.w.text("Tuples", &some.join(" "));
        }
    }
}
