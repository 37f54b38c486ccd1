//! SQL names as XML names.

use types::xml::{is_name_char, starts_name};

/// An XML name for an SQL name: what XML does not allow is `_xHHHH_`. With `full` a colon anywhere
/// and `xml` at the beginning are written so too; with `period` a point.
pub fn xml_name(name: &str, full: bool, period: bool) -> String {
    let mut out = String::new();
    let code = |c: char, out: &mut String| out.push_str(&format!("_x{:04X}_", c as u32));
    for (i, c) in name.char_indices() {
        let rest = &name[i..];
        let reserved =
            full && i == 0 && rest.len() >= 3 && rest.as_bytes()[..3].eq_ignore_ascii_case(b"xml");
        let usual = if i == 0 { starts_name(c) } else { is_name_char(c) };
        let forced = reserved || (c == ':' && (i == 0 || full)) || (period && c == '.');
        if c == '_' && rest[1..].starts_with('x') {
            out.push_str("_x005F_");
        } else if usual && !forced {
            out.push(c);
        } else {
            code(c, &mut out);
        }
    }
    out
}
