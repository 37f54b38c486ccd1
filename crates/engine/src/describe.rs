//! Names of types as `format_type` gives them.

use crate::ddl::name::quote;
use base::Oid;
use catalog::{CatalogView, oids};

/// The name SQL has for a type, if it is another than the type's own.
fn sql_name(oid: Oid) -> Option<&'static str> {
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
        _ => return None,
    })
}

/// A type with its modifier, as `format_type` gives it; `???` if there is none.
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
