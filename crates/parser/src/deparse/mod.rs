//! Syntax trees back to SQL.
