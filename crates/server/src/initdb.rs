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
  -E, --encoding=ENCODING   set default encoding for new databases
  -g, --allow-group-access  allow group read/execute on data directory
  -k, --data-checksums      use data page checksums
      --locale=LOCALE       set default locale for new databases
      --no-locale           equivalent to --locale=C
      --pwfile=FILE         read password for the new superuser from file
  -U, --username=NAME       database superuser name
  -W, --pwprompt            prompt for a password for the new superuser
      --wal-segsize=SIZE    size of WAL segments, in megabytes

Less commonly used options:
  -c, --set NAME=VALUE      override default setting for server parameter
  -N, --no-sync             do not wait for changes to be written safely to disk
      --no-instructions     do not print instructions for next steps

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
            eprintln!("{NAME}: error: {e}");
            1
        }
    }
}

fn run(given: &Given) -> Result<(), String> {
    let mut operands = given.operands.iter();
    let data = given.get("pgdata").map(str::to_string).or_else(|| operands.next().cloned());
    if let Some(extra) = operands.next() {
        return Err(format!("too many command-line arguments (first is \"{extra}\")"));
    }
    let data = data.map(PathBuf::from).or_else(|| std::env::var_os("PGDATA").map(PathBuf::from));
    let data = data.ok_or_else(|| {
        format!(
            "no data directory specified\n{NAME}: hint: You must identify the directory where \
             the data for this database system will reside.  Do this with either the invocation \
             option -D or the environment variable PGDATA."
        )
    })?;
    let data = std::path::absolute(&data).map_err(|e| e.to_string())?;
    let disk = Disk::real();
    let options = options(given, &disk)?;
    let existed = prepare(&disk, &data)?;
    os::process::set_umask(0o077);
    let text = data.display();
    let user = os::process::user_name().unwrap_or_default();
    println!(
        "The files belonging to this database system will be owned by user \"{user}\".\n\
         This user must also own the server process.\n"
    );
    if os::process::is_root() {
        eprintln!("{NAME}: warning: running as root; the server will run with all rights");
    }
    println!("The database cluster will be initialized with locale \"{}\".", options.locale);
    println!("The default database encoding has accordingly been set to \"UTF8\".");
    println!("The default text search configuration will be set to \"english\".\n");
    println!("Data page checksums are enabled.\n");
    let step = if existed { "fixing permissions on existing" } else { "creating" };
    println!("{step} directory {text} ... ok");
    print!("running bootstrap script ... ");
    flush();
    if let Err(e) = create(&disk, &data, &options) {
        println!();
        if existed {
            eprintln!("{NAME}: removing contents of data directory \"{text}\"");
        } else {
            eprintln!("{NAME}: removing data directory \"{text}\"");
        }
        remove_contents(&disk, &data, existed);
        return Err(e);
    }
    println!("ok");
    if options.sync {
        println!("syncing data to disk ... ok\n");
    } else {
        println!(
            "\nSync to disk skipped.\nThe data directory might become corrupt if the operating \
             system crashes.\n"
        );
    }
    if options.auth_local == "trust" && given.get("auth").is_none() {
        eprintln!(
            "{NAME}: warning: enabling \"trust\" authentication for local connections\n{NAME}: \
             hint: You can change this by editing pg_hba.conf or using the option -A, or \
             --auth-local and --auth-host, the next time you run initdb."
        );
    }
    if !given.has("no-instructions") {
        println!(
            "\nSuccess. You can now start the database server using:\n\n    pg_ctl -D {text} -l \
             logfile start\n"
        );
    }
    Ok(())
}

const METHODS: &[&str] = &["trust", "reject", "scram-sha-256", "md5", "password", "peer", "ident"];

fn options(given: &Given, disk: &Disk) -> Result<CreateOptions, String> {
    let mut out = CreateOptions { statistics: true, ..CreateOptions::default() };
    if let Some(user) = given.get("username").map(str::to_string).or_else(os::process::user_name) {
        if user.starts_with("pg_") {
            return Err(format!(
                "superuser name \"{user}\" is disallowed; role names cannot begin with \"pg_\""
            ));
        }
        out.superuser = user;
    }
    let both = given.get("auth");
    let local = given.get("auth-local").or(both).unwrap_or("trust");
    let host = given.get("auth-host").or(both).unwrap_or("trust");
    for (method, kind) in [(local, "local"), (host, "host")] {
        if !METHODS.contains(&method) {
            return Err(format!(
                "invalid authentication method \"{method}\" for \"{kind}\" connections"
            ));
        }
    }
    // As in PostgreSQL, ident for sockets is peer, and peer for TCP is ident, which is not built.
    out.auth_local = if local == "ident" { "peer" } else { local }.to_string();
    out.auth_host = if host == "peer" { "scram-sha-256" } else { host }.to_string();
    if let Some(encoding) = given.get("encoding")
        && !matches!(encoding.to_ascii_uppercase().as_str(), "UTF8" | "UTF-8" | "UNICODE")
    {
        return Err(format!("encoding \"{encoding}\" is not supported: databases are UTF8"));
    }
    for name in ["locale", "lc-collate", "lc-ctype", "builtin-locale"] {
        if let Some(locale) = given.get(name)
            && !matches!(locale, "C" | "POSIX" | "C.UTF-8" | "C.utf8" | "PG_UNICODE_FAST")
        {
            eprintln!("{NAME}: warning: locale \"{locale}\" is not supported, using \"C\"");
        }
    }
    if let Some(text) = given.get("wal-segsize") {
        let megabytes = text.parse::<u32>().ok().filter(|n| n.is_power_of_two() && *n <= 1024);
        let megabytes = megabytes
            .ok_or("argument of --wal-segsize must be a power of two between 1 and 1024")?;
        out.wal_segment_size = megabytes << 20;
    }
    out.sync = !given.has("no-sync");
    for (_, setting) in given.flags.iter().filter(|(n, _)| n == "set") {
        let (name, value) =
            setting.split_once('=').ok_or_else(|| format!("-c {setting} requires a value"))?;
        out.settings.push((name.to_string(), value.to_string()));
    }
    out.password = password(given, disk)?.map(|p| {
        let mut salt = [0; 16];
        os::random::fill(&mut salt);
        scram::Secret::new(&p, &salt, scram::ITERATIONS).to_text()
    });
    Ok(out)
}

fn password(given: &Given, disk: &Disk) -> Result<Option<String>, String> {
    if let Some(file) = given.get("pwfile") {
        let bytes = disk
            .read(&std::path::absolute(file).map_err(|e| e.to_string())?)
            .map_err(|e| format!("could not open file \"{file}\" for reading: {e}"))?;
        let text = String::from_utf8_lossy(&bytes);
        let line = text.lines().next().unwrap_or_default().to_string();
        if line.is_empty() {
            return Err(format!("password file \"{file}\" is empty"));
        }
        return Ok(Some(line));
    }
    if given.has("pwprompt") {
        eprint!("Enter new superuser password: ");
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).map_err(|e| e.to_string())?;
        return Ok(Some(line.trim_end_matches('\n').to_string()));
    }
    Ok(None)
}

/// Verifies that the directory may be used; true if it exists.
fn prepare(disk: &Disk, data: &Path) -> Result<bool, String> {
    if !disk.exists(data) {
        return Ok(false);
    }
    let entries = disk.list(data).map_err(|e| e.to_string())?;
    let text = data.display();
    if entries.iter().any(|e| e.name != "lost+found" && !e.name.starts_with('.')) {
        return Err(format!(
            "directory \"{text}\" exists but is not empty\n{NAME}: hint: If you want to create a \
             new database system, either remove or empty the directory \"{text}\" or run initdb \
             with an argument other than \"{text}\"."
        ));
    }
    Ok(true)
}

fn create(disk: &Disk, data: &Path, options: &CreateOptions) -> Result<(), String> {
    Database::create(disk.clone(), data, options).map_err(|e| e.message().to_string())?;
    os::process::set_mode(data, 0o700).map_err(|e| e.to_string())
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
