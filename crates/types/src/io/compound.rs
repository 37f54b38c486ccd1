//! Arrays, rows, ranges and multiranges as text.

use super::dispatch::{input, null, output};
use super::number::is_space;
use super::{IoCtx, TypeInfo};
use crate::array::{ArrayRef, ElemType, MAX_DIMENSIONS, make_array};
use crate::datum::Datum;
use crate::range::{self, Range};
use crate::record::{Record, RecordColumn};
use base::{Error, Oid, Result, bail, err};
use std::sync::Arc;

fn info(oid: Oid, cx: &IoCtx) -> Result<Arc<TypeInfo>> {
    cx.lookup
        .type_info(oid)
        .ok_or_else(|| err!(UNDEFINED_OBJECT, "type with OID {oid} does not exist"))
}

#[cold]
fn malformed(text: &str, detail: &str) -> Error {
    let e = err!(INVALID_TEXT_REPRESENTATION, "malformed array literal: \"{text}\"");
    if detail.is_empty() { e } else { e.detail(detail) }
}

struct ArrayReader<'a> {
    text: &'a str,
    at: usize,
    delim: u8,
    elem: Oid,
    typmod: i32,
    values: Vec<Datum>,
    dims: Vec<i32>,
    /// How deep elements are, once one was seen.
    depth: Option<usize>,
}

impl ArrayReader<'_> {
    fn peek(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or(0)
    }

    fn skip_space(&mut self) {
        while self.at < self.text.len() && is_space(self.peek()) {
            self.at += 1;
        }
    }

    /// Explicit bounds: `[1:2][0:3]=`.
    fn bounds(&mut self) -> Result<Option<(Vec<i32>, Vec<i32>)>> {
        self.skip_space();
        if self.peek() != b'[' {
            return Ok(None);
        }
        let (mut lower, mut dims) = (Vec::new(), Vec::new());
        loop {
            self.skip_space();
            if self.peek() != b'[' {
                break;
            }
            if dims.len() >= MAX_DIMENSIONS {
                return Err(err!(
                    PROGRAM_LIMIT_EXCEEDED,
                    "number of array dimensions exceeds the maximum allowed ({MAX_DIMENSIONS})"
                ));
            }
            self.at += 1;
            let first = self.integer()?;
            let (lo, hi) = if self.peek() == b':' {
                self.at += 1;
                (first, self.upper()?)
            } else {
                (1, first)
            };
            if self.peek() != b']' {
                return Err(malformed(self.text, "Missing \"]\" after array dimensions."));
            }
            self.at += 1;
            if hi < lo {
                return Err(err!(
                    ARRAY_SUBSCRIPT_ERROR,
                    "upper bound cannot be less than lower bound"
                ));
            }
            if hi == i32::MAX as i64 {
                return Err(err!(PROGRAM_LIMIT_EXCEEDED, "array upper bound is too large: {hi}"));
            }
            lower.push(lo as i32);
            dims.push((hi - lo + 1) as i32);
        }
        if self.peek() != b'=' {
            return Err(malformed(self.text, "Missing \"=\" after array dimensions."));
        }
        self.at += 1;
        self.skip_space();
        Ok(Some((lower, dims)))
    }

    fn upper(&mut self) -> Result<i64> {
        if !matches!(self.peek(), b'-' | b'+' | b'0'..=b'9') {
            return Err(malformed(self.text, "Missing array dimension value."));
        }
        self.integer()
    }

    fn integer(&mut self) -> Result<i64> {
        let start = self.at;
        if matches!(self.peek(), b'-' | b'+') {
            self.at += 1;
        }
        while self.peek().is_ascii_digit() {
            self.at += 1;
        }
        let digits = &self.text[start..self.at];
        if digits.is_empty() || digits == "-" || digits == "+" {
            let detail = "\"[\" must introduce explicitly-specified array dimensions.";
            return Err(malformed(self.text, detail));
        }
        digits
            .parse::<i32>()
            .map(i64::from)
            .map_err(|_| err!(PROGRAM_LIMIT_EXCEEDED, "array bound is out of integer range"))
    }

    fn inconsistent(&self) -> Error {
        malformed(
            self.text,
            "Multidimensional arrays must have sub-arrays with matching dimensions.",
        )
    }

    /// One pair of braces at a depth.
    fn level(&mut self, depth: usize, cx: &IoCtx) -> Result<i32> {
        if depth >= MAX_DIMENSIONS {
            return Err(err!(
                PROGRAM_LIMIT_EXCEEDED,
                "number of array dimensions exceeds the maximum allowed ({MAX_DIMENSIONS})"
            ));
        }
        self.at += 1;
        let mut n = 0;
        loop {
            self.skip_space();
            match self.peek() {
                0 if self.at >= self.text.len() => {
                    return Err(malformed(self.text, "Unexpected end of input."));
                }
                b'}' if n == 0 => {
                    self.at += 1;
                    return Ok(0);
                }
                b'{' => {
                    if self.depth.is_some_and(|d| d == depth) {
                        return Err(self.inconsistent());
                    }
                    let inner = self.level(depth + 1, cx)?;
                    self.record(depth + 1, inner)?;
                }
                b if b == self.delim || b == b'}' => {
                    let detail = format!("Unexpected \"{}\" character.", b as char);
                    return Err(malformed(self.text, &detail));
                }
                _ => {
                    if self.depth.is_some_and(|d| d != depth) || self.dims.len() > depth + 1 {
                        return Err(self.inconsistent());
                    }
                    self.depth = Some(depth);
                    self.element(cx)?;
                }
            }
            n += 1;
            self.skip_space();
            match self.peek() {
                b'}' => {
                    self.at += 1;
                    return Ok(n);
                }
                b if b == self.delim => self.at += 1,
                0 if self.at >= self.text.len() => {
                    return Err(malformed(self.text, "Unexpected end of input."));
                }
                b'{' => return Err(malformed(self.text, "Unexpected \"{\" character.")),
                _ => return Err(malformed(self.text, "Unexpected array element.")),
            }
            self.skip_space();
            if self.peek() == b'}' {
                return Err(malformed(self.text, "Unexpected \"}\" character."));
            }
        }
    }

    /// Notes the size of a finished sub-array.
    fn record(&mut self, depth: usize, n: i32) -> Result<()> {
        if self.dims.len() <= depth {
            self.dims.resize(depth + 1, -1);
        }
        if self.dims[depth] == -1 {
            self.dims[depth] = n;
        } else if self.dims[depth] != n {
            return Err(self.inconsistent());
        }
        Ok(())
    }

    fn element(&mut self, cx: &IoCtx) -> Result<()> {
        let mut out = String::new();
        let (mut quoted, mut escaped, mut kept) = (false, false, 0);
        let mut was_quoted = false;
        while let Some(c) = self.text[self.at..].chars().next() {
            let b = if c.is_ascii() { c as u8 } else { 0 };
            if c == '\\' {
                self.at += 1;
                let Some(next) = self.text[self.at..].chars().next() else { break };
                out.push(next);
                self.at += next.len_utf8();
                escaped = true;
                kept = out.len();
                continue;
            }
            if c == '"' {
                if !quoted && (was_quoted || !out.is_empty()) {
                    return Err(malformed(self.text, "Incorrectly quoted array element."));
                }
                quoted = !quoted;
                was_quoted = true;
                self.at += 1;
                kept = out.len();
                continue;
            }
            if !quoted {
                if b == self.delim || b == b'}' {
                    break;
                }
                if b == b'{' {
                    return Err(malformed(self.text, "Unexpected \"{\" character."));
                }
                if was_quoted && !is_space(b) {
                    return Err(malformed(self.text, "Incorrectly quoted array element."));
                }
                if was_quoted {
                    self.at += 1;
                    continue;
                }
            }
            out.push(c);
            self.at += c.len_utf8();
            if quoted || !is_space(b) {
                kept = out.len();
            }
        }
        if quoted || self.at >= self.text.len() {
            return Err(malformed(self.text, "Unexpected end of input."));
        }
        out.truncate(kept);
        let bare = !was_quoted && !escaped && cx.format.array_nulls;
        if bare && out.eq_ignore_ascii_case("null") {
            self.values.push(null(self.elem, cx)?);
        } else {
            self.values.push(input(self.elem, &out, self.typmod, cx)?);
        }
        Ok(())
    }
}

/// Reads an array.
/// Reads an array of these elements, which may themselves be arrays (as the values of statistics
/// about a column of arrays are).
pub fn array_of(elem: Oid, text: &str, typmod: i32, cx: &IoCtx) -> Result<Datum> {
    array_in(elem, text, typmod, cx)
}

pub(super) fn array_in(elem: Oid, text: &str, typmod: i32, cx: &IoCtx) -> Result<Datum> {
    let facts = info(elem, cx)?;
    let mut reader = ArrayReader {
        text,
        at: 0,
        delim: facts.delim,
        elem,
        typmod,
        values: Vec::new(),
        dims: Vec::new(),
        depth: None,
    };
    let bounds = reader.bounds()?;
    if reader.peek() != b'{' {
        let detail = if bounds.is_some() {
            "Array contents must start with \"{\"."
        } else {
            "Array value must start with \"{\" or dimension information."
        };
        return Err(malformed(text, detail));
    }
    let n = reader.level(0, cx)?;
    reader.record(0, n)?;
    reader.skip_space();
    if reader.at < text.len() {
        return Err(malformed(text, "Junk after closing right brace."));
    }
    let mut dims = std::mem::take(&mut reader.dims);
    if reader.values.is_empty() {
        dims.clear();
    }
    let lbounds = match bounds {
        Some((lower, given)) => {
            if given != dims && !(dims.is_empty() && reader.values.is_empty()) {
                let detail = "Specified array dimensions do not match array contents.";
                return Err(malformed(text, detail));
            }
            lower
        }
        None => vec![1; dims.len()],
    };
    let lbounds = &lbounds[..dims.len()];
    make_array(&ElemType::new(&facts), &reader.values, &dims, lbounds).map(Datum::bytes)
}

/// Appends an array.
pub(super) fn array_out(bytes: &[u8], cx: &IoCtx, out: &mut Vec<u8>) -> Result<()> {
    let array = ArrayRef::parse(bytes)?;
    if array.is_empty() {
        out.extend_from_slice(b"{}");
        return Ok(());
    }
    let facts = info(array.elem_type, cx)?;
    let elem = ElemType::new(&facts);
    if array.lbounds.iter().any(|l| *l != 1) {
        for (lower, len) in array.lbounds.iter().zip(&array.dims) {
            out.extend_from_slice(format!("[{lower}:{}]", lower + len - 1).as_bytes());
        }
        out.push(b'=');
    }
    let mut text = Vec::new();
    let sizes: Vec<usize> = array.dims.iter().map(|d| *d as usize).collect();
    for (i, value) in array.iter(&elem).enumerate() {
        let value = value?;
        if i > 0 {
            out.push(facts.delim);
        }
        // A brace opens for each dimension that starts here.
        let mut unit = 1;
        let mut opens = 0;
        for size in sizes.iter().rev() {
            unit *= size;
            opens += (i % unit == 0) as usize;
        }
        out.extend(std::iter::repeat_n(b'{', opens));
        if value.is_null() {
            out.extend_from_slice(b"NULL");
        } else {
            text.clear();
            output(array.elem_type, &value, cx, &mut text)?;
            put_element(&text, facts.delim, out);
        }
        let mut unit = 1;
        for size in sizes.iter().rev() {
            unit *= size;
            if (i + 1) % unit == 0 {
                out.push(b'}');
            }
        }
    }
    Ok(())
}

fn put_element(text: &[u8], delim: u8, out: &mut Vec<u8>) {
    let special = |b: &u8| matches!(b, b'"' | b'\\' | b'{' | b'}') || *b == delim || is_space(*b);
    let quote = text.is_empty() || text.eq_ignore_ascii_case(b"null") || text.iter().any(special);
    if !quote {
        return out.extend_from_slice(text);
    }
    out.push(b'"');
    for b in text {
        if matches!(b, b'"' | b'\\') {
            out.push(b'\\');
        }
        out.push(*b);
    }
    out.push(b'"');
}

#[cold]
fn malformed_record(text: &str, detail: &str) -> Error {
    err!(INVALID_TEXT_REPRESENTATION, "malformed record literal: \"{text}\"").detail(detail)
}

/// Reads a row of a composite type.
pub(super) fn record_in(type_oid: Oid, text: &str, typmod: i32, cx: &IoCtx) -> Result<Datum> {
    let Some(desc) = cx.lookup.row_desc(type_oid, typmod) else {
        bail!(FEATURE_NOT_SUPPORTED, "input of anonymous composite types is not implemented");
    };
    let body = text.trim_start_matches(|c: char| c.is_ascii() && is_space(c as u8));
    let Some(mut rest) = body.strip_prefix('(') else {
        return Err(malformed_record(text, "Missing left parenthesis."));
    };
    let mut columns = Vec::with_capacity(desc.attrs.len());
    let mut first = true;
    for attr in &desc.attrs {
        if attr.dropped {
            columns.push(RecordColumn { type_oid: attr.type_oid, value: Datum::Null });
            continue;
        }
        if !std::mem::take(&mut first) {
            rest =
                rest.strip_prefix(',').ok_or_else(|| malformed_record(text, "Too few columns."))?;
        }
        let (field, after) =
            record_field(rest).ok_or_else(|| malformed_record(text, "Unexpected end of input."))?;
        rest = after;
        let value = match field {
            None => null(attr.type_oid, cx)?,
            Some(field) => input(attr.type_oid, &field, attr.typmod, cx)?,
        };
        columns.push(RecordColumn { type_oid: attr.type_oid, value });
    }
    let Some(rest) = rest.strip_prefix(')') else {
        return Err(malformed_record(text, "Too many columns."));
    };
    if !rest.bytes().all(is_space) {
        return Err(malformed_record(text, "Junk after right parenthesis."));
    }
    Ok(Record { type_oid, typmod, columns }.encode())
}

/// A field up to the comma or parenthesis after it; None inside means NULL.
fn record_field(text: &str) -> Option<(Option<String>, &str)> {
    if text.starts_with([',', ')']) {
        return Some((None, text));
    }
    let mut out = String::new();
    let mut quoted = false;
    let mut chars = text.char_indices().peekable();
    while let Some((i, c)) = chars.next() {
        match c {
            '\\' => out.push(chars.next()?.1),
            '"' if quoted && chars.peek().is_some_and(|(_, n)| *n == '"') => {
                chars.next();
                out.push('"');
            }
            '"' => quoted = !quoted,
            ',' | ')' if !quoted => return Some((Some(out), &text[i..])),
            c => out.push(c),
        }
    }
    None
}

/// Appends a row.
pub(super) fn record_out(bytes: &[u8], cx: &IoCtx, out: &mut Vec<u8>) -> Result<()> {
    let record = Record::decode(bytes)?;
    let desc = cx.lookup.row_desc(record.type_oid, record.typmod);
    out.push(b'(');
    let mut text = Vec::new();
    let mut first = true;
    for (i, column) in record.columns.iter().enumerate() {
        if desc.as_ref().and_then(|d| d.attrs.get(i)).is_some_and(|a| a.dropped) {
            continue;
        }
        if !std::mem::take(&mut first) {
            out.push(b',');
        }
        if column.value.is_null() {
            continue;
        }
        text.clear();
        output(column.type_oid, &column.value, cx, &mut text)?;
        let special = |b: &u8| matches!(b, b'"' | b'\\' | b'(' | b')' | b',') || is_space(*b);
        if !text.is_empty() && !text.iter().any(special) {
            out.extend_from_slice(&text);
            continue;
        }
        out.push(b'"');
        for b in &text {
            if matches!(b, b'"' | b'\\') {
                out.push(*b);
            }
            out.push(*b);
        }
        out.push(b'"');
    }
    // Columns that the type has got since are null.
    if let Some(d) = desc.as_ref().filter(|d| d.attrs.len() > record.columns.len()) {
        for _ in d.attrs.iter().skip(record.columns.len()).filter(|a| !a.dropped) {
            if !std::mem::take(&mut first) {
                out.push(b',');
            }
        }
    }
    out.push(b')');
    Ok(())
}

#[cold]
fn malformed_range(text: &str, detail: &str) -> Error {
    err!(INVALID_TEXT_REPRESENTATION, "malformed range literal: \"{text}\"").detail(detail)
}

/// Reads a range; `finish` compares the bounds and brings them to the canonical form.
pub(super) fn range_in(info: &TypeInfo, text: &str, cx: &IoCtx) -> Result<Range> {
    let body = text.trim_matches(|c: char| c.is_ascii() && is_space(c as u8));
    if body.get(..5).is_some_and(|word| word.eq_ignore_ascii_case("empty")) {
        if body.len() > 5 {
            return Err(malformed_range(text, "Junk after \"empty\" key word."));
        }
        return Ok(Range::empty(info.oid));
    }
    let mut flags = match body.as_bytes().first() {
        Some(b'[') => range::LB_INC,
        Some(b'(') => 0,
        _ => return Err(malformed_range(text, "Missing left parenthesis or bracket.")),
    };
    let (lower, rest) =
        range_bound(&body[1..]).ok_or_else(|| malformed_range(text, "Unexpected end of input."))?;
    let rest = rest
        .strip_prefix(',')
        .ok_or_else(|| malformed_range(text, "Missing comma after lower bound."))?;
    let (upper, rest) =
        range_bound(rest).ok_or_else(|| malformed_range(text, "Unexpected end of input."))?;
    match rest.as_bytes().first() {
        Some(b']') => flags |= range::UB_INC,
        Some(b')') => {}
        _ => return Err(malformed_range(text, "Too many commas.")),
    }
    if rest.len() > 1 {
        return Err(malformed_range(text, "Junk after right parenthesis or bracket."));
    }
    let mut bound = |text: Option<String>, infinite: u8, inclusive: u8| match text {
        Some(text) => input(info.base, &text, -1, cx),
        None => {
            flags = (flags | infinite) & !inclusive;
            Ok(Datum::Null)
        }
    };
    let lower = bound(lower, range::LB_INF, range::LB_INC)?;
    let upper = bound(upper, range::UB_INF, range::UB_INC)?;
    Ok(Range { type_oid: info.oid, flags, lower, upper })
}

fn range_bound(text: &str) -> Option<(Option<String>, &str)> {
    if text.starts_with([',', ')', ']']) {
        return Some((None, text));
    }
    let mut out = String::new();
    let mut quoted = false;
    let mut chars = text.char_indices().peekable();
    while let Some((i, c)) = chars.next() {
        match c {
            '\\' => out.push(chars.next()?.1),
            '"' if quoted && chars.peek().is_some_and(|(_, n)| *n == '"') => {
                chars.next();
                out.push('"');
            }
            '"' => quoted = !quoted,
            ',' | ')' | ']' if !quoted => return Some((Some(out), &text[i..])),
            c => out.push(c),
        }
    }
    None
}

/// Appends a range.
pub(super) fn range_out(bytes: &[u8], cx: &IoCtx, out: &mut Vec<u8>) -> Result<()> {
    let range_type = info(range::stored_type(bytes), cx)?;
    let sub = info(range_type.base, cx)?;
    write_range(&Range::decode(bytes, sub.phys)?, range_type.base, cx, out)
}

fn write_range(range: &Range, subtype: Oid, cx: &IoCtx, out: &mut Vec<u8>) -> Result<()> {
    if range.is_empty() {
        out.extend_from_slice(b"empty");
        return Ok(());
    }
    out.push(if range.lower_inclusive() { b'[' } else { b'(' });
    put_bound(&range.lower, subtype, cx, out)?;
    out.push(b',');
    put_bound(&range.upper, subtype, cx, out)?;
    out.push(if range.upper_inclusive() { b']' } else { b')' });
    Ok(())
}

fn put_bound(value: &Datum, subtype: Oid, cx: &IoCtx, out: &mut Vec<u8>) -> Result<()> {
    if value.is_null() {
        return Ok(());
    }
    let mut text = Vec::new();
    output(subtype, value, cx, &mut text)?;
    let special =
        |b: &u8| matches!(b, b'"' | b'\\' | b'(' | b')' | b'[' | b']' | b',') || is_space(*b);
    if !text.is_empty() && !text.iter().any(special) {
        out.extend_from_slice(&text);
        return Ok(());
    }
    out.push(b'"');
    for b in &text {
        if matches!(b, b'"' | b'\\') {
            out.push(*b);
        }
        out.push(*b);
    }
    out.push(b'"');
    Ok(())
}

/// Appends a multirange.
pub(super) fn multirange_out(bytes: &[u8], cx: &IoCtx, out: &mut Vec<u8>) -> Result<()> {
    let multi = info(range::stored_type(bytes), cx)?;
    let range_type = info(multi.base, cx)?;
    let sub = info(range_type.base, cx)?;
    out.push(b'{');
    for (i, range) in range::decode_multirange(bytes, sub.phys)?.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        write_range(range, range_type.base, cx, out)?;
    }
    out.push(b'}');
    Ok(())
}

/// Reads the ranges of a multirange, in the order given.
pub(super) fn multirange_in(range_type: &TypeInfo, text: &str, cx: &IoCtx) -> Result<Vec<Range>> {
    let bad = |detail: &str| {
        err!(INVALID_TEXT_REPRESENTATION, "malformed multirange literal: \"{text}\"").detail(detail)
    };
    let body = text.trim_matches(|c: char| c.is_ascii() && is_space(c as u8));
    let Some(inner) = body.strip_prefix('{') else {
        return Err(bad("Missing left brace."));
    };
    let mut ranges = Vec::new();
    let mut rest = inner.trim_start();
    if let Some(after) = rest.strip_prefix('}') {
        return if after.is_empty() {
            Ok(ranges)
        } else {
            Err(bad("Junk after closing right brace."))
        };
    }
    loop {
        rest = rest.trim_start();
        let end = range_end(rest).ok_or_else(|| bad("Expected range start."))?;
        let closed = end.ok_or_else(|| bad("Unexpected end of input."))?;
        base::interrupt::step()?;
        ranges.push(range_in(range_type, &rest[..closed], cx)?);
        rest = rest[closed..].trim_start();
        match rest.as_bytes().first() {
            Some(b',') => rest = &rest[1..],
            Some(b'}') if rest.len() == 1 => return Ok(ranges),
            Some(b'}') => return Err(bad("Junk after closing right brace.")),
            Some(_) => return Err(bad("Expected comma or end of multirange.")),
            None => return Err(bad("Unexpected end of input.")),
        }
    }
}

/// Where the range at the start of a text ends, if it does; None if there is none.
fn range_end(text: &str) -> Option<Option<usize>> {
    if text.get(..5).is_some_and(|w| w.eq_ignore_ascii_case("empty")) {
        return Some(Some(5));
    }
    if !text.starts_with(['(', '[']) {
        return None;
    }
    let mut quoted = false;
    let mut escaped = false;
    for (i, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => quoted = !quoted,
            ')' | ']' if !quoted => return Some(Some(i + 1)),
            _ => {}
        }
    }
    Some(None)
}
