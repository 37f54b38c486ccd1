//! The function call message: a function by its OID, with arguments as they are on the wire.

use super::{Session, TransactionStatus};
use crate::sink::{ResultColumn, ResultFormat, Sink};
use base::{Error, Oid, Result, bail, err};
use catalog::{CatalogView, indexes};
use types::Datum;

/// The statement and portal that calls run as; no client can name them so.
const OWN: &str = "\u{1}function call";

/// Keeps the value and passes on what is to be told.
struct Capture<'a> {
    value: Option<Datum>,
    type_oid: Oid,
    outer: &'a mut dyn Sink,
}

impl Sink for Capture<'_> {
    fn row_description(&mut self, columns: &[ResultColumn], _: &[ResultFormat]) -> Result<()> {
        self.type_oid = columns.first().map_or(Oid::INVALID, |c| c.type_oid);
        Ok(())
    }

    fn row(&mut self, values: &[Datum]) -> Result<()> {
        self.value = values.first().cloned();
        Ok(())
    }

    fn command_complete(&mut self, _: &str) -> Result<()> {
        Ok(())
    }

    fn notice(&mut self, notice: &Error) {
        self.outer.notice(notice);
    }

    fn parameter_status(&mut self, name: &str, value: &str) {
        self.outer.parameter_status(name, value);
    }
}

/// A message, decoded.
struct Request<'a> {
    function: Oid,
    formats: Vec<i16>,
    arguments: Vec<Option<&'a [u8]>>,
    format: i16,
}

fn decode(body: &[u8]) -> Option<Request<'_>> {
    let mut rest = body;
    let mut take = |n: usize| {
        let (front, after) = rest.split_at_checked(n)?;
        rest = after;
        Some(front)
    };
    let int = |b: &[u8]| b.iter().fold(0u32, |n, x| n << 8 | u32::from(*x));
    let function = Oid(int(take(4)?));
    let mut formats = Vec::new();
    for _ in 0..int(take(2)?) {
        formats.push(int(take(2)?) as i16);
    }
    let mut arguments = Vec::new();
    for _ in 0..int(take(2)?) {
        let len = int(take(4)?) as i32;
        arguments.push(match usize::try_from(len) {
            Ok(len) => Some(take(len)?),
            Err(_) => None,
        });
    }
    let format = int(take(2)?) as i16;
    rest.is_empty().then_some(Request { function, formats, arguments, format })
}

fn is_binary(code: i16) -> Result<bool> {
    match code {
        0 | 1 => Ok(code == 1),
        _ => Err(err!(INVALID_PARAMETER_VALUE, "unsupported format code: {code}")),
    }
}

impl Session {
    /// Runs a function call message: the value's bytes, None for NULL.
    pub fn function_call(&mut self, body: &[u8], sink: &mut dyn Sink) -> Result<Option<Vec<u8>>> {
        self.statement_micros = os::clock::now_micros();
        self.start_statement_clock();
        self.show_state(Some("<FASTPATH> function call"), self.statement_micros);
        let result = self.run_function(body, sink);
        self.interrupts().end_statement();
        if result.is_err() {
            self.fail_statement();
        }
        self.close_portal(OWN);
        self.close_statement(OWN);
        let ended = self.sync(sink);
        let value = result?;
        ended?;
        Ok(value)
    }

    fn run_function(&mut self, body: &[u8], sink: &mut dyn Sink) -> Result<Option<Vec<u8>>> {
        let request = decode(body)
            .ok_or_else(|| err!(PROTOCOL_VIOLATION, "insufficient data left in message"))?;
        if self.status() == TransactionStatus::Failed {
            bail!(
                IN_FAILED_SQL_TRANSACTION,
                "current transaction is aborted, commands ignored until end of transaction block"
            );
        }
        self.ensure_transaction()?;
        let (text, types) = self.call_text(&request)?;
        self.skipping = false;
        self.parse(OWN, &text, &types)?;
        let binary = is_binary(request.format)?;
        let (formats, results) = (&request.formats, [request.format]);
        self.bind(OWN, OWN, formats, &request.arguments, &results).map_err(|mut e| {
            // There is no portal that the client knows of.
            e.fields_mut().context = None;
            e
        })?;
        let mut capture = Capture { value: None, type_oid: Oid::INVALID, outer: sink };
        self.describe_statement(OWN, &mut capture)?;
        self.execute(OWN, 0, &mut capture)?;
        let (value, type_oid) = (capture.value.unwrap_or(Datum::Null), capture.type_oid);
        if value.is_null() {
            return Ok(None);
        }
        use functions::FnEnv;
        let env = self.env()?;
        let mut out = Vec::new();
        match binary {
            true => types::io::send(type_oid, &value, &env.io(), &mut out)?,
            false => {
                types::io::output(type_oid, &value, &env.io(), &mut out)?;
                types::io::to_client(&mut out, 0, &env.io())?;
            }
        }
        Ok(Some(out))
    }

    /// The call as a statement, and its parameters' types.
    fn call_text(&self, request: &Request<'_>) -> Result<(String, Vec<Oid>)> {
        let oid = request.function;
        let view = self.core.view()?;
        let found = self.proc_row(&view, oid)?;
        let (schema, name, kind, set, types) = found
            .ok_or_else(|| err!(UNDEFINED_FUNCTION, "function with OID {oid} does not exist"))?;
        if kind != b'f' || set {
            bail!(FEATURE_NOT_SUPPORTED, "cannot call function \"{name}\" via fastpath interface");
        }
        if types.len() != request.arguments.len() {
            bail!(
                PROTOCOL_VIOLATION,
                "function call message contains {} arguments but function requires {}",
                request.arguments.len(),
                types.len()
            );
        }
        let formats = request.formats.len();
        if formats > 1 && formats != request.arguments.len() {
            bail!(
                PROTOCOL_VIOLATION,
                "function call message contains {formats} argument formats but {} arguments",
                request.arguments.len()
            );
        }
        let quoted = |t: &str| format!("\"{}\"", t.replace('"', "\"\""));
        let parameters: Vec<String> = (1..=types.len()).map(|n| format!("${n}")).collect();
        let call = format!("{}.{}({})", quoted(&schema), quoted(&name), parameters.join(", "));
        Ok((format!("SELECT {call}"), types))
    }

    /// Schema, name, kind, whether it returns a set, and argument types of a function.
    fn proc_row(
        &self,
        view: &CatalogView,
        oid: Oid,
    ) -> Result<Option<(String, String, u8, bool, Vec<Oid>)>> {
        use catalog::RowStore;
        let rows = self.core.store.index_scan(indexes::PG_PROC_OID, &[Datum::U32(oid.0)])?;
        let Some(row) = rows.first() else { return Ok(None) };
        let namespace = row.oid("pronamespace")?;
        let kind = row.char("prokind")?;
        Ok(Some((
            view.namespace(namespace)?.name.to_string(),
            row.text("proname")?.to_string(),
            kind,
            row.bool("proretset")?,
            row.oids("proargtypes")?,
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn messages() {
        let body = [0, 0, 0, 9, 0, 1, 0, 1, 0, 2, 0, 0, 0, 1, b'x', 0xFF, 0xFF, 0xFF, 0xFF, 0, 1];
        let r = decode(&body).unwrap();
        assert_eq!((r.function.0, r.formats, r.format), (9, vec![1], 1));
        assert_eq!(r.arguments, [Some(&b"x"[..]), None]);
        assert!((0..body.len()).all(|n| decode(&body[..n]).is_none()));
    }
}
