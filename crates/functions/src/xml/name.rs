//! SQL names as XML names.

use types::xml::{is_name_char, starts_name};

/// An XML name for an SQL name: what XML does not allow is `_xHHHH_`. With `full` a colon anywhere
/// and `xml` at the beginning are written so too; with `period` a point.
pub fn xml_name(name: &str, full: bool, period: bool) -> String {
    let mut out = String::new();
    let code = |c: char, out: &mut String| out.push_str(&format!("_x{:04X}_", c as u32));
    for (i, c) in name.char_indices() {
        let rest = &name[i..];
        if c == ':' && (i == 0 || full) {
            code(c, &mut out);
        } else if c == '_' && rest[1..].starts_with('x') {
            out.push_str("_x005F_");
        } else if full
            && i == 0
            && rest.len() >= 3
            && rest.as_bytes()[..3].eq_ignore_ascii_case(b"xml")
        {
            code(c, &mut out);
        } else if period && c == '.' {
            code(c, &mut out);
        } else if if i == 0 { starts_name(c) } else { is_name_char(c) } {
            out.push(c);
        } else {
            code(c, &mut out);
        }
    }
    out
}
