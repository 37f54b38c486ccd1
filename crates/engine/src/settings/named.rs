//! Settings whose values name objects of the database: what is not there is refused by SET.

use super::{canonical, split_list};
use crate::session::SessionCore;
use base::settings::SettingDef;
use base::{Error, Result, bail, err, settings};
use catalog::{RowStore, indexes};
use types::Datum;

fn invalid(def: &SettingDef, value: &str) -> Error {
    err!(INVALID_PARAMETER_VALUE, "invalid value for parameter \"{}\": \"{value}\"", def.name)
}

/// Settings that only those read who may read all of them.
const NOT_FOR_ALL: [&str; 24] = [
    "config_file",
    "data_directory",
    "dynamic_library_path",
    "extension_control_path",
    "external_pid_file",
    "hba_file",
    "ident_file",
    "jit_provider",
    "krb_server_keyfile",
    "log_directory",
    "log_filename",
    "oauth_validator_libraries",
    "output_plugin_libraries",
    "primary_conninfo",
    "session_preload_libraries",
    "shared_preload_libraries",
    "ssl_ciphers",
    "ssl_dh_params_file",
    "ssl_groups",
    "ssl_max_protocol_version",
    "ssl_min_protocol_version",
    "ssl_passphrase_command",
    "ssl_tls13_ciphers",
    "unix_socket_directories",
];

/// True of settings that only those read who may read all of them.
pub(crate) fn is_secret(name: &str) -> bool {
    NOT_FOR_ALL.iter().any(|n| n.eq_ignore_ascii_case(name))
}

impl SessionCore {
    /// True if the current user may read all settings.
    pub(crate) fn reads_all_settings(&self) -> Result<bool> {
        self.has_rights_of(catalog::oids::PG_READ_ALL_SETTINGS)
    }

    /// Fails if the current user may not read this setting.
    pub(crate) fn check_may_read(&self, name: &str) -> Result<()> {
        if !is_secret(name) || self.reads_all_settings()? {
            return Ok(());
        }
        Err(err!(INSUFFICIENT_PRIVILEGE, "permission denied to examine \"{name}\"").detail(
            "Only roles with privileges of the \"pg_read_all_settings\" role may examine this \
             parameter.",
        ))
    }

    /// Checks what a value names; gives the value to be stored if that is another.
    pub(crate) fn check_named(&self, name: &str, value: &str) -> Result<Option<String>> {
        let Some(def) = settings::find(name) else { return Ok(None) };
        match def.name {
            "default_table_access_method" => self.check_table_method(def, value)?,
            "default_tablespace" if !value.is_empty() && !self.has_tablespace(value)? => {
                let detail = format!("Tablespace \"{value}\" does not exist.");
                return Err(invalid(def, value).detail(detail));
            }
            "temp_tablespaces" => {
                for name in split_list(value).unwrap_or_default() {
                    if !name.is_empty() && !self.has_tablespace(&name)? {
                        bail!(UNDEFINED_OBJECT, "tablespace \"{name}\" does not exist");
                    }
                }
            }
            "default_text_search_config" => {
                return self
                    .text_search_config(value)?
                    .map(Some)
                    .ok_or_else(|| invalid(def, value));
            }
            "log_parser_stats" | "log_planner_stats" | "log_executor_stats" => {
                self.check_statistics(def, value, &["log_statement_stats"])?;
            }
            "log_statement_stats" => {
                let parts = ["log_parser_stats", "log_planner_stats", "log_executor_stats"];
                self.check_statistics(def, value, &parts)?;
            }
            _ => {}
        }
        Ok(None)
    }

    fn check_table_method(&self, def: &SettingDef, value: &str) -> Result<()> {
        if value.is_empty() {
            let detail = format!("\"{}\" cannot be empty.", def.name);
            return Err(invalid(def, value).detail(detail));
        }
        let key = [Datum::text(value)];
        match self.store.index_scan(indexes::PG_AM_NAME, &key)?.first() {
            None => {
                let detail = format!("Table access method \"{value}\" does not exist.");
                Err(invalid(def, value).detail(detail))
            }
            Some(row) if row.char("amtype")? != b't' => Err(err!(
                OBJECT_NOT_IN_PREREQUISITE_STATE,
                "access method \"{value}\" is not of type TABLE"
            )),
            Some(_) => Ok(()),
        }
    }

    pub(crate) fn has_tablespace(&self, name: &str) -> Result<bool> {
        let key = [Datum::text(name)];
        Ok(!self.store.index_scan(indexes::PG_TABLESPACE_NAME, &key)?.is_empty())
    }

    /// Usage of a statement's parts and of the whole would be mixed up.
    fn check_statistics(&self, def: &SettingDef, value: &str, others: &[&str]) -> Result<()> {
        if !canonical(def, value)?.as_bool() {
            return Ok(());
        }
        let on = {
            let settings = self.settings.lock();
            others.iter().any(|name| settings.bool(name))
        };
        if !on {
            return Ok(());
        }
        let name = def.name;
        let e = err!(INVALID_PARAMETER_VALUE, "invalid value for parameter \"{name}\": 1");
        Err(e.detail(match others {
            [one] => format!("Cannot enable parameter when \"{one}\" is true."),
            _ => "Cannot enable \"log_statement_stats\" when \"log_parser_stats\", \
                  \"log_planner_stats\", or \"log_executor_stats\" is true."
                .to_string(),
        }))
    }
}
