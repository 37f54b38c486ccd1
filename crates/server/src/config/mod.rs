//! Settings from files and from the command line.

mod file;

pub use file::read_settings;

use base::{Result, err};
use engine::settings::{Defaults, Source};
use std::path::{Path, PathBuf};

/// What the command line of `postgres` says.
#[derive(Clone, Debug, Default)]
pub struct CommandLine {
    /// `-D`
    pub data: Option<PathBuf>,
    /// `-c name=value` and the flags that mean the same, in order.
    pub settings: Vec<(String, String)>,
    /// `-C name`: print this setting and exit.
    pub print: Option<String>,
}

/// Splits `name=value`; dashes in the name count as underscores.
pub fn name_and_value(text: &str) -> Result<(String, String)> {
    after_flag("-c ", text)
}

/// The same, of what came after `flag`.
fn after_flag(flag: &str, text: &str) -> Result<(String, String)> {
    let (name, value) =
        text.split_once('=').ok_or_else(|| err!(SYNTAX_ERROR, "{flag}{text} requires a value"))?;
    Ok((name.trim().replace('-', "_"), value.to_string()))
}

impl CommandLine {
    /// Reads the arguments after the program's name.
    pub fn parse(args: &[String]) -> Result<CommandLine> {
        let mut out = CommandLine::default();
        let mut i = 0;
        while i < args.len() {
            let arg = args[i].as_str();
            i += 1;
            if let Some(long) = arg.strip_prefix("--") {
                if long.contains('=') {
                    out.settings.push(name_and_value(long)?);
                    continue;
                }
                return Err(err!(SYNTAX_ERROR, "--{long} requires a value"));
            }
            let Some(flag) = arg.strip_prefix('-').and_then(|f| f.chars().next()) else {
                return Err(err!(SYNTAX_ERROR, "invalid argument: \"{arg}\""));
            };
            let mut value = || -> Result<String> {
                if arg.len() > 2 {
                    return Ok(arg[2..].to_string());
                }
                i += 1;
                let given = args.get(i - 1).cloned();
                given.ok_or_else(|| err!(SYNTAX_ERROR, "option requires an argument -- '{flag}'"))
            };
            let mut set = |name: &str, value: String| out.settings.push((name.into(), value));
            match flag {
                'D' => out.data = Some(PathBuf::from(value()?)),
                'c' => out.settings.push(name_and_value(&value()?)?),
                'C' => out.print = Some(value()?),
                'p' => set("port", value()?),
                'h' => set("listen_addresses", value()?),
                'k' => set("unix_socket_directories", value()?),
                'i' => set("listen_addresses", "*".into()),
                'N' => set("max_connections", value()?),
                'B' => set("shared_buffers", value()?),
                'S' => set("work_mem", value()?),
                'F' => set("fsync", "off".into()),
                'd' => set("log_min_messages", format!("debug{}", value()?)),
                'l' | 'e' | 's' | 'n' | 'T' => {}
                other => return Err(err!(SYNTAX_ERROR, "invalid option -- '{other}'")),
            }
        }
        Ok(out)
    }
}

/// Settings in the `options` of a startup packet: `-c name=value --name=value`, with backslashes
/// before spaces.
pub fn split_options(text: &str) -> Result<Vec<(String, String)>> {
    let mut words: Vec<String> = Vec::new();
    let (mut word, mut escaped, mut any) = (String::new(), false, false);
    for c in text.chars() {
        match c {
            '\\' if !escaped => {
                escaped = true;
                any = true;
                continue;
            }
            c if c.is_whitespace() && !escaped => {
                if any {
                    words.push(std::mem::take(&mut word));
                }
                any = false;
            }
            c => {
                word.push(c);
                any = true;
            }
        }
        escaped = false;
    }
    if any {
        words.push(word);
    }
    let mut out = Vec::new();
    let mut words = words.into_iter();
    while let Some(w) = words.next() {
        if let Some(long) = w.strip_prefix("--") {
            out.push(after_flag("--", long)?);
            continue;
        }
        let flag = w.strip_prefix('-').and_then(|f| f.chars().next());
        let rest = w.get(2..).filter(|r| !r.is_empty()).map(str::to_string);
        let of_flag = flag.filter(|f| "cBEFPSWdefhjlnstvk".contains(*f));
        let takes_value = of_flag.is_some_and(|f| "cBSWdfhtv".contains(f));
        let value = match takes_value {
            true => rest.or_else(|| words.next()),
            false => Some(String::new()),
        };
        let (Some(flag), Some(value)) = (of_flag, value) else {
            let text = format!("invalid command-line argument for server process: {w}");
            return Err(
                err!(SYNTAX_ERROR, "{text}").hint("Try \"postgres --help\" for more information.")
            );
        };
        match of_session(flag, &value) {
            Some(setting) => out.push(setting),
            None if flag == 'c' => out.push(name_and_value(&value)?),
            // The others mean nothing for one session.
            None => {}
        }
    }
    Ok(out)
}

/// What a flag of a server process sets in a session.
fn of_session(flag: char, value: &str) -> Option<(String, String)> {
    let (name, value) = match flag {
        'B' => ("shared_buffers", value),
        'S' => ("work_mem", value),
        'W' => ("post_auth_delay", value),
        'F' => ("fsync", "false"),
        's' => ("log_statement_stats", "true"),
        'e' => ("datestyle", "ISO, DMY"),
        _ => return None,
    };
    Some((name.to_string(), value.to_string()))
}

/// The server's settings: built-in values, then the files, then the command line.
pub fn load(data: &Path, command_line: &[(String, String)]) -> Result<Defaults> {
    let (defaults, errors) = load_all(data, command_line)?;
    match errors.into_iter().next() {
        Some(e) => Err(e),
        None => Ok(defaults),
    }
}

/// The same as far as it goes, and what was wrong.
pub fn load_all(
    data: &Path,
    command_line: &[(String, String)],
) -> Result<(Defaults, Vec<base::Error>)> {
    let mut defaults = Defaults::default();
    let given = |name: &str| command_line.iter().rev().find(|(n, _)| n == name).map(|(_, v)| v);
    let path = given("config_file").map_or_else(|| data.join("postgresql.conf"), PathBuf::from);
    let mut entries = read_settings(&path)?;
    let auto = data.join("postgresql.auto.conf");
    if auto.exists() {
        entries.extend(read_settings(&auto)?);
    }
    let errors = defaults.set_from_files(entries);
    for (name, path) in [
        ("config_file", path.clone()),
        ("data_directory", data.to_path_buf()),
        ("hba_file", data.join("pg_hba.conf")),
        ("ident_file", data.join("pg_ident.conf")),
    ] {
        if defaults.show(name).is_empty() {
            defaults.set(name, &path.display().to_string(), Source::Override)?;
        }
    }
    for (name, value) in command_line {
        defaults.set(name, value, Source::CommandLine)?;
    }
    set_buffers(&mut defaults)?;
    set_io_method(&mut defaults)?;
    set_dependent(&mut defaults)?;
    Ok((defaults, errors))
}

/// Sizes that follow from that of the page cache, unless they are set.
fn set_dependent(defaults: &mut Defaults) -> Result<()> {
    let buffers = defaults.get("shared_buffers").map_or(0, |v| v.as_i64());
    let share = (buffers / 512).clamp(16, 1024) / 16 * 16;
    let megabytes = (buffers >> 7) + (buffers >> 7) / 20 + 8;
    for (name, unset, value) in [
        ("commit_timestamp_buffers", 0, share),
        ("subtransaction_buffers", 0, share),
        ("transaction_buffers", 0, share),
        ("wal_buffers", -1, (buffers / 32).clamp(8, 2048)),
    ] {
        if defaults.get(name).is_some_and(|v| v.as_i64() == unset) {
            defaults.set(name, &value.to_string(), Source::Default)?;
        }
    }
    let number = |n: i64| base::settings::SettingValue::Integer(n);
    defaults.set_internal("shared_memory_size", number(megabytes));
    defaults.set_internal("shared_memory_size_in_huge_pages", number((megabytes + 1) / 2));
    Ok(())
}

/// Pages are cached here and nowhere else, so that a quarter of the memory is the least that
/// makes sense, unless the administrator says otherwise.
fn set_buffers(defaults: &mut Defaults) -> Result<()> {
    let def = base::settings::require("shared_buffers")?;
    if defaults.source(def.index) != Source::Default {
        return Ok(());
    }
    let quarter = os::memory::total_bytes() / 4;
    let megabytes = (quarter >> 20).clamp(128, 64 << 10);
    defaults.set("shared_buffers", &format!("{megabytes}MB"), Source::Default)
}

/// Unless it is said how pages are read ahead, the quickest way is taken that works here.
fn set_io_method(defaults: &mut Defaults) -> Result<()> {
    let def = base::settings::require("io_method")?;
    let best = os::IoMethod::detect();
    if defaults.source(def.index) == Source::Default {
        return defaults.set("io_method", best.as_str(), Source::Default);
    }
    let wanted = os::IoMethod::parse(&defaults.show("io_method"));
    if wanted == Some(os::IoMethod::IoUring) && best != os::IoMethod::IoUring {
        return Err(err!(
            FEATURE_NOT_SUPPORTED,
            "could not setup io_uring queue: the system does not let this program use io_uring"
        )
        .hint("Use \"io_method\" = \"worker\" or \"sync\"."));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_string).collect()
    }

    #[test]
    fn command_lines() {
        let c = CommandLine::parse(&args("-D /d -p5433 --work-mem=4MB -c fsync=off -F")).unwrap();
        assert_eq!(c.data, Some(PathBuf::from("/d")));
        let names: Vec<&str> = c.settings.iter().map(|s| s.0.as_str()).collect();
        assert_eq!(names, ["port", "work_mem", "fsync", "fsync"]);
        assert!(CommandLine::parse(&args("-p")).is_err());
        assert!(CommandLine::parse(&args("-Z")).is_err());
    }

    #[test]
    fn options_of_a_client() {
        let o = split_options(r"-c search_path=a\ b --work-mem=1MB -cgeqo=off").unwrap();
        assert_eq!(o[0], ("search_path".into(), "a b".into()));
        assert_eq!(o[1], ("work_mem".into(), "1MB".into()));
        assert_eq!(o[2], ("geqo".into(), "off".into()));
        assert!(split_options("-Q").is_err());
    }
}
