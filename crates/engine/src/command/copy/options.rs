//! The options of COPY.

use crate::ddl::option::{bool_of, conflicting, text_of};
use base::{Result, bail, err};
use parser::ast::{DefElem, DefValue};
use types::encoding::Encoding;

/// How rows are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CopyFormat {
    /// Fields with delimiters, special characters with backslashes.
    #[default]
    Text,
    /// Comma-separated values.
    Csv,
    /// The wire's binary form.
    Binary,
}

/// What the first line is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Header {
    /// A row.
    #[default]
    No,
    /// Names of columns.
    Yes,
    /// Names of columns, which must be the table's.
    Match,
}

/// Columns that an option names.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Columns {
    /// None.
    #[default]
    None,
    /// `*`
    All,
    /// These.
    Named(Vec<String>),
}

/// The options of one COPY, checked.
#[derive(Clone, Debug)]
pub struct CopyOptions {
    /// FORMAT
    pub format: CopyFormat,
    /// DELIMITER
    pub delimiter: u8,
    /// NULL
    pub null: String,
    /// HEADER
    pub header: Header,
    /// QUOTE
    pub quote: u8,
    /// ESCAPE
    pub escape: u8,
    /// FORCE_QUOTE
    pub force_quote: Columns,
    /// FORCE_NOT_NULL
    pub force_not_null: Columns,
    /// FORCE_NULL
    pub force_null: Columns,
    /// DEFAULT
    pub default: Option<String>,
    /// FREEZE
    pub freeze: bool,
    /// ON_ERROR ignore
    pub ignore_errors: bool,
    /// REJECT_LIMIT
    pub reject_limit: Option<i64>,
    /// ENCODING
    pub encoding: Option<Encoding>,
    /// LOG_VERBOSITY: -1 silent, 0 default, 1 verbose.
    pub verbosity: i8,
}

/// Options as they are read, before defaults are known.
#[derive(Default)]
struct Given {
    format: Option<CopyFormat>,
    delimiter: Option<String>,
    null: Option<String>,
    header: Option<Header>,
    quote: Option<String>,
    escape: Option<String>,
    default: Option<String>,
    force_quote: Columns,
    force_not_null: Columns,
    force_null: Columns,
    freeze: Option<bool>,
    on_error: Option<bool>,
    reject_limit: Option<i64>,
    verbosity: Option<i8>,
    encoding: Option<Encoding>,
}

fn set<T>(slot: &mut Option<T>, value: T, option: &DefElem) -> Result<()> {
    if slot.is_some() {
        return Err(conflicting(option));
    }
    *slot = Some(value);
    Ok(())
}

fn header_of(option: &DefElem) -> Result<Header> {
    if let Some(DefValue::String(_) | DefValue::Type(_) | DefValue::Names(_)) = &option.value
        && text_of(option)?.eq_ignore_ascii_case("match")
    {
        return Ok(Header::Match);
    }
    match bool_of(option) {
        Ok(true) => Ok(Header::Yes),
        Ok(false) => Ok(Header::No),
        Err(_) => Err(err!(SYNTAX_ERROR, "{} requires a Boolean value or \"match\"", option.name)),
    }
}

fn columns_of(option: &DefElem) -> Result<Columns> {
    Ok(match &option.value {
        Some(DefValue::Names(names)) => Columns::Named(names.clone()),
        Some(DefValue::Star) => Columns::All,
        Some(DefValue::List(items)) => {
            Columns::Named(items.iter().map(|i| i.name.clone()).collect())
        }
        _ => {
            bail!(
                INVALID_PARAMETER_VALUE,
                "argument to option \"{}\" must be a list of column names",
                option.name
            )
        }
    })
}

impl Given {
    fn take(&mut self, o: &DefElem, is_from: bool) -> Result<()> {
        match o.name.as_str() {
            "format" => {
                let format = match text_of(o)?.as_str() {
                    "text" => CopyFormat::Text,
                    "csv" => CopyFormat::Csv,
                    "binary" => CopyFormat::Binary,
                    other => {
                        let e =
                            err!(INVALID_PARAMETER_VALUE, "COPY format \"{other}\" not recognized");
                        return Err(e.at(o.pos));
                    }
                };
                set(&mut self.format, format, o)
            }
            "freeze" => set(&mut self.freeze, bool_of(o)?, o),
            "delimiter" => set(&mut self.delimiter, text_of(o)?, o),
            "null" => set(&mut self.null, text_of(o)?, o),
            "default" => set(&mut self.default, text_of(o)?, o),
            "header" => set(&mut self.header, header_of(o)?, o),
            "quote" => set(&mut self.quote, text_of(o)?, o),
            "escape" => set(&mut self.escape, text_of(o)?, o),
            "force_quote" => self.columns(o, 0),
            "force_not_null" => self.columns(o, 1),
            "force_null" => self.columns(o, 2),
            "encoding" => {
                let known = Encoding::from_name(&text_of(o)?);
                let encoding = known.ok_or_else(|| {
                    err!(
                        INVALID_PARAMETER_VALUE,
                        "argument to option \"{}\" must be a valid encoding name",
                        o.name
                    )
                    .at(o.pos)
                })?;
                set(&mut self.encoding, encoding, o)
            }
            "on_error" => {
                let ignore = match text_of(o)?.to_ascii_lowercase().as_str() {
                    "stop" => false,
                    "ignore" => true,
                    other => {
                        let e = err!(
                            INVALID_PARAMETER_VALUE,
                            "COPY ON_ERROR \"{other}\" not recognized"
                        );
                        return Err(e.at(o.pos));
                    }
                };
                if !is_from {
                    let e =
                        err!(INVALID_PARAMETER_VALUE, "COPY ON_ERROR cannot be used with COPY TO");
                    return Err(e.at(o.pos));
                }
                set(&mut self.on_error, ignore, o)
            }
            "reject_limit" => {
                let text = text_of(o)?;
                let n = types::io::parse_i64(&text)?;
                if n <= 0 {
                    bail!(INVALID_PARAMETER_VALUE, "REJECT_LIMIT ({n}) must be greater than zero");
                }
                set(&mut self.reject_limit, n, o)
            }
            "log_verbosity" => {
                let level = match text_of(o)?.to_ascii_lowercase().as_str() {
                    "silent" => -1,
                    "default" => 0,
                    "verbose" => 1,
                    other => {
                        let e = err!(
                            INVALID_PARAMETER_VALUE,
                            "COPY LOG_VERBOSITY \"{other}\" not recognized"
                        );
                        return Err(e.at(o.pos));
                    }
                };
                set(&mut self.verbosity, level, o)
            }
            other => Err(err!(SYNTAX_ERROR, "option \"{other}\" not recognized").at(o.pos)),
        }
    }

    fn columns(&mut self, o: &DefElem, which: u8) -> Result<()> {
        let columns = columns_of(o)?;
        let slot = match which {
            0 => &mut self.force_quote,
            1 => &mut self.force_not_null,
            _ => &mut self.force_null,
        };
        if *slot != Columns::None {
            return Err(conflicting(o));
        }
        *slot = columns;
        Ok(())
    }

    fn check_binary(&self) -> Result<()> {
        let no = |name: &str, given: bool| match given {
            true => Err(err!(SYNTAX_ERROR, "cannot specify {name} in BINARY mode")),
            false => Ok(()),
        };
        no("DELIMITER", self.delimiter.is_some())?;
        no("NULL", self.null.is_some())?;
        no("DEFAULT", self.default.is_some())?;
        match self.header {
            Some(Header::Yes | Header::Match) => {
                Err(err!(FEATURE_NOT_SUPPORTED, "cannot specify HEADER in BINARY mode"))
            }
            _ => Ok(()),
        }
    }

    fn check_csv_only(&self) -> Result<()> {
        let only = |name: &str, given: bool| match given {
            true => Err(err!(FEATURE_NOT_SUPPORTED, "COPY {name} requires CSV mode")),
            false => Ok(()),
        };
        only("QUOTE", self.quote.is_some())?;
        only("ESCAPE", self.escape.is_some())?;
        only("FORCE_QUOTE", self.force_quote != Columns::None)?;
        only("FORCE_NOT_NULL", self.force_not_null != Columns::None)?;
        only("FORCE_NULL", self.force_null != Columns::None)
    }
}

/// A character of one byte.
fn one_byte(name: &str, text: &str) -> Result<u8> {
    match text.as_bytes() {
        [b] => Ok(*b),
        _ => Err(err!(FEATURE_NOT_SUPPORTED, "COPY {name} must be a single one-byte character")),
    }
}

impl CopyOptions {
    /// Reads and checks the options.
    pub fn read(options: &[DefElem], is_from: bool) -> Result<CopyOptions> {
        let mut given = Given::default();
        for o in options {
            given.take(o, is_from)?;
        }
        let format = given.format.unwrap_or_default();
        if format == CopyFormat::Binary {
            given.check_binary()?;
            if given.on_error == Some(true) {
                bail!(SYNTAX_ERROR, "only ON_ERROR STOP is allowed in BINARY mode");
            }
        }
        let csv = format == CopyFormat::Csv;
        if !csv {
            given.check_csv_only()?;
        }
        let delimiter = given.delimiter.as_deref().unwrap_or(if csv { "," } else { "\t" });
        let quote = given.quote.as_deref().unwrap_or("\"");
        let null = given.null.clone().unwrap_or_else(|| match csv {
            true => String::new(),
            false => "\\N".to_string(),
        });
        let out = CopyOptions {
            format,
            delimiter: one_byte("delimiter", delimiter)?,
            quote: one_byte("quote", quote)?,
            escape: one_byte("escape", given.escape.as_deref().unwrap_or(quote))?,
            null,
            header: given.header.unwrap_or_default(),
            force_quote: given.force_quote,
            force_not_null: given.force_not_null,
            force_null: given.force_null,
            default: given.default,
            freeze: given.freeze.unwrap_or(false),
            ignore_errors: given.on_error.unwrap_or(false),
            reject_limit: given.reject_limit,
            encoding: given.encoding,
            verbosity: given.verbosity.unwrap_or(0),
        };
        out.check(is_from)?;
        Ok(out)
    }

    fn check(&self, is_from: bool) -> Result<()> {
        let csv = self.format == CopyFormat::Csv;
        let line_ends = |s: &str| s.contains(['\n', '\r']);
        if matches!(self.delimiter, b'\n' | b'\r') {
            bail!(INVALID_PARAMETER_VALUE, "COPY delimiter cannot be newline or carriage return");
        }
        if line_ends(&self.null) {
            bail!(
                INVALID_PARAMETER_VALUE,
                "COPY null representation cannot use newline or carriage return"
            );
        }
        if let Some(default) = &self.default {
            if !is_from {
                bail!(FEATURE_NOT_SUPPORTED, "COPY DEFAULT cannot be used with COPY TO");
            }
            if line_ends(default) {
                bail!(
                    INVALID_PARAMETER_VALUE,
                    "COPY default representation cannot use newline or carriage return"
                );
            }
            if *default == self.null {
                bail!(
                    FEATURE_NOT_SUPPORTED,
                    "NULL specification and DEFAULT specification cannot be the same"
                );
            }
            if default.as_bytes().contains(&self.delimiter) {
                bail!(
                    FEATURE_NOT_SUPPORTED,
                    "COPY delimiter character must not appear in the DEFAULT specification"
                );
            }
            if csv && default.as_bytes().contains(&self.quote) {
                bail!(
                    FEATURE_NOT_SUPPORTED,
                    "CSV quote character must not appear in the DEFAULT specification"
                );
            }
        }
        let forbidden = b"\\.abcdefghijklmnopqrstuvwxyz0123456789";
        if !csv && self.format == CopyFormat::Text && forbidden.contains(&self.delimiter) {
            bail!(
                INVALID_PARAMETER_VALUE,
                "COPY delimiter cannot be \"{}\"",
                self.delimiter as char
            );
        }
        if csv && self.delimiter == self.quote {
            bail!(INVALID_PARAMETER_VALUE, "COPY delimiter and quote must be different");
        }
        if self.format != CopyFormat::Binary && self.null.as_bytes().contains(&self.delimiter) {
            bail!(
                INVALID_PARAMETER_VALUE,
                "COPY delimiter character must not appear in the NULL specification"
            );
        }
        if csv && self.null.as_bytes().contains(&self.quote) {
            bail!(
                INVALID_PARAMETER_VALUE,
                "CSV quote character must not appear in the NULL specification"
            );
        }
        self.check_direction(is_from)
    }

    fn check_direction(&self, is_from: bool) -> Result<()> {
        if is_from && self.force_quote != Columns::None {
            bail!(FEATURE_NOT_SUPPORTED, "COPY FORCE_QUOTE cannot be used with COPY FROM");
        }
        if !is_from && self.force_not_null != Columns::None {
            bail!(FEATURE_NOT_SUPPORTED, "COPY FORCE_NOT_NULL cannot be used with COPY TO");
        }
        if !is_from && self.force_null != Columns::None {
            bail!(FEATURE_NOT_SUPPORTED, "COPY FORCE_NULL cannot be used with COPY TO");
        }
        if !is_from && self.freeze {
            bail!(FEATURE_NOT_SUPPORTED, "COPY FREEZE cannot be used with COPY TO");
        }
        if self.header == Header::Match && !is_from {
            bail!(FEATURE_NOT_SUPPORTED, "cannot use \"match\" with HEADER in COPY TO");
        }
        if self.reject_limit.is_some() && !self.ignore_errors {
            bail!(
                INVALID_PARAMETER_VALUE,
                "COPY REJECT_LIMIT requires ON_ERROR to be set to IGNORE"
            );
        }
        Ok(())
    }
}
