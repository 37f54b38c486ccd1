//! CREATE SEQUENCE, and the sequences of serial and identity columns.

use super::Ddl;
use super::column::NewColumn;
use super::index::with_code;
use super::relation::NewRelation;
use super::type_name::ResolvedType;
use base::{Error, Oid, Result, SqlState, bail, err};
use catalog::depend::{self, DependKind, ObjectAddress};
use catalog::{Persistence, RelKind, RelationDesc, SequenceDesc, SysRow, oids};
use parser::ast::{self, ColumnDef, CreateSequenceStmt, SeqOption, SeqOptionKind};

/// The bounds of a sequence's type.
fn type_bounds(type_oid: Oid) -> Option<(i64, i64)> {
    match type_oid {
        oids::INT2 => Some((i64::from(i16::MIN), i64::from(i16::MAX))),
        oids::INT4 => Some((i64::from(i32::MIN), i64::from(i32::MAX))),
        oids::INT8 => Some((i64::MIN, i64::MAX)),
        _ => None,
    }
}

fn number(text: &str) -> Result<i64> {
    text.parse().map_err(|_| {
        err!(NUMERIC_VALUE_OUT_OF_RANGE, "value \"{text}\" is out of range for type bigint")
    })
}

/// What the options of a sequence say.
#[derive(Default)]
pub struct SequenceOptions<'a> {
    /// RESTART: with a value, or at the start.
    pub restart: Option<Option<i64>>,
    /// OWNED BY
    pub owned_by: Option<&'a ast::Name>,
    /// The name an identity column's sequence gets.
    pub name: Option<&'a ast::Name>,
}

impl Ddl<'_> {
    /// Parameters from options, over `old` ones when altering.
    pub fn sequence_options<'s>(
        &self,
        options: &'s [SeqOption],
        old: Option<&SequenceDesc>,
        default_type: Oid,
    ) -> Result<(SequenceDesc, SequenceOptions<'s>)> {
        let mut seq = old.cloned().unwrap_or(SequenceDesc {
            oid: Oid::INVALID,
            type_oid: default_type,
            start: 1,
            increment: 1,
            max: 0,
            min: 0,
            cache: 1,
            cycle: false,
        });
        let mut more = SequenceOptions::default();
        let (mut max, mut min, mut start) = (None, None, None);
        let mut seen: Vec<std::mem::Discriminant<SeqOptionKind>> = Vec::new();
        for option in options {
            let kind = std::mem::discriminant(&option.kind);
            if seen.contains(&kind) {
                return Err(err!(SYNTAX_ERROR, "conflicting or redundant options").at(option.pos));
            }
            seen.push(kind);
            match &option.kind {
                SeqOptionKind::As(t) => seq.type_oid = self.resolve_type(t)?.oid,
                SeqOptionKind::Cache(n) => seq.cache = number(n)?,
                SeqOptionKind::Cycle(c) => seq.cycle = *c,
                SeqOptionKind::Increment(n) => seq.increment = number(n)?,
                SeqOptionKind::MaxValue(n) => max = Some(n.as_deref().map(number).transpose()?),
                SeqOptionKind::MinValue(n) => min = Some(n.as_deref().map(number).transpose()?),
                SeqOptionKind::Start(n) => start = Some(number(n)?),
                SeqOptionKind::Restart(n) => {
                    more.restart = Some(n.as_deref().map(number).transpose()?);
                }
                SeqOptionKind::OwnedBy(name) => more.owned_by = Some(name),
                SeqOptionKind::SequenceName(name) => more.name = Some(name),
                SeqOptionKind::Logged(_) => return Err(Error::unsupported("SET LOGGED")),
            }
        }
        let Some((type_min, type_max)) = type_bounds(seq.type_oid) else {
            bail!(INVALID_PARAMETER_VALUE, "sequence type must be smallint, integer, or bigint");
        };
        if seq.increment == 0 {
            bail!(INVALID_PARAMETER_VALUE, "INCREMENT must not be zero");
        }
        let up = seq.increment > 0;
        let fresh = old.is_none();
        match max {
            Some(Some(n)) => seq.max = n,
            Some(None) => seq.max = if up { type_max } else { -1 },
            None if fresh => seq.max = if up { type_max } else { -1 },
            None => {}
        }
        match min {
            Some(Some(n)) => seq.min = n,
            Some(None) => seq.min = if up { 1 } else { type_min },
            None if fresh => seq.min = if up { 1 } else { type_min },
            None => {}
        }
        match start {
            Some(n) => seq.start = n,
            None if fresh => seq.start = if up { seq.min } else { seq.max },
            None => {}
        }
        check_bounds(&seq, type_min, type_max)?;
        Ok((seq, more))
    }

    /// CREATE SEQUENCE.
    pub fn create_sequence(&self, stmt: &CreateSequenceStmt) -> Result<()> {
        let (namespace, persistence) = match stmt.persistence {
            ast::Persistence::Temporary => {
                let own = self.view.context().temp_namespace;
                let own = own.ok_or_else(|| Error::internal("no temporary schema"))?;
                (own, Persistence::Temp)
            }
            ast::Persistence::Unlogged => {
                (self.relation_namespace(&stmt.rel)?, Persistence::Unlogged)
            }
            ast::Persistence::Permanent => {
                (self.relation_namespace(&stmt.rel)?, Persistence::Permanent)
            }
        };
        if stmt.if_not_exists && self.view.relation_oid_in(namespace, &stmt.rel.name)?.is_some() {
            let text = format!("relation \"{}\" already exists, skipping", stmt.rel.name);
            self.notice(with_code(Error::notice(text), SqlState::DUPLICATE_TABLE));
            return Ok(());
        }
        let (seq, more) = self.sequence_options(&stmt.options, None, oids::INT8)?;
        let oid = self.make_sequence(&stmt.rel.name, namespace, persistence, &seq)?;
        if let Some(owner) = more.owned_by {
            self.own_sequence(oid, owner)?;
        }
        Ok(())
    }

    /// Writes a sequence's rows and its first page.
    pub fn make_sequence(
        &self,
        name: &str,
        namespace: Oid,
        persistence: Persistence,
        seq: &SequenceDesc,
    ) -> Result<Oid> {
        let column = |name: &str, type_oid: Oid| {
            let mut c = NewColumn::new(
                name,
                ResolvedType { oid: type_oid, typmod: -1, ndims: 0 },
                Oid::INVALID,
            );
            c.not_null = true;
            c
        };
        let columns = [
            column("last_value", oids::INT8),
            column("log_cnt", oids::INT8),
            column("is_called", oids::BOOL),
        ];
        let oid = self.create_relation(NewRelation {
            oid: None,
            name,
            namespace,
            kind: RelKind::Sequence,
            persistence,
            owner: self.user(),
            am: Oid::INVALID,
            tablespace: Oid::INVALID,
            columns: &columns,
            options: Vec::new(),
            of_type: Oid::INVALID,
            is_partition: false,
        })?;
        let mut row = SysRow::new(oids::PG_SEQUENCE)?;
        row.set_oid("seqrelid", oid)?
            .set_oid("seqtypid", seq.type_oid)?
            .set_i64("seqstart", seq.start)?
            .set_i64("seqincrement", seq.increment)?
            .set_i64("seqmax", seq.max)?
            .set_i64("seqmin", seq.min)?
            .set_i64("seqcache", seq.cache)?
            .set_bool("seqcycle", seq.cycle)?;
        self.rows.insert(row)?;
        self.storage.start_sequence(&*self.view.relation(oid)?, seq.start, false)?;
        Ok(oid)
    }

    /// OWNED BY: the sequence goes with the column; NONE frees it.
    pub fn own_sequence(&self, sequence: Oid, owner: &ast::Name) -> Result<()> {
        let own = ObjectAddress::relation(sequence);
        for d in depend::dependencies_of(self.rows, own)? {
            if d.kind == DependKind::Internal && d.referenced.class == oids::PG_CLASS {
                let table = self.view.relation(d.referenced.object)?;
                let sequence = self.view.relation(sequence)?;
                return Err(err!(
                    FEATURE_NOT_SUPPORTED,
                    "cannot change ownership of identity sequence"
                )
                .detail(format!(
                    "Sequence \"{}\" is linked to table \"{}\".",
                    sequence.name, table.name
                )));
            }
            if d.kind == DependKind::Auto && d.referenced.class == oids::PG_CLASS {
                depend::forget_one(self.rows, own, d.referenced)?;
            }
        }
        if owner.parts.len() == 1 {
            if owner.last() == "none" {
                return Ok(());
            }
            return Err(err!(SYNTAX_ERROR, "invalid OWNED BY option")
                .hint("Specify OWNED BY table.column or OWNED BY NONE."));
        }
        let n = owner.parts.len();
        let schema = if n >= 3 { Some(owner.parts[n - 3].as_str()) } else { None };
        let table = self.view.require_relation(schema, &owner.parts[n - 2])?;
        if !matches!(
            table.kind,
            RelKind::Table | RelKind::Foreign | RelKind::View | RelKind::Partitioned
        ) {
            return Err(err!(
                WRONG_OBJECT_TYPE,
                "sequence cannot be owned by relation \"{}\"",
                table.name
            )
            .detail(super::alter::not_supported(table.kind)));
        }
        let seq = self.view.relation(sequence)?;
        if seq.owner != table.owner {
            bail!(
                OBJECT_NOT_IN_PREREQUISITE_STATE,
                "sequence must have same owner as table it is linked to"
            );
        }
        if seq.namespace != table.namespace {
            bail!(
                OBJECT_NOT_IN_PREREQUISITE_STATE,
                "sequence must be in same schema as table it is linked to"
            );
        }
        let column = owner.last();
        let attnum = super::column::named(&table, column)?;
        let column = ObjectAddress::column(table.oid, attnum);
        depend::record(self.rows, own, column, DependKind::Auto)
    }

    /// The sequence of a serial column.
    pub(super) fn serial_sequence(
        &self,
        table: &str,
        def: &ColumnDef,
        type_oid: Oid,
        namespace: Oid,
        persistence: Persistence,
    ) -> Result<Oid> {
        self.create_owned_sequence(table, &def.name, type_oid, namespace, persistence, &[])
    }

    /// A sequence for a column, named after both. The caller records the dependency.
    pub fn create_owned_sequence(
        &self,
        table: &str,
        column: &str,
        type_oid: Oid,
        namespace: Oid,
        persistence: Persistence,
        options: &[SeqOption],
    ) -> Result<Oid> {
        check_identity_type(type_oid)?;
        let (seq, more) = self.sequence_options(options, None, type_oid)?;
        let name = match more.name {
            Some(name) => name.last().to_string(),
            None => self.choose_relation_name(table, Some(column), "seq", namespace)?,
        };
        self.make_sequence(&name, namespace, persistence, &seq)
    }

    /// `nextval('seq'::regclass)`, as a serial column's default is written.
    pub(super) fn nextval_expr(&self, sequence: Oid) -> Result<ast::Expr> {
        let rel = self.view.relation(sequence)?;
        let schema = self.view.namespace(rel.namespace)?;
        let quoted =
            format!("{}.{}", super::name::quote(&schema.name), super::name::quote(&rel.name));
        let text =
            format!("pg_catalog.nextval('{}'::pg_catalog.regclass)", quoted.replace('\'', "''"));
        parser::parse_expr(&text)
    }

    /// ALTER SEQUENCE.
    pub fn alter_sequence(&self, stmt: &ast::AlterSequenceStmt) -> Result<()> {
        let kind = ast::ObjectKind::Sequence;
        let Some(rel) = self.relation_to_alter(&stmt.rel, kind, stmt.missing_ok)? else {
            return Ok(());
        };
        self.require_owner_of_relation(&rel)?;
        self.change_sequence(rel.oid, &stmt.options)
    }

    /// Changes a sequence's parameters, and with RESTART where it is.
    pub fn change_sequence(&self, oid: Oid, options: &[SeqOption]) -> Result<()> {
        self.storage.lock(oid, ast::LockMode::ShareRowExclusive)?;
        let rel = self.view.relation(oid)?;
        let old = self.view.sequence(oid)?;
        let mut all = options.to_vec();
        for o in options {
            if let SeqOptionKind::Logged(logged) = o.kind {
                let persistence =
                    if logged { Persistence::Permanent } else { Persistence::Unlogged };
                self.set_sequence_persistence(&rel, persistence)?;
            }
        }
        all.retain(|o| !matches!(o.kind, SeqOptionKind::Logged(_)));
        if all.is_empty() {
            return Ok(());
        }
        let rel = self.view.relation(oid)?;
        // Another type brings its own bounds, where the old ones were those of the old type.
        let new_type = options.iter().find_map(|o| match &o.kind {
            SeqOptionKind::As(t) => Some(t),
            _ => None,
        });
        if let Some(t) = new_type {
            let t = self.resolve_type(t)?.oid;
            let reset = |kind: SeqOptionKind| SeqOption { kind, pos: ast::NO_POS };
            if let (Some((old_min, old_max)), true) = (type_bounds(old.type_oid), t != old.type_oid)
            {
                let has_max = all.iter().any(|o| matches!(o.kind, SeqOptionKind::MaxValue(_)));
                let has_min = all.iter().any(|o| matches!(o.kind, SeqOptionKind::MinValue(_)));
                if !has_max && old.max == old_max {
                    let max = type_bounds(t).map(|b| b.1.to_string());
                    all.push(reset(SeqOptionKind::MaxValue(max)));
                }
                if !has_min && old.min == old_min {
                    let min = type_bounds(t).map(|b| b.0.to_string());
                    all.push(reset(SeqOptionKind::MinValue(min)));
                }
            }
        }
        let (seq, more) = self.sequence_options(&all, Some(&old), old.type_oid)?;
        let mut row = self.row_by_oid(catalog::indexes::PG_SEQUENCE_SEQRELID, oid)?;
        row.set_oid("seqtypid", seq.type_oid)?
            .set_i64("seqstart", seq.start)?
            .set_i64("seqincrement", seq.increment)?
            .set_i64("seqmax", seq.max)?
            .set_i64("seqmin", seq.min)?
            .set_i64("seqcache", seq.cache)?
            .set_bool("seqcycle", seq.cycle)?;
        self.rows.update(row)?;
        let (mut last, mut called) = self.storage.sequence_state(&rel)?;
        if let Some(to) = more.restart {
            (last, called) = (to.unwrap_or(seq.start), false);
        }
        let what = "RESTART";
        if last < seq.min {
            bail!(
                INVALID_PARAMETER_VALUE,
                "{what} value ({last}) cannot be less than MINVALUE ({})",
                seq.min
            );
        }
        if last > seq.max {
            bail!(
                INVALID_PARAMETER_VALUE,
                "{what} value ({last}) cannot be greater than MAXVALUE ({})",
                seq.max
            );
        }
        self.new_file_of(&rel)?;
        let fresh = self.view.relation(oid)?;
        self.storage.start_sequence(&fresh, last, called)?;
        self.env.core.sequences.lock().0.remove(&oid);
        if let Some(owner) = more.owned_by {
            self.own_sequence(oid, owner)?;
        }
        Ok(())
    }
}

fn check_bounds(seq: &SequenceDesc, type_min: i64, type_max: i64) -> Result<()> {
    let shown = match seq.type_oid {
        oids::INT2 => "smallint",
        oids::INT4 => "integer",
        _ => "bigint",
    };
    if seq.max < type_min || seq.max > type_max {
        bail!(
            INVALID_PARAMETER_VALUE,
            "MAXVALUE ({}) is out of range for sequence data type {shown}",
            seq.max
        );
    }
    if seq.min < type_min || seq.min > type_max {
        bail!(
            INVALID_PARAMETER_VALUE,
            "MINVALUE ({}) is out of range for sequence data type {shown}",
            seq.min
        );
    }
    if seq.min >= seq.max {
        bail!(
            INVALID_PARAMETER_VALUE,
            "MINVALUE ({}) must be less than MAXVALUE ({})",
            seq.min,
            seq.max
        );
    }
    if seq.start < seq.min {
        bail!(
            INVALID_PARAMETER_VALUE,
            "START value ({}) cannot be less than MINVALUE ({})",
            seq.start,
            seq.min
        );
    }
    if seq.start > seq.max {
        bail!(
            INVALID_PARAMETER_VALUE,
            "START value ({}) cannot be greater than MAXVALUE ({})",
            seq.start,
            seq.max
        );
    }
    if seq.cache <= 0 {
        bail!(INVALID_PARAMETER_VALUE, "CACHE ({}) must be greater than zero", seq.cache);
    }
    Ok(())
}

impl Ddl<'_> {
    /// A sequence's files are logged, or not, from now on.
    pub(super) fn set_sequence_persistence(
        &self,
        rel: &RelationDesc,
        persistence: Persistence,
    ) -> Result<()> {
        if rel.persistence == persistence {
            return Ok(());
        }
        self.storage.lock(rel.oid, ast::LockMode::AccessExclusive)?;
        let (last, called) = self.storage.sequence_state(rel)?;
        let mut class = self.class_row(rel.oid)?;
        class.set_char("relpersistence", persistence.as_u8())?;
        self.rows.update(class)?;
        self.new_file_of(&*self.view.relation(rel.oid)?)?;
        self.storage.start_sequence(&*self.view.relation(rel.oid)?, last, called)
    }
}

/// Fails if a column of the type cannot be an identity.
pub(super) fn check_identity_type(type_oid: Oid) -> Result<()> {
    if type_bounds(type_oid).is_none() {
        bail!(INVALID_PARAMETER_VALUE, "identity column type must be smallint, integer, or bigint");
    }
    Ok(())
}
