//! COPY FROM: bytes into rows.

use super::fields::{FieldKind, Fields, same_text};
use super::lines::{Bytes, Lines};
use super::options::{Columns, CopyFormat, CopyOptions, Header};
use crate::session::RunParts;
use crate::{Session, StatementEnv};
use base::progress::{self, Command, copy as figure};
use base::{Error, Oid, Result, bail, err};
use catalog::RelationDesc;
use executor::{BulkInsert, BulkOptions, ExecCtx};
use functions::FnEnv;
use std::sync::Arc;
use types::io::IoCtx;
use types::{Datum, oid};

/// Rows that are stored together.
const BATCH: usize = 1000;
/// And the input bytes that are.
const BATCH_BYTES: usize = 1 << 17;

/// One column that the input has.
pub(super) struct Column {
    /// Its position in the table.
    pub at: usize,
    pub name: Arc<str>,
    pub ty: Oid,
    pub typmod: i32,
    force_not_null: bool,
    force_null: bool,
    /// The last text and its value: the same text again costs nothing to read. Only for types
    /// whose values depend on nothing but the text.
    last: Option<(Vec<u8>, Datum)>,
}

/// Where an error happened.
enum Place {
    /// The line, whose bytes are no text.
    Bytes,
    /// A line, whose text is shown.
    Line,
    /// A line, whose text is not known any more.
    Stored(u64),
    /// A column, with its text; none is NULL.
    Column(usize, Option<String>),
    /// A column of a binary row.
    Binary(usize),
}

/// The columns that COPY names, or all that rows can bring.
pub(super) fn chosen(rel: &RelationDesc, names: &[parser::ast::Ident]) -> Result<Vec<usize>> {
    let attrs = &rel.tuple.attrs;
    if names.is_empty() {
        let all = attrs.iter().enumerate().filter(|(_, a)| !a.dropped && a.generated == 0);
        return Ok(all.map(|(i, _)| i).collect());
    }
    let mut out = Vec::new();
    for ident in names {
        let name = &ident.name;
        let Some(i) = attrs.iter().position(|a| !a.dropped && *a.name == **name) else {
            bail!(
                UNDEFINED_COLUMN,
                "column \"{name}\" of relation \"{}\" does not exist",
                rel.name
            );
        };
        if attrs[i].generated != 0 {
            return Err(err!(INVALID_COLUMN_REFERENCE, "column \"{name}\" is a generated column")
                .detail("Generated columns cannot be used in COPY."));
        }
        if out.contains(&i) {
            bail!(DUPLICATE_COLUMN, "column \"{name}\" specified more than once");
        }
        out.push(i);
    }
    Ok(out)
}

/// Which of the columns an option names.
pub(super) fn forced(
    rel: &RelationDesc,
    columns: &[usize],
    option: &Columns,
    what: &str,
) -> Result<Vec<bool>> {
    let mut out = vec![*option == Columns::All; columns.len()];
    if let Columns::Named(names) = option {
        for name in names {
            let at = rel.tuple.attrs.iter().position(|a| !a.dropped && *a.name == **name);
            let Some(at) = at else {
                bail!(
                    UNDEFINED_COLUMN,
                    "column \"{name}\" of relation \"{}\" does not exist",
                    rel.name
                );
            };
            match columns.iter().position(|c| *c == at) {
                Some(n) => out[n] = true,
                None => bail!(
                    INVALID_COLUMN_REFERENCE,
                    "{what} column \"{name}\" not referenced by COPY"
                ),
            }
        }
    }
    Ok(out)
}

/// True if a value of this type depends on its text and modifier alone, and costs more to read
/// than to look up.
fn is_cached(ty: Oid) -> bool {
    matches!(ty, oid::BPCHAR | oid::NUMERIC | oid::UUID)
}

/// A running COPY FROM.
pub(super) struct CopyIn<'a> {
    cx: ExecCtx<'a>,
    io: IoCtx<'a>,
    rel: &'a RelationDesc,
    options: &'a CopyOptions,
    bulk: BulkInsert,
    columns: Vec<Column>,
    /// Columns that the input does not have and that are to be computed.
    computed: Vec<usize>,
    /// Columns with a default that a marker in the input can stand for.
    with_default: Vec<usize>,
    natts: usize,
    /// The input has all columns of the table in their order.
    in_order: bool,
    rows: Vec<Datum>,
    /// Line numbers of the rows.
    numbers: Vec<u64>,
    bytes: usize,
    stored: u64,
    skipped: u64,
}

/// Runs COPY FROM over these bytes; how many rows were stored.
pub(super) fn run(
    session: &Session,
    env: &StatementEnv<'_>,
    rel: &RelationDesc,
    columns: &[usize],
    options: &CopyOptions,
    filter: Option<&ir::Expr>,
    source: &mut dyn Bytes,
) -> Result<u64> {
    let parts = RunParts::new(session)?;
    let cx = parts.cx(env);
    let snapshot = Arc::new(session.core.txn()?.snapshot());
    let not_null = forced(rel, columns, &options.force_not_null, "FORCE_NOT_NULL")?;
    let null = forced(rel, columns, &options.force_null, "FORCE_NULL")?;
    let mut defaults = Vec::new();
    let mut computed = Vec::new();
    for (i, attr) in rel.tuple.attrs.iter().enumerate() {
        if attr.dropped || attr.generated != 0 {
            continue;
        }
        let missing = !columns.contains(&i);
        let expr = default_expr(session, env, rel, i)?;
        if let Some(expr) = expr.filter(|_| missing || options.default.is_some()) {
            defaults.push((i, expr));
            if missing {
                computed.push(i);
            }
        }
    }
    let with_default = defaults.iter().map(|d: &(usize, ir::Expr)| d.0).collect();
    let bulk_options = BulkOptions { defaults, filter, frozen: options.freeze, ahead: true };
    let storage = session.core.database.storage();
    let bulk = BulkInsert::new(&env.view, storage, rel, snapshot, bulk_options)?;
    let column = |(n, at): (usize, &usize)| {
        let attr = &rel.tuple.attrs[*at];
        Column {
            at: *at,
            name: Arc::from(&*attr.name),
            ty: attr.type_oid,
            typmod: attr.typmod,
            force_not_null: not_null[n],
            force_null: null[n],
            last: None,
        }
    };
    let mut copy = CopyIn {
        cx,
        io: env.io(),
        rel,
        options,
        bulk,
        columns: columns.iter().enumerate().map(column).collect(),
        computed,
        with_default,
        natts: rel.tuple.natts(),
        in_order: columns.iter().copied().eq(0..rel.tuple.natts()),
        rows: Vec::new(),
        numbers: Vec::new(),
        bytes: 0,
        stored: 0,
        skipped: 0,
    };
    copy.bulk.statement_hooks(cx, true)?;
    match options.format {
        CopyFormat::Binary => super::binary::read(&mut copy, source)?,
        _ => copy.read_lines(session, source)?,
    }
    copy.finish()?;
    copy.bulk.statement_hooks(cx, false)?;
    copy.tell_skipped(env);
    Ok(copy.stored)
}

/// The expression of a column that is not given.
fn default_expr(
    session: &Session,
    env: &StatementEnv<'_>,
    rel: &RelationDesc,
    column: usize,
) -> Result<Option<ir::Expr>> {
    let _ = session;
    let aenv = crate::analysis::env(env);
    super::default_of(&aenv, rel, column)
}

impl CopyIn<'_> {
    pub(super) fn columns(&mut self) -> &mut [Column] {
        &mut self.columns
    }

    pub(super) fn io(&self) -> &IoCtx<'_> {
        &self.io
    }

    fn read_lines(&mut self, session: &Session, source: &mut dyn Bytes) -> Result<()> {
        let mut lines = Lines::new(source, self.options);
        let mut fields = Fields::default();
        if self.options.header != Header::No {
            self.header(&mut lines, &mut fields)?;
        }
        loop {
            let more = lines.advance();
            match more {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                Err(e) => return Err(self.unread_line(e, &lines)),
            }
            if lines.number.is_multiple_of(1024) {
                session.check_interrupts()?;
            }
            self.line(lines.current(), lines.number, &mut fields)?;
        }
    }

    /// An error before a line's end was found: the line is told if what is there of it is all.
    #[cold]
    fn unread_line(&self, e: Error, lines: &Lines<'_>) -> Error {
        let place = match lines.is_over() {
            true => Place::Line,
            false => Place::Bytes,
        };
        self.place(e, lines.number, place, lines.current())
    }

    fn header(&mut self, lines: &mut Lines<'_>, fields: &mut Fields) -> Result<()> {
        if !lines.advance()? || self.options.header != Header::Match {
            return Ok(());
        }
        let line = lines.current();
        self.split(line, fields)?;
        let fail = |e: Error| {
            let shown = shown(line);
            e.context(format!("COPY {}, line 1: \"{shown}\"", self.rel.name))
        };
        if fields.len() != self.columns.len() {
            return Err(fail(err!(
                BAD_COPY_FILE_FORMAT,
                "wrong number of fields in header line: got {}, expected {}",
                fields.len(),
                self.columns.len()
            )));
        }
        for (i, column) in self.columns.iter().enumerate() {
            if fields.kind(i) == FieldKind::Null {
                return Err(fail(err!(
                    BAD_COPY_FILE_FORMAT,
                    "column name mismatch in header line field {}: got null value (\"{}\"), \
                     expected \"{}\"",
                    i + 1,
                    self.options.null,
                    column.name
                )));
            }
            let got = String::from_utf8_lossy(fields.get(i, line));
            if *got != *column.name {
                return Err(fail(err!(
                    BAD_COPY_FILE_FORMAT,
                    "column name mismatch in header line field {}: got \"{got}\", expected \"{}\"",
                    i + 1,
                    column.name
                )));
            }
        }
        Ok(())
    }

    #[inline]
    fn split(&self, line: &[u8], fields: &mut Fields) -> Result<()> {
        match self.options.format {
            CopyFormat::Csv => fields.split_csv(line, self.options),
            _ => {
                fields.split_text(line, self.options);
                Ok(())
            }
        }
    }

    /// One line: a row, unless it is left out.
    #[inline]
    fn line(&mut self, line: &[u8], number: u64, fields: &mut Fields) -> Result<()> {
        let start = self.rows.len();
        match self.row_of(line, fields) {
            Ok(()) => {}
            Err((e, Place::Column(n, text))) if self.options.ignore_errors && is_soft(&e) => {
                self.rows.truncate(start);
                return self.skip(number, n, text);
            }
            Err((e, place)) => return Err(self.place(e, number, place, line)),
        }
        self.bytes += line.len();
        self.add(start, number).map_err(|e| self.place(e, number, Place::Line, line))?;
        if self.is_full() { self.flush() } else { Ok(()) }
    }

    /// True if the rows so far are to be stored.
    pub(super) fn is_full(&self) -> bool {
        self.numbers.len() >= BATCH
            || self.bytes >= BATCH_BYTES
            || (self.bulk.is_row_by_row() && !self.numbers.is_empty())
    }

    /// Takes the row that begins at `start`, if it is wanted.
    pub(super) fn add(&mut self, start: usize, number: u64) -> Result<()> {
        let row = &mut self.rows[start..];
        if !self.computed.is_empty() {
            self.bulk.fill(self.cx, &self.computed, row)?;
        }
        match self.bulk.accept(self.cx, row)? {
            true => self.numbers.push(number),
            false => {
                progress::add(Command::Copy, figure::EXCLUDED, 1);
                self.rows.truncate(start);
            }
        }
        Ok(())
    }

    /// Room for another row of NULLs; where it begins.
    pub(super) fn new_row(&mut self) -> usize {
        let start = self.rows.len();
        self.rows.resize(start + self.natts, Datum::Null);
        start
    }

    /// Sets a value of the row that begins at `start`.
    pub(super) fn set(&mut self, start: usize, column: usize, value: Datum) {
        let at = self.columns[column].at;
        self.rows[start + at] = value;
    }

    /// The values of a line are put at the end of `rows`.
    #[inline]
    fn row_of(
        &mut self,
        line: &[u8],
        fields: &mut Fields,
    ) -> std::result::Result<(), (Error, Place)> {
        let text = match std::str::from_utf8(line) {
            Ok(text) => text,
            Err(e) => return Err((super::invalid_utf8(&line[e.valid_up_to()..]), Place::Bytes)),
        };
        // Columns in the table's order are put one after the other.
        let start = match self.in_order {
            true => self.rows.len(),
            false => self.new_row(),
        };
        if self.columns.is_empty() && line.is_empty() {
            return Ok(());
        }
        self.split(line, fields).map_err(|e| (e, Place::Line))?;
        if fields.len() > self.columns.len() {
            let e = err!(BAD_COPY_FILE_FORMAT, "extra data after last expected column");
            return Err((e, Place::Line));
        }
        for n in 0..self.columns.len() {
            if n >= fields.len() {
                let name = &self.columns[n].name;
                let e = err!(BAD_COPY_FILE_FORMAT, "missing data for column \"{name}\"");
                return Err((e, Place::Line));
            }
            let value = self.value(n, text, fields)?;
            match self.in_order {
                true => self.rows.push(value),
                false => self.rows[start + self.columns[n].at] = value,
            }
        }
        Ok(())
    }

    /// The value of a field.
    #[inline]
    fn value(
        &mut self,
        n: usize,
        line: &str,
        fields: &mut Fields,
    ) -> std::result::Result<Datum, (Error, Place)> {
        let column = &mut self.columns[n];
        let raw = fields.get(n, line.as_bytes());
        let mut kind = fields.kind(n);
        if kind == FieldKind::Null && column.force_not_null {
            kind = FieldKind::Value;
        } else if column.force_null && raw == self.options.null.as_bytes() {
            kind = FieldKind::Null;
        }
        match kind {
            FieldKind::Value => {}
            FieldKind::Null => return null_value(column, &self.io, n),
            FieldKind::Default => {
                let at = column.at;
                if !self.with_default.contains(&at) {
                    let e = err!(BAD_COPY_FILE_FORMAT, "unexpected default marker in COPY data");
                    let e = e.detail(format!("Column \"{}\" has no default value.", column.name));
                    return Err((e, Place::Line));
                }
                let value = self.bulk.default_of(self.cx, at);
                return value.map_err(|e| (e, Place::Column(n, Some("".into()))));
            }
        }
        let text = match fields.text(n, line) {
            Ok(text) => text,
            Err(bad) => return Err((super::invalid_utf8(bad), Place::Line)),
        };
        if let Some((last, value)) = &column.last
            && same_text(last, raw)
        {
            return Ok(value.clone());
        }
        let value = types::io::input(column.ty, text, column.typmod, &self.io)
            .map_err(|e| (e, Place::Column(n, Some(text.to_string()))))?;
        if is_cached(column.ty) && raw.len() <= 64 {
            column.last = Some((raw.to_vec(), value.clone()));
        }
        Ok(value)
    }

    /// Leaves a line out because of a value that cannot be read.
    fn skip(&mut self, number: u64, n: usize, text: Option<String>) -> Result<()> {
        self.skipped += 1;
        progress::set(Command::Copy, figure::SKIPPED, self.skipped as i64);
        if self.options.verbosity > 0 {
            let name = &self.columns[n].name;
            let what = match text {
                Some(text) => format!(
                    "skipping row due to data type incompatibility at line {number} for column \
                     \"{name}\": \"{}\"",
                    shown(text.as_bytes())
                ),
                None => format!(
                    "skipping row due to data type incompatibility at line {number} for column \
                     \"{name}\": null input"
                ),
            };
            let context = format!("COPY {}", self.rel.name);
            self.cx.env.notice(Error::notice(what).context(context));
        }
        match self.options.reject_limit {
            Some(limit) if self.skipped > limit as u64 => Err(err!(
                INVALID_TEXT_REPRESENTATION,
                "skipped more than REJECT_LIMIT ({limit}) rows due to data type incompatibility"
            )
            .context(format!(
                "COPY {}, line {number}, column {}",
                self.rel.name, self.columns[n].name
            ))),
            _ => Ok(()),
        }
    }

    fn tell_skipped(&self, env: &StatementEnv<'_>) {
        if self.skipped == 0 || self.options.verbosity < 0 {
            return;
        }
        let rows = if self.skipped == 1 { "row was" } else { "rows were" };
        env.notice(Error::notice(format!(
            "{} {rows} skipped due to data type incompatibility",
            self.skipped
        )));
    }

    /// Stores the rows so far.
    pub(super) fn flush(&mut self) -> Result<()> {
        if self.numbers.is_empty() {
            self.rows.clear();
            return Ok(());
        }
        if let Err((e, row)) = self.bulk.store(self.cx, &mut self.rows) {
            let number = row.and_then(|r| self.numbers.get(r)).or(self.numbers.last());
            let number = number.copied().unwrap_or(0);
            return Err(self.place(e, number, Place::Stored(number), b""));
        }
        self.stored += self.numbers.len() as u64;
        progress::set(Command::Copy, figure::TUPLES, self.stored as i64);
        self.numbers.clear();
        self.bytes = 0;
        Ok(())
    }

    /// Stores the last rows.
    fn finish(&mut self) -> Result<()> {
        let last = self.numbers.last().copied().unwrap_or(0);
        self.flush()?;
        self.bulk.finish().map_err(|e| self.place(e, last, Place::Stored(last), b""))
    }

    /// An error in a binary row's column.
    pub(super) fn binary_error(&self, e: Error, number: u64, column: Option<usize>) -> Error {
        let place = column.map_or(Place::Stored(number), Place::Binary);
        self.place(e, number, place, b"")
    }

    #[cold]
    fn place(&self, e: Error, number: u64, place: Place, line: &[u8]) -> Error {
        let table = &self.rel.name;
        e.context(match place {
            Place::Line => format!("COPY {table}, line {number}: \"{}\"", shown(line)),
            Place::Bytes => format!("COPY {table}, line {number}"),
            Place::Stored(number) => format!("COPY {table}, line {number}"),
            Place::Column(n, text) => {
                let name = &self.columns[n].name;
                match text {
                    Some(text) => format!(
                        "COPY {table}, line {number}, column {name}: \"{}\"",
                        shown(text.as_bytes())
                    ),
                    None => format!("COPY {table}, line {number}, column {name}: null input"),
                }
            }
            Place::Binary(n) => {
                format!("COPY {table}, line {number}, column {}", self.columns[n].name)
            }
        })
    }
}

/// NULL; a domain may refuse it.
fn null_value(
    column: &Column,
    io: &IoCtx<'_>,
    n: usize,
) -> std::result::Result<Datum, (Error, Place)> {
    let plain = column.ty.0 < 10_000;
    if !plain && io.lookup.type_info(column.ty).is_some_and(|t| t.typtype == b'd') {
        io.lookup.check_domain(column.ty, &Datum::Null).map_err(|e| (e, Place::Column(n, None)))?;
    }
    Ok(Datum::Null)
}

/// Errors that ON_ERROR ignore passes over: the value is wrong, not the server.
fn is_soft(e: &Error) -> bool {
    let code = e.code();
    code.as_str().starts_with("22") || code.as_str().starts_with("23")
}

/// At most 100 bytes of text, with dots for the rest.
fn shown(text: &[u8]) -> String {
    if text.len() <= 100 {
        return String::from_utf8_lossy(text).into_owned();
    }
    let text = String::from_utf8_lossy(text);
    let end = (0..=100).rev().find(|n| text.is_char_boundary(*n)).unwrap_or(0);
    format!("{}...", &text[..end])
}
