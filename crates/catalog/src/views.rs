//! The system views: what each selects. Their columns are in the data files; the text here is
//! analysed when a view is first used.

use base::Oid;
use std::collections::HashMap;
use std::sync::OnceLock;

/// Definitions, each after a line `-- schema.name`.
const TEXT: &str =
    concat!(include_str!("../data/views.sql"), include_str!("../data/information_schema.sql"));

fn table() -> &'static Vec<(Oid, &'static str)> {
    static TABLE: OnceLock<Vec<(Oid, &'static str)>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let schemas: HashMap<&str, Oid> =
            functions::builtin::namespaces().iter().map(|n| (n.nspname, n.oid)).collect();
        let views: HashMap<(Oid, &str), Oid> = functions::builtin::classes()
            .iter()
            .filter(|c| c.relkind == b'v')
            .map(|c| ((c.relnamespace, c.relname), c.oid))
            .collect();
        let find = |name: &str| {
            let (schema, view) = name.trim().split_once('.')?;
            views.get(&(*schemas.get(schema)?, view)).copied()
        };
        TEXT.split("\n-- ")
            .filter_map(|part| {
                let part = part.strip_prefix("-- ").unwrap_or(part);
                let (name, sql) = part.split_once('\n')?;
                Some((find(name)?, sql.trim().trim_end_matches(';')))
            })
            .collect()
    })
}

/// All definitions.
pub fn definitions() -> &'static [(Oid, &'static str)] {
    table()
}

/// The definition of a view.
pub fn definition_of(view: Oid) -> Option<&'static str> {
    table().iter().find(|d| d.0 == view).map(|d| d.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_definition_names_a_view() {
        let written = TEXT.lines().filter(|l| l.starts_with("-- ")).count();
        assert_eq!(written, definitions().len());
    }
}
