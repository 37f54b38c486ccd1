//! Libraries to be loaded at a start: there are none, but for what is built in.

use super::split_list;
use base::{Error, Result, Severity, err};

/// Libraries of PostgreSQL whose functions are part of this server.
const BUILT_IN: [&str; 2] = ["plpgsql", "$libdir/plpgsql"];

/// Fails if a list of libraries has one that is not there. Those of `local_preload_libraries` are
/// `local`: they are looked for in a folder of their own.
pub fn check_preloaded(list: &str, local: bool) -> Result<()> {
    let fatal = |e: Error| Err(e.severity(Severity::Fatal));
    // A list that cannot be read is not one of libraries.
    for name in split_list(list).unwrap_or_default() {
        if BUILT_IN.contains(&name.as_str()) && !local {
            continue;
        }
        let path = match (local, name.contains('/')) {
            (false, _) => name,
            (true, false) => format!("$libdir/plugins/{name}"),
            (true, true) if name.starts_with("$libdir/plugins/") => name,
            (true, true) => {
                return fatal(err!(
                    INSUFFICIENT_PRIVILEGE,
                    "access to library \"{name}\" is not allowed"
                ));
            }
        };
        return fatal(err!(
            UNDEFINED_FILE,
            "could not access file \"{path}\": No such file or directory"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_named() {
        let why =
            |list: &str, local| check_preloaded(list, local).unwrap_err().message().to_string();
        assert!(check_preloaded("plpgsql", false).is_ok());
        assert!(check_preloaded("a,,b", false).is_ok());
        assert_eq!(
            why("plpgsql, nope", false),
            "could not access file \"nope\": No such file or directory"
        );
        assert_eq!(
            why("nope", true),
            "could not access file \"$libdir/plugins/nope\": No such file or directory"
        );
        assert_eq!(why("a/b", true), "access to library \"a/b\" is not allowed");
    }
}
