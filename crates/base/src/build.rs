//! Where an installation has its parts, and how it was made: `pg_config`, the program and the view.

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
        ("VERSION", "PostgreSQL 18.6 (Olifant)".to_string()),
    ]
}
