//! The core of `initdb`: a data directory with its first three databases.

use super::folders::{FileCopy, copy_folder};
use super::{OidGenerator, pool_config, wal_config};
use crate::Database;
use crate::settings::Defaults;
use crate::sink::{ResultColumn, ResultFormat, Sink};
use access::Storage;
use base::{Oid, Result};
use buffer::BufferPool;
use catalog::{BootstrapOptions, bootstrap, oids};
use os::{Disk, OpenOptions};
use std::path::Path;
use std::sync::Arc;
use txn::{CommitData, Interrupts, Isolation, TxnConfig, TxnManager};
use wal::{CheckPoint, Control, ControlFile, DbState, Wal};

/// What `initdb` was told.
#[derive(Clone, Debug)]
pub struct CreateOptions {
    /// Name of the superuser (`-U`).
    pub superuser: String,
    /// The superuser's password, as it is to be stored.
    pub password: Option<String>,
    /// LC_COLLATE, LC_CTYPE, LC_MESSAGES, LC_MONETARY, LC_NUMERIC and LC_TIME.
    pub locales: [String; 6],
    /// The locale of the built-in provider, if that is to be used.
    pub provider_locale: Option<(u8, String)>,
    /// Rules after those of that locale, if it is one of ICU's.
    pub icu_rules: Option<String>,
    /// The default text search configuration, without its schema.
    pub text_search: String,
    /// The system user's group may read the files (`-g`).
    pub group_access: bool,
    /// How local connections prove who they are (`--auth-local`).
    pub auth_local: String,
    /// How connections by TCP do (`--auth-host`).
    pub auth_host: String,
    /// Bytes of a log segment.
    pub wal_segment_size: u32,
    /// Look at the system tables, so that queries of them are planned well from the start.
    pub statistics: bool,
    /// Wait until all is on disk (not `--no-sync`).
    pub sync: bool,
    /// Lines for the end of `postgresql.conf`.
    pub settings: Vec<(String, String)>,
}

impl Default for CreateOptions {
    fn default() -> CreateOptions {
        CreateOptions {
            superuser: "postgres".to_string(),
            password: None,
            locales: std::array::from_fn(|_| "C".to_string()),
            provider_locale: None,
            icu_rules: None,
            text_search: "english".to_string(),
            group_access: false,
            auth_local: "trust".to_string(),
            auth_host: "trust".to_string(),
            wal_segment_size: 16 << 20,
            statistics: false,
            sync: true,
            settings: Vec::new(),
        }
    }
}

/// The folders of a data directory, as in PostgreSQL.
const FOLDERS: &[&str] = &[
    "base",
    "base/1",
    "global",
    "pg_wal",
    "pg_wal/archive_status",
    "pg_wal/summaries",
    "pg_xact",
    "pg_commit_ts",
    "pg_dynshmem",
    "pg_logical",
    "pg_logical/mappings",
    "pg_logical/snapshots",
    "pg_multixact",
    "pg_notify",
    "pg_replslot",
    "pg_serial",
    "pg_snapshots",
    "pg_stat",
    "pg_stat_tmp",
    "pg_subtrans",
    "pg_tblspc",
    "pg_twophase",
];

impl Database {
    /// Makes a data directory in `dir`, which is empty or does not exist.
    pub fn create(disk: Disk, dir: &Path, options: &CreateOptions) -> Result<()> {
        disk.create_dir_all(dir)?;
        for folder in FOLDERS {
            disk.create_dir_all(&dir.join(folder))?;
        }
        put(&disk, &dir.join("PG_VERSION"), b"18\n")?;
        put(&disk, &dir.join("base/1/PG_VERSION"), b"18\n")?;
        write_configuration(&disk, dir, options)?;
        let seed = os::random::u64();
        let identifier = ((os::clock::now_micros() as u64 / 1_000_000) << 32) | (seed >> 32);
        let mut about = Control::new(identifier, options.wal_segment_size);
        os::random::fill(&mut about.mock_nonce);
        about.state = DbState::StartingUp;
        let control = ControlFile::create(&disk, &dir.join("global/pg_control"), &about)?;
        let mut defaults = Defaults::default();
        // Nothing is lost if this run dies: the directory is made anew then.
        defaults.set("fsync", "off", crate::settings::Source::CommandLine)?;
        defaults.set("full_page_writes", "off", crate::settings::Source::CommandLine)?;
        let config = wal_config(&defaults, 1, u64::from(options.wal_segment_size));
        let wal = Wal::create(disk.clone(), &dir.join("pg_wal"), config)?;
        let pool = BufferPool::new(disk.clone(), wal.clone(), pool_config(dir, &defaults));
        let txn = TxnManager::open(
            disk.clone(),
            wal.clone(),
            TxnConfig { clog_dir: dir.join("pg_xact"), ..TxnConfig::default() },
        )?;
        txn.end_recovery(wal.inserted())?;
        let storage = Arc::new(Storage { pool, wal: wal.clone(), txn });
        fill(&storage, options)?;
        let oids = OidGenerator::new(wal.clone(), Oid::FIRST_NORMAL);
        let redo = wal.begin_checkpoint()?;
        storage.txn.checkpoint()?;
        storage.pool.checkpoint(true, &mut |_| {})?;
        let checkpoint = CheckPoint {
            redo,
            next_xid: storage.txn.next_xid(),
            next_oid: oids.for_checkpoint(),
            oldest_xid: base::Xid::FIRST_NORMAL,
            oldest_xid_db: oids::TEMPLATE1,
            time: os::clock::now_micros(),
            wal_level: 1,
            ..CheckPoint::default()
        };
        wal.finish_checkpoint(&control, checkpoint, true)?;
        wal.shutdown()?;
        if options.statistics {
            drop(storage);
            gather_statistics(&disk, dir, &options.superuser)?;
        }
        for database in [oids::TEMPLATE0, oids::POSTGRES_DB] {
            let to = dir.join(format!("base/{database}"));
            copy_folder(&disk, &dir.join("base/1"), &to, FileCopy::Copy)?;
        }
        if options.sync {
            disk.sync_tree(dir)?;
        }
        Ok(())
    }
}

/// Statistics of `template1`, which the others are copies of.
fn gather_statistics(disk: &Disk, dir: &Path, superuser: &str) -> Result<()> {
    let mut defaults = Defaults::default();
    for (name, value) in [("fsync", "off"), ("full_page_writes", "off"), ("autovacuum", "off")] {
        defaults.set(name, value, crate::settings::Source::CommandLine)?;
    }
    let database = Database::open(disk.clone(), dir, defaults)?;
    let about = crate::SessionOptions {
        user: superuser.to_string(),
        database: "template1".to_string(),
        ..crate::SessionOptions::default()
    };
    let mut session = crate::Session::new(&database, &about)?;
    session.simple_query("VACUUM (FREEZE, ANALYZE)", &mut Nobody)?;
    drop(session);
    database.shutdown()
}

/// Nobody is told.
struct Nobody;

impl Sink for Nobody {
    fn row_description(&mut self, _: &[ResultColumn], _: &[ResultFormat]) -> Result<()> {
        Ok(())
    }

    fn row(&mut self, _: &[types::Datum]) -> Result<()> {
        Ok(())
    }

    fn command_complete(&mut self, _: &str) -> Result<()> {
        Ok(())
    }

    fn notice(&mut self, _: &base::Error) {}
}

/// Fills `template1` in one transaction.
fn fill(storage: &Arc<Storage>, options: &CreateOptions) -> Result<()> {
    let interrupts = Arc::new(Interrupts::new());
    let backend = storage.txn.register(1, oids::TEMPLATE1, interrupts)?;
    let txn = storage.txn.begin(&backend, Isolation::ReadCommitted);
    let options = BootstrapOptions {
        superuser: options.superuser.clone(),
        password: options.password.clone(),
        collate: options.locales[0].clone(),
        ctype: options.locales[1].clone(),
        provider_locale: options.provider_locale.clone(),
        icu_rules: options.icu_rules.clone(),
    };
    bootstrap(storage, &txn, &options)?;
    txn.commit(CommitData::default(), &mut |_| Ok(()))?;
    storage.wal.flush(storage.wal.inserted())
}

fn put(disk: &Disk, path: &Path, contents: &[u8]) -> Result<()> {
    let file = disk.open(path, &OpenOptions::new().create().truncate())?;
    Ok(file.write_at(contents, 0)?)
}

fn write_configuration(disk: &Disk, dir: &Path, options: &CreateOptions) -> Result<()> {
    let conf = configuration(options);
    put(disk, &dir.join("postgresql.conf"), conf.as_bytes())?;
    put(disk, &dir.join("postgresql.auto.conf"), b"# Written by ALTER SYSTEM; do not edit.\n")?;
    let (local, host) = (&options.auth_local, &options.auth_host);
    let hba = format!(
        "# TYPE  DATABASE        USER            ADDRESS                 METHOD\n\
         local   all             all                                     {local}\n\
         host    all             all             127.0.0.1/32            {host}\n\
         host    all             all             ::1/128                 {host}\n\
         local   replication     all                                     {local}\n\
         host    replication     all             127.0.0.1/32            {host}\n\
         host    replication     all             ::1/128                 {host}\n"
    );
    put(disk, &dir.join("pg_hba.conf"), hba.as_bytes())?;
    put(
        disk,
        &dir.join("pg_ident.conf"),
        b"# MAPNAME       SYSTEM-USERNAME         DATABASE-USERNAME\n",
    )
}

/// `postgresql.conf`: what was found out, and in place of it or after it what was asked for.
fn configuration(options: &CreateOptions) -> String {
    let mut conf = String::from(
        "# Settings of this cluster: name = value, a line each. What is not here has its\n\
         # default; SHOW ALL lists everything, pg_settings says when a change takes effect.\n\n\
         #listen_addresses = 'localhost'\n\
         #port = 5432\n\
         #max_connections = 100\n\
         #shared_buffers = 1GB\t\t\t# a quarter of the memory if not set\n",
    );
    let own = |name: &str, value: &str| (name.to_string(), value.to_string());
    let [_, _, messages, monetary, numeric, time] = &options.locales;
    let mut all = vec![
        own("datestyle", "iso, mdy"),
        own("timezone", "Etc/UTC"),
        own("log_timezone", "Etc/UTC"),
        own("default_text_search_config", &format!("pg_catalog.{}", options.text_search)),
        own("lc_messages", messages),
        own("lc_monetary", monetary),
        own("lc_numeric", numeric),
        own("lc_time", time),
    ];
    if options.group_access {
        all.push(own("log_file_mode", "0640"));
    }
    for (name, value) in &options.settings {
        match all.iter_mut().find(|s| s.0.eq_ignore_ascii_case(name)) {
            Some(found) => found.1.clone_from(value),
            None => all.push(own(name, value)),
        }
    }
    for (name, value) in all {
        conf.push_str(&format!("{name} = '{}'\n", value.replace('\'', "''")));
    }
    conf
}
