//! Arguments as GNU getopt_long reads them: short flags may be joined, long ones abbreviated,
//! values
//! joined or apart, and operands may come anywhere.

/// A flag that a program knows.
#[derive(Clone, Copy, Debug)]
pub struct Flag {
    /// The letter; `\0` if it has only a long name.
    pub short: char,
    /// The long name, or empty.
    pub long: &'static str,
    /// It takes a value.
    pub value: bool,
    /// Its long form may have a value joined to it.
    pub joined: bool,
}

/// A flag without a value.
pub const fn flag(short: char, long: &'static str) -> Flag {
    Flag { short, long, value: false, joined: false }
}

/// A flag with a value.
pub const fn with_value(short: char, long: &'static str) -> Flag {
    Flag { short, long, value: true, joined: false }
}

/// A flag whose long form may have a value: `--flag` or `--flag=value`.
pub const fn with_joined(short: char, long: &'static str) -> Flag {
    Flag { short, long, value: false, joined: true }
}

/// What was given.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Given {
    /// Flags by their long name, or by letter if they have none, with their values, in order.
    pub flags: Vec<(String, String)>,
    /// The other arguments.
    pub operands: Vec<String>,
}

impl Given {
    /// Begins a program: reads its arguments, answers `--help` and `--version`. The error is the
    /// code to exit with: 0 if it was answered, else `failure`, after a complaint.
    pub fn begin(
        program: &str,
        help: &str,
        args: &[String],
        known: &[Flag],
        failure: i32,
    ) -> Result<Given, i32> {
        let given = Given::read(args, known).map_err(|e| {
            complain(program, &e);
            failure
        })?;
        if given.has("help") {
            print!("{help}");
            return Err(0);
        }
        if given.has("version") {
            println!("{program} {}", crate::version());
            return Err(0);
        }
        Ok(given)
    }

    /// Reads arguments; the error is getopt's message, without the program's name.
    pub fn read(args: &[String], known: &[Flag]) -> Result<Given, String> {
        let mut out = Given::default();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            if arg == "--" {
                out.operands.extend(args.cloned());
                break;
            }
            if let Some(long) = arg.strip_prefix("--") {
                let (name, joined) = match long.split_once('=') {
                    Some((n, v)) => (n, Some(v.to_string())),
                    None => (long, None),
                };
                let found = find_long(known, name)?;
                let value = match (found.value, joined) {
                    (false, Some(v)) if found.joined => v,
                    (false, Some(_)) => {
                        return Err(format!("option '--{}' doesn't allow an argument", found.long));
                    }
                    (false, None) => String::new(),
                    (true, Some(v)) => v,
                    (true, None) => args
                        .next()
                        .cloned()
                        .ok_or_else(|| format!("option '--{}' requires an argument", found.long))?,
                };
                out.push(found, value);
            } else if arg.len() > 1 && arg.starts_with('-') {
                let mut rest = arg[1..].chars();
                while let Some(c) = rest.next() {
                    let found = known
                        .iter()
                        .find(|f| f.short == c && c != '\0')
                        .ok_or_else(|| format!("invalid option -- '{c}'"))?;
                    if !found.value {
                        out.push(found, String::new());
                        continue;
                    }
                    let joined = rest.as_str();
                    let value = if joined.is_empty() {
                        args.next()
                            .cloned()
                            .ok_or_else(|| format!("option requires an argument -- '{c}'"))?
                    } else {
                        joined.to_string()
                    };
                    out.push(found, value);
                    break;
                }
            } else {
                out.operands.push(arg.clone());
            }
        }
        Ok(out)
    }

    fn push(&mut self, flag: &Flag, value: String) {
        let name = if flag.long.is_empty() { flag.short.to_string() } else { flag.long.into() };
        self.flags.push((name, value));
    }

    /// True if a flag was given.
    pub fn has(&self, name: &str) -> bool {
        self.flags.iter().any(|(n, _)| n == name)
    }

    /// A flag's last value.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.flags.iter().rev().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }
}

fn find_long<'f>(known: &'f [Flag], name: &str) -> Result<&'f Flag, String> {
    if let Some(exact) = known.iter().find(|f| f.long == name) {
        return Ok(exact);
    }
    let mut fits = known.iter().filter(|f| !f.long.is_empty() && f.long.starts_with(name));
    match (fits.next(), fits.next()) {
        (Some(one), None) => Ok(one),
        (Some(_), Some(_)) => Err(format!("option '--{name}' is ambiguous")),
        _ => Err(format!("unrecognized option '--{name}'")),
    }
}

/// Prints getopt's complaint and the hint that follows it.
pub fn complain(program: &str, message: &str) {
    eprintln!("{program}: {message}");
    // pg_ctl is older than the words for hints.
    let hint = if program == "pg_ctl" { String::new() } else { format!("{program}: hint: ") };
    eprintln!("{hint}Try \"{program} --help\" for more information.");
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &[Flag] = &[
        flag('w', "wait"),
        with_value('D', "pgdata"),
        with_value('m', "mode"),
        flag('W', "no-wait"),
    ];

    fn read(text: &str) -> Result<Given, String> {
        Given::read(&text.split(' ').map(str::to_string).collect::<Vec<_>>(), KNOWN)
    }

    #[test]
    fn all_forms() {
        let g = read("-D /x stop -wmfast --pgd=/y -W").unwrap();
        assert_eq!(g.operands, ["stop"]);
        assert_eq!((g.get("pgdata"), g.get("mode")), (Some("/y"), Some("fast")));
        assert!(g.has("wait") && g.has("no-wait"));
        assert_eq!(read("-Z").unwrap_err(), "invalid option -- 'Z'");
        assert_eq!(read("-D").unwrap_err(), "option requires an argument -- 'D'");
        assert_eq!(read("--nix").unwrap_err(), "unrecognized option '--nix'");
        assert_eq!(read("--wait=1").unwrap_err(), "option '--wait' doesn't allow an argument");
    }
}
