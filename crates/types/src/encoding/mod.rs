//! Character encodings other than the UTF-8 that values are held in: their names and numbers, which
//! bytes are characters in them, and conversion.
//!
//! Entry points: [`Encoding`], [`Encoding::verify`], [`Encoding::decode`], [`Encoding::encode`],
//! [`convert`]. The tables are `data/encodings`, one line for a run of consecutive codes; they are
//! read when an encoding is first used.

mod between;
mod table;
mod verify;

use base::{Error, Result, bail, err};
use std::borrow::Cow;

/// An encoding, by PostgreSQL's number for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoding(u8);

/// Encodings by number.
const NAMES: [&str; 42] = [
    "SQL_ASCII",
    "EUC_JP",
    "EUC_CN",
    "EUC_KR",
    "EUC_TW",
    "EUC_JIS_2004",
    "UTF8",
    "MULE_INTERNAL",
    "LATIN1",
    "LATIN2",
    "LATIN3",
    "LATIN4",
    "LATIN5",
    "LATIN6",
    "LATIN7",
    "LATIN8",
    "LATIN9",
    "LATIN10",
    "WIN1256",
    "WIN1258",
    "WIN866",
    "WIN874",
    "KOI8R",
    "WIN1251",
    "WIN1252",
    "ISO_8859_5",
    "ISO_8859_6",
    "ISO_8859_7",
    "ISO_8859_8",
    "WIN1250",
    "WIN1253",
    "WIN1254",
    "WIN1255",
    "WIN1257",
    "KOI8U",
    "SJIS",
    "BIG5",
    "GBK",
    "UHC",
    "GB18030",
    "JOHAB",
    "SHIFT_JIS_2004",
];

/// Other names, as letters and digits alone.
const ALIASES: &[(&str, u8)] = &[
    ("abc", 19),
    ("alt", 20),
    ("iso88591", 8),
    ("iso885910", 13),
    ("iso885913", 14),
    ("iso885914", 15),
    ("iso885915", 16),
    ("iso885916", 17),
    ("iso88592", 9),
    ("iso88593", 10),
    ("iso88594", 11),
    ("iso88599", 12),
    ("koi8", 22),
    ("mskanji", 35),
    ("shiftjis", 35),
    ("tcvn", 19),
    ("tcvn5712", 19),
    ("unicode", 6),
    ("vscii", 19),
    ("win", 23),
    ("win932", 35),
    ("win936", 37),
    ("win949", 38),
    ("win950", 36),
    ("windows1250", 29),
    ("windows1251", 23),
    ("windows1252", 24),
    ("windows1253", 30),
    ("windows1254", 31),
    ("windows1255", 32),
    ("windows1256", 18),
    ("windows1257", 33),
    ("windows1258", 19),
    ("windows866", 20),
    ("windows874", 21),
    ("windows932", 35),
    ("windows936", 37),
    ("windows949", 38),
    ("windows950", 36),
];

impl Encoding {
    /// Bytes of no known meaning.
    pub const SQL_ASCII: Encoding = Encoding(0);
    /// What values are held in.
    pub const UTF8: Encoding = Encoding(6);
    /// Emacs' encoding.
    pub const MULE_INTERNAL: Encoding = Encoding(7);
    /// ISO 8859-1.
    pub const LATIN1: Encoding = Encoding(8);
    /// The last one that databases can have; those after it are for clients.
    const LAST_OF_SERVERS: u8 = 34;

    /// All of them, in order of their numbers.
    pub fn all() -> impl Iterator<Item = Encoding> {
        (0..NAMES.len() as u8).map(Encoding)
    }

    /// By number.
    pub fn from_number(number: i64) -> Option<Encoding> {
        let n = u8::try_from(number).ok()?;
        ((n as usize) < NAMES.len()).then_some(Encoding(n))
    }

    /// By name: case and everything but letters and digits do not matter.
    pub fn from_name(name: &str) -> Option<Encoding> {
        if name == "UTF8" {
            return Some(Encoding::UTF8);
        }
        fn plain(text: &str) -> impl Iterator<Item = u8> + '_ {
            text.bytes().filter(u8::is_ascii_alphanumeric).map(|b| b.to_ascii_lowercase())
        }
        if let Ok(at) = ALIASES.binary_search_by(|(alias, _)| alias.bytes().cmp(plain(name))) {
            return Some(Encoding(ALIASES[at].1));
        }
        Encoding::all().find(|e| plain(e.name()).eq(plain(name)))
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        NAMES.get(self.0 as usize).copied().unwrap_or("")
    }

    /// Its number.
    pub fn number(self) -> i32 {
        i32::from(self.0)
    }

    /// Whether databases can have it.
    pub fn is_for_servers(self) -> bool {
        self.0 <= Encoding::LAST_OF_SERVERS
    }

    /// Bytes of its longest character.
    pub fn max_length(self) -> i32 {
        match self.name() {
            "EUC_TW" | "UTF8" | "MULE_INTERNAL" | "GB18030" => 4,
            "EUC_JP" | "EUC_CN" | "EUC_KR" | "EUC_JIS_2004" | "JOHAB" => 3,
            "SJIS" | "BIG5" | "GBK" | "UHC" | "SHIFT_JIS_2004" => 2,
            _ => 1,
        }
    }

    /// The text that bytes are, which are checked on the way.
    pub fn decode(self, bytes: &[u8]) -> Result<Cow<'_, [u8]>> {
        match self {
            Encoding::UTF8 | Encoding::SQL_ASCII => {
                Encoding::UTF8.verify(bytes)?;
                Ok(Cow::Borrowed(bytes))
            }
            _ if bytes.is_ascii() && !bytes.contains(&0) => Ok(Cow::Borrowed(bytes)),
            _ => table::decode(self, bytes).map(Cow::Owned),
        }
    }

    /// Text in this encoding.
    pub fn encode(self, text: &[u8]) -> Result<Cow<'_, [u8]>> {
        match self {
            Encoding::UTF8 | Encoding::SQL_ASCII => Ok(Cow::Borrowed(text)),
            _ if text.is_ascii() => Ok(Cow::Borrowed(text)),
            _ => table::encode(self, text).map(Cow::Owned),
        }
    }

    /// Whether text in it is converted at all when it comes from a client or goes there.
    pub fn is_converted(self) -> bool {
        !matches!(self, Encoding::UTF8 | Encoding::SQL_ASCII)
    }

    /// Whether there is a conversion between it and UTF-8.
    pub fn has_unicode(self) -> bool {
        self != Encoding::MULE_INTERNAL
    }
}

/// `convert()`: bytes of one encoding, which are checked first, in another.
pub fn convert(bytes: &[u8], from: Encoding, to: Encoding) -> Result<Cow<'_, [u8]>> {
    from.verify(bytes)?;
    if from == to || to == Encoding::SQL_ASCII || bytes.is_empty() {
        return Ok(Cow::Borrowed(bytes));
    }
    match (from, to) {
        (Encoding::SQL_ASCII, _) => {
            to.verify(bytes)?;
            Ok(Cow::Borrowed(bytes))
        }
        _ => {
            if let Some(converted) = between::convert(bytes, from, to) {
                return converted;
            }
            match (from, to) {
                (Encoding::MULE_INTERNAL, _) | (_, Encoding::MULE_INTERNAL) => {
                    Err(no_conversion(from, to))
                }
                (Encoding::UTF8, _) => to.encode(bytes),
                (_, Encoding::UTF8) => from.decode(bytes),
                _ => Err(no_conversion(from, to)),
            }
        }
    }
}

#[cold]
fn no_conversion(from: Encoding, to: Encoding) -> Error {
    err!(
        UNDEFINED_FUNCTION,
        "default conversion function for encoding \"{}\" to \"{}\" does not exist",
        from.name(),
        to.name()
    )
}

/// Up to eight bytes of the character at the start, for messages.
fn shown(encoding: Encoding, bytes: &[u8]) -> String {
    let len = verify::length(encoding, bytes).min(bytes.len()).min(8);
    let shown: Vec<String> = bytes[..len].iter().map(|b| format!("0x{b:02x}")).collect();
    shown.join(" ")
}

#[cold]
fn invalid(encoding: Encoding, bytes: &[u8]) -> Error {
    err!(
        CHARACTER_NOT_IN_REPERTOIRE,
        "invalid byte sequence for encoding \"{}\": {}",
        encoding.name(),
        shown(encoding, bytes)
    )
}

#[cold]
fn untranslatable(bytes: &[u8], from: Encoding, to: Encoding) -> Error {
    err!(
        UNTRANSLATABLE_CHARACTER,
        "character with byte sequence {} in encoding \"{}\" has no equivalent in encoding \"{}\"",
        shown(from, bytes),
        from.name(),
        to.name()
    )
}

/// `to_ascii()`: letters without their marks. Only four encodings have a table for it.
pub fn to_ascii(bytes: &[u8], encoding: Encoding) -> Result<Vec<u8>> {
    // The letters from a first byte on.
    let (first, letters): (u8, &[u8]) = match encoding.name() {
        "LATIN1" => (
            160,
            b"  cL Y  \"Ca  -R     'u .,      ?AAAAAAACEEEEIIII NOOOOOxOUUUUYTBaaaaaaaceeeeiiii nooooo/\
              ouuuuyty",
        ),
        "LATIN2" => (
            160,
            b" A L LS \"SSTZ-ZZ a,l'ls ,sstz\"zzRAAAALCCCEEEEIIDDNNOOOOxRUUUUYTBraaaalccceeeeiiddnnoooo/\
              ruuuuyt.",
        ),
        "LATIN9" => (
            160,
            b"  cL YS sCa  -R     Zu .z   EeY?AAAAAAACEEEEIIII NOOOOOxOUUUUYTBaaaaaaaceeeeiiii nooooo/\
              ouuuuyty",
        ),
        "WIN1250" => (
            128,
            b"  ' \"    %S<STZZ `'\"\".--  s>stzz   L A  \"CS  -RZ  ,l'u .,as L\"lzRAAAALCCCEEEEIIDDNNOO\
              OOxRUUUUYTBraaaalccceeeeiiddnnoooo/ruuuuyt ",
        ),
        name => bail!(
            FEATURE_NOT_SUPPORTED,
            "encoding conversion from {name} to ASCII not supported"
        ),
    };
    let one = |b: &u8| match *b {
        b if b < 128 => b,
        b if b < first => b' ',
        b => letters.get((b - first) as usize).copied().unwrap_or(b' '),
    };
    Ok(bytes.iter().map(one).collect())
}

#[cfg(test)]
mod tests;
