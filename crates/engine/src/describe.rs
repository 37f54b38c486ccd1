//! Names of types as `format_type` gives them.

use crate::ddl::name::quote;
use base::Oid;
use catalog::{CatalogView, oids};

/// The name SQL has for a type, if it is another than the type's own.
pub fn sql_name(oid: Oid) -> Option<&'static str> {
    Some(match oid {
        oids::BOOL => "boolean",
        oids::BPCHAR => "character",
        oids::VARCHAR => "character varying",
        oids::FLOAT4 => "real",
        oids::FLOAT8 => "double precision",
        oids::INT2 => "smallint",
        oids::INT4 => "integer",
        oids::INT8 => "bigint",
        oids::NUMERIC => "numeric",
        oids::INTERVAL => "interval",
        oids::TIME => "time without time zone",
        oids::TIMETZ => "time with time zone",
        oids::TIMESTAMP => "timestamp without time zone",
        oids::TIMESTAMPTZ => "timestamp with time zone",
        oids::BIT => "bit",
        oids::VARBIT => "bit varying",
        oids::CHAR => "\"char\"",
        oids::JSON => "json",
        _ => return None,
    })
}

/// A type of which no modifier is known.
pub fn format_type_bare(view: &CatalogView, oid: Oid) -> String {
    match oid {
        oids::BIT => "bit".to_string(),
        oids::BPCHAR => "character".to_string(),
        _ => match view.find_type(oid) {
            Ok(Some(t)) if t.is_array() && t.storage != b'p' => {
                format!("{}[]", format_type_bare(view, t.elem))
            }
            _ => format_type(view, oid, -1),
        },
    }
}

/// A type with its modifier, as `format_type` gives it; `???` if there is none. Without one,
/// `bit` and `character` would mean a length of 1, and must be written otherwise.
pub fn format_type(view: &CatalogView, oid: Oid, typmod: i32) -> String {
    if !oid.is_valid() {
        return "-".to_string();
    }
    let Ok(Some(t)) = view.find_type(oid) else { return "???".to_string() };
    if t.is_array() && t.storage != b'p' {
        return format!("{}[]", format_type(view, t.elem, typmod));
    }
    if oid == oids::BPCHAR && typmod < 0 {
        return "bpchar".to_string();
    }
    if oid == oids::BIT && typmod < 0 {
        return "\"bit\"".to_string();
    }
    let modifier = match typmod {
        n if n < 0 => String::new(),
        n => types::io::typmod_out(oid, n),
    };
    if let Some(name) = sql_name(oid) {
        // The modifier of times goes before "with(out) time zone".
        if let Some((head, tail)) = name.split_once(' ')
            && (tail.ends_with("time zone"))
        {
            return format!("{head}{modifier} {tail}");
        }
        return format!("{name}{modifier}");
    }
    let visible = view.type_is_visible(&t).unwrap_or(false);
    let name = match visible {
        true => quote(&t.name),
        false => match view.find_namespace(t.namespace) {
            Ok(Some(n)) => format!("{}.{}", quote(&n.name), quote(&t.name)),
            _ => quote(&t.name),
        },
    };
    format!("{name}{modifier}")
}

/// `(a, b)=(1, 2)` for a key of an index.
pub fn key_detail(
    session: &crate::Session,
    table: &catalog::RelationDesc,
    index: &catalog::IndexDesc,
    key: &[types::Datum],
) -> base::Result<String> {
    use functions::FnEnv;
    let env = session.env()?;
    let io = env.io();
    let (mut names, mut values) = (Vec::new(), Vec::new());
    for (i, value) in key.iter().take(usize::from(index.n_keys)).enumerate() {
        let attr = match index.columns[i] {
            n if n > 0 => &table.tuple.attrs[n as usize - 1],
            _ => &index.tuple.attrs[i],
        };
        names.push(attr.name.to_string());
        values.push(match value {
            types::Datum::Null => "null".to_string(),
            value => value_text(attr.type_oid, value, &io)?,
        });
    }
    let names = match index.columns[..usize::from(index.n_keys)].contains(&0) {
        true => crate::sysfn::key_columns(&env, index.oid)?,
        false => names.join(", "),
    };
    Ok(format!("({names})=({})", values.join(", ")))
}

/// A value as its type's output function writes it.
pub fn value_text(
    type_oid: Oid,
    value: &types::Datum,
    io: &types::io::IoCtx<'_>,
) -> base::Result<String> {
    let mut out = Vec::new();
    types::io::output(type_oid, value, io, &mut out)?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}
