//! Which type reads and writes how.

use super::bytes::{bool_in, bpchar, bytea_in, bytea_out, char_in, char_out, name, varchar};
use super::compound::{
    array_in, array_out, multirange_in, multirange_out, range_in, range_out, record_in, record_out,
};
use super::float::{parse_f32, parse_f64, write_f32, write_f64};
use super::number::{
    is_space, parse_i16, parse_i32, parse_i64, parse_oid, parse_unsigned, put_int, unsigned_prefix,
};
use super::{IoCtx, times};
use crate::acl::AclItem;
use crate::array::{ElemType, make_array};
use crate::datetime::{Interval, decode_interval, write_date, write_interval, write_time};
use crate::datum::Datum;
use crate::net::{Inet, mac_text, parse_inet, parse_mac};
use crate::numeric::{self, Numeric};
use crate::{bits, compare, ext_stats, json, oid, range};
use base::{Error, Oid, Result, Severity, SqlState, bail, err};

#[cold]
pub(super) fn syntax(name: &str, text: &str) -> Error {
    err!(INVALID_TEXT_REPRESENTATION, "invalid input syntax for type {name}: \"{text}\"")
}

/// Reads a value of the most usual types, without modifier: they need no session around them.
#[inline]
pub fn input_plain(type_oid: Oid, text: &str) -> Option<Result<Datum>> {
    Some(match type_oid {
        oid::INT4 => parse_i32(text).map(Datum::I32),
        oid::INT8 => parse_i64(text).map(Datum::I64),
        oid::TEXT | oid::VARCHAR => Ok(Datum::text(text)),
        _ => return None,
    })
}

/// Reads a value from its text form.
pub fn input(type_oid: Oid, text: &str, typmod: i32, cx: &IoCtx) -> Result<Datum> {
    if typmod < 0
        && let Some(value) = input_plain(type_oid, text)
    {
        return value;
    }
    Ok(match type_oid {
        oid::BOOL => Datum::Bool(bool_in(text)?),
        oid::CHAR => Datum::Char(char_in(text)),
        oid::INT2 => Datum::I16(parse_i16(text)?),
        oid::INT4 => Datum::I32(parse_i32(text)?),
        oid::INT8 => Datum::I64(parse_i64(text)?),
        oid::OID => Datum::U32(parse_oid(text)?),
        oid::FLOAT4 => Datum::F32(parse_f32(text)?),
        oid::FLOAT8 => Datum::F64(parse_f64(text)?),
        oid::NUMERIC => {
            let number = numeric::apply_typmod(numeric::parse(text)?, typmod)?;
            Datum::Bytes(number.encode()?)
        }
        oid::NAME => Datum::text(name(text)),
        oid::TEXT | oid::UNKNOWN | oid::CSTRING | oid::PG_NODE_TREE | oid::REFCURSOR => {
            Datum::text(text)
        }
        oid::VARCHAR if typmod >= 4 => Datum::text(varchar(text, typmod as usize - 4, false)?),
        oid::VARCHAR => Datum::text(text),
        oid::BPCHAR if typmod >= 4 => Datum::string(bpchar(text, typmod as usize - 4, false)?),
        oid::BPCHAR => Datum::text(text),
        oid::BYTEA => Datum::bytes(bytea_in(text)?),
        oid::DATE => Datum::I32(times::date_in(text, cx)?),
        oid::TIME => Datum::I64(times::time_in(text, typmod, cx)?),
        oid::TIMETZ => Datum::bytes(times::timetz_in(text, typmod, cx)?),
        oid::TIMESTAMP => Datum::I64(times::timestamp_in(text, typmod, cx)?),
        oid::TIMESTAMPTZ => Datum::I64(times::timestamptz_in(text, typmod, cx)?),
        oid::INTERVAL => {
            let value = decode_interval(text, typmod, cx.format.interval_style)?;
            Datum::bytes(value.encode().to_vec())
        }
        oid::UUID => Datum::bytes(uuid_in(text)?),
        oid::PG_SNAPSHOT | oid::TXID_SNAPSHOT => {
            Datum::bytes(crate::snapshot::SnapshotValue::parse(text)?.encode())
        }
        oid::JSON => {
            json::validate(text)?;
            Datum::text(text)
        }
        oid::JSONB => Datum::bytes(json::encode(&json::parse(text)?)),
        _ => return input_rare(type_oid, text, typmod, cx),
    })
}

fn input_rare(type_oid: Oid, text: &str, typmod: i32, cx: &IoCtx) -> Result<Datum> {
    Ok(match type_oid {
        oid::XID => Datum::U32(parse_unsigned(text, "xid", 32)? as u32),
        oid::CID => Datum::U32(parse_unsigned(text, "cid", 32)? as u32),
        oid::XID8 => Datum::I64(parse_unsigned(text, "xid8", 64)? as i64),
        reg if oid::is_reg(reg) => Datum::U32(reg_in(type_oid, text, cx)?.0),
        oid::TID => Datum::bytes(tid_in(text)?),
        oid::PG_LSN => Datum::I64(lsn_in(text)?),
        oid::MONEY => Datum::I64(super::money::money_in(text)?),
        oid::BIT => Datum::bytes(bits::parse_bits(text, typmod, false)?),
        oid::VARBIT => Datum::bytes(bits::parse_bits(text, typmod, true)?),
        oid::INET => Datum::bytes(parse_inet(text, false)?.encode()),
        oid::CIDR => Datum::bytes(parse_inet(text, true)?.encode()),
        oid::MACADDR => Datum::bytes(parse_mac(text, 6)?),
        oid::MACADDR8 => Datum::bytes(parse_mac(text, 8)?),
        oid::OIDVECTOR => vector_in(oid::OID, text)?,
        oid::INT2VECTOR => vector_in(oid::INT2, text)?,
        oid::ACLITEM => Datum::bytes(AclItem::parse(text, cx.lookup)?.encode().to_vec()),
        oid::XML => {
            crate::xml::value::read(text, cx.format.xml_document)?;
            Datum::text(text)
        }
        oid::RECORD => record_in(type_oid, text, typmod, cx)?,
        oid::VOID => Datum::text(""),
        _ => match super::special::input(type_oid, text)? {
            Some(value) => value,
            None => return input_by_kind(type_oid, text, typmod, cx),
        },
    })
}

/// Reads a value of a type that is known by what it is made of.
fn input_by_kind(type_oid: Oid, text: &str, typmod: i32, cx: &IoCtx) -> Result<Datum> {
    let info = cx
        .lookup
        .type_info(type_oid)
        .ok_or_else(|| err!(UNDEFINED_OBJECT, "type with OID {type_oid} does not exist"))?;
    match info.typtype {
        b'e' => match cx.lookup.enum_value(type_oid, text) {
            Some(value) => {
                cx.lookup.check_enum_use(value)?;
                Ok(Datum::U32(value.0))
            }
            None => Err(err!(
                INVALID_TEXT_REPRESENTATION,
                "invalid input value for enum {}: \"{text}\"",
                info.name
            )),
        },
        b'd' => {
            let value = input(info.base, text, info.base_typmod, cx)?;
            cx.lookup.check_domain(type_oid, &value)?;
            Ok(value)
        }
        b'c' => record_in(type_oid, text, typmod, cx),
        b'r' => {
            let range = range_in(&info, text, cx)?;
            Ok(Datum::bytes(compare::canonical(range, info.base, cx.lookup)?.encode()))
        }
        b'm' => {
            let range_type = cx
                .lookup
                .type_info(info.base)
                .ok_or_else(|| err!(UNDEFINED_OBJECT, "range type does not exist"))?;
            let ranges = multirange_in(&range_type, text, cx)?
                .into_iter()
                .map(|r| compare::canonical(r, range_type.base, cx.lookup))
                .collect::<Result<Vec<_>>>()?;
            let ranges = compare::normalize(ranges, range_type.base, cx.lookup)?;
            Ok(Datum::bytes(range::encode_multirange(type_oid, &ranges)))
        }
        b'p' => Err(not_accepted(&info.name)),
        _ if info.elem.is_valid() => array_in(info.elem, text, typmod, cx),
        b'b' if info.base.is_valid() => input(info.base, text, typmod, cx),
        _ => Err(Error::unsupported(format!("text input of type {}", info.name))),
    }
}

/// NULL as a value of the type, which a domain may refuse.
pub fn null(type_oid: Oid, cx: &IoCtx) -> Result<Datum> {
    // No type among the hand-made rows of the catalogs is a domain.
    let made = type_oid.0 >= 10_000;
    if made && cx.lookup.type_info(type_oid).is_some_and(|t| t.typtype == b'd') {
        cx.lookup.check_domain(type_oid, &Datum::Null)?;
    }
    Ok(Datum::Null)
}

/// Appends a value's text form. NULL appends nothing.
pub fn output(type_oid: Oid, value: &Datum, cx: &IoCtx, out: &mut Vec<u8>) -> Result<()> {
    match value {
        Datum::Null => {}
        Datum::Bool(b) => out.push(if *b { b't' } else { b'f' }),
        Datum::Char(c) => char_out(*c, out),
        Datum::I16(n) => put_int(out, *n),
        Datum::I32(n) => match type_oid {
            oid::INT4 => put_int(out, *n),
            oid::DATE => write_date(*n, cx.format, out),
            _ => return output_base(type_oid, value, cx, out),
        },
        Datum::I64(n) => match type_oid {
            oid::INT8 => put_int(out, *n),
            oid::TIMESTAMP => crate::datetime::write_timestamp(*n, None, cx.format, out),
            oid::TIMESTAMPTZ => crate::datetime::write_timestamptz(*n, cx.format, out),
            oid::TIME => write_time(*n, out),
            oid::XID8 => put_int(out, *n as u64),
            oid::PG_LSN => out.extend_from_slice(base::Lsn(*n as u64).to_string().as_bytes()),
            oid::MONEY => super::money::money_out(*n, out),
            _ => return output_base(type_oid, value, cx, out),
        },
        Datum::U32(n) => match type_oid {
            oid::OID | oid::XID | oid::CID => put_int(out, *n),
            _ => return output_u32(type_oid, *n, cx, out),
        },
        Datum::F32(x) => write_f32(*x, cx.format.extra_float_digits, out),
        Datum::F64(x) => write_f64(*x, cx.format.extra_float_digits, out),
        Datum::Bytes(b) => return output_bytes(type_oid, b, cx, out),
    }
    Ok(())
}

/// Writes a domain's value as its base type's.
fn output_base(type_oid: Oid, value: &Datum, cx: &IoCtx, out: &mut Vec<u8>) -> Result<()> {
    match cx.lookup.type_info(type_oid) {
        Some(info) if info.typtype == b'd' || info.has_like() => output(info.base, value, cx, out),
        Some(info) if info.typtype == b'p' => Err(not_shown(&info.name)),
        _ => Err(Error::unsupported(format!("text output of type {type_oid}"))),
    }
}

fn output_u32(type_oid: Oid, n: u32, cx: &IoCtx, out: &mut Vec<u8>) -> Result<()> {
    match type_oid {
        reg if oid::is_reg(reg) => {
            match cx.lookup.reg_out(type_oid, Oid(n)) {
                _ if n == 0 && matches!(type_oid, oid::REGOPER | oid::REGOPERATOR) => {
                    out.push(b'0')
                }
                _ if n == 0 => out.push(b'-'),
                Some(name) => out.extend_from_slice(name.as_bytes()),
                None => put_int(out, n),
            }
            Ok(())
        }
        _ => {
            let info = cx.lookup.type_info(type_oid);
            match info {
                Some(info) if info.typtype == b'd' || info.has_like() => {
                    output(info.base, &Datum::U32(n), cx, out)
                }
                _ => match cx.lookup.enum_label(Oid(n)) {
                    Some(label) => {
                        out.extend_from_slice(label.as_bytes());
                        Ok(())
                    }
                    None => Err(err!(
                        INVALID_BINARY_REPRESENTATION,
                        "invalid internal value for enum: {n}"
                    )),
                },
            }
        }
    }
}

fn output_bytes(type_oid: Oid, b: &[u8], cx: &IoCtx, out: &mut Vec<u8>) -> Result<()> {
    match type_oid {
        oid::TEXT
        | oid::VARCHAR
        | oid::BPCHAR
        | oid::NAME
        | oid::JSON
        | oid::UNKNOWN
        | oid::CSTRING
        | oid::PG_NODE_TREE
        | oid::REFCURSOR => {
            out.extend_from_slice(b);
        }
        oid::XML => match std::str::from_utf8(b) {
            Ok(text) => out.extend_from_slice(crate::xml::value::output(text).as_bytes()),
            Err(_) => out.extend_from_slice(b),
        },
        oid::NUMERIC => Numeric::decode(b).write(out),
        oid::BYTEA | oid::PG_MCV_LIST => bytea_out(b, cx.format.bytea_output, out),
        oid::PG_NDISTINCT => out.extend_from_slice(ext_stats::ndistinct_text(b)?.as_bytes()),
        oid::PG_DEPENDENCIES => {
            out.extend_from_slice(ext_stats::dependencies_text(b)?.as_bytes());
        }
        oid::INTERVAL => write_interval(&Interval::decode(b), cx.format.interval_style, out),
        oid::TIMETZ => times::timetz_out(b, out),
        oid::UUID => uuid_out(b, out),
        oid::PG_SNAPSHOT | oid::TXID_SNAPSHOT => {
            let shown = crate::snapshot::SnapshotValue::decode(b).map(|s| s.text());
            out.extend_from_slice(shown.unwrap_or_default().as_bytes());
        }
        oid::JSONB => json::write(&json::decode(b), out),
        oid::TID => tid_out(b, out),
        oid::BIT | oid::VARBIT => bits::write_bits(b, out),
        oid::INET => out.extend_from_slice(Inet::decode(b).text(false).as_bytes()),
        oid::CIDR => out.extend_from_slice(Inet::decode(b).text(true).as_bytes()),
        oid::MACADDR | oid::MACADDR8 => out.extend_from_slice(mac_text(b).as_bytes()),
        oid::OIDVECTOR | oid::INT2VECTOR => vector_out(b, out)?,
        oid::ACLITEM => out.extend_from_slice(AclItem::decode(b).text(cx.lookup).as_bytes()),
        oid::RECORD => record_out(b, cx, out)?,
        oid::VOID => {}
        _ => match super::special::output(type_oid, b, cx) {
            Some(text) => out.extend_from_slice(text.as_bytes()),
            None => return output_by_kind(type_oid, b, cx, out),
        },
    }
    Ok(())
}

fn output_by_kind(type_oid: Oid, b: &[u8], cx: &IoCtx, out: &mut Vec<u8>) -> Result<()> {
    let info = cx
        .lookup
        .type_info(type_oid)
        .ok_or_else(|| err!(UNDEFINED_OBJECT, "type with OID {type_oid} does not exist"))?;
    match info.typtype {
        b'd' => output_bytes(info.base, b, cx, out),
        b'c' => record_out(b, cx, out),
        b'r' => range_out(b, cx, out),
        b'm' => multirange_out(b, cx, out),
        _ if info.elem.is_valid() || matches!(type_oid, oid::ANYARRAY) => array_out(b, cx, out),
        b'p' => Err(not_shown(&info.name)),
        _ if info.has_like() => output_bytes(info.base, b, cx, out),
        _ => Err(Error::unsupported(format!("text output of type {}", info.name))),
    }
}

#[cold]
fn not_accepted(name: &str) -> Error {
    err!(FEATURE_NOT_SUPPORTED, "cannot accept a value of type {name}")
}

#[cold]
fn not_shown(name: &str) -> Error {
    err!(FEATURE_NOT_SUPPORTED, "cannot display a value of type {name}")
}

fn reg_in(type_oid: Oid, text: &str, cx: &IoCtx) -> Result<Oid> {
    if text == "-" && type_oid != oid::REGOPER && type_oid != oid::REGOPERATOR {
        return Ok(Oid::INVALID);
    }
    if text == "0" || (!text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())) {
        return parse_oid(text).map(Oid);
    }
    cx.lookup.reg_in(type_oid, text)
}

/// Reads `(block,offset)`. What stands before the parenthesis or behind the closing one does not
/// matter, and a number may be left out.
fn tid_in(text: &str) -> Result<Vec<u8>> {
    let parse = || -> Option<(u32, u16)> {
        let inner = &text[text.find(['(', ',', ')'])?..];
        let (block, rest) = inner.strip_prefix('(')?.split_once(',')?;
        let (offset, _) = rest.split_once(')')?;
        let digits = |text: &str| -> Option<(bool, u64)> {
            let text = text.trim_start();
            let body = text.strip_prefix(['-', '+']).unwrap_or(text);
            let plain = body.bytes().all(|b| b.is_ascii_digit());
            let n = if text.is_empty() { Some(0) } else { body.parse().ok() };
            Some((text.starts_with('-'), n.filter(|_| plain)?))
        };
        let (negative, block) = digits(block)?;
        let fits = block <= if negative { 1 << 31 } else { u32::MAX as u64 };
        let block = if negative { (block as u32).wrapping_neg() } else { block as u32 };
        let (negative, offset) = digits(offset)?;
        let offset = u16::try_from(offset).ok().filter(|n| !negative || *n == 0)?;
        fits.then_some((block, offset))
    };
    let (block, offset) = parse().ok_or_else(|| syntax("tid", text))?;
    let mut out = block.to_le_bytes().to_vec();
    out.extend_from_slice(&offset.to_le_bytes());
    Ok(out)
}

fn tid_out(b: &[u8], out: &mut Vec<u8>) {
    if let [a, b, c, d, e, f, ..] = b {
        let block = u32::from_le_bytes([*a, *b, *c, *d]);
        let offset = u16::from_le_bytes([*e, *f]);
        out.extend_from_slice(format!("({block},{offset})").as_bytes());
    }
}

fn lsn_in(text: &str) -> Result<i64> {
    let part = |s: &str| {
        let ok = (1..=8).contains(&s.len()) && s.bytes().all(|b| b.is_ascii_hexdigit());
        ok.then(|| u64::from_str_radix(s, 16).ok()).flatten()
    };
    text.split_once('/')
        .and_then(|(high, low)| Some((part(high)? << 32 | part(low)?) as i64))
        .ok_or_else(|| syntax("pg_lsn", text))
}

fn uuid_in(text: &str) -> Result<Vec<u8>> {
    let body = match text.strip_prefix('{') {
        Some(inner) => inner.strip_suffix('}').ok_or_else(|| syntax("uuid", text))?,
        None => text,
    };
    let mut out = Vec::with_capacity(16);
    let b = body.as_bytes();
    let mut at = 0;
    while out.len() < 16 {
        let pair = b.get(at..at + 2).and_then(|p| std::str::from_utf8(p).ok());
        let byte = pair
            .filter(|p| p.bytes().all(|c| c.is_ascii_hexdigit()))
            .and_then(|p| u8::from_str_radix(p, 16).ok())
            .ok_or_else(|| syntax("uuid", text))?;
        out.push(byte);
        at += 2;
        // A hyphen may follow each group of four digits.
        if out.len() % 2 == 0 && out.len() < 16 && b.get(at) == Some(&b'-') {
            at += 1;
        }
    }
    if at != b.len() {
        return Err(syntax("uuid", text));
    }
    Ok(out)
}

fn uuid_out(b: &[u8], out: &mut Vec<u8>) {
    for (i, byte) in b.iter().enumerate() {
        if matches!(i, 4 | 6 | 8 | 10) {
            out.push(b'-');
        }
        super::bytes::hex_encode(&[*byte], out);
    }
}

fn vector_in(elem: Oid, text: &str) -> Result<Datum> {
    let is_blank = |c: char| c.is_ascii() && is_space(c as u8);
    let mut values = Vec::new();
    let mut rest = text.trim_start_matches(is_blank);
    while !rest.is_empty() {
        // Numbers of the one kind end where their digits end, of the other at a blank. Messages
        // show all that is left.
        let (value, after) = match elem {
            oid::OID => {
                let (value, after) = unsigned_prefix(rest, "oid", 32)?;
                (Datum::U32(value as u32), after)
            }
            _ => {
                let end = rest.find(is_blank).unwrap_or(rest.len());
                let (one, after) = rest.split_at(end);
                let plain = one.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'+' | b'-'));
                let value = parse_i16(one).map_err(|e| e.code()).and_then(|n| match plain {
                    true => Ok(Datum::I16(n)),
                    false => Err(base::SqlState::INVALID_TEXT_REPRESENTATION),
                });
                let value = value.map_err(|code| match code {
                    base::SqlState::NUMERIC_VALUE_OUT_OF_RANGE => err!(
                        NUMERIC_VALUE_OUT_OF_RANGE,
                        "value \"{rest}\" is out of range for type smallint"
                    ),
                    _ => syntax("smallint", rest),
                })?;
                (value, after)
            }
        };
        values.push(value);
        rest = after.trim_start_matches(is_blank);
    }
    make_array(&ElemType::builtin(elem), &values, &[values.len() as i32], &[0]).map(Datum::bytes)
}

fn vector_out(b: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let array = crate::array::ArrayRef::parse(b)?;
    if array.dims.len() != 1 || array.has_nulls() {
        let name = if array.elem_type == oid::OID { "oidvector" } else { "int2vector" };
        return Err(err!(DATATYPE_MISMATCH, "array is not a valid {name}"));
    }
    let elem = ElemType::builtin(array.elem_type);
    for (i, value) in array.iter(&elem).enumerate() {
        if i > 0 {
            out.push(b' ');
        }
        put_int(out, value?.to_i64());
    }
    Ok(())
}

/// The modifier that a type's parenthesised arguments make.
pub fn typmod_in(type_oid: Oid, args: &[&str]) -> Result<(i32, Option<Error>)> {
    let number = |text: &str| -> Result<i32> { parse_i32(text) };
    let one = || -> Result<i32> {
        match args {
            [n] => number(n),
            _ => Err(err!(INVALID_PARAMETER_VALUE, "invalid type modifier")),
        }
    };
    let length = |name: &str, most: i32| -> Result<i32> {
        let n = one()?;
        if n < 1 {
            bail!(INVALID_PARAMETER_VALUE, "length for type {name} must be at least 1");
        }
        if n > most {
            bail!(INVALID_PARAMETER_VALUE, "length for type {name} cannot exceed {most}");
        }
        Ok(n)
    };
    let typmod = match type_oid {
        oid::VARCHAR => Ok(length("varchar", 10_485_760)? + 4),
        oid::BPCHAR => Ok(length("char", 10_485_760)? + 4),
        oid::BIT => length("bit", 83_886_080),
        oid::VARBIT => length("bit varying", 83_886_080),
        oid::NUMERIC => numeric_typmod(args),
        oid::TIME | oid::TIMETZ | oid::TIMESTAMP | oid::TIMESTAMPTZ => {
            return time_precision(type_oid, one()?);
        }
        oid::INTERVAL => {
            let range = args.first().map_or(Ok(0x7fff), |t| number(t))?;
            if args.len() > 2 || !crate::datetime::is_range(range) {
                bail!(INVALID_PARAMETER_VALUE, "invalid INTERVAL type modifier");
            }
            let (precision, warning) = match args.get(1) {
                None => (0xffff, None),
                Some(p) => time_precision(type_oid, number(p)?)?,
            };
            if precision == 0xffff && range == 0x7fff {
                return Ok((-1, None));
            }
            return Ok((range << 16 | precision, warning));
        }
        _ => Err(err!(SYNTAX_ERROR, "type modifier is not allowed for type with OID {type_oid}")),
    };
    typmod.map(|n| (n, None))
}

/// The precision that a type of times has if this one is asked for, with a warning if it is less.
pub fn time_precision(type_oid: Oid, n: i32) -> Result<(i32, Option<Error>)> {
    let name = match type_oid {
        oid::TIME | oid::TIMETZ => "TIME",
        oid::INTERVAL => "INTERVAL",
        _ => "TIMESTAMP",
    };
    let zone = match type_oid {
        oid::TIMETZ | oid::TIMESTAMPTZ => " WITH TIME ZONE",
        _ => "",
    };
    if n < 0 {
        bail!(INVALID_PARAMETER_VALUE, "{name}({n}){zone} precision must not be negative");
    }
    let warning = (n > TIME_PRECISION_MAX).then(|| {
        let text =
            format!("{name}({n}){zone} precision reduced to maximum allowed, {TIME_PRECISION_MAX}");
        Error::with_severity(Severity::Warning, SqlState::INVALID_PARAMETER_VALUE, text)
    });
    Ok((n.min(TIME_PRECISION_MAX), warning))
}

/// Digits after the point that seconds can have.
const TIME_PRECISION_MAX: i32 = 6;

fn numeric_typmod(args: &[&str]) -> Result<i32> {
    let (precision, scale) = match args {
        [p] => (parse_i32(p)?, 0),
        [p, s] => (parse_i32(p)?, parse_i32(s)?),
        _ => bail!(INVALID_PARAMETER_VALUE, "invalid NUMERIC type modifier"),
    };
    if !(1..=1000).contains(&precision) {
        bail!(INVALID_PARAMETER_VALUE, "NUMERIC precision {precision} must be between 1 and 1000");
    }
    if !(-1000..=1000).contains(&scale) {
        bail!(INVALID_PARAMETER_VALUE, "NUMERIC scale {scale} must be between -1000 and 1000");
    }
    Ok(numeric::make_typmod(precision, scale))
}

/// A modifier as text, with its parentheses; empty for -1.
pub fn typmod_out(type_oid: Oid, typmod: i32) -> String {
    if typmod < 0 {
        return String::new();
    }
    match type_oid {
        oid::VARCHAR | oid::BPCHAR if typmod > 4 => format!("({})", typmod - 4),
        oid::VARCHAR | oid::BPCHAR => String::new(),
        oid::BIT | oid::VARBIT => format!("({typmod})"),
        oid::NUMERIC => match numeric::typmod_parts(typmod) {
            Some((p, s)) => format!("({p},{s})"),
            None => String::new(),
        },
        oid::TIME | oid::TIMESTAMP => format!("({typmod}) without time zone"),
        oid::TIMETZ | oid::TIMESTAMPTZ => format!("({typmod}) with time zone"),
        oid::INTERVAL => crate::datetime::interval_typmod_out(typmod),
        _ => format!("({typmod})"),
    }
}
