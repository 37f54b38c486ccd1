//! Bytes of a heap page, and nothing else.
