//! What printing needs to know of the catalogs.

use base::Oid;
use parser::keywords::{Category, lookup};
use types::Datum;

/// Name of an object that lives in a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectName {
    /// Its schema.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// It is what the name alone means, by the search path.
    pub visible: bool,
}

impl ObjectName {
    /// Quoted, and qualified unless it is visible.
    pub fn text(&self) -> String {
        if self.visible { quote_ident(&self.name) } else { self.qualified() }
    }

    /// Quoted and qualified.
    pub fn qualified(&self) -> String {
        format!("{}.{}", quote_ident(&self.schema), quote_ident(&self.name))
    }

    /// As an operator is written within an expression.
    pub fn operator(&self) -> String {
        if self.visible {
            self.name.clone()
        } else {
            format!("OPERATOR({}.{})", quote_ident(&self.schema), self.name)
        }
    }
}

/// The catalogs, as printing sees them. What is not found any more is printed by its number.
pub trait Names {
    /// A relation's name.
    fn relation(&self, oid: Oid) -> Option<ObjectName>;
    /// The names of a relation's columns; dropped ones are empty.
    fn columns(&self, relation: Oid) -> Vec<String>;
    /// A function's name.
    fn function(&self, oid: Oid) -> Option<ObjectName>;
    /// An operator's name.
    fn operator(&self, oid: Oid) -> Option<ObjectName>;
    /// A collation's name.
    fn collation(&self, oid: Oid) -> Option<ObjectName>;
    /// An operator class's name.
    fn opclass(&self, oid: Oid) -> Option<ObjectName>;
    /// A constraint's name.
    fn constraint(&self, oid: Oid) -> Option<String>;
    /// A type with its modifier, as `format_type` prints it, qualified unless visible.
    fn type_name(&self, oid: Oid, typmod: i32) -> String;
    /// The collation that values of a type have unless told otherwise; 0 if none.
    fn type_collation(&self, oid: Oid) -> Oid;
    /// The fields' names of a composite type; `None` if it is not one.
    fn fields(&self, type_oid: Oid) -> Option<Vec<String>>;
    /// The names of a function's output parameters, if it has several; empty where there is none.
    fn outputs(&self, function: Oid) -> Option<Vec<String>>;
    /// A value as its type's output function writes it.
    fn value_text(&self, type_oid: Oid, value: &Datum) -> String;
}

/// An identifier, in double quotes if it must be.
pub fn quote_ident(name: &str) -> String {
    let mut chars = name.bytes();
    let plain_start = chars.next().is_some_and(|c| c.is_ascii_lowercase() || c == b'_');
    let plain = plain_start
        && chars.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'_')
        && lookup(name.as_bytes()).category().is_none_or(|c| c == Category::Unreserved);
    if plain && !base::quoting::all() {
        return name.to_string();
    }
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A string literal: `E''` if there is a backslash.
pub fn quote_literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
