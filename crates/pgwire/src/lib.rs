//! The frontend/backend protocol, version 3: messages as bytes and bytes as messages, both ends.
//!
//! Entry points: [`startup`] (the first packet of a connection), [`frontend`] (what clients send,
//! read by the server), [`backend`] (what the server sends), [`client`] (the same two seen from the
//! client), [`scram`] and [`md5`] (password exchanges).
//! Invariants: encoders append whole messages to a plain `Vec<u8>`; decoders take what has arrived
//! so far, never copy text, and never panic whatever the bytes.
//! It must never know sockets, sessions or SQL.

pub mod backend;
pub mod client;
pub mod frontend;
pub mod md5;
mod read;
pub mod scram;
pub mod startup;

/// How a value or parameter is coded.
pub type FormatCode = i16;
/// Text.
pub const TEXT: FormatCode = 0;
/// Binary.
pub const BINARY: FormatCode = 1;
