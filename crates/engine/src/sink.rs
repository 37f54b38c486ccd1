//! Where a statement's results go: the wire, or a test.

use base::{Error, Oid, Result};
use types::{Batch, Datum};

/// A column of a result.
#[derive(Clone, Debug, PartialEq)]
pub struct ResultColumn {
    /// Its name.
    pub name: String,
    /// The table it comes from, or 0.
    pub table: Oid,
    /// Its number there, or 0.
    pub attnum: i16,
    /// Its type.
    pub type_oid: Oid,
    /// Bytes of the type, -1 if varlena.
    pub type_len: i16,
    /// The type's modifier.
    pub typmod: i32,
}

/// How a column is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ResultFormat {
    /// By the type's output function.
    #[default]
    Text,
    /// By the type's send function.
    Binary,
    /// A code that is neither: rows cannot be written in it.
    Unknown(i16),
}

impl ResultFormat {
    /// What a format code of a message says.
    pub fn of_code(code: i16) -> ResultFormat {
        match code {
            0 => ResultFormat::Text,
            1 => ResultFormat::Binary,
            other => ResultFormat::Unknown(other),
        }
    }
}

/// Receives what a statement gives. Errors it returns end the statement.
pub trait Sink {
    /// What rows will look like. Called before rows in the simple protocol, and by Describe.
    fn row_description(&mut self, columns: &[ResultColumn], formats: &[ResultFormat])
    -> Result<()>;

    /// One row, in the formats told.
    fn row(&mut self, values: &[Datum]) -> Result<()>;

    /// The rows a batch's selection names.
    fn batch(&mut self, batch: &Batch) -> Result<()> {
        let mut row = Vec::with_capacity(batch.columns.len());
        for i in batch.positions() {
            row.clear();
            row.extend(batch.columns.iter().map(|c| c.get(i)));
            self.row(&row)?;
        }
        Ok(())
    }

    /// Where the next row may be written in the form clients get it: the number of columns (u16),
    /// then for each value its length (i32, -1 for NULL) and bytes, all big-endian. None if the
    /// sink wants values instead. See [`crate::rows`].
    fn row_buffer(&mut self) -> Option<&mut Vec<u8>> {
        None
    }

    /// The row in [`Sink::row_buffer`] is complete.
    fn row_done(&mut self) -> Result<()> {
        Ok(())
    }

    /// Remembers what was said until now.
    fn mark(&mut self) {}

    /// What was said since [`Sink::mark`] is not said after all, unless it was sent already.
    fn take_back(&mut self) {}

    /// The statement is done.
    fn command_complete(&mut self, tag: &str) -> Result<()>;

    /// The query string was empty.
    fn empty_query(&mut self) -> Result<()> {
        Ok(())
    }

    /// The portal has more rows than were asked for.
    fn portal_suspended(&mut self) -> Result<()> {
        Ok(())
    }

    /// A notice or warning.
    fn notice(&mut self, notice: &Error);

    /// A setting that clients follow has changed.
    fn parameter_status(&mut self, _name: &str, _value: &str) {}

    /// COPY FROM STDIN begins: binary, and how many columns.
    fn copy_in(&mut self, binary: bool, columns: usize) -> Result<()> {
        let _ = (binary, columns);
        Err(Error::unsupported("COPY FROM STDIN on this connection"))
    }

    /// More bytes of COPY FROM STDIN; `None` at the end.
    fn copy_data_in(&mut self) -> Result<Option<Vec<u8>>> {
        Ok(None)
    }

    /// COPY TO STDOUT begins.
    fn copy_out(&mut self, binary: bool, columns: usize) -> Result<()> {
        let _ = (binary, columns);
        Err(Error::unsupported("COPY TO STDOUT on this connection"))
    }

    /// Bytes of COPY TO STDOUT: one row, line end included.
    fn copy_data_out(&mut self, _data: &[u8]) -> Result<()> {
        Ok(())
    }

    /// COPY TO STDOUT ends.
    fn copy_out_done(&mut self) -> Result<()> {
        Ok(())
    }

    /// A notification: sender's process number, channel, payload.
    fn notification(&mut self, _pid: i32, _channel: &str, _payload: &str) {}
}
