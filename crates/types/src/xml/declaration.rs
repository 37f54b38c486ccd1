//! `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>`

use super::{is_name_char, is_space};

/// An XML declaration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Declaration {
    /// How long it is, in bytes; 0 if there is none.
    pub len: usize,
    /// `version`
    pub version: Option<String>,
    /// `encoding`
    pub encoding: Option<String>,
    /// `standalone`
    pub standalone: Option<bool>,
}

fn skip(rest: &str) -> &str {
    rest.trim_start_matches(is_space)
}

/// `name = "value"`: the value, and what is after it.
fn attribute<'a>(rest: &'a str, name: &str) -> Option<(&'a str, &'a str)> {
    let rest = skip(skip(rest.strip_prefix(name)?).strip_prefix('=')?);
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    rest[1..].split_once(quote)
}

/// Reads the declaration at the beginning of a text; the error is what is wrong with it.
pub fn parse_declaration(text: &str) -> Result<Declaration, &'static str> {
    let mut out = Declaration::default();
    let Some(rest) = text.strip_prefix("<?xml") else { return Ok(out) };
    // A processing instruction whose name only begins so.
    if rest.chars().next().is_some_and(is_name_char) {
        return Ok(out);
    }
    let spaced = |rest: &str| rest.starts_with(is_space);
    if !spaced(rest) {
        return Err("Blank needed here.");
    }
    let mut rest = skip(rest);
    if !rest.starts_with("version") {
        return Err("Malformed declaration: missing version.");
    }
    match attribute(rest, "version") {
        Some((version, after)) => {
            out.version = Some(version.to_string());
            rest = after;
        }
        None => return Err("Malformed declaration: missing version."),
    }
    let mut blank = spaced(rest);
    rest = skip(rest);
    if rest.starts_with("encoding") {
        if !blank {
            return Err("Blank needed here.");
        }
        let Some((encoding, after)) = attribute(rest, "encoding") else {
            return Err("Missing encoding in text declaration.");
        };
        out.encoding = Some(encoding.to_string());
        blank = spaced(after);
        rest = skip(after);
    }
    if rest.starts_with("standalone") {
        if !blank {
            return Err("Blank needed here.");
        }
        out.standalone = match attribute(rest, "standalone") {
            Some(("yes", after)) => {
                rest = after;
                Some(true)
            }
            Some(("no", after)) => {
                rest = after;
                Some(false)
            }
            _ => return Err("standalone accepts only 'yes' or 'no'."),
        };
    }
    let Some(after) = skip(rest).strip_prefix("?>") else {
        return Err("Parsing XML declaration: '?>' expected.");
    };
    out.len = text.len() - after.len();
    Ok(out)
}

/// Whether a text has a document type declaration before anything but comments and instructions.
pub fn has_doctype(text: &str) -> bool {
    let mut rest = skip(text);
    loop {
        rest = if rest.starts_with("<!DOCTYPE") {
            return true;
        } else if let Some(comment) = rest.strip_prefix("<!--") {
            match comment.split_once("--") {
                Some((_, after)) if after.starts_with('>') => skip(&after[1..]),
                _ => return false,
            }
        } else if let Some(instruction) = rest.strip_prefix("<?") {
            match instruction.split_once("?>") {
                Some((_, after)) => skip(after),
                None => return false,
            }
        } else {
            return false;
        };
    }
}

impl Declaration {
    /// The declaration as values are printed: none if it says nothing that is not usual.
    pub fn shown(&self, encoding: Option<&str>) -> Option<String> {
        let version = self.version.as_deref().unwrap_or("1.0");
        if version == "1.0" && encoding.is_none() && self.standalone.is_none() {
            return None;
        }
        let mut out = format!("<?xml version=\"{version}\"");
        if let Some(encoding) = encoding {
            out.push_str(&format!(" encoding=\"{encoding}\""));
        }
        match self.standalone {
            Some(true) => out.push_str(" standalone=\"yes\""),
            Some(false) => out.push_str(" standalone=\"no\""),
            None => {}
        }
        out.push_str("?>");
        Some(out)
    }
}
