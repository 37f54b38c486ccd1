//! `current_setting`, `set_config`, `pg_settings`.

use super::SysSession;
use super::args::{Args, opt_text};
use crate::settings::Source;
use base::settings::{self, SettingDef, SettingType};
use base::{Result, bail};
use types::Datum;

pub(super) fn call(s: &dyn SysSession, name: &str, args: &Args) -> Option<Result<Datum>> {
    Some(match name {
        "current_setting" => current(s, args),
        "set_config" => set(s, args),
        "pg_settings_get_flags" => flags(args),
        _ => return None,
    })
}

fn current(s: &dyn SysSession, args: &Args) -> Result<Datum> {
    let name = args.text(0)?;
    s.check_may_read(name)?;
    match s.settings().show(name) {
        Some(value) => Ok(Datum::string(value)),
        None if args.bool(1) => Ok(Datum::Null),
        None => {
            bail!(UNDEFINED_OBJECT, "unrecognized configuration parameter \"{name}\"")
        }
    }
}

fn set(s: &dyn SysSession, args: &Args) -> Result<Datum> {
    if args.is_null(0) {
        bail!(NULL_VALUE_NOT_ALLOWED, "SET requires parameter name");
    }
    let name = args.text(0)?.to_string();
    let value = if args.is_null(1) { None } else { Some(args.text(1)?) };
    s.set_config(&name, value, args.bool(2))?;
    Ok(opt_text(s.settings().show(&name)))
}

/// What is marked of a setting; NULL if there is no such setting.
fn flags(args: &Args) -> Result<Datum> {
    const SHOWN: [(&str, &str); 6] = [
        ("EXPLAIN", "EXPLAIN"),
        ("NO_RESET", "NO_RESET"),
        ("NO_RESET_ALL", "NO_RESET_ALL"),
        ("HIDDEN", "NO_SHOW_ALL"),
        ("NOT_IN_SAMPLE", "NOT_IN_SAMPLE"),
        ("RUNTIME_COMPUTED", "RUNTIME_COMPUTED"),
    ];
    let Some(def) = settings::find(args.text(0)?) else { return Ok(Datum::Null) };
    let marked = SHOWN.iter().filter(|(mark, _)| def.flags.contains(mark));
    let marked: Vec<String> = marked.map(|(_, shown)| shown.to_string()).collect();
    Ok(catalog::vector::from_texts(catalog::oids::TEXT, &marked))
}

/// The rows of `pg_settings`.
pub(super) fn all(s: &dyn SysSession) -> Vec<Vec<Datum>> {
    let current = s.settings();
    // Where files are is for those who may see all settings.
    let told = s.reads_all_settings();
    let shown = |d: &&SettingDef| !d.hidden && (told || !crate::settings::is_secret(d.name));
    settings::all().iter().filter(shown).map(|d| row(&current, d, told)).collect()
}

/// The value RESET goes back to; permissions are numbers here.
fn reset_text(d: &SettingDef, value: &settings::SettingValue) -> Datum {
    let text = d.show_plain(value);
    match d.name {
        "data_directory_mode" | "log_file_mode" | "unix_socket_permissions" => {
            match i64::from_str_radix(&text, 8) {
                Ok(n) => Datum::string(n.to_string()),
                Err(_) => Datum::string(text),
            }
        }
        _ => Datum::string(text),
    }
}

fn row(current: &crate::settings::SessionSettings, d: &SettingDef, told: bool) -> Vec<Datum> {
    let text = |t: &str| if t.is_empty() { Datum::Null } else { Datum::text(t) };
    let raw = |v: &settings::SettingValue| Datum::string(d.show_plain(v));
    let unit = d.unit.name();
    let number = matches!(d.kind, SettingType::Integer | SettingType::Real);
    let from_file = current.source(d) == Source::File;
    let place = current.defaults().place(d.index).filter(|_| from_file && told);
    let words: Vec<String> = d.enum_values.iter().map(|w| w.to_string()).collect();
    let (short, extra) = match d.description.split_once('\u{1f}') {
        Some((short, extra)) => (short, extra),
        None => (d.description, ""),
    };
    vec![
        Datum::text(d.name),
        current.get(d.name).map_or(Datum::Null, |v| match d.name {
            // Shown by what it means.
            "archive_command" if v.as_str().is_empty() => Datum::text("(disabled)"),
            _ => raw(v),
        }),
        text(unit),
        Datum::text(d.category),
        text(short),
        text(extra),
        Datum::text(d.context.as_str()),
        Datum::text(d.kind.as_str()),
        Datum::text(current.source(d).as_str()),
        if number { text(d.min_text) } else { Datum::Null },
        if number { text(d.max_text) } else { Datum::Null },
        if d.kind == SettingType::Enum {
            catalog::vector::from_texts(catalog::oids::TEXT, &words)
        } else {
            Datum::Null
        },
        d.boot.map_or(Datum::Null, Datum::text),
        reset_text(d, current.reset_value(d)),
        place.map_or(Datum::Null, |p| Datum::text(&p.0)),
        place.map_or(Datum::Null, |p| Datum::I32(p.1 as i32)),
        Datum::Bool(current.defaults().is_pending(d.index)),
    ]
}
