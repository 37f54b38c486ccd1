//! EXCLUDE constraints: an index and the operators of which not all may hold for two rows. Those
//! that a B-tree can look for are `=`.

use super::Ddl;
use super::index::{IndexKey, NewIndex, access_method, distinct_names, elem_name, join_names};
use base::{Oid, Result, err};
use parser::ast::{Constraint, ExcludeConstraint, OpName};

impl Ddl<'_> {
    /// Adds an exclusion constraint; rows that are there are checked.
    pub fn add_exclude(
        &self,
        table: Oid,
        constraint: &Constraint,
        exclude: &ExcludeConstraint,
        only: bool,
    ) -> Result<()> {
        let rel = self.view.relation(table)?;
        let am_name = exclude.access_method.as_deref().unwrap_or("btree");
        let am = access_method(am_name)?;
        let mut exprs = Vec::new();
        let (mut keys, mut ops, mut names) = (Vec::new(), Vec::new(), Vec::new());
        for (elem, op) in &exclude.elems {
            let key = self.index_elem(&rel, elem, am, am_name, &mut exprs)?;
            ops.push(self.exclusion_operator(op, &key)?);
            names.push(elem_name(elem));
            keys.push(key);
        }
        let mut including = Vec::new();
        for column in &exclude.including {
            including.push(self.included_column(&rel, column)?);
            names.push(column.clone());
        }
        let predicate = match &exclude.predicate {
            Some(p) => Some(crate::cook::index_predicate(self, &rel, p)?),
            None => None,
        };
        let name = match &constraint.name {
            Some(name) => {
                self.check_constraint_name(&rel, name)?;
                name.clone()
            }
            None => {
                let joined = join_names(&distinct_names(names));
                self.choose_key_name(&rel.name, Some(&joined), "excl", rel.namespace)?
            }
        };
        let oid = self.create_index(NewIndex {
            table,
            name,
            namespace: rel.namespace,
            am,
            tablespace: self.tablespace_for(exclude.tablespace.as_deref(), rel.persistence)?,
            keys,
            including,
            unique: false,
            nulls_not_distinct: false,
            primary: false,
            immediate: !constraint.deferrable,
            constraint: Some((b'x', constraint.deferrable, constraint.initially_deferred)),
            exclusion: ops,
            exprs: match exprs.is_empty() {
                true => None,
                false => Some(crate::cook::to_text(&exprs)?),
            },
            predicate,
            options: super::reloption::read(&exclude.options, super::reloption::Holder::Index)?,
            only,
        })?;
        let now = self.view.relation(table)?;
        match now.indexes.iter().find(|i| i.oid == oid) {
            Some(index) if now.kind.has_storage() => self.storage.check_excluded(&now, index),
            _ => Ok(()),
        }
    }

    fn exclusion_operator(&self, op: &OpName, key: &IndexKey) -> Result<Oid> {
        let class = self.view.opclass(key.opclass)?;
        let found = match self.find_operator(op, key.type_oid, key.type_oid)? {
            Some(found) => found,
            None => self.require_operator(op, class.input_type, class.input_type)?,
        };
        let shown = {
            let (left, right) =
                (self.format_type(found.left, -1), self.format_type(found.right, -1));
            format!("{}({left},{right})", found.name)
        };
        let member = self.view.operator_in_family(found.oid, class.family)?;
        if member.is_none() || found.commutator != found.oid {
            if found.commutator != found.oid {
                return Err(err!(WRONG_OBJECT_TYPE, "operator {shown} is not commutative")
                    .detail("Only commutative operators can be used in exclusion constraints."));
            }
            let family = self.row_by_oid(catalog::indexes::PG_OPFAMILY_OID, class.family)?;
            return Err(err!(
                WRONG_OBJECT_TYPE,
                "operator {shown} is not a member of operator family \"{}\"",
                family.text("opfname")?
            )
            .detail(
                "The exclusion operator must be related to the index operator class for the \
                 constraint.",
            ));
        }
        Ok(found.oid)
    }
}
