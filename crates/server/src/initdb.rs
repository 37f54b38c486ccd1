//! `initdb`: makes a data directory.

use engine::CreateOptions;
use engine::Database;
use os::Disk;
use pgwire::scram;
use std::path::{Path, PathBuf};
use tools::options::{Flag, Given, flag, with_value};

const NAME: &str = "initdb";

const FLAGS: &[Flag] = &[
    with_value('A', "auth"),
    with_value('\0', "auth-host"),
    with_value('\0', "auth-local"),
    with_value('D', "pgdata"),
    with_value('E', "encoding"),
    flag('g', "allow-group-access"),
    with_value('\0', "icu-locale"),
    with_value('\0', "icu-rules"),
    flag('k', "data-checksums"),
    with_value('\0', "locale"),
    with_value('\0', "lc-collate"),
    with_value('\0', "lc-ctype"),
    with_value('\0', "lc-messages"),
    with_value('\0', "lc-monetary"),
    with_value('\0', "lc-numeric"),
    with_value('\0', "lc-time"),
    flag('\0', "no-locale"),
    with_value('\0', "builtin-locale"),
    with_value('\0', "locale-provider"),
    flag('\0', "no-data-checksums"),
    with_value('\0', "pwfile"),
    with_value('T', "text-search-config"),
    with_value('U', "username"),
    flag('W', "pwprompt"),
    with_value('L', "input-directory"),
    with_value('X', "waldir"),
    with_value('\0', "wal-segsize"),
    with_value('c', "set"),
    flag('d', "debug"),
    flag('\0', "discard-caches"),
    flag('n', "no-clean"),
    flag('N', "no-sync"),
    flag('\0', "no-instructions"),
    flag('s', "show"),
    with_value('\0', "sync-method"),
    flag('S', "sync-only"),
    flag('\0', "no-sync-data-files"),
    flag('V', "version"),
    flag('?', "help"),
];

const HELP: &str = "\
initdb initializes a PostgreSQL database cluster.

Usage:
  initdb [OPTION]... [DATADIR]

Options:
  -A, --auth=METHOD         default authentication method for local connections
      --auth-host=METHOD    default authentication method for local TCP/IP connections
      --auth-local=METHOD   default authentication method for local-socket connections
 [-D, --pgdata=]DATADIR     location for this database cluster
  -E, --encoding=ENCODING   set default encoding for new databases (UTF8)
  -g, --allow-group-access  allow group read/execute on data directory
      --icu-locale=LOCALE   set ICU locale ID for new databases
      --icu-rules=RULES     set additional ICU collation rules for new databases
  -k, --data-checksums      use data page checksums (always)
      --locale=LOCALE       set default locale for new databases
      --lc-collate=, --lc-ctype=, --lc-messages=LOCALE
      --lc-monetary=, --lc-numeric=, --lc-time=LOCALE
                            set default locale in the respective category for
                            new databases (default C)
      --no-locale           equivalent to --locale=C
      --builtin-locale=LOCALE
                            set builtin locale name for new databases
      --locale-provider={builtin|libc|icu}
                            set default locale provider for new databases
      --no-data-checksums   do not use data page checksums (not supported)
      --pwfile=FILE         read password for the new superuser from file
  -T, --text-search-config=CFG
                            default text search configuration
  -U, --username=NAME       database superuser name
  -W, --pwprompt            prompt for a password for the new superuser
  -X, --waldir=WALDIR       location for the write-ahead log directory
      --wal-segsize=SIZE    size of WAL segments, in megabytes

Less commonly used options:
  -c, --set NAME=VALUE      override default setting for server parameter
  -d, --debug               generate lots of debugging output
      --discard-caches      set debug_discard_caches=1
  -L DIRECTORY              where to find the input files (there are none)
  -n, --no-clean            do not clean up after errors
  -N, --no-sync             do not wait for changes to be written safely to disk
      --no-sync-data-files  do not sync files within database directories
      --no-instructions     do not print instructions for next steps
  -s, --show                show internal settings, then exit
      --sync-method=METHOD  set method for syncing files to disk
  -S, --sync-only           only sync database files to disk, then exit

Other options:
  -V, --version             output version information, then exit
  -?, --help                show this help, then exit

If the data directory is not specified, the environment variable PGDATA
is used.
";

/// The program.
pub fn main(args: &[String]) -> i32 {
    let given = match Given::begin(NAME, HELP, args, FLAGS, 1) {
        Ok(given) => given,
        Err(code) => return code,
    };
    match run(&given) {
        Ok(()) => 0,
        Err(e) => {
            if !e.is_empty() {
                eprintln!("{NAME}: error: {e}");
            }
            1
        }
    }
}

/// An error with the advice that errors in arguments have.
fn misused(text: &str) -> String {
    format!("{text}\n{NAME}: hint: Try \"{NAME} --help\" for more information.")
}

fn data_directory(given: &Given) -> Result<PathBuf, String> {
    let mut operands = given.operands.iter();
    let data = given.get("pgdata").map(str::to_string).or_else(|| operands.next().cloned());
    if let Some(extra) = operands.next() {
        return Err(misused(&format!("too many command-line arguments (first is \"{extra}\")")));
    }
    let data = data.map(PathBuf::from).or_else(|| std::env::var_os("PGDATA").map(PathBuf::from));
    let data = data.ok_or_else(|| {
        format!(
            "no data directory specified\n{NAME}: hint: You must identify the directory where \
             the data for this database system will reside.  Do this with either the invocation \
             option -D or the environment variable PGDATA."
        )
    })?;
    std::path::absolute(&data).map_err(|e| e.to_string())
}

fn run(given: &Given) -> Result<(), String> {
    let disk = Disk::real();
    if given.has("sync-only") {
        return sync_only(&disk, &data_directory(given)?);
    }
    check_flags(given)?;
    let data = data_directory(given)?;
    let mut options = options(given)?;
    if given.has("no-clean") {
        println!("Running in no-clean mode.  Mistakes will not be cleaned up.");
    }
    let user = os::process::user_name().unwrap_or_default();
    println!(
        "The files belonging to this database system will be owned by user \"{user}\".\n\
         This user must also own the server process.\n"
    );
    if os::process::is_root() {
        eprintln!("{NAME}: warning: running as root; the server will run with all rights");
    }
    if given.has("show") {
        let version = tools::version();
        let version = version.trim_start_matches("(PostgreSQL) ");
        println!("VERSION={version}\nPGDATA={}", data.display());
        println!("POSTGRES_SUPERUSERNAME={}", options.superuser);
        return Ok(());
    }
    read_locales(given, &mut options)?;
    tell_locales(&options);
    check_encoding(given)?;
    println!("The default database encoding has accordingly been set to \"UTF8\".");
    if options.text_search != "english" {
        eprintln!(
            "{NAME}: warning: specified text search configuration \"{}\" might not match locale \
             \"{}\"",
            options.text_search, options.locales[1]
        );
    }
    println!("The default text search configuration will be set to \"{}\".\n", options.text_search);
    println!("Data page checksums are enabled.\n");
    if given.has("no-data-checksums") {
        eprintln!("{NAME}: warning: data page checksums cannot be disabled");
    }
    options.password = password(given, &disk)?.map(|p| {
        let mut salt = [0; 16];
        os::random::fill(&mut salt);
        scram::Secret::new(&p, &salt, scram::ITERATIONS).to_text()
    });
    make(given, &disk, &data, &options)?;
    tell_end(given, &data, &options);
    Ok(())
}

/// Makes the directories and what is in them; what was made is removed again if that fails.
fn make(given: &Given, disk: &Disk, data: &Path, options: &CreateOptions) -> Result<(), String> {
    os::process::set_umask(if options.group_access { 0o027 } else { 0o077 });
    let existed = prepare(disk, data, "create a new database system")?;
    let step = if existed { "fixing permissions on existing" } else { "creating" };
    println!("{step} directory {} ... ok", data.display());
    let mut made = vec![(data.to_path_buf(), existed, "data")];
    let result = disk.create_dir_all(data).map_err(|e| e.to_string());
    let result = result.and_then(|()| match given.get("waldir") {
        Some(folder) => link_log(disk, data, Path::new(folder), &mut made),
        None => Ok(()),
    });
    let result = result.and_then(|()| {
        print!("running bootstrap script ... ");
        flush();
        create(disk, data, options).inspect_err(|_| println!())
    });
    if let Err(e) = result {
        eprintln!("{NAME}: error: {e}");
        for (folder, existed, name) in made {
            let text = folder.display();
            if given.has("no-clean") {
                eprintln!("{NAME}: {name} directory \"{text}\" not removed at user's request");
                continue;
            }
            let what = if existed { "removing contents of" } else { "removing" };
            eprintln!("{NAME}: {what} {name} directory \"{text}\"");
            remove_contents(disk, &folder, existed);
        }
        // It has been told.
        return Err(String::new());
    }
    println!("ok");
    Ok(())
}

/// Puts the log into a folder of its own.
fn link_log(
    disk: &Disk,
    data: &Path,
    folder: &Path,
    made: &mut Vec<(PathBuf, bool, &'static str)>,
) -> Result<(), String> {
    if !folder.is_absolute() {
        return Err("WAL directory location must be an absolute path".to_string());
    }
    let text = folder.display();
    let existed = disk.exists(folder);
    let entries = if existed { disk.list(folder).map_err(|e| e.to_string())? } else { Vec::new() };
    if !entries.is_empty() {
        return Err(format!(
            "directory \"{text}\" exists but is not empty\n{NAME}: hint: If you want to store \
             the WAL there, either remove or empty the directory \"{text}\"."
        ));
    }
    let step = if existed { "fixing permissions on existing" } else { "creating" };
    println!("{step} directory {text} ... ok");
    disk.create_dir_all(folder).map_err(|e| e.to_string())?;
    made.push((folder.to_path_buf(), existed, "WAL"));
    disk.symlink(folder, &data.join("pg_wal")).map_err(|e| e.to_string())
}

fn tell_end(given: &Given, data: &Path, options: &CreateOptions) {
    match options.sync {
        true => println!("syncing data to disk ... ok"),
        false => println!(
            "\nSync to disk skipped.\nThe data directory might become corrupt if the operating \
             system crashes."
        ),
    }
    let named = |flag: &str| given.get("auth").or(given.get(flag)).is_some();
    if !named("auth-local") || !named("auth-host") {
        flush();
        eprintln!(
            "\n{NAME}: warning: enabling \"trust\" authentication for local connections\n{NAME}: \
             hint: You can change this by editing pg_hba.conf or using the option -A, or \
             --auth-local and --auth-host, the next time you run initdb."
        );
    }
    if !given.has("no-instructions") {
        println!(
            "\nSuccess. You can now start the database server using:\n\n    pg_ctl -D {} -l \
             logfile start\n",
            data.display()
        );
    }
}

/// `--sync-only`
fn sync_only(disk: &Disk, data: &Path) -> Result<(), String> {
    let text = data.display();
    if !disk.exists(data) {
        return Err(format!("could not access directory \"{text}\": No such file or directory"));
    }
    print!("syncing data to disk ... ");
    flush();
    disk.sync_tree(data).map_err(|e| e.to_string())?;
    println!("ok");
    Ok(())
}

/// What can be told from the flags alone.
fn check_flags(given: &Given) -> Result<(), String> {
    let provider = given.get("locale-provider").unwrap_or("libc");
    if !matches!(provider, "libc" | "icu" | "builtin") {
        return Err(format!("unrecognized locale provider: {provider}"));
    }
    let needs = |flag: &str, wanted: &str| match given.get(flag) {
        Some(_) if provider != wanted => Err(format!(
            "--{flag} cannot be specified unless locale provider \"{wanted}\" is chosen"
        )),
        _ => Ok(()),
    };
    needs("builtin-locale", "builtin")?;
    needs("icu-locale", "icu")?;
    needs("icu-rules", "icu")?;
    match given.get("sync-method") {
        None | Some("fsync" | "syncfs") => {}
        Some(other) => return Err(format!("unrecognized sync method: {other}")),
    }
    if given.has("pwprompt") && given.get("pwfile").is_some() {
        return Err("password prompt and password file cannot be specified together".to_string());
    }
    Ok(())
}

const METHODS: &[&str] = &["trust", "reject", "scram-sha-256", "md5", "password"];

/// The methods of local connections and of those by TCP.
fn methods(given: &Given) -> Result<(String, String), String> {
    let both = given.get("auth");
    // As in PostgreSQL, ident for sockets is peer, and peer for TCP is ident, which is not built.
    let local = given.get("auth-local").or(both.map(|m| if m == "ident" { "peer" } else { m }));
    let host = given.get("auth-host").or(both.map(|m| match m {
        "peer" | "ident" => "scram-sha-256",
        m => m,
    }));
    let (local, host) = (local.unwrap_or("trust"), host.unwrap_or("trust"));
    for (method, kind, more) in [
        (local, "local", &["peer", "radius", "ldap"][..]),
        (host, "host", &["radius", "ldap", "cert"]),
    ] {
        if !METHODS.contains(&method) && !more.contains(&method) {
            return Err(format!(
                "invalid authentication method \"{method}\" for \"{kind}\" connections"
            ));
        }
    }
    let secret = |m: &str| matches!(m, "md5" | "password" | "scram-sha-256");
    if secret(local) && secret(host) && !given.has("pwprompt") && given.get("pwfile").is_none() {
        return Err("must specify a password for the superuser to enable password authentication"
            .to_string());
    }
    Ok((local.to_string(), host.to_string()))
}

fn options(given: &Given) -> Result<CreateOptions, String> {
    let mut out = CreateOptions { statistics: true, ..CreateOptions::default() };
    (out.auth_local, out.auth_host) = methods(given)?;
    if let Some(text) = given.get("wal-segsize") {
        let megabytes = text
            .parse::<i64>()
            .map_err(|_| format!("invalid value \"{text}\" for option --wal-segsize"))?;
        if !(1..=1024).contains(&megabytes) {
            return Err("--wal-segsize must be in range 1..1024".to_string());
        }
        let megabytes = megabytes as u32;
        if !megabytes.is_power_of_two() {
            let text = "argument of --wal-segsize must be a power of two between 1 and 1024";
            return Err(text.to_string());
        }
        out.wal_segment_size = megabytes << 20;
    }
    if let Some(user) = given.get("username").map(str::to_string).or_else(os::process::user_name) {
        if user.starts_with("pg_") {
            return Err(format!(
                "superuser name \"{user}\" is disallowed; role names cannot begin with \"pg_\""
            ));
        }
        out.superuser = user;
    }
    out.sync = !given.has("no-sync");
    out.group_access = given.has("allow-group-access");
    if let Some(name) = given.get("text-search-config") {
        out.text_search = name.to_string();
    }
    let mut defaults = engine::settings::Defaults::default();
    for (_, setting) in given.flags.iter().filter(|(n, _)| n == "set") {
        let (name, value) = setting
            .split_once('=')
            .ok_or_else(|| misused(&format!("-c {setting} requires a value")))?;
        defaults
            .set(name, value, engine::settings::Source::File)
            .map_err(|e| e.message().to_string())?;
        out.settings.push((name.to_string(), value.to_string()));
    }
    Ok(out)
}

/// The flags of the six categories of locales, in the order of [`CreateOptions::locales`].
const CATEGORIES: [&str; 6] =
    ["lc-collate", "lc-ctype", "lc-messages", "lc-monetary", "lc-numeric", "lc-time"];

fn read_locales(given: &Given, out: &mut CreateOptions) -> Result<(), String> {
    let provider = given.get("locale-provider").unwrap_or("libc");
    let all = if given.has("no-locale") { Some("C") } else { given.get("locale") };
    if provider == "icu" {
        let locale = given.get("icu-locale").or(all);
        let locale = locale.ok_or("locale must be specified if provider is icu")?;
        out.icu_rules = given.get("icu-rules").map(str::to_string);
        out.provider_locale = Some((b'i', icu_locale(locale)?));
    }
    if provider == "builtin" {
        let locale = given.get("builtin-locale").or(all);
        let locale = locale.ok_or("locale must be specified if provider is builtin")?;
        let locale = match locale {
            "C.UTF8" | "C.UTF-8" => "C.UTF-8",
            "C" | "PG_UNICODE_FAST" => locale,
            _ => return Err(format!("invalid locale name \"{locale}\" for builtin provider")),
        };
        out.provider_locale = Some((b'b', locale.to_string()));
    }
    for (flag, locale) in CATEGORIES.iter().zip(&mut out.locales) {
        let Some(wanted) = given.get(flag).or(all).filter(|l| !l.is_empty()) else { continue };
        *locale = match wanted {
            "C" | "POSIX" | "C.UTF-8" | "C.utf8" => wanted.to_string(),
            // The word for all of them may be one of the provider's.
            "PG_UNICODE_FAST" | "C.UTF8" if given.get(flag).is_none() => "C".to_string(),
            _ if !is_locale_name(wanted) => {
                return Err(format!(
                    "invalid locale name \"{wanted}\"\n{NAME}: hint: If the locale name is specific \
                     to ICU, use --icu-locale."
                ));
            }
            _ => {
                eprintln!("{NAME}: warning: locale \"{wanted}\" is not supported, using \"C\"");
                "C".to_string()
            }
        };
    }
    Ok(())
}

/// The language tag of a locale of ICU's.
fn icu_locale(given: &str) -> Result<String, String> {
    let tag = engine::icu_locale(given).map_err(|e| e.message().to_string())?;
    if tag != given {
        println!("Using language tag \"{tag}\" for ICU locale \"{given}\".");
    }
    Ok(tag)
}

/// True for names like `de_DE.UTF-8`.
fn is_locale_name(name: &str) -> bool {
    let language = name.split(['.', '@']).next().unwrap_or_default();
    let Some((language, country)) = language.split_once('_') else { return false };
    let lower = |s: &str| s.bytes().all(|b| b.is_ascii_lowercase());
    let upper = |s: &str| s.bytes().all(|b| b.is_ascii_uppercase());
    matches!(language.len(), 2 | 3) && lower(language) && country.len() == 2 && upper(country)
}

fn tell_locales(options: &CreateOptions) {
    let same = options.locales.iter().all(|l| *l == options.locales[0]);
    if same && options.provider_locale.is_none() {
        let locale = &options.locales[0];
        println!("The database cluster will be initialized with locale \"{locale}\".");
        return;
    }
    println!("The database cluster will be initialized with this locale configuration:");
    let provider = match &options.provider_locale {
        None => "libc",
        Some((b'i', _)) => "icu",
        Some(_) => "builtin",
    };
    println!("  locale provider:   {provider}");
    if let Some((_, locale)) = &options.provider_locale {
        println!("  default collation: {locale}");
    }
    for (flag, locale) in CATEGORIES.iter().zip(&options.locales) {
        let name = flag.to_ascii_uppercase().replace('-', "_") + ":";
        println!("  {name:<13}{locale}");
    }
}

fn check_encoding(given: &Given) -> Result<(), String> {
    let Some(encoding) = given.get("encoding") else { return Ok(()) };
    match types::encoding::Encoding::from_name(encoding) {
        Some(types::encoding::Encoding::UTF8) => Ok(()),
        Some(_) => Err(format!("encoding \"{encoding}\" is not supported: databases are UTF8")),
        None => Err(format!("\"{encoding}\" is not a valid server encoding name")),
    }
}

fn password(given: &Given, disk: &Disk) -> Result<Option<String>, String> {
    if let Some(file) = given.get("pwfile") {
        let path = std::path::absolute(file).map_err(|e| e.to_string())?;
        let bytes = match disk.read(&path) {
            Err(e) if e.is_not_found() => Err("No such file or directory".to_string()),
            read => read.map_err(|e| e.to_string()),
        };
        let bytes =
            bytes.map_err(|e| format!("could not open file \"{file}\" for reading: {e}"))?;
        let text = String::from_utf8_lossy(&bytes);
        let line = text.lines().next().unwrap_or_default().to_string();
        if line.is_empty() {
            return Err(format!("password file \"{file}\" is empty"));
        }
        return Ok(Some(line));
    }
    if !given.has("pwprompt") {
        return Ok(None);
    }
    let first = os::process::read_password("Enter new superuser password: ");
    let second = os::process::read_password("Enter it again: ");
    match first == second {
        true => Ok(first),
        false => Err("Passwords didn't match.".to_string()),
    }
}

/// Verifies that the directory may be used; true if it exists.
fn prepare(disk: &Disk, data: &Path, purpose: &str) -> Result<bool, String> {
    if !disk.exists(data) {
        return Ok(false);
    }
    let entries = disk.list(data).map_err(|e| e.to_string())?;
    let text = data.display();
    if entries.iter().any(|e| e.name != "lost+found" && !e.name.starts_with('.')) {
        return Err(format!(
            "directory \"{text}\" exists but is not empty\n{NAME}: hint: If you want to {purpose}, \
             either remove or empty the directory \"{text}\" or run initdb \
             with an argument other than \"{text}\"."
        ));
    }
    Ok(true)
}

fn create(disk: &Disk, data: &Path, options: &CreateOptions) -> Result<(), String> {
    Database::create(disk.clone(), data, options).map_err(|e| e.message().to_string())?;
    let mode = if options.group_access { 0o750 } else { 0o700 };
    os::process::set_mode(data, mode).map_err(|e| e.to_string())
}

fn remove_contents(disk: &Disk, data: &Path, keep: bool) {
    if !keep {
        let _ = disk.remove_dir_all(data);
        return;
    }
    for entry in disk.list(data).unwrap_or_default() {
        let path = data.join(&entry.name);
        if disk.remove(&path).is_err() {
            let _ = disk.remove_dir_all(&path);
        }
    }
}

fn flush() {
    use std::io::Write;
    let _ = std::io::stdout().flush();
}
