//! Values of options in `name = value` lists, read as what the option wants.

use base::{Error, Result, bail, err};
use parser::ast::{DefElem, DefValue};

/// Two options that say the same thing, or opposite ones.
pub fn conflicting(option: &DefElem) -> Error {
    err!(SYNTAX_ERROR, "conflicting or redundant options").at(option.pos)
}

/// Keeps an option unless there was one before.
pub fn once<'a>(slot: &mut Option<&'a DefElem>, option: &'a DefElem) -> Result<()> {
    if slot.is_some() {
        return Err(conflicting(option));
    }
    *slot = Some(option);
    Ok(())
}

/// An option's value as a whole number.
pub fn integer(option: &DefElem) -> Result<i32> {
    let wrong = || err!(SYNTAX_ERROR, "{} requires an integer value", option.name);
    match &option.value {
        Some(DefValue::Integer(n)) => Ok(*n),
        _ => Err(wrong()),
    }
}

/// An option's value as an OID: a whole number that may not fit an `integer`.
pub fn oid(option: &DefElem) -> Result<base::Oid> {
    let text = match &option.value {
        Some(DefValue::Integer(n)) => return Ok(base::Oid(*n as u32)),
        Some(DefValue::Float(text) | DefValue::String(text)) => text,
        _ => return Err(err!(SYNTAX_ERROR, "{} requires a numeric value", option.name)),
    };
    let read = text.parse::<u32>().map(base::Oid);
    read.map_err(|_| {
        err!(INVALID_TEXT_REPRESENTATION, "invalid input syntax for type {}: \"{text}\"", "oid")
    })
}

/// An option's value as a string.
pub fn text_of(option: &DefElem) -> Result<String> {
    Ok(match &option.value {
        Some(DefValue::String(s)) => s.clone(),
        Some(DefValue::Integer(n)) => n.to_string(),
        Some(DefValue::Float(n)) => n.clone(),
        Some(DefValue::Bool(b)) => b.to_string(),
        Some(DefValue::Type(t)) if t.names.len() == 1 => t.names[0].clone(),
        Some(DefValue::Names(n)) => n.join("."),
        _ => bail!(SYNTAX_ERROR, "{} requires a parameter", option.name),
    })
}

/// An option's value as a truth value; none is true.
pub fn bool_of(option: &DefElem) -> Result<bool> {
    match &option.value {
        None => return Ok(true),
        Some(DefValue::Bool(b)) => return Ok(*b),
        Some(DefValue::Integer(0)) => return Ok(false),
        Some(DefValue::Integer(1)) => return Ok(true),
        Some(DefValue::String(_) | DefValue::Type(_) | DefValue::Names(_)) => {
            let text = text_of(option)?.to_ascii_lowercase();
            match text.as_str() {
                "true" | "on" => return Ok(true),
                "false" | "off" => return Ok(false),
                _ => {}
            }
        }
        _ => {}
    }
    Err(err!(SYNTAX_ERROR, "{} requires a Boolean value", option.name))
}
