//! Where an installation has its parts, and how it was made: `pg_config`, the program and the view.
//! Which version of PostgreSQL is spoken is said here and nowhere else.

/// The release of PostgreSQL that the server answers to: `server_version`.
pub const RELEASE: &str = "18.6";

/// The same as a number: `server_version_num`.
pub const RELEASE_NUM: i64 = 18_0006;

/// The release and whose server it is.
pub fn release_of_whom() -> String {
    format!("{RELEASE} (Olifant {})", env!("CARGO_PKG_VERSION"))
}

/// What `version()` says, and the first line of the log.
pub fn version() -> String {
    let (arch, os) = (std::env::consts::ARCH, std::env::consts::OS);
    let bits = usize::BITS;
    format!("PostgreSQL {} on {arch}-pc-{os}-gnu, compiled by rustc, {bits}-bit", release_of_whom())
}

/// Names and values, in PostgreSQL's order, as this build has them.
pub fn settings() -> Vec<(&'static str, String)> {
    let own = std::env::current_exe().unwrap_or_default();
    let bin = own.parent().map(|p| p.display().to_string()).unwrap_or_default();
    let prefix = own.parent().and_then(|p| p.parent());
    let below = |path: &str| match prefix {
        Some(prefix) => prefix.join(path).display().to_string(),
        None => path.to_string(),
    };
    let built = || "not recorded".to_string();
    vec![
        ("BINDIR", bin),
        ("DOCDIR", below("share/doc")),
        ("HTMLDIR", below("share/doc")),
        ("INCLUDEDIR", below("include")),
        ("PKGINCLUDEDIR", below("include/postgresql")),
        ("INCLUDEDIR-SERVER", below("include/postgresql/server")),
        ("LIBDIR", below("lib")),
        ("PKGLIBDIR", below("lib/postgresql")),
        ("LOCALEDIR", below("share/locale")),
        ("MANDIR", below("share/man")),
        ("SHAREDIR", below("share/postgresql")),
        ("SYSCONFDIR", below("etc/postgresql")),
        ("PGXS", below("lib/postgresql/pgxs/src/makefiles/pgxs.mk")),
        ("CONFIGURE", built()),
        ("CC", built()),
        ("CPPFLAGS", built()),
        ("CFLAGS", built()),
        ("CFLAGS_SL", built()),
        ("LDFLAGS", built()),
        ("LDFLAGS_EX", built()),
        ("LDFLAGS_SL", built()),
        ("LIBS", built()),
        ("VERSION", format!("PostgreSQL {}", release_of_whom())),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_say_the_same_version() {
        let shown = |name| crate::settings::require(name).unwrap().boot.unwrap_or_default();
        assert_eq!(shown("server_version"), RELEASE);
        assert_eq!(shown("server_version_num"), RELEASE_NUM.to_string().as_str());
        assert!(version().starts_with("PostgreSQL 18.6 (Olifant "));
    }
}
