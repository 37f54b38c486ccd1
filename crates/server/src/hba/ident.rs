//! `pg_ident.conf`: which roles a user of the outside world may be.

use super::tokens::{self, Line, Word};
use base::{Error, Result};
use engine::{IdentMapping, Regex};
use std::path::Path;

/// One line.
#[derive(Clone, Debug)]
struct Mapping {
    map: String,
    /// The name outside, or a pattern.
    system: Name,
    role: Word,
    role_pattern: Option<Regex>,
}

#[derive(Clone, Debug)]
enum Name {
    Plain(String),
    Pattern(Regex),
}

/// The file.
#[derive(Clone, Debug, Default)]
pub struct Ident {
    mappings: Vec<Mapping>,
}

/// A pattern after its slash.
pub fn pattern(text: &str) -> std::result::Result<Regex, String> {
    Regex::new(text).map_err(|e| {
        let why = e.message().trim_start_matches("invalid regular expression: ");
        format!("invalid regular expression \"{text}\": {why}")
    })
}

fn mapping(line: &Line) -> std::result::Result<Mapping, String> {
    if let Some(e) = &line.error {
        return Err(e.clone());
    }
    let mut words = Vec::new();
    for field in &line.fields {
        match field.as_slice() {
            [one] => words.push(one),
            _ => return Err("multiple values in ident field".into()),
        }
    }
    let [map, system, role, ..] = words[..] else {
        return Err("missing entry at end of line".into());
    };
    let system = match system.text.strip_prefix('/') {
        Some(p) => Name::Pattern(pattern(p)?),
        None => Name::Plain(system.text.clone()),
    };
    let role_pattern = match role.text.strip_prefix('/') {
        Some(p) => Some(pattern(p)?),
        _ => None,
    };
    Ok(Mapping { map: map.text.clone(), system, role: role.clone(), role_pattern })
}

impl Ident {
    /// Reads the file; a line that is wrong makes it unusable.
    pub fn read(path: &Path) -> std::result::Result<Ident, Vec<Error>> {
        super::all_of(path, mapping).map(|mappings| Ident { mappings })
    }

    /// True if a map lets this outside user be this role. Without a map the names must be equal.
    pub fn allows(
        &self,
        map: Option<&str>,
        outside: &str,
        role: &str,
        member_of: &dyn Fn(&str) -> bool,
    ) -> bool {
        let Some(map) = map else { return outside == role };
        self.mappings.iter().filter(|m| m.map == map).any(|m| m.fits(outside, role, member_of))
    }
}

impl Mapping {
    fn fits(&self, outside: &str, role: &str, member_of: &dyn Fn(&str) -> bool) -> bool {
        let mut wanted = self.role.text.clone();
        match &self.system {
            Name::Plain(name) if name != outside => return false,
            Name::Plain(_) => {}
            Name::Pattern(p) => {
                let Some(group) = p.first_group(outside) else { return false };
                if wanted.contains("\\1") {
                    wanted = wanted.replacen("\\1", &group.unwrap_or_default(), 1);
                }
            }
        }
        if let Some(p) = &self.role_pattern {
            return p.is_match(role);
        }
        if !self.role.quoted {
            if wanted == "all" {
                return true;
            }
            if let Some(group) = wanted.strip_prefix('+') {
                return group == role || member_of(group);
            }
        }
        wanted == role
    }
}

/// The lines as `pg_ident_file_mappings` shows them.
pub fn rows(path: &Path) -> Result<Vec<IdentMapping>> {
    let mut number = 0;
    let row = |line: Line| {
        let error = mapping(&line).err();
        let word = |i: usize| {
            let field = line.fields.get(i).and_then(|f| f.first());
            field.filter(|_| error.is_none()).map(|w| w.text.clone())
        };
        number += i32::from(error.is_none());
        IdentMapping {
            number: error.is_none().then_some(number),
            file: line.file.display().to_string(),
            line: line.number as i32,
            map: word(0),
            system: word(1),
            role: word(2),
            error,
        }
    };
    Ok(tokens::read(path)?.into_iter().map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps() {
        let path = std::env::temp_dir().join(format!("olifant-ident-{}", os::process::id()));
        let text = "m ann bob\nm /^(.*)@x$ \\1\nm root all\nm team +staff\nm /^d /^e\n";
        std::fs::write(&path, text).unwrap();
        let ident = Ident::read(&path).unwrap();
        let ok = |outside: &str, role: &str| {
            ident.allows(Some("m"), outside, role, &|g| g == "staff" && role == "carl")
        };
        assert!(ok("ann", "bob") && !ok("ann", "ann") && ok("eve@x", "eve") && !ok("eve@y", "eve"));
        assert!(
            ok("root", "anyone") && ok("team", "carl") && !ok("team", "dora") && ok("d1", "e2")
        );
        assert!(
            ident.allows(None, "a", "a", &|_| false) && !ident.allows(None, "a", "b", &|_| false)
        );
        std::fs::write(&path, "m ann\n").unwrap();
        assert!(Ident::read(&path).is_err());
        assert_eq!(rows(&path).unwrap()[0].error.as_deref(), Some("missing entry at end of line"));
        std::fs::remove_file(&path).unwrap();
    }
}
