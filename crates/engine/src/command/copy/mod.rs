//! COPY: rows from and to the client or a file, as text, CSV or binary.
//!
//! Entry point: [`Session::copy_stmt`]. FROM reads pieces of any size into lines, lines into
//! fields, fields into values in one flat vector of rows, which the executor's bulk insertion
//! stores a thousand at a time. TO is a sink for a query, or for a scan of the table.

mod binary;
mod fields;
mod from;
mod lines;
mod options;
mod to;

use crate::Session;
use crate::rows::RowWriter;
use crate::session::StatementEnv;
use crate::sink::Sink;
use access::heap::{HeapScan, ScanOptions, ScanSource};
use analyze::ExprUse;
use base::progress::{self, Command, copy as figure};
use base::{Error, Result, bail, err};
use catalog::{RelKind, RelationDesc, oids};
use functions::FnEnv;
use lines::Bytes;
use options::{CopyFormat, CopyOptions};
use os::OpenOptions;
use parser::ast::{CopyStmt, RawStmt};
use std::path::Path;
use std::sync::Arc;
use to::{CopyOut, OutColumn, Stdout, Target, ToFile};
use types::encoding::Encoding;
use types::{BATCH_ROWS, Batch, Datum};

const ACCESS_SHARE: u8 = 1;
const ROW_EXCLUSIVE: u8 = 3;

/// The error of bytes that are not UTF-8.
fn invalid_utf8(bytes: &[u8]) -> Error {
    let length = match bytes.first() {
        Some(0xc0..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xf7) => 4,
        _ => 1,
    };
    let shown: Vec<String> = bytes.iter().take(length).map(|b| format!("0x{b:02x}")).collect();
    err!(
        CHARACTER_NOT_IN_REPERTOIRE,
        "invalid byte sequence for encoding \"UTF8\": {}",
        shown.join(" ")
    )
}

/// The expression of a column that rows do not bring.
fn default_of(
    env: &analyze::Env<'_>,
    rel: &RelationDesc,
    column: usize,
) -> Result<Option<ir::Expr>> {
    analyze::default_of(env, rel, column as i16 + 1)
}

/// Attribute numbers of columns counted from 0.
fn numbers(columns: &[usize]) -> Vec<i16> {
    columns.iter().map(|i| *i as i16 + 1).collect()
}

/// COPY FROM STDIN.
struct Stdin<'a>(&'a mut dyn Sink);

/// Tells how far the COPY is.
fn tell(number: usize, n: usize) {
    progress::add(Command::Copy, number, n as i64);
}

impl Bytes for Stdin<'_> {
    fn more(&mut self) -> Result<Option<Vec<u8>>> {
        let piece = self.0.copy_data_in()?;
        tell(figure::BYTES, piece.as_ref().map_or(0, Vec::len));
        Ok(piece)
    }
}

/// COPY FROM a file.
struct FromFile {
    file: os::File,
    name: String,
    at: u64,
}

impl Bytes for FromFile {
    fn more(&mut self) -> Result<Option<Vec<u8>>> {
        let mut buf = vec![0; 1 << 16];
        let n = self
            .file
            .read_at(&mut buf, self.at)
            .map_err(|e| err!(IO_ERROR, "could not read from COPY file \"{}\": {e}", self.name))?;
        self.at += n as u64;
        tell(figure::BYTES, n);
        buf.truncate(n);
        Ok((n > 0).then_some(buf))
    }
}

/// Bytes of another encoding as UTF-8.
struct Recoded<'a> {
    source: &'a mut dyn Bytes,
    encoding: Encoding,
    /// The beginning of a character whose end has not come yet.
    left: Vec<u8>,
    /// What is wrong with the bytes after those that were given last.
    failed: Option<Error>,
}

impl Bytes for Recoded<'_> {
    fn more(&mut self) -> Result<Option<Vec<u8>>> {
        if let Some(e) = self.failed.take() {
            return Err(e);
        }
        loop {
            let Some(piece) = self.source.more()? else {
                let left = std::mem::take(&mut self.left);
                let last = self.encoding.decode(&left)?;
                return Ok((!last.is_empty()).then(|| last.into_owned()));
            };
            self.left.extend_from_slice(&piece);
            let whole = self.encoding.whole_characters(&self.left);
            if whole > 0 {
                let converted = match self.encoding.decode(&self.left[..whole]) {
                    Ok(converted) => converted.into_owned(),
                    Err(e) => self.before_error(e)?,
                };
                self.left.drain(..whole);
                return Ok(Some(converted));
            }
        }
    }
}

impl Recoded<'_> {
    /// What comes before bad bytes; the error about them is for the next call.
    fn before_error(&mut self, e: Error) -> Result<Vec<u8>> {
        let (mut at, mut out) = (0, Vec::new());
        while at < self.left.len() {
            let end = at + self.encoding.first_length(&self.left[at..]);
            match self.left.get(at..end).map(|c| self.encoding.decode(c)) {
                Some(Ok(c)) => out.extend_from_slice(&c),
                _ => break,
            }
            at = end;
        }
        if out.is_empty() {
            return Err(e);
        }
        self.failed = Some(e);
        Ok(out)
    }
}

/// What the rows of COPY FROM are converted from, if they are.
fn recoded(options: &CopyOptions, env: &StatementEnv<'_>) -> Option<Encoding> {
    let encoding = options.encoding.unwrap_or(env.format().client_encoding);
    (options.format != CopyFormat::Binary && encoding.is_converted()).then_some(encoding)
}

impl Session {
    /// COPY; gives the command tag.
    pub(crate) fn copy_stmt(&mut self, stmt: &CopyStmt, sink: &mut dyn Sink) -> Result<String> {
        self.check_copy_file(stmt)?;
        let table = match &stmt.rel {
            Some(r) => self.core.view()?.require_relation(r.schema.as_deref(), &r.name)?.oid,
            None => base::Oid::INVALID,
        };
        let options = CopyOptions::read(&stmt.options, stmt.is_from)?;
        let _telling = self.core.progress(Command::Copy, table);
        let way = if stmt.is_from { figure::FROM } else { figure::TO };
        let kind = if stmt.filename.is_some() { figure::FILE } else { figure::PIPE };
        progress::set(Command::Copy, figure::COMMAND, way);
        progress::set(Command::Copy, figure::TYPE, kind);
        let rows = match stmt.is_from {
            true => self.copy_from(stmt, &options, sink)?,
            false => self.copy_to(stmt, &options, sink)?,
        };
        Ok(format!("COPY {rows}"))
    }

    /// Files of the server are for superusers, and their names are absolute.
    fn check_copy_file(&self, stmt: &CopyStmt) -> Result<()> {
        let Some(name) = &stmt.filename else { return Ok(()) };
        let doing = if stmt.is_from { "from" } else { "to" };
        let (what, role, oid) = match (stmt.is_program, stmt.is_from) {
            (true, _) => (
                "COPY to or from an external program",
                "execute_server_program",
                oids::PG_EXECUTE_SERVER_PROGRAM,
            ),
            (_, true) => ("COPY from a file", "read_server_files", oids::PG_READ_SERVER_FILES),
            _ => ("COPY to a file", "write_server_files", oids::PG_WRITE_SERVER_FILES),
        };
        if !self.core.has_rights_of(oid)? {
            let doing = if stmt.is_program { "to or from" } else { doing };
            return Err(err!(INSUFFICIENT_PRIVILEGE, "permission denied to {what}")
                .detail(format!(
                    "Only roles with privileges of the \"pg_{role}\" role may COPY {doing} {}.",
                    if stmt.is_program { "an external program" } else { "a file" }
                ))
                .hint(
                    "Anyone can COPY to stdout or from stdin. psql's \\copy command also works \
                     for anyone.",
                ));
        }
        if stmt.is_program {
            return Err(Error::unsupported("COPY with PROGRAM"));
        }
        if !stmt.is_from && !Path::new(name).is_absolute() {
            bail!(INVALID_NAME, "relative path not allowed for COPY to file");
        }
        Ok(())
    }

    /// The table that COPY names, locked.
    fn copy_table(&self, stmt: &CopyStmt, lock: u8) -> Result<Arc<RelationDesc>> {
        let Some(name) = &stmt.rel else { return Err(Error::internal("COPY without a table")) };
        let view = self.core.view()?;
        let schema = name.schema.as_deref();
        let found = view.require_relation(schema, &name.name)?;
        self.lock_relation(found.oid, lock)?;
        // While the lock was waited for the table may have changed.
        self.core.view()?.relation(found.oid)
    }

    fn copy_from(
        &mut self,
        stmt: &CopyStmt,
        options: &CopyOptions,
        sink: &mut dyn Sink,
    ) -> Result<u64> {
        let rel = self.copy_table(stmt, ROW_EXCLUSIVE)?;
        self.prevent_in_read_only("COPY FROM")?;
        check_target(&rel)?;
        if options.freeze {
            self.check_freeze(&rel)?;
        }
        let columns = from::chosen(&rel, &stmt.columns)?;
        self.core.check_columns(&rel, catalog::acl::bit(b'a'), &numbers(&columns))?;
        if analyze::row_security_binds(&self.core.view()?, &rel)? {
            return Err(base::err!(
                FEATURE_NOT_SUPPORTED,
                "COPY FROM not supported with row-level security"
            )
            .hint("Use INSERT statements instead."));
        }
        let env = self.env()?;
        let filter = match &stmt.where_clause {
            None => None,
            Some(expr) => {
                let aenv = crate::analysis::env(&env);
                let mut filter = analyze::relation_expr(&aenv, &rel, expr, ExprUse::CopyWhere)?;
                refuse_generated(&rel, &filter)?;
                with_table_oid(&rel, &mut filter)?;
                Some(filter)
            }
        };
        let run = |source: &mut dyn Bytes| {
            let run = |source: &mut dyn Bytes| {
                from::run(self, &env, &rel, &columns, options, filter.as_ref(), source)
            };
            match recoded(options, &env) {
                Some(encoding) => {
                    run(&mut Recoded { source, encoding, left: Vec::new(), failed: None })
                }
                None => run(source),
            }
        };
        let count = match &stmt.filename {
            None => {
                sink.copy_in(options.format == CopyFormat::Binary, columns.len())?;
                let mut source = Stdin(sink);
                run(&mut source)?
            }
            Some(name) => {
                let opened = self
                    .core
                    .database
                    .disk()
                    .open(Path::new(name), &OpenOptions::new().read_only());
                let file = opened.map_err(|e| {
                    let why = e.reason();
                    let text = format!("could not open file \"{name}\" for reading: {why}");
                    Error::new(e.sqlstate(), text).hint(
                        "COPY FROM instructs the PostgreSQL server process to read a file. You \
                         may want a client-side facility such as psql's \\copy.",
                    )
                })?;
                tell(figure::BYTES_TOTAL, file.len().map_or(0, |n| n as usize));
                let mut source = FromFile { file, name: name.clone(), at: 0 };
                run(&mut source)?
            }
        };
        drop(env);
        self.core.changes.count(rel.oid, count, 0);
        self.core.changes.note(self.core.state.oid, rel.oid, [count, 0, 0]);
        self.after_query()?;
        Ok(count)
    }

    /// FREEZE is for tables that nobody else can have seen.
    fn check_freeze(&self, rel: &RelationDesc) -> Result<()> {
        if rel.kind == RelKind::Partitioned {
            bail!(FEATURE_NOT_SUPPORTED, "cannot perform COPY FREEZE on a partitioned table");
        }
        let txn = self.core.txn()?;
        let sub = txn.current_sub();
        if !self.core.files.lock().made_in(rel.relfile, sub) {
            bail!(
                OBJECT_NOT_IN_PREREQUISITE_STATE,
                "cannot perform COPY FREEZE because the table was not created or truncated in \
                 the current subtransaction"
            );
        }
        Ok(())
    }

    fn copy_to(
        &mut self,
        stmt: &CopyStmt,
        options: &CopyOptions,
        sink: &mut dyn Sink,
    ) -> Result<u64> {
        match &stmt.filename {
            None => {
                if let Some(query) = self.copy_of_visible(stmt)? {
                    return self.copy_to(&query, options, sink);
                }
                let columns = self.copy_to_columns(stmt)?;
                sink.copy_out(options.format == CopyFormat::Binary, columns)?;
                let count = self.copy_rows(stmt, options, &mut Stdout(&mut *sink))?;
                sink.copy_out_done()?;
                Ok(count)
            }
            Some(name) => {
                if let Some(query) = self.copy_of_visible(stmt)? {
                    return self.copy_to(&query, options, sink);
                }
                let open = OpenOptions::new().create().truncate();
                let opened = self.core.database.disk().open(Path::new(name), &open);
                let file = opened.map_err(|e| {
                    let why = e.reason();
                    let text = format!("could not open file \"{name}\" for writing: {why}");
                    Error::new(e.sqlstate(), text).hint(
                        "COPY TO instructs the PostgreSQL server process to write a file. You \
                         may want a client-side facility such as psql's \\copy.",
                    )
                })?;
                let mut target = ToFile { file, buf: Vec::new(), at: 0 };
                let count = self.copy_rows(stmt, options, &mut target)?;
                target.finish()?;
                Ok(count)
            }
        }
    }

    /// The rows that row security shows of a table, as a query; none if it hides nothing.
    fn copy_of_visible(&self, stmt: &CopyStmt) -> Result<Option<CopyStmt>> {
        if stmt.query.is_some() {
            return Ok(None);
        }
        let rel = self.copy_table(stmt, ACCESS_SHARE)?;
        if !analyze::row_security_binds(&self.core.view()?, &rel)? {
            return Ok(None);
        }
        let columns = from::chosen(&rel, &stmt.columns)?;
        self.core.check_columns(&rel, catalog::acl::bit(b'r'), &numbers(&columns))?;
        let quote = crate::ddl::name::quote;
        let names: Vec<String> = columns.iter().map(|i| quote(&rel.tuple.attrs[*i].name)).collect();
        let schema = self.core.view()?.namespace(rel.namespace)?;
        let (schema, table) = (quote(&schema.name), quote(&rel.name));
        let sql = format!("SELECT {} FROM ONLY {schema}.{table}", names.join(", "));
        let query = parser::parse(&sql)?.into_iter().next().map(|s| s.stmt);
        Ok(Some(CopyStmt { rel: None, columns: Vec::new(), query, ..stmt.clone() }))
    }

    /// How many columns the output has; errors of the table or query come before any output.
    fn copy_to_columns(&mut self, stmt: &CopyStmt) -> Result<usize> {
        match &stmt.query {
            None => {
                let rel = self.copy_table(stmt, ACCESS_SHARE)?;
                check_source(&rel)?;
                let columns = from::chosen(&rel, &stmt.columns)?;
                self.core.check_columns(&rel, catalog::acl::bit(b'r'), &numbers(&columns))?;
                Ok(columns.len())
            }
            Some(query) => {
                let raw = RawStmt { stmt: query.clone(), location: Default::default(), len: 0 };
                if let parser::ast::Stmt::Select(s) = query
                    && let parser::ast::SelectBody::Select(core) = &s.body
                    && core.into.is_some()
                {
                    bail!(FEATURE_NOT_SUPPORTED, "COPY (SELECT INTO) is not supported");
                }
                let columns = self.analyse(Some(&raw), &[])?.columns.len();
                match columns {
                    0 => {
                        Err(err!(FEATURE_NOT_SUPPORTED, "COPY query must have a RETURNING clause"))
                    }
                    n => Ok(n),
                }
            }
        }
    }

    fn copy_rows(
        &mut self,
        stmt: &CopyStmt,
        options: &CopyOptions,
        target: &mut dyn Target,
    ) -> Result<u64> {
        match &stmt.query {
            None => self.copy_table_rows(stmt, options, target),
            Some(query) => {
                let raw = RawStmt { stmt: query.clone(), location: Default::default(), len: 0 };
                let analysed = self.analyse(Some(&raw), &[])?;
                let columns = analysed.columns.iter();
                let columns = columns
                    .map(|c| OutColumn { name: Arc::from(c.name.as_str()), ty: c.type_oid })
                    .collect();
                let query = match &analysed.queries[..] {
                    [one] => one.clone(),
                    _ => {
                        return Err(err!(
                            FEATURE_NOT_SUPPORTED,
                            "conditional DO INSTEAD rules are not supported for COPY"
                        ));
                    }
                };
                // The session itself is busy while the query runs.
                let core = self.core.clone();
                let random = self.random.clone();
                let env = StatementEnv::new(&core, &random, self.statement_micros)?;
                let mut out = CopyOut::new(target, options, env.io(), columns)?;
                out.begin()?;
                let rows = RowWriter::new(&analysed.columns, &[]);
                self.run_query(query, Arc::new([]), &rows, &mut out)?;
                out.end()?;
                Ok(out.rows)
            }
        }
    }

    fn copy_table_rows(
        &mut self,
        stmt: &CopyStmt,
        options: &CopyOptions,
        target: &mut dyn Target,
    ) -> Result<u64> {
        let rel = self.copy_table(stmt, ACCESS_SHARE)?;
        check_source(&rel)?;
        let chosen = from::chosen(&rel, &stmt.columns)?;
        let columns = chosen.iter().map(|i| {
            let attr = &rel.tuple.attrs[*i];
            OutColumn { name: Arc::from(&*attr.name), ty: attr.type_oid }
        });
        let env = self.env()?;
        let mut out = CopyOut::new(target, options, env.io(), columns.collect())?;
        out.begin()?;
        let mut wanted = chosen.clone();
        wanted.sort_unstable();
        wanted.dedup();
        let order: Vec<usize> =
            chosen.iter().map(|c| wanted.iter().position(|w| w == c).unwrap_or(0)).collect();
        let open = rel.open(self.core.database.storage(), &env.view)?;
        let snapshot = Arc::new(self.core.txn()?.snapshot());
        let scan_options = ScanOptions { columns: wanted, ..Default::default() };
        let mut scan = HeapScan::new(&open.heap, &snapshot, ScanSource::All, scan_options)?;
        let mut batch = Batch::new(0, Vec::new());
        let mut row: Vec<Datum> = Vec::with_capacity(order.len());
        while scan.next_batch(&mut batch, BATCH_ROWS)? {
            self.check_interrupts()?;
            for i in batch.positions() {
                row.clear();
                row.extend(order.iter().map(|c| batch.columns[*c].get(i)));
                out.row(&row)?;
            }
        }
        out.end()?;
        Ok(out.rows)
    }
}

fn check_target(rel: &RelationDesc) -> Result<()> {
    let what = match rel.kind {
        RelKind::Table => return Ok(()),
        RelKind::View => "view",
        RelKind::MatView => "materialized view",
        RelKind::Sequence => "sequence",
        RelKind::Partitioned => return Ok(()),
        _ => bail!(WRONG_OBJECT_TYPE, "cannot copy to non-table relation \"{}\"", rel.name),
    };
    let e = err!(WRONG_OBJECT_TYPE, "cannot copy to {what} \"{}\"", rel.name);
    Err(match rel.kind {
        RelKind::View => {
            e.hint("To enable copying to a view, provide an INSTEAD OF INSERT trigger.")
        }
        _ => e,
    })
}

fn check_source(rel: &RelationDesc) -> Result<()> {
    let hint = "Try the COPY (SELECT ...) TO variant.";
    let what = match rel.kind {
        RelKind::MatView if !rel.is_populated => {
            return Err(err!(
                FEATURE_NOT_SUPPORTED,
                "cannot copy from unpopulated materialized view \"{}\"",
                rel.name
            )
            .hint("Use the REFRESH MATERIALIZED VIEW command."));
        }
        RelKind::Table | RelKind::MatView => return Ok(()),
        RelKind::View => "view",
        RelKind::Foreign => "foreign table",
        RelKind::Partitioned => "partitioned table",
        RelKind::Sequence => {
            bail!(WRONG_OBJECT_TYPE, "cannot copy from sequence \"{}\"", rel.name)
        }
        _ => bail!(WRONG_OBJECT_TYPE, "cannot copy from non-table relation \"{}\"", rel.name),
    };
    Err(err!(WRONG_OBJECT_TYPE, "cannot copy from {what} \"{}\"", rel.name).hint(hint))
}

/// Fails if the condition is about generated columns: they have no values yet.
fn refuse_generated(rel: &RelationDesc, filter: &ir::Expr) -> Result<()> {
    let used = crate::cook::columns_of(filter);
    let attrs = rel.tuple.attrs.iter().enumerate();
    let mut named = attrs.filter(|(i, a)| {
        a.generated != 0 && !a.dropped && (used.contains(&0) || used.contains(&(*i as i16 + 1)))
    });
    match named.next() {
        None => Ok(()),
        Some((_, a)) => Err(err!(
            INVALID_COLUMN_REFERENCE,
            "generated columns are not supported in COPY FROM WHERE conditions"
        )
        .detail(format!("Column \"{}\" is a generated column.", a.name))),
    }
}

/// Rows that have not come in yet have no system columns but their table.
fn with_table_oid(rel: &RelationDesc, filter: &mut ir::Expr) -> Result<()> {
    let mut other = false;
    ir::walk::transform(filter, &mut |e| {
        let ir::Expr::Var(v) = e else { return };
        match v.attno {
            -6 if v.levels_up == 0 => {
                *e = ir::Expr::Const(ir::Const {
                    ty: v.ty,
                    typmod: -1,
                    collation: base::Oid::INVALID,
                    value: types::Datum::U32(rel.oid.0),
                    location: None,
                });
            }
            n => other |= n < 0,
        }
    });
    match other {
        true => Err(base::Error::unsupported("system columns in COPY FROM WHERE")),
        false => Ok(()),
    }
}
