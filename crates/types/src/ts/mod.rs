//! Full-text search: documents as sorted lexemes, and queries over them.
//!
//! ```text
//! tsvector  each lexeme: u16 length, bytes, u16 number of positions, each of them
//!           a u16: weight << 14 | place
//! tsquery   its canonical text
//! ```

pub(crate) mod binary;
mod query;
mod vector;

pub use query::{Piece, TsQuery, parse_query, parse_query_with};
pub use vector::{Lexeme, TsVector, WEIGHTS, parse_vector};

/// The largest place of a lexeme.
pub const POSITION_MAX: u16 = 16383;

/// How deep queries may nest, so that no input exhausts the stack.
pub(crate) const DEPTH_MAX: usize = 500;

/// A word in quotes, as values are printed.
pub(crate) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\\', "\\\\").replace('\'', "''"))
}
