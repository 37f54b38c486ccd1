//! COPY: text and CSV, between tables and the client.

use crate::Session;
use crate::ddl::table::def_text;
use crate::sink::Sink;
use access::ExecTxn;
use access::heap::InsertOptions;
use access::index::{InsertOutcome, UniqueCheck};
use base::{Error, Result, bail, err};
use catalog::{OpenRelation, RelKind, RelationDesc};
use functions::FnEnv;
use parser::ast::{CopyStmt, LockMode};
use std::sync::Arc;
use types::Datum;
use types::io::IoCtx;

/// How many rows go into the table at a time.
const ROWS: usize = 1000;

/// The form of the data.
struct Form {
    csv: bool,
    delimiter: u8,
    null: String,
    header: bool,
    quote: u8,
    escape: u8,
    freeze: bool,
}

impl Form {
    fn of(stmt: &CopyStmt) -> Result<Form> {
        let mut form = Form {
            csv: false,
            delimiter: b'\t',
            null: "\\N".to_string(),
            header: false,
            quote: b'"',
            escape: b'"',
            freeze: false,
        };
        let find = |name: &str| stmt.options.iter().find(|o| o.name == name);
        let on = |name: &str| {
            find(name)
                .is_some_and(|o| def_text(o).is_none_or(|v| !matches!(&*v, "false" | "off" | "0")))
        };
        if let Some(format) = find("format").and_then(def_text) {
            match format.as_str() {
                "text" => {}
                "csv" => {
                    form.csv = true;
                    form.delimiter = b',';
                    form.null = String::new();
                }
                "binary" => return Err(Error::unsupported("COPY in binary format")),
                f => bail!(INVALID_PARAMETER_VALUE, "COPY format \"{f}\" not recognized"),
            }
        }
        let byte = |name: &str, what: &str| -> Result<Option<u8>> {
            match find(name).and_then(def_text) {
                None => Ok(None),
                Some(v) if v.len() == 1 => Ok(Some(v.as_bytes()[0])),
                Some(_) => Err(err!(
                    FEATURE_NOT_SUPPORTED,
                    "COPY {what} must be a single one-byte character"
                )),
            }
        };
        if let Some(b) = byte("delimiter", "delimiter")? {
            form.delimiter = b;
        }
        if let Some(b) = byte("quote", "quote")? {
            form.quote = b;
            form.escape = b;
        }
        if let Some(b) = byte("escape", "escape")? {
            form.escape = b;
        }
        if let Some(null) = find("null").and_then(def_text) {
            form.null = null;
        }
        form.header = on("header");
        form.freeze = on("freeze");
        let known =
            ["format", "delimiter", "quote", "escape", "null", "header", "freeze", "encoding"];
        if let Some(o) = stmt.options.iter().find(|o| !known.contains(&o.name.as_str())) {
            return Err(Error::unsupported(format!("COPY option \"{}\"", o.name)));
        }
        Ok(form)
    }
}

impl Session {
    /// COPY; gives the command tag.
    pub(crate) fn copy_stmt(&mut self, stmt: &CopyStmt, sink: &mut dyn Sink) -> Result<String> {
        if stmt.is_program || stmt.filename.is_some() {
            return Err(Error::unsupported("COPY with files and programs"));
        }
        let form = Form::of(stmt)?;
        let Some(name) = &stmt.rel else {
            return Err(Error::unsupported("COPY of a query"));
        };
        let view = self.core.view()?;
        let found = view
            .require_relation(name.schema.as_deref(), &name.name)
            .map_err(|e| e.at(name.pos))?;
        let mode = if stmt.is_from { LockMode::RowExclusive } else { LockMode::AccessShare };
        self.lock_relation(found.oid, mode as u8)?;
        let rel = view.relation(found.oid)?;
        if rel.kind != RelKind::Table {
            let way = if stmt.is_from { "to" } else { "from" };
            bail!(WRONG_OBJECT_TYPE, "cannot copy {way} {} \"{}\"", rel.kind.noun(), rel.name);
        }
        let columns = copy_columns(&rel, stmt)?;
        if stmt.is_from {
            self.prevent_in_read_only("COPY FROM")?;
            self.copy_from(&rel, &columns, &form, stmt, sink)
        } else {
            self.copy_to(&rel, &columns, &form, sink)
        }
    }

    fn copy_from(
        &mut self,
        rel: &Arc<RelationDesc>,
        columns: &[usize],
        form: &Form,
        stmt: &CopyStmt,
        sink: &mut dyn Sink,
    ) -> Result<String> {
        if stmt.where_clause.is_some() {
            return Err(Error::unsupported("COPY FROM with WHERE"));
        }
        let missing_default =
            rel.defaults.iter().any(|(n, _)| !columns.contains(&(*n as usize - 1)));
        if missing_default {
            return Err(Error::unsupported("COPY FROM with defaults"));
        }
        if !rel.constraints.iter().all(|c| matches!(c.kind, b'n' | b'p' | b'u'))
            || rel.triggers.iter().any(|t| !t.is_internal)
        {
            return Err(Error::unsupported("COPY FROM into a table with checks or triggers"));
        }
        sink.copy_in(false, columns.len())?;
        let storage = self.core.database.storage().clone();
        let env = self.env()?;
        let io = env.io();
        let open = rel.open(&storage, &env.view)?.clone();
        let txn = self.core.txn()?;
        let snapshot = txn.snapshot();
        let x = ExecTxn { txn: &txn, snapshot: &snapshot };
        let mut target = Target {
            session: self,
            rel,
            open: &open,
            rows: Vec::with_capacity(ROWS),
            form,
            count: 0,
        };
        let mut lines = Lines::new(form.csv, form.quote);
        let mut line_no = 0u64;
        let mut skip = form.header;
        let mut ended = false;
        while !ended {
            let data = sink.copy_data_in()?;
            let last = data.is_none();
            lines.add(data.as_deref().unwrap_or(&[]), last);
            while let Some(line) = lines.next() {
                line_no += 1;
                if skip {
                    skip = false;
                    continue;
                }
                if !form.csv && line == b"\\." {
                    continue;
                }
                let row = parse_row(rel, columns, form, line, &io)
                    .map_err(|e| e.context(format!("COPY {}, line {line_no}", rel.name)))?;
                target.rows.push(row);
                if target.rows.len() == ROWS {
                    target.flush(&x)?;
                }
            }
            ended = last;
        }
        target.flush(&x)?;
        let count = target.count;
        drop(env);
        self.after_query()?;
        Ok(format!("COPY {count}"))
    }

    fn copy_to(
        &mut self,
        rel: &RelationDesc,
        columns: &[usize],
        form: &Form,
        sink: &mut dyn Sink,
    ) -> Result<String> {
        sink.copy_out(false, columns.len())?;
        let env = self.env()?;
        let io = env.io();
        let mut out = Vec::new();
        if form.header {
            for (i, c) in columns.iter().enumerate() {
                if i > 0 {
                    out.push(form.delimiter);
                }
                out.extend_from_slice(rel.tuple.attrs[*c].name.as_bytes());
            }
            out.push(b'\n');
            sink.copy_data_out(&out)?;
        }
        let mut wanted = columns.to_vec();
        wanted.sort_unstable();
        let mut count = 0u64;
        self.scan_table(rel, wanted.clone(), &mut |batch| {
            for i in batch.positions() {
                out.clear();
                for (n, c) in columns.iter().enumerate() {
                    if n > 0 {
                        out.push(form.delimiter);
                    }
                    let at = wanted.iter().position(|w| w == c).unwrap_or(0);
                    let value = batch.columns[at].get(i);
                    write_field(&mut out, form, rel, *c, &value, &io)?;
                }
                out.push(b'\n');
                sink.copy_data_out(&out)?;
                count += 1;
            }
            Ok(true)
        })?;
        sink.copy_out_done()?;
        Ok(format!("COPY {count}"))
    }
}

/// Positions of the columns named, or of all.
fn copy_columns(rel: &RelationDesc, stmt: &CopyStmt) -> Result<Vec<usize>> {
    if stmt.columns.is_empty() {
        let live = |i: &usize| !rel.tuple.attrs[*i].dropped && rel.tuple.attrs[*i].generated == 0;
        return Ok((0..rel.tuple.natts()).filter(live).collect());
    }
    let mut all = Vec::new();
    for c in &stmt.columns {
        let Some(i) = rel.tuple.position(&c.name) else {
            return Err(err!(
                UNDEFINED_COLUMN,
                "column \"{}\" of relation \"{}\" does not exist",
                c.name,
                rel.name
            )
            .at(c.pos));
        };
        if all.contains(&i) {
            return Err(
                err!(DUPLICATE_COLUMN, "column \"{}\" specified more than once", c.name).at(c.pos)
            );
        }
        all.push(i);
    }
    Ok(all)
}

/// Where rows go, a thousand at a time.
struct Target<'a> {
    session: &'a Session,
    rel: &'a RelationDesc,
    open: &'a OpenRelation,
    rows: Vec<Vec<Datum>>,
    form: &'a Form,
    count: u64,
}

impl Target<'_> {
    fn flush(&mut self, x: &ExecTxn<'_>) -> Result<()> {
        self.session.check_interrupts()?;
        let rows = std::mem::take(&mut self.rows);
        let mut tids = Vec::with_capacity(rows.len());
        let options = InsertOptions { frozen: false };
        let _ = self.form.freeze;
        let mut all = rows.iter().map(Vec::as_slice);
        self.open.heap.multi_insert(x, &mut all, options, &mut tids)?;
        for (desc, index) in self.rel.indexes.iter().zip(&self.open.indexes) {
            if desc.exprs.is_some() || desc.predicate.is_some() {
                return Err(Error::unsupported("COPY FROM with indexes on expressions"));
            }
            let check = if desc.is_unique { UniqueCheck::Yes } else { UniqueCheck::No };
            for (row, tid) in rows.iter().zip(&tids) {
                let values: Vec<Datum> =
                    desc.columns.iter().map(|n| row[*n as usize - 1].clone()).collect();
                let mut probe = self.open.heap.probe(x);
                let storage = self.session.core.database.storage();
                let outcome =
                    index.am().insert(storage, index, &values, *tid, check, &mut probe)?;
                if let InsertOutcome::Conflict(_) = outcome {
                    let key = crate::describe::key_detail(self.session, self.rel, desc, &values)?;
                    return Err(err!(
                        UNIQUE_VIOLATION,
                        "duplicate key value violates unique constraint \"{}\"",
                        desc.name
                    )
                    .detail(format!("Key {key} already exists."))
                    .constraint(desc.name.to_string()));
                }
            }
        }
        self.count += rows.len() as u64;
        Ok(())
    }
}

/// Lines out of chunks of bytes. In CSV a line end within quotes is data.
struct Lines {
    csv: bool,
    quote: u8,
    data: Vec<u8>,
    at: usize,
    last: bool,
}

impl Lines {
    fn new(csv: bool, quote: u8) -> Lines {
        Lines { csv, quote, data: Vec::new(), at: 0, last: false }
    }

    fn add(&mut self, bytes: &[u8], last: bool) {
        self.data.drain(..self.at);
        self.at = 0;
        self.data.extend_from_slice(bytes);
        self.last = last;
    }

    fn next(&mut self) -> Option<&[u8]> {
        let rest = &self.data[self.at..];
        let end = match self.csv {
            false => memchr::memchr(b'\n', rest),
            true => {
                let mut quoted = false;
                rest.iter().position(|b| {
                    quoted ^= *b == self.quote;
                    *b == b'\n' && !quoted
                })
            }
        };
        let (len, skip) = match end {
            Some(n) => (n, n + 1),
            None if self.last && !rest.is_empty() => (rest.len(), rest.len()),
            None => return None,
        };
        let start = self.at;
        self.at += skip;
        let line = &self.data[start..start + len];
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    }
}

fn parse_row(
    rel: &RelationDesc,
    columns: &[usize],
    form: &Form,
    line: &[u8],
    io: &IoCtx<'_>,
) -> Result<Vec<Datum>> {
    let mut row = vec![Datum::Null; rel.tuple.natts()];
    let mut fields = Fields { form, line, at: 0, done: line.is_empty() && columns.is_empty() };
    let mut buffer = Vec::new();
    for c in columns {
        let attr = &rel.tuple.attrs[*c];
        let Some(is_null) = fields.next(&mut buffer)? else {
            bail!(BAD_COPY_FILE_FORMAT, "missing data for column \"{}\"", attr.name);
        };
        if !is_null {
            let text = std::str::from_utf8(&buffer).map_err(|_| {
                err!(CHARACTER_NOT_IN_REPERTOIRE, "invalid byte sequence for encoding \"UTF8\"")
            })?;
            row[*c] = types::io::input(attr.type_oid, text, attr.typmod, io)?;
        }
    }
    if fields.next(&mut buffer)?.is_some() {
        bail!(BAD_COPY_FILE_FORMAT, "extra data after last expected column");
    }
    for (attr, value) in rel.tuple.attrs.iter().zip(&row) {
        if attr.not_null && value.is_null() {
            return Err(err!(
                NOT_NULL_VIOLATION,
                "null value in column \"{}\" of relation \"{}\" violates not-null constraint",
                attr.name,
                rel.name
            )
            .column(attr.name.to_string()));
        }
    }
    Ok(row)
}

/// The fields of a line.
struct Fields<'a> {
    form: &'a Form,
    line: &'a [u8],
    at: usize,
    done: bool,
}

impl Fields<'_> {
    /// The next field, unescaped, into `out`: true if it is NULL, `None` at the end.
    fn next(&mut self, out: &mut Vec<u8>) -> Result<Option<bool>> {
        if self.done {
            return Ok(None);
        }
        out.clear();
        if self.form.csv { self.csv(out) } else { Ok(Some(self.text(out))) }
    }

    fn text(&mut self, out: &mut Vec<u8>) -> bool {
        let rest = &self.line[self.at..];
        let mut end = rest.len();
        let mut escaped = false;
        let mut i = 0;
        while i < rest.len() {
            match rest[i] {
                b'\\' => {
                    escaped = true;
                    i += 1;
                }
                b if b == self.form.delimiter => {
                    end = i;
                    break;
                }
                _ => {}
            }
            i += 1;
        }
        let end = end.min(rest.len());
        let raw = &rest[..end];
        self.done = self.at + end >= self.line.len();
        self.at += end + 1;
        if raw == self.form.null.as_bytes() {
            return true;
        }
        if escaped {
            unescape(raw, out)
        } else {
            out.extend_from_slice(raw)
        }
        false
    }

    fn csv(&mut self, out: &mut Vec<u8>) -> Result<Option<bool>> {
        let (quote, escape) = (self.form.quote, self.form.escape);
        let (mut quoted, mut inside) = (false, false);
        while self.at < self.line.len() {
            let b = self.line[self.at];
            self.at += 1;
            if inside {
                if b == escape
                    && self.line.get(self.at).is_some_and(|n| *n == quote || *n == escape)
                {
                    out.push(self.line[self.at]);
                    self.at += 1;
                } else if b == quote {
                    inside = false;
                } else {
                    out.push(b);
                }
            } else if b == quote {
                quoted = true;
                inside = true;
            } else if b == self.form.delimiter {
                return Ok(Some(!quoted && out == self.form.null.as_bytes()));
            } else {
                out.push(b);
            }
        }
        if inside {
            bail!(BAD_COPY_FILE_FORMAT, "unterminated CSV quoted field");
        }
        self.done = true;
        Ok(Some(!quoted && out == self.form.null.as_bytes()))
    }
}

/// Undoes the escapes of text format.
fn unescape(raw: &[u8], out: &mut Vec<u8>) {
    let digit = |b: Option<&u8>, base: u32| b.and_then(|b| (*b as char).to_digit(base));
    let mut i = 0;
    while i < raw.len() {
        let b = raw[i];
        i += 1;
        if b != b'\\' || i >= raw.len() {
            out.push(b);
            continue;
        }
        let c = raw[i];
        i += 1;
        match c {
            b'b' => out.push(8),
            b'f' => out.push(12),
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            b'v' => out.push(11),
            b'0'..=b'7' => {
                let mut n = u32::from(c - b'0');
                for _ in 0..2 {
                    let Some(d) = digit(raw.get(i), 8) else { break };
                    n = n * 8 + d;
                    i += 1;
                }
                out.push(n as u8);
            }
            b'x' if digit(raw.get(i), 16).is_some() => {
                let mut n = 0;
                for _ in 0..2 {
                    let Some(d) = digit(raw.get(i), 16) else { break };
                    n = n * 16 + d;
                    i += 1;
                }
                out.push(n as u8);
            }
            c => out.push(c),
        }
    }
}

fn write_field(
    out: &mut Vec<u8>,
    form: &Form,
    rel: &RelationDesc,
    column: usize,
    value: &Datum,
    io: &IoCtx<'_>,
) -> Result<()> {
    if value.is_null() {
        out.extend_from_slice(form.null.as_bytes());
        return Ok(());
    }
    let text = crate::describe::value_text(rel.tuple.attrs[column].type_oid, value, io)?;
    if form.csv {
        let special = |b: u8| b == form.delimiter || b == form.quote || b == b'\n' || b == b'\r';
        if text.bytes().any(special) || text == form.null || text.is_empty() {
            out.push(form.quote);
            for b in text.bytes() {
                if b == form.quote || b == form.escape {
                    out.push(form.escape);
                }
                out.push(b);
            }
            out.push(form.quote);
        } else {
            out.extend_from_slice(text.as_bytes());
        }
        return Ok(());
    }
    for b in text.bytes() {
        match b {
            8 => out.extend_from_slice(b"\\b"),
            12 => out.extend_from_slice(b"\\f"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            11 => out.extend_from_slice(b"\\v"),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b if b == form.delimiter => out.extend_from_slice(&[b'\\', b]),
            b => out.push(b),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found_across_chunks() {
        let mut lines = Lines::new(false, b'"');
        lines.add(b"a\nb", false);
        assert_eq!(lines.next(), Some(&b"a"[..]));
        assert_eq!(lines.next(), None);
        lines.add(b"c\r\nd", true);
        assert_eq!(lines.next(), Some(&b"bc"[..]));
        assert_eq!(lines.next(), Some(&b"d"[..]));
        assert_eq!(lines.next(), None);
    }

    #[test]
    fn escapes_are_undone() {
        let mut out = Vec::new();
        unescape(br"a\tb\\c\101\x41", &mut out);
        assert_eq!(out, b"a\tb\\cAA");
    }
}
