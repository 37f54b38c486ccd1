//! Which type reads and writes how.

use super::IoCtx;
use super::bytes::{bool_in, bpchar, bytea_in, bytea_out, char_in, char_out, name, varchar};
use super::number::{parse_i16, parse_i32, parse_i64, parse_oid, put_int};
use crate::datum::Datum;
use crate::oid;
use base::{Error, Oid, Result, err};

/// Reads a value from its text form.
pub fn input(type_oid: Oid, text: &str, typmod: i32, cx: &IoCtx) -> Result<Datum> {
    Ok(match type_oid {
        oid::BOOL => Datum::Bool(bool_in(text)?),
        oid::CHAR => Datum::Char(char_in(text)),
        oid::INT2 => Datum::I16(parse_i16(text)?),
        oid::INT4 => Datum::I32(parse_i32(text)?),
        oid::INT8 => Datum::I64(parse_i64(text)?),
        oid::OID | oid::XID | oid::CID => Datum::U32(parse_oid(text)?),
        oid::NAME => Datum::text(name(text)),
        oid::TEXT | oid::UNKNOWN | oid::CSTRING => Datum::text(text),
        oid::VARCHAR if typmod >= 4 => Datum::text(varchar(text, typmod as usize - 4, false)?),
        oid::VARCHAR => Datum::text(text),
        oid::BPCHAR if typmod >= 4 => Datum::string(bpchar(text, typmod as usize - 4, false)?),
        oid::BPCHAR => Datum::text(text),
        oid::BYTEA => Datum::bytes(bytea_in(text)?),
        _ => {
            let _ = cx.format;
            return Err(Error::unsupported(format!("text input of type {type_oid}")));
        }
    })
}

/// Appends a value's text form. NULL appends nothing.
pub fn output(type_oid: Oid, value: &Datum, cx: &IoCtx, out: &mut Vec<u8>) -> Result<()> {
    match (type_oid, value) {
        (_, Datum::Null) => {}
        (_, Datum::Bool(b)) => out.push(if *b { b't' } else { b'f' }),
        (_, Datum::Char(c)) => char_out(*c, out),
        (_, Datum::I16(n)) => put_int(out, *n),
        (oid::INT4, Datum::I32(n)) => put_int(out, *n),
        (oid::INT8, Datum::I64(n)) => put_int(out, *n),
        (oid::OID | oid::XID | oid::CID, Datum::U32(n)) => put_int(out, *n),
        (oid::BYTEA, Datum::Bytes(b)) => bytea_out(b, cx.format.bytea_output, out),
        (
            oid::TEXT | oid::VARCHAR | oid::BPCHAR | oid::NAME | oid::UNKNOWN | oid::CSTRING,
            Datum::Bytes(b),
        ) => out.extend_from_slice(b),
        _ => return Err(Error::unsupported(format!("text output of type {type_oid}"))),
    }
    Ok(())
}

/// Reads a value from its binary form.
pub fn receive(type_oid: Oid, bytes: &[u8], typmod: i32, cx: &IoCtx) -> Result<Datum> {
    fn int<const N: usize>(bytes: &[u8]) -> Result<[u8; N]> {
        bytes.try_into().map_err(|_| {
            err!(INVALID_BINARY_REPRESENTATION, "incorrect binary data format in bind parameter")
        })
    }
    Ok(match type_oid {
        oid::BOOL => Datum::Bool(int::<1>(bytes)?[0] != 0),
        oid::CHAR => Datum::Char(int::<1>(bytes)?[0]),
        oid::INT2 => Datum::I16(i16::from_be_bytes(int(bytes)?)),
        oid::INT4 => Datum::I32(i32::from_be_bytes(int(bytes)?)),
        oid::INT8 => Datum::I64(i64::from_be_bytes(int(bytes)?)),
        oid::OID | oid::XID | oid::CID => Datum::U32(u32::from_be_bytes(int(bytes)?)),
        oid::BYTEA => Datum::bytes(bytes.to_vec()),
        _ => {
            let text = std::str::from_utf8(bytes).map_err(|_| {
                err!(CHARACTER_NOT_IN_REPERTOIRE, "invalid byte sequence for encoding \"UTF8\"")
            })?;
            input(type_oid, text, typmod, cx)?
        }
    })
}

/// Appends a value's binary form.
pub fn send(type_oid: Oid, value: &Datum, cx: &IoCtx, out: &mut Vec<u8>) -> Result<()> {
    match (type_oid, value) {
        (_, Datum::Null) => {}
        (_, Datum::Bool(b)) => out.push(*b as u8),
        (_, Datum::Char(c)) => out.push(*c),
        (_, Datum::I16(n)) => out.extend_from_slice(&n.to_be_bytes()),
        (_, Datum::I32(n)) => out.extend_from_slice(&n.to_be_bytes()),
        (_, Datum::I64(n)) => out.extend_from_slice(&n.to_be_bytes()),
        (_, Datum::U32(n)) => out.extend_from_slice(&n.to_be_bytes()),
        (_, Datum::F32(x)) => out.extend_from_slice(&x.to_be_bytes()),
        (_, Datum::F64(x)) => out.extend_from_slice(&x.to_be_bytes()),
        (oid::BYTEA, Datum::Bytes(b)) => out.extend_from_slice(b),
        _ => output(type_oid, value, cx, out)?,
    }
    Ok(())
}

/// The modifier that a type's parenthesised arguments make.
pub fn typmod_in(type_oid: Oid, args: &[&str]) -> Result<i32> {
    let _ = args;
    Err(Error::unsupported(format!("modifiers of type {type_oid}")))
}

/// A modifier as text, with its parentheses; empty for -1.
pub fn typmod_out(type_oid: Oid, typmod: i32) -> String {
    let _ = (type_oid, typmod);
    String::new()
}
