-- pg_catalog.pg_tables
SELECT n.nspname AS schemaname, c.relname AS tablename, pg_get_userbyid(c.relowner) AS tableowner,
  t.spcname AS tablespace, c.relhasindex AS hasindexes, c.relhasrules AS hasrules,
  c.relhastriggers AS hastriggers, c.relrowsecurity AS rowsecurity
FROM pg_class c LEFT JOIN pg_namespace n ON n.oid = c.relnamespace
  LEFT JOIN pg_tablespace t ON t.oid = c.reltablespace
WHERE c.relkind IN ('r', 'p');
-- pg_catalog.pg_indexes
SELECT n.nspname AS schemaname, c.relname AS tablename, i.relname AS indexname,
  t.spcname AS tablespace, pg_get_indexdef(i.oid) AS indexdef
FROM pg_index x JOIN pg_class c ON c.oid = x.indrelid JOIN pg_class i ON i.oid = x.indexrelid
  LEFT JOIN pg_namespace n ON n.oid = c.relnamespace
  LEFT JOIN pg_tablespace t ON t.oid = i.reltablespace
WHERE c.relkind IN ('r', 'm', 'p') AND i.relkind IN ('i', 'I');
-- pg_catalog.pg_views
SELECT n.nspname AS schemaname, c.relname AS viewname, pg_get_userbyid(c.relowner) AS viewowner,
  pg_get_viewdef(c.oid) AS definition
FROM pg_class c LEFT JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'v';
-- pg_catalog.pg_matviews
SELECT n.nspname AS schemaname, c.relname AS matviewname,
  pg_get_userbyid(c.relowner) AS matviewowner, t.spcname AS tablespace,
  c.relhasindex AS hasindexes, c.relispopulated AS ispopulated, pg_get_viewdef(c.oid) AS definition
FROM pg_class c LEFT JOIN pg_namespace n ON n.oid = c.relnamespace
  LEFT JOIN pg_tablespace t ON t.oid = c.reltablespace
WHERE c.relkind = 'm';
-- pg_catalog.pg_sequences
SELECT n.nspname AS schemaname, c.relname AS sequencename,
  pg_get_userbyid(c.relowner) AS sequenceowner, s.seqtypid::regtype AS data_type,
  s.seqstart AS start_value, s.seqmin AS min_value, s.seqmax AS max_value,
  s.seqincrement AS increment_by, s.seqcycle AS cycle, s.seqcache AS cache_size,
  pg_sequence_last_value(c.oid) AS last_value
FROM pg_sequence s JOIN pg_class c ON c.oid = s.seqrelid
  LEFT JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'S';
-- pg_catalog.pg_roles
SELECT a.rolname, a.rolsuper, a.rolinherit, a.rolcreaterole, a.rolcreatedb, a.rolcanlogin,
  a.rolreplication, a.rolconnlimit, '********'::text AS rolpassword, a.rolvaliduntil,
  a.rolbypassrls, s.setconfig AS rolconfig, a.oid
FROM pg_authid a LEFT JOIN pg_db_role_setting s ON s.setrole = a.oid AND s.setdatabase = 0;
-- pg_catalog.pg_shadow
SELECT a.rolname AS usename, a.oid AS usesysid, a.rolcreatedb AS usecreatedb,
  a.rolsuper AS usesuper, a.rolreplication AS userepl, a.rolbypassrls AS usebypassrls,
  a.rolpassword AS passwd, a.rolvaliduntil AS valuntil, s.setconfig AS useconfig
FROM pg_authid a LEFT JOIN pg_db_role_setting s ON s.setrole = a.oid AND s.setdatabase = 0
WHERE a.rolcanlogin;
-- pg_catalog.pg_user
SELECT usename, usesysid, usecreatedb, usesuper, userepl, usebypassrls,
  '********'::text AS passwd, valuntil, useconfig
FROM pg_shadow;
-- pg_catalog.pg_group
SELECT a.rolname AS groname, a.oid AS grosysid,
  ARRAY(SELECT m.member FROM pg_auth_members m WHERE m.roleid = a.oid) AS grolist
FROM pg_authid a WHERE NOT a.rolcanlogin;
-- pg_catalog.pg_settings
SELECT name, setting, unit, category, short_desc, extra_desc, context, vartype, source, min_val,
  max_val, enumvals, boot_val, reset_val, sourcefile, sourceline, pending_restart
FROM pg_show_all_settings();
-- pg_catalog.pg_locks
SELECT locktype, database, relation, page, tuple, virtualxid, transactionid, classid, objid,
  objsubid, virtualtransaction, pid, mode, granted, fastpath, waitstart
FROM pg_lock_status();
-- pg_catalog.pg_cursors
SELECT name, statement, is_holdable, is_binary, is_scrollable, creation_time FROM pg_cursor();
-- pg_catalog.pg_prepared_statements
SELECT name, statement, prepare_time, parameter_types, result_types, from_sql, generic_plans,
  custom_plans
FROM pg_prepared_statement();
-- pg_catalog.pg_prepared_xacts
SELECT p.transaction, p.gid, p.prepared, a.rolname AS owner, d.datname AS database
FROM pg_prepared_xact() p LEFT JOIN pg_authid a ON a.oid = p.ownerid
  LEFT JOIN pg_database d ON d.oid = p.dbid;
-- pg_catalog.pg_timezone_names
SELECT name, abbrev, utc_offset, is_dst FROM pg_timezone_names();
-- pg_catalog.pg_stat_activity
SELECT s.datid, d.datname, s.pid, s.leader_pid, s.usesysid, u.rolname AS usename,
  s.application_name, s.client_addr, s.client_hostname, s.client_port, s.backend_start,
  s.xact_start, s.query_start, s.state_change, s.wait_event_type, s.wait_event, s.state,
  s.backend_xid, s.backend_xmin, s.query_id, s.query, s.backend_type
FROM pg_stat_get_activity(NULL) s LEFT JOIN pg_database d ON d.oid = s.datid
  LEFT JOIN pg_authid u ON u.oid = s.usesysid;
-- pg_catalog.pg_stat_all_tables
SELECT c.oid AS relid, n.nspname AS schemaname, c.relname,
  pg_stat_get_numscans(c.oid) AS seq_scan, pg_stat_get_lastscan(c.oid) AS last_seq_scan,
  pg_stat_get_tuples_returned(c.oid) AS seq_tup_read,
  (SELECT sum(pg_stat_get_numscans(i.indexrelid))::bigint FROM pg_index i
   WHERE i.indrelid = c.oid) AS idx_scan,
  (SELECT max(pg_stat_get_lastscan(i.indexrelid)) FROM pg_index i
   WHERE i.indrelid = c.oid) AS last_idx_scan,
  (SELECT sum(pg_stat_get_tuples_fetched(i.indexrelid))::bigint FROM pg_index i
   WHERE i.indrelid = c.oid) + pg_stat_get_tuples_fetched(c.oid) AS idx_tup_fetch,
  pg_stat_get_tuples_inserted(c.oid) AS n_tup_ins,
  pg_stat_get_tuples_updated(c.oid) AS n_tup_upd,
  pg_stat_get_tuples_deleted(c.oid) AS n_tup_del,
  pg_stat_get_tuples_hot_updated(c.oid) AS n_tup_hot_upd,
  pg_stat_get_tuples_newpage_updated(c.oid) AS n_tup_newpage_upd,
  pg_stat_get_live_tuples(c.oid) AS n_live_tup, pg_stat_get_dead_tuples(c.oid) AS n_dead_tup,
  pg_stat_get_mod_since_analyze(c.oid) AS n_mod_since_analyze,
  pg_stat_get_ins_since_vacuum(c.oid) AS n_ins_since_vacuum,
  pg_stat_get_last_vacuum_time(c.oid) AS last_vacuum,
  pg_stat_get_last_autovacuum_time(c.oid) AS last_autovacuum,
  pg_stat_get_last_analyze_time(c.oid) AS last_analyze,
  pg_stat_get_last_autoanalyze_time(c.oid) AS last_autoanalyze,
  pg_stat_get_vacuum_count(c.oid) AS vacuum_count,
  pg_stat_get_autovacuum_count(c.oid) AS autovacuum_count,
  pg_stat_get_analyze_count(c.oid) AS analyze_count,
  pg_stat_get_autoanalyze_count(c.oid) AS autoanalyze_count,
  pg_stat_get_total_vacuum_time(c.oid) AS total_vacuum_time,
  pg_stat_get_total_autovacuum_time(c.oid) AS total_autovacuum_time,
  pg_stat_get_total_analyze_time(c.oid) AS total_analyze_time,
  pg_stat_get_total_autoanalyze_time(c.oid) AS total_autoanalyze_time
FROM pg_class c LEFT JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 't', 'm', 'p');
-- pg_catalog.pg_stat_user_tables
SELECT * FROM pg_stat_all_tables
WHERE schemaname NOT IN ('pg_catalog', 'information_schema') AND schemaname !~ '^pg_toast';
-- pg_catalog.pg_stat_sys_tables
SELECT * FROM pg_stat_all_tables
WHERE schemaname IN ('pg_catalog', 'information_schema') OR schemaname ~ '^pg_toast';
-- pg_catalog.pg_stat_all_indexes
SELECT c.oid AS relid, i.oid AS indexrelid, n.nspname AS schemaname, c.relname,
  i.relname AS indexrelname, pg_stat_get_numscans(i.oid) AS idx_scan,
  pg_stat_get_lastscan(i.oid) AS last_idx_scan,
  pg_stat_get_tuples_returned(i.oid) AS idx_tup_read,
  pg_stat_get_tuples_fetched(i.oid) AS idx_tup_fetch
FROM pg_index x JOIN pg_class c ON c.oid = x.indrelid JOIN pg_class i ON i.oid = x.indexrelid
  LEFT JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 't', 'm');
-- pg_catalog.pg_stat_user_indexes
SELECT * FROM pg_stat_all_indexes
WHERE schemaname NOT IN ('pg_catalog', 'information_schema') AND schemaname !~ '^pg_toast';
-- pg_catalog.pg_stat_sys_indexes
SELECT * FROM pg_stat_all_indexes
WHERE schemaname IN ('pg_catalog', 'information_schema') OR schemaname ~ '^pg_toast';
-- pg_catalog.pg_stat_bgwriter
SELECT pg_stat_get_bgwriter_buf_written_clean() AS buffers_clean,
  pg_stat_get_bgwriter_maxwritten_clean() AS maxwritten_clean,
  pg_stat_get_buf_alloc() AS buffers_alloc,
  pg_stat_get_bgwriter_stat_reset_time() AS stats_reset;
-- pg_catalog.pg_stat_checkpointer
SELECT pg_stat_get_checkpointer_num_timed() AS num_timed,
  pg_stat_get_checkpointer_num_requested() AS num_requested,
  pg_stat_get_checkpointer_num_performed() AS num_done,
  pg_stat_get_checkpointer_restartpoints_timed() AS restartpoints_timed,
  pg_stat_get_checkpointer_restartpoints_requested() AS restartpoints_req,
  pg_stat_get_checkpointer_restartpoints_performed() AS restartpoints_done,
  pg_stat_get_checkpointer_write_time() AS write_time,
  pg_stat_get_checkpointer_sync_time() AS sync_time,
  pg_stat_get_checkpointer_buffers_written() AS buffers_written,
  pg_stat_get_checkpointer_slru_written() AS slru_written,
  pg_stat_get_checkpointer_stat_reset_time() AS stats_reset;
-- pg_catalog.pg_stats
SELECT n.nspname AS schemaname, c.relname AS tablename, a.attname, s.stainherit AS inherited,
  s.stanullfrac AS null_frac, s.stawidth AS avg_width, s.stadistinct AS n_distinct,
  CASE 1 WHEN s.stakind1 THEN s.stavalues1 WHEN s.stakind2 THEN s.stavalues2
    WHEN s.stakind3 THEN s.stavalues3 WHEN s.stakind4 THEN s.stavalues4
    WHEN s.stakind5 THEN s.stavalues5 END AS most_common_vals,
  CASE 1 WHEN s.stakind1 THEN s.stanumbers1 WHEN s.stakind2 THEN s.stanumbers2
    WHEN s.stakind3 THEN s.stanumbers3 WHEN s.stakind4 THEN s.stanumbers4
    WHEN s.stakind5 THEN s.stanumbers5 END AS most_common_freqs,
  CASE 2 WHEN s.stakind1 THEN s.stavalues1 WHEN s.stakind2 THEN s.stavalues2
    WHEN s.stakind3 THEN s.stavalues3 WHEN s.stakind4 THEN s.stavalues4
    WHEN s.stakind5 THEN s.stavalues5 END AS histogram_bounds,
  CASE 3 WHEN s.stakind1 THEN s.stanumbers1[1] WHEN s.stakind2 THEN s.stanumbers2[1]
    WHEN s.stakind3 THEN s.stanumbers3[1] WHEN s.stakind4 THEN s.stanumbers4[1]
    WHEN s.stakind5 THEN s.stanumbers5[1] END AS correlation,
  CASE 4 WHEN s.stakind1 THEN s.stavalues1 WHEN s.stakind2 THEN s.stavalues2
    WHEN s.stakind3 THEN s.stavalues3 WHEN s.stakind4 THEN s.stavalues4
    WHEN s.stakind5 THEN s.stavalues5 END AS most_common_elems,
  CASE 4 WHEN s.stakind1 THEN s.stanumbers1 WHEN s.stakind2 THEN s.stanumbers2
    WHEN s.stakind3 THEN s.stanumbers3 WHEN s.stakind4 THEN s.stanumbers4
    WHEN s.stakind5 THEN s.stanumbers5 END AS most_common_elem_freqs,
  CASE 5 WHEN s.stakind1 THEN s.stanumbers1 WHEN s.stakind2 THEN s.stanumbers2
    WHEN s.stakind3 THEN s.stanumbers3 WHEN s.stakind4 THEN s.stanumbers4
    WHEN s.stakind5 THEN s.stanumbers5 END AS elem_count_histogram,
  CASE 6 WHEN s.stakind1 THEN s.stavalues1 WHEN s.stakind2 THEN s.stavalues2
    WHEN s.stakind3 THEN s.stavalues3 WHEN s.stakind4 THEN s.stavalues4
    WHEN s.stakind5 THEN s.stavalues5 END AS range_length_histogram,
  CASE 6 WHEN s.stakind1 THEN s.stanumbers1[1] WHEN s.stakind2 THEN s.stanumbers2[1]
    WHEN s.stakind3 THEN s.stanumbers3[1] WHEN s.stakind4 THEN s.stanumbers4[1]
    WHEN s.stakind5 THEN s.stanumbers5[1] END AS range_empty_frac,
  CASE 7 WHEN s.stakind1 THEN s.stavalues1 WHEN s.stakind2 THEN s.stavalues2
    WHEN s.stakind3 THEN s.stavalues3 WHEN s.stakind4 THEN s.stavalues4
    WHEN s.stakind5 THEN s.stavalues5 END AS range_bounds_histogram
FROM pg_statistic s JOIN pg_class c ON c.oid = s.starelid
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = s.staattnum
  LEFT JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE NOT a.attisdropped AND has_column_privilege(c.oid, a.attnum, 'select');
-- information_schema.schemata
SELECT current_database()::information_schema.sql_identifier AS catalog_name,
  n.nspname::information_schema.sql_identifier AS schema_name,
  a.rolname::information_schema.sql_identifier AS schema_owner,
  NULL::information_schema.sql_identifier AS default_character_set_catalog,
  NULL::information_schema.sql_identifier AS default_character_set_schema,
  NULL::information_schema.sql_identifier AS default_character_set_name,
  NULL::information_schema.character_data AS sql_path
FROM pg_namespace n JOIN pg_authid a ON a.oid = n.nspowner;
-- information_schema.tables
SELECT current_database()::information_schema.sql_identifier AS table_catalog,
  n.nspname::information_schema.sql_identifier AS table_schema,
  c.relname::information_schema.sql_identifier AS table_name,
  (CASE WHEN c.relpersistence = 't' THEN 'LOCAL TEMPORARY' WHEN c.relkind IN ('r', 'p')
    THEN 'BASE TABLE' WHEN c.relkind = 'v' THEN 'VIEW' WHEN c.relkind = 'f' THEN 'FOREIGN'
    ELSE NULL END)::information_schema.character_data AS table_type,
  NULL::information_schema.sql_identifier AS self_referencing_column_name,
  NULL::information_schema.character_data AS reference_generation,
  NULL::information_schema.sql_identifier AS user_defined_type_catalog,
  NULL::information_schema.sql_identifier AS user_defined_type_schema,
  NULL::information_schema.sql_identifier AS user_defined_type_name,
  (CASE WHEN c.relkind IN ('r', 'p') THEN 'YES' ELSE 'NO' END)::information_schema.yes_or_no
    AS is_insertable_into,
  'NO'::information_schema.yes_or_no AS is_typed,
  NULL::information_schema.character_data AS commit_action
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'v', 'f', 'p');
