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
SELECT rolname, rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolcanlogin, rolreplication,
  rolconnlimit, '********'::text AS rolpassword, rolvaliduntil, rolbypassrls,
  s.setconfig AS rolconfig, pg_authid.oid
FROM pg_authid LEFT JOIN pg_db_role_setting s ON pg_authid.oid = s.setrole AND s.setdatabase = 0;
-- pg_catalog.pg_shadow
SELECT rolname AS usename, pg_authid.oid AS usesysid, rolcreatedb AS usecreatedb,
  rolsuper AS usesuper, rolreplication AS userepl, rolbypassrls AS usebypassrls,
  rolpassword AS passwd, rolvaliduntil AS valuntil, s.setconfig AS useconfig
FROM pg_authid LEFT JOIN pg_db_role_setting s ON pg_authid.oid = s.setrole AND s.setdatabase = 0
WHERE rolcanlogin;
-- pg_catalog.pg_user
SELECT usename, usesysid, usecreatedb, usesuper, userepl, usebypassrls,
  '********'::text AS passwd, valuntil, useconfig
FROM pg_shadow;
-- pg_catalog.pg_group
SELECT rolname AS groname, oid AS grosysid,
  ARRAY(SELECT member FROM pg_auth_members WHERE roleid = pg_authid.oid) AS grolist
FROM pg_authid WHERE NOT rolcanlogin;
-- pg_catalog.pg_settings
SELECT name, setting, unit, category, short_desc, extra_desc, context, vartype, source, min_val,
  max_val, enumvals, boot_val, reset_val, sourcefile, sourceline, pending_restart
FROM pg_show_all_settings() a;
-- pg_catalog.pg_locks
SELECT locktype, database, relation, page, tuple, virtualxid, transactionid, classid, objid,
  objsubid, virtualtransaction, pid, mode, granted, fastpath, waitstart
FROM pg_lock_status() l;
-- pg_catalog.pg_cursors
SELECT name, statement, is_holdable, is_binary, is_scrollable, creation_time FROM pg_cursor() c;
-- pg_catalog.pg_prepared_statements
SELECT name, statement, prepare_time, parameter_types, result_types, from_sql, generic_plans,
  custom_plans
FROM pg_prepared_statement() p;
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
FROM pg_stat_get_activity(NULL::integer) s LEFT JOIN pg_database d ON d.oid = s.datid
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
FROM pg_namespace n JOIN pg_authid a ON a.oid = n.nspowner
WHERE pg_has_role(n.nspowner, 'USAGE') OR has_schema_privilege(n.oid, 'CREATE, USAGE');
-- information_schema.tables
SELECT current_database()::information_schema.sql_identifier AS table_catalog,
  n.nspname::information_schema.sql_identifier AS table_schema,
  c.relname::information_schema.sql_identifier AS table_name,
  (CASE WHEN c.relpersistence = 't' THEN 'LOCAL TEMPORARY' WHEN c.relkind IN ('r', 'p')
    THEN 'BASE TABLE' WHEN c.relkind = 'v' THEN 'VIEW' WHEN c.relkind = 'f' THEN 'FOREIGN'
    ELSE NULL END)::information_schema.character_data AS table_type,
  NULL::information_schema.sql_identifier AS self_referencing_column_name,
  NULL::information_schema.character_data AS reference_generation,
  (CASE WHEN t.oid IS NOT NULL THEN current_database() END)::information_schema.sql_identifier AS user_defined_type_catalog,
  nt.nspname::information_schema.sql_identifier AS user_defined_type_schema,
  t.typname::information_schema.sql_identifier AS user_defined_type_name,
  (CASE WHEN c.relkind IN ('r', 'p') OR c.relkind IN ('v', 'f')
    AND pg_relation_is_updatable(c.oid, false) & 8 = 8 THEN 'YES' ELSE 'NO' END)::information_schema.yes_or_no
    AS is_insertable_into,
  (CASE WHEN t.oid IS NOT NULL THEN 'YES' ELSE 'NO' END)::information_schema.yes_or_no AS is_typed,
  NULL::information_schema.character_data AS commit_action
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  LEFT JOIN (pg_type t JOIN pg_namespace nt ON nt.oid = t.typnamespace) ON t.oid = c.reloftype
WHERE c.relkind IN ('r', 'v', 'f', 'p')
  AND NOT pg_is_other_temp_schema(n.oid) AND (pg_has_role(c.relowner, 'USAGE')
    OR has_table_privilege(c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
    OR has_any_column_privilege(c.oid, 'SELECT, INSERT, UPDATE, REFERENCES'));
-- pg_catalog.pg_stat_progress_analyze
SELECT s.pid, s.datid, d.datname, s.relid, CASE s.param1 WHEN 0 THEN 'initializing' WHEN 1 THEN
  'acquiring sample rows' WHEN 2 THEN 'acquiring inherited sample rows' WHEN 3 THEN
  'computing statistics' WHEN 4 THEN 'computing extended statistics' WHEN 5 THEN
  'finalizing analyze' END AS phase, s.param2 AS sample_blks_total, s.param3 AS
  sample_blks_scanned, s.param4 AS ext_stats_total, s.param5 AS ext_stats_computed, s.param6 AS
  child_tables_total, s.param7 AS child_tables_done, s.param8::oid AS current_child_table_relid,
  s.param9::double precision / 1000000::double precision AS delay_time
FROM pg_stat_get_progress_info('ANALYZE') s LEFT JOIN pg_database d ON s.datid = d.oid;
-- pg_catalog.pg_stat_progress_basebackup
SELECT s.pid, CASE s.param1 WHEN 0 THEN 'initializing' WHEN 1 THEN
  'waiting for checkpoint to finish' WHEN 2 THEN 'estimating backup size' WHEN 3 THEN
  'streaming database files' WHEN 4 THEN 'waiting for wal archiving to finish' WHEN 5 THEN
  'transferring wal files' END AS phase, CASE s.param2 WHEN -1 THEN NULL ELSE s.param2 END AS
  backup_total, s.param3 AS backup_streamed, s.param4 AS tablespaces_total, s.param5 AS
  tablespaces_streamed
FROM pg_stat_get_progress_info('BASEBACKUP') s;
-- pg_catalog.pg_stat_progress_cluster
SELECT s.pid, s.datid, d.datname, s.relid, CASE s.param1 WHEN 1 THEN 'CLUSTER' WHEN 2 THEN
  'VACUUM FULL' END AS command, CASE s.param2 WHEN 0 THEN 'initializing' WHEN 1 THEN
  'seq scanning heap' WHEN 2 THEN 'index scanning heap' WHEN 3 THEN 'sorting tuples' WHEN 4 THEN
  'writing new heap' WHEN 5 THEN 'swapping relation files' WHEN 6 THEN 'rebuilding index' WHEN 7
  THEN 'performing final cleanup' END AS phase, s.param3::oid AS cluster_index_relid, s.param4
  AS heap_tuples_scanned, s.param5 AS heap_tuples_written, s.param6 AS heap_blks_total, s.param7
  AS heap_blks_scanned, s.param8 AS index_rebuild_count
FROM pg_stat_get_progress_info('CLUSTER') s LEFT JOIN pg_database d ON s.datid = d.oid;
-- pg_catalog.pg_stat_progress_copy
SELECT s.pid, s.datid, d.datname, s.relid, CASE s.param5 WHEN 1 THEN 'COPY FROM' WHEN 2 THEN
  'COPY TO' END AS command, CASE s.param6 WHEN 1 THEN 'FILE' WHEN 2 THEN 'PROGRAM' WHEN 3 THEN
  'PIPE' WHEN 4 THEN 'CALLBACK' END AS type, s.param1 AS bytes_processed, s.param2 AS
  bytes_total, s.param3 AS tuples_processed, s.param4 AS tuples_excluded, s.param7 AS
  tuples_skipped
FROM pg_stat_get_progress_info('COPY') s LEFT JOIN pg_database d ON s.datid = d.oid;
-- pg_catalog.pg_stat_progress_create_index
SELECT s.pid, s.datid, d.datname, s.relid, s.param7::oid AS index_relid, CASE s.param1 WHEN 1
  THEN 'CREATE INDEX' WHEN 2 THEN 'CREATE INDEX CONCURRENTLY' WHEN 3 THEN 'REINDEX' WHEN 4 THEN
  'REINDEX CONCURRENTLY' END AS command, CASE s.param10 WHEN 0 THEN 'initializing' WHEN 1 THEN
  'waiting for writers before build' WHEN 2 THEN ('building index' || COALESCE((': ' ||
  pg_indexam_progress_phasename(s.param9::oid, s.param11)), '')) WHEN 3 THEN
  'waiting for writers before validation' WHEN 4 THEN 'index validation: scanning index' WHEN 5
  THEN 'index validation: sorting tuples' WHEN 6 THEN 'index validation: scanning table' WHEN 7
  THEN 'waiting for old snapshots' WHEN 8 THEN 'waiting for readers before marking dead' WHEN 9
  THEN 'waiting for readers before dropping' END AS phase, s.param4 AS lockers_total, s.param5
  AS lockers_done, s.param6 AS current_locker_pid, s.param16 AS blocks_total, s.param17 AS
  blocks_done, s.param12 AS tuples_total, s.param13 AS tuples_done, s.param14 AS
  partitions_total, s.param15 AS partitions_done
FROM pg_stat_get_progress_info('CREATE INDEX') s LEFT JOIN pg_database d ON s.datid = d.oid;
-- pg_catalog.pg_stat_progress_vacuum
SELECT s.pid, s.datid, d.datname, s.relid, CASE s.param1 WHEN 0 THEN 'initializing' WHEN 1 THEN
  'scanning heap' WHEN 2 THEN 'vacuuming indexes' WHEN 3 THEN 'vacuuming heap' WHEN 4 THEN
  'cleaning up indexes' WHEN 5 THEN 'truncating heap' WHEN 6 THEN 'performing final cleanup' END
  AS phase, s.param2 AS heap_blks_total, s.param3 AS heap_blks_scanned, s.param4 AS
  heap_blks_vacuumed, s.param5 AS index_vacuum_count, s.param6 AS max_dead_tuple_bytes, s.param7
  AS dead_tuple_bytes, s.param8 AS num_dead_item_ids, s.param9 AS indexes_total, s.param10 AS
  indexes_processed, s.param11::double precision / 1000000::double precision AS delay_time
FROM pg_stat_get_progress_info('VACUUM') s LEFT JOIN pg_database d ON s.datid = d.oid;
-- pg_catalog.pg_stat_replication
SELECT NULL::integer AS pid, NULL::oid AS usesysid, NULL::name AS usename,
  NULL::text AS application_name, NULL::inet AS client_addr, NULL::text AS client_hostname,
  NULL::integer AS client_port, NULL::timestamp with time zone AS backend_start,
  NULL::xid AS backend_xmin, NULL::text AS state, NULL::pg_lsn AS sent_lsn,
  NULL::pg_lsn AS write_lsn, NULL::pg_lsn AS flush_lsn, NULL::pg_lsn AS replay_lsn,
  NULL::interval AS write_lag, NULL::interval AS flush_lag, NULL::interval AS replay_lag,
  NULL::integer AS sync_priority, NULL::text AS sync_state,
  NULL::timestamp with time zone AS reply_time
WHERE false;
-- pg_catalog.pg_stat_replication_slots
SELECT NULL::text AS slot_name, NULL::bigint AS spill_txns, NULL::bigint AS spill_count,
  NULL::bigint AS spill_bytes, NULL::bigint AS stream_txns, NULL::bigint AS stream_count,
  NULL::bigint AS stream_bytes, NULL::bigint AS total_txns, NULL::bigint AS total_bytes,
  NULL::timestamp with time zone AS stats_reset
WHERE false;
-- pg_catalog.pg_stat_subscription
SELECT NULL::oid AS subid, NULL::name AS subname, NULL::text AS worker_type,
  NULL::integer AS pid, NULL::integer AS leader_pid, NULL::oid AS relid,
  NULL::pg_lsn AS received_lsn, NULL::timestamp with time zone AS last_msg_send_time,
  NULL::timestamp with time zone AS last_msg_receipt_time, NULL::pg_lsn AS latest_end_lsn,
  NULL::timestamp with time zone AS latest_end_time
WHERE false;
-- pg_catalog.pg_stat_subscription_stats
SELECT NULL::oid AS subid, NULL::name AS subname, NULL::bigint AS apply_error_count,
  NULL::bigint AS sync_error_count, NULL::bigint AS confl_insert_exists,
  NULL::bigint AS confl_update_origin_differs, NULL::bigint AS confl_update_exists,
  NULL::bigint AS confl_update_missing, NULL::bigint AS confl_delete_origin_differs,
  NULL::bigint AS confl_delete_missing, NULL::bigint AS confl_multiple_unique_conflicts,
  NULL::timestamp with time zone AS stats_reset
WHERE false;
-- pg_catalog.pg_stat_wal_receiver
SELECT NULL::integer AS pid, NULL::text AS status, NULL::pg_lsn AS receive_start_lsn,
  NULL::integer AS receive_start_tli, NULL::pg_lsn AS written_lsn, NULL::pg_lsn AS flushed_lsn,
  NULL::integer AS received_tli, NULL::timestamp with time zone AS last_msg_send_time,
  NULL::timestamp with time zone AS last_msg_receipt_time, NULL::pg_lsn AS latest_end_lsn,
  NULL::timestamp with time zone AS latest_end_time, NULL::text AS slot_name,
  NULL::text AS sender_host, NULL::integer AS sender_port, NULL::text AS conninfo
WHERE false;
-- pg_catalog.pg_publication_tables
SELECT p.pubname, n.nspname AS schemaname, c.relname AS tablename,
  (SELECT array_agg(a.attname ORDER BY a.attnum) FROM pg_attribute a
    WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
      AND (a.attgenerated = '' OR r.prattrs IS NOT NULL
        OR p.pubgencols = 's' AND a.attgenerated = 's')
      AND (r.prattrs IS NULL OR a.attnum = ANY (r.prattrs))) AS attnames,
  pg_get_expr(r.prqual, r.prrelid) AS rowfilter
FROM pg_publication p
  JOIN pg_class c ON c.relkind IN ('r', 'p') AND c.relpersistence = 'p' AND c.oid >= 16384
  JOIN pg_namespace n ON n.oid = c.relnamespace
  LEFT JOIN pg_publication_rel r ON r.prpubid = p.oid AND r.prrelid = c.oid
WHERE CASE WHEN p.pubviaroot THEN NOT c.relispartition OR r.oid IS NOT NULL
    ELSE c.relkind = 'r' END
  AND (p.puballtables OR r.oid IS NOT NULL
    OR EXISTS (SELECT 1 FROM pg_publication_namespace s
      WHERE s.pnpubid = p.oid AND s.pnnspid = c.relnamespace)
    OR c.relispartition AND EXISTS (SELECT 1 FROM pg_publication_rel o
      JOIN pg_partition_ancestors(c.oid) t (relid) ON o.prrelid = t.relid
      WHERE o.prpubid = p.oid));
-- pg_catalog.pg_replication_slots
SELECT NULL::name AS slot_name, NULL::name AS plugin, NULL::text AS slot_type,
  NULL::oid AS datoid, NULL::name AS database, NULL::boolean AS temporary,
  NULL::boolean AS active, NULL::integer AS active_pid, NULL::xid AS xmin,
  NULL::xid AS catalog_xmin, NULL::pg_lsn AS restart_lsn, NULL::pg_lsn AS confirmed_flush_lsn,
  NULL::text AS wal_status, NULL::bigint AS safe_wal_size, NULL::boolean AS two_phase,
  NULL::pg_lsn AS two_phase_at, NULL::timestamp with time zone AS inactive_since,
  NULL::boolean AS conflicting, NULL::text AS invalidation_reason, NULL::boolean AS failover,
  NULL::boolean AS synced
WHERE false;
-- pg_catalog.pg_seclabels
SELECT NULL::oid AS objoid, NULL::oid AS classoid, NULL::integer AS objsubid,
  NULL::text AS objtype, NULL::oid AS objnamespace, NULL::text AS objname,
  NULL::text AS provider, NULL::text AS label
WHERE false;
-- pg_catalog.pg_stats_ext
SELECT cn.nspname AS schemaname, c.relname AS tablename, sn.nspname AS statistics_schemaname,
  s.stxname AS statistics_name, pg_get_userbyid(s.stxowner) AS statistics_owner,
  (SELECT array_agg(a.attname ORDER BY a.attnum)
    FROM unnest(s.stxkeys) k JOIN pg_attribute a
      ON a.attrelid = s.stxrelid AND a.attnum = k) AS attnames,
  pg_get_statisticsobjdef_expressions(s.oid) AS exprs, s.stxkind AS kinds,
  sd.stxdinherit AS inherited, sd.stxdndistinct AS n_distinct,
  sd.stxddependencies AS dependencies, m.most_common_vals, m.most_common_val_nulls,
  m.most_common_freqs, m.most_common_base_freqs
FROM pg_statistic_ext s JOIN pg_class c ON c.oid = s.stxrelid
  JOIN pg_statistic_ext_data sd ON s.oid = sd.stxoid
  LEFT JOIN pg_namespace cn ON cn.oid = c.relnamespace
  LEFT JOIN pg_namespace sn ON sn.oid = s.stxnamespace
  LEFT JOIN LATERAL (
    SELECT array_agg("values") AS most_common_vals, array_agg(nulls) AS most_common_val_nulls,
      array_agg(frequency) AS most_common_freqs,
      array_agg(base_frequency) AS most_common_base_freqs
    FROM pg_mcv_list_items(sd.stxdmcv)) m ON sd.stxdmcv IS NOT NULL
WHERE pg_has_role(c.relowner, 'USAGE')
  AND (c.relrowsecurity = false OR NOT row_security_active(c.oid));
-- pg_catalog.pg_stats_ext_exprs
SELECT cn.nspname AS schemaname, c.relname AS tablename, sn.nspname AS statistics_schemaname,
  s.stxname AS statistics_name, pg_get_userbyid(s.stxowner) AS statistics_owner, stat.expr,
  sd.stxdinherit AS inherited, (stat.a).stanullfrac AS null_frac,
  (stat.a).stawidth AS avg_width, (stat.a).stadistinct AS n_distinct,
  CASE 1 WHEN (stat.a).stakind1 THEN (stat.a).stavalues1 WHEN (stat.a).stakind2 THEN
    (stat.a).stavalues2 WHEN (stat.a).stakind3 THEN (stat.a).stavalues3 WHEN (stat.a).stakind4
    THEN (stat.a).stavalues4 WHEN (stat.a).stakind5 THEN (stat.a).stavalues5 END AS most_common_vals,
  CASE 1 WHEN (stat.a).stakind1 THEN (stat.a).stanumbers1 WHEN (stat.a).stakind2 THEN
    (stat.a).stanumbers2 WHEN (stat.a).stakind3 THEN (stat.a).stanumbers3 WHEN (stat.a).stakind4
    THEN (stat.a).stanumbers4 WHEN (stat.a).stakind5 THEN (stat.a).stanumbers5 END AS most_common_freqs,
  CASE 2 WHEN (stat.a).stakind1 THEN (stat.a).stavalues1 WHEN (stat.a).stakind2 THEN
    (stat.a).stavalues2 WHEN (stat.a).stakind3 THEN (stat.a).stavalues3 WHEN (stat.a).stakind4
    THEN (stat.a).stavalues4 WHEN (stat.a).stakind5 THEN (stat.a).stavalues5 END AS histogram_bounds,
  CASE 3 WHEN (stat.a).stakind1 THEN (stat.a).stanumbers1[1] WHEN (stat.a).stakind2 THEN
    (stat.a).stanumbers2[1] WHEN (stat.a).stakind3 THEN (stat.a).stanumbers3[1] WHEN
    (stat.a).stakind4 THEN (stat.a).stanumbers4[1] WHEN (stat.a).stakind5 THEN
    (stat.a).stanumbers5[1] END AS correlation,
  CASE 4 WHEN (stat.a).stakind1 THEN (stat.a).stavalues1 WHEN (stat.a).stakind2 THEN
    (stat.a).stavalues2 WHEN (stat.a).stakind3 THEN (stat.a).stavalues3 WHEN (stat.a).stakind4
    THEN (stat.a).stavalues4 WHEN (stat.a).stakind5 THEN (stat.a).stavalues5 END AS most_common_elems,
  CASE 4 WHEN (stat.a).stakind1 THEN (stat.a).stanumbers1 WHEN (stat.a).stakind2 THEN
    (stat.a).stanumbers2 WHEN (stat.a).stakind3 THEN (stat.a).stanumbers3 WHEN (stat.a).stakind4
    THEN (stat.a).stanumbers4 WHEN (stat.a).stakind5 THEN (stat.a).stanumbers5 END AS most_common_elem_freqs,
  CASE 5 WHEN (stat.a).stakind1 THEN (stat.a).stanumbers1 WHEN (stat.a).stakind2 THEN
    (stat.a).stanumbers2 WHEN (stat.a).stakind3 THEN (stat.a).stanumbers3 WHEN (stat.a).stakind4
    THEN (stat.a).stanumbers4 WHEN (stat.a).stakind5 THEN (stat.a).stanumbers5 END AS elem_count_histogram
FROM pg_statistic_ext s JOIN pg_class c ON c.oid = s.stxrelid
  LEFT JOIN pg_statistic_ext_data sd ON s.oid = sd.stxoid
  LEFT JOIN pg_namespace cn ON cn.oid = c.relnamespace
  LEFT JOIN pg_namespace sn ON sn.oid = s.stxnamespace
  JOIN LATERAL (
    SELECT unnest(pg_get_statisticsobjdef_expressions(s.oid)) AS expr,
      unnest(sd.stxdexpr) AS a) stat ON stat.expr IS NOT NULL
WHERE pg_has_role(c.relowner, 'USAGE')
  AND (c.relrowsecurity = false OR NOT row_security_active(c.oid));
-- pg_catalog.pg_user_mappings
SELECT u.oid AS umid, s.oid AS srvid, s.srvname, u.umuser,
  (CASE u.umuser WHEN 0 THEN 'public' ELSE a.rolname END)::name AS usename,
  CASE WHEN (u.umuser <> 0 AND a.rolname = CURRENT_USER
      AND (pg_has_role(s.srvowner, 'USAGE') OR has_server_privilege(s.oid, 'USAGE')))
    OR (u.umuser = 0 AND pg_has_role(s.srvowner, 'USAGE'))
    OR (SELECT rolsuper FROM pg_authid WHERE rolname = CURRENT_USER) THEN u.umoptions
  END AS umoptions
FROM pg_user_mapping u JOIN pg_foreign_server s ON u.umserver = s.oid
  LEFT JOIN pg_authid a ON a.oid = u.umuser;
-- pg_catalog.pg_stat_user_functions
SELECT p.oid AS funcid, n.nspname AS schemaname, p.proname AS funcname,
  pg_stat_get_function_calls(p.oid) AS calls,
  pg_stat_get_function_total_time(p.oid) AS total_time,
  pg_stat_get_function_self_time(p.oid) AS self_time
FROM pg_proc p LEFT JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE p.prolang <> 12 AND pg_stat_get_function_calls(p.oid) IS NOT NULL;
-- pg_catalog.pg_stat_xact_user_functions
SELECT p.oid AS funcid, n.nspname AS schemaname, p.proname AS funcname,
  pg_stat_get_xact_function_calls(p.oid) AS calls,
  pg_stat_get_xact_function_total_time(p.oid) AS total_time,
  pg_stat_get_xact_function_self_time(p.oid) AS self_time
FROM pg_proc p LEFT JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE p.prolang <> 12 AND pg_stat_get_xact_function_calls(p.oid) IS NOT NULL;
-- pg_catalog.pg_stat_recovery_prefetch
SELECT * FROM pg_stat_get_recovery_prefetch();
-- pg_catalog.pg_replication_origin_status
SELECT NULL::oid AS local_id, NULL::text AS external_id, NULL::pg_lsn AS remote_lsn,
  NULL::pg_lsn AS local_lsn
WHERE false;
-- information_schema.column_options
SELECT NULL::information_schema.sql_identifier AS table_catalog,
  NULL::information_schema.sql_identifier AS table_schema,
  NULL::information_schema.sql_identifier AS table_name,
  NULL::information_schema.sql_identifier AS column_name,
  NULL::information_schema.sql_identifier AS option_name,
  NULL::information_schema.character_data AS option_value
WHERE false;
-- information_schema.foreign_data_wrapper_options
SELECT current_database()::information_schema.sql_identifier AS foreign_data_wrapper_catalog,
  w.fdwname::information_schema.sql_identifier AS foreign_data_wrapper_name,
  o.option_name::information_schema.sql_identifier AS option_name,
  o.option_value::information_schema.character_data AS option_value
FROM pg_foreign_data_wrapper w, LATERAL pg_options_to_table(w.fdwoptions) o
WHERE pg_has_role(w.fdwowner, 'USAGE') OR has_foreign_data_wrapper_privilege(w.oid, 'USAGE');
-- information_schema.foreign_data_wrappers
SELECT current_database()::information_schema.sql_identifier AS foreign_data_wrapper_catalog,
  w.fdwname::information_schema.sql_identifier AS foreign_data_wrapper_name,
  a.rolname::information_schema.sql_identifier AS authorization_identifier,
  NULL::information_schema.character_data AS library_name,
  'c'::information_schema.character_data AS foreign_data_wrapper_language
FROM pg_foreign_data_wrapper w JOIN pg_authid a ON a.oid = w.fdwowner
WHERE pg_has_role(w.fdwowner, 'USAGE') OR has_foreign_data_wrapper_privilege(w.oid, 'USAGE');
-- information_schema.foreign_server_options
SELECT current_database()::information_schema.sql_identifier AS foreign_server_catalog,
  s.srvname::information_schema.sql_identifier AS foreign_server_name,
  o.option_name::information_schema.sql_identifier AS option_name,
  o.option_value::information_schema.character_data AS option_value
FROM pg_foreign_server s, LATERAL pg_options_to_table(s.srvoptions) o
WHERE pg_has_role(s.srvowner, 'USAGE') OR has_server_privilege(s.oid, 'USAGE');
-- information_schema.foreign_servers
SELECT current_database()::information_schema.sql_identifier AS foreign_server_catalog,
  s.srvname::information_schema.sql_identifier AS foreign_server_name,
  current_database()::information_schema.sql_identifier AS foreign_data_wrapper_catalog,
  w.fdwname::information_schema.sql_identifier AS foreign_data_wrapper_name,
  s.srvtype::information_schema.character_data AS foreign_server_type,
  s.srvversion::information_schema.character_data AS foreign_server_version,
  a.rolname::information_schema.sql_identifier AS authorization_identifier
FROM pg_foreign_server s JOIN pg_foreign_data_wrapper w ON w.oid = s.srvfdw
  JOIN pg_authid a ON a.oid = s.srvowner
WHERE pg_has_role(s.srvowner, 'USAGE') OR has_server_privilege(s.oid, 'USAGE');
-- information_schema.foreign_table_options
SELECT current_database()::information_schema.sql_identifier AS foreign_table_catalog,
  n.nspname::information_schema.sql_identifier AS foreign_table_schema,
  c.relname::information_schema.sql_identifier AS foreign_table_name,
  o.option_name::information_schema.sql_identifier AS option_name,
  o.option_value::information_schema.character_data AS option_value
FROM pg_foreign_table t JOIN pg_class c ON c.oid = t.ftrelid
  JOIN pg_namespace n ON n.oid = c.relnamespace, LATERAL pg_options_to_table(t.ftoptions) o
WHERE pg_has_role(c.relowner, 'USAGE')
  OR has_table_privilege(c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
  OR has_any_column_privilege(c.oid, 'SELECT, INSERT, UPDATE, REFERENCES');
-- information_schema.foreign_tables
SELECT current_database()::information_schema.sql_identifier AS foreign_table_catalog,
  n.nspname::information_schema.sql_identifier AS foreign_table_schema,
  c.relname::information_schema.sql_identifier AS foreign_table_name,
  current_database()::information_schema.sql_identifier AS foreign_server_catalog,
  s.srvname::information_schema.sql_identifier AS foreign_server_name
FROM pg_foreign_table t JOIN pg_class c ON c.oid = t.ftrelid
  JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_foreign_server s ON s.oid = t.ftserver
WHERE pg_has_role(c.relowner, 'USAGE')
  OR has_table_privilege(c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
  OR has_any_column_privilege(c.oid, 'SELECT, INSERT, UPDATE, REFERENCES');
-- information_schema.user_mapping_options
SELECT COALESCE(a.rolname, 'PUBLIC')::information_schema.sql_identifier AS authorization_identifier,
  current_database()::information_schema.sql_identifier AS foreign_server_catalog,
  s.srvname::information_schema.sql_identifier AS foreign_server_name,
  o.option_name::information_schema.sql_identifier AS option_name,
  (CASE WHEN (u.umuser <> 0 AND a.rolname = CURRENT_USER)
      OR (u.umuser = 0 AND pg_has_role(s.srvowner, 'USAGE'))
      OR (SELECT rolsuper FROM pg_authid WHERE rolname = CURRENT_USER) THEN o.option_value
    END)::information_schema.character_data AS option_value
FROM pg_user_mapping u JOIN pg_foreign_server s ON s.oid = u.umserver
  LEFT JOIN pg_authid a ON a.oid = u.umuser, LATERAL pg_options_to_table(u.umoptions) o
WHERE pg_has_role(s.srvowner, 'USAGE') OR has_server_privilege(s.oid, 'USAGE');
-- information_schema.user_mappings
SELECT COALESCE(a.rolname, 'PUBLIC')::information_schema.sql_identifier AS authorization_identifier,
  current_database()::information_schema.sql_identifier AS foreign_server_catalog,
  s.srvname::information_schema.sql_identifier AS foreign_server_name
FROM pg_user_mapping u JOIN pg_foreign_server s ON s.oid = u.umserver
  LEFT JOIN pg_authid a ON a.oid = u.umuser
WHERE pg_has_role(s.srvowner, 'USAGE') OR has_server_privilege(s.oid, 'USAGE');
-- information_schema.transforms
SELECT NULL::information_schema.sql_identifier AS udt_catalog,
  NULL::information_schema.sql_identifier AS udt_schema,
  NULL::information_schema.sql_identifier AS udt_name,
  NULL::information_schema.sql_identifier AS specific_catalog,
  NULL::information_schema.sql_identifier AS specific_schema,
  NULL::information_schema.sql_identifier AS specific_name,
  NULL::information_schema.sql_identifier AS group_name,
  NULL::information_schema.character_data AS transform_type
WHERE false;
-- pg_catalog.pg_available_extensions
SELECT e.name, e.default_version, x.extversion AS installed_version, e.comment
FROM pg_available_extensions() e LEFT JOIN pg_extension x ON e.name = x.extname;
-- pg_catalog.pg_file_settings
SELECT sourcefile, sourceline, seqno, name, setting, applied, error
FROM pg_show_all_file_settings() a;
-- pg_catalog.pg_hba_file_rules
SELECT rule_number, file_name, line_number, type, database, user_name, address, netmask,
  auth_method, options, error
FROM pg_hba_file_rules() a;
-- pg_catalog.pg_ident_file_mappings
SELECT map_number, file_name, line_number, map_name, sys_name, pg_username, error
FROM pg_ident_file_mappings() a;
-- pg_catalog.pg_rules
SELECT n.nspname AS schemaname, c.relname AS tablename, r.rulename,
  pg_get_ruledef(r.oid) AS definition
FROM pg_rewrite r JOIN pg_class c ON c.oid = r.ev_class
  LEFT JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE r.rulename <> '_RETURN';
-- pg_catalog.pg_policies
SELECT n.nspname AS schemaname, c.relname AS tablename, p.polname AS policyname,
  CASE WHEN p.polpermissive THEN 'PERMISSIVE' ELSE 'RESTRICTIVE' END AS permissive,
  CASE WHEN p.polroles = '{0}'::oid[] THEN '{public}'::name[]
    ELSE ARRAY(SELECT a.rolname FROM pg_authid a WHERE a.oid = ANY (p.polroles)
      ORDER BY a.rolname) END AS roles,
  CASE p.polcmd WHEN 'r' THEN 'SELECT' WHEN 'a' THEN 'INSERT' WHEN 'w' THEN 'UPDATE'
    WHEN 'd' THEN 'DELETE' WHEN '*' THEN 'ALL' END AS cmd,
  pg_get_expr(p.polqual, p.polrelid) AS qual, pg_get_expr(p.polwithcheck, p.polrelid) AS with_check
FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid
  LEFT JOIN pg_namespace n ON n.oid = c.relnamespace;
-- pg_catalog.pg_stat_database
SELECT d.oid AS datid, d.datname, pg_stat_get_db_numbackends(d.oid) AS numbackends,
  pg_stat_get_db_xact_commit(d.oid) AS xact_commit,
  pg_stat_get_db_xact_rollback(d.oid) AS xact_rollback,
  pg_stat_get_db_blocks_fetched(d.oid) - pg_stat_get_db_blocks_hit(d.oid) AS blks_read,
  pg_stat_get_db_blocks_hit(d.oid) AS blks_hit,
  pg_stat_get_db_tuples_returned(d.oid) AS tup_returned,
  pg_stat_get_db_tuples_fetched(d.oid) AS tup_fetched,
  pg_stat_get_db_tuples_inserted(d.oid) AS tup_inserted,
  pg_stat_get_db_tuples_updated(d.oid) AS tup_updated,
  pg_stat_get_db_tuples_deleted(d.oid) AS tup_deleted,
  pg_stat_get_db_conflict_all(d.oid) AS conflicts,
  pg_stat_get_db_temp_files(d.oid) AS temp_files,
  pg_stat_get_db_temp_bytes(d.oid) AS temp_bytes, pg_stat_get_db_deadlocks(d.oid) AS deadlocks,
  pg_stat_get_db_checksum_failures(d.oid) AS checksum_failures,
  pg_stat_get_db_checksum_last_failure(d.oid) AS checksum_last_failure,
  pg_stat_get_db_blk_read_time(d.oid) AS blk_read_time,
  pg_stat_get_db_blk_write_time(d.oid) AS blk_write_time,
  pg_stat_get_db_session_time(d.oid) AS session_time,
  pg_stat_get_db_active_time(d.oid) AS active_time,
  pg_stat_get_db_idle_in_transaction_time(d.oid) AS idle_in_transaction_time,
  pg_stat_get_db_sessions(d.oid) AS sessions,
  pg_stat_get_db_sessions_abandoned(d.oid) AS sessions_abandoned,
  pg_stat_get_db_sessions_fatal(d.oid) AS sessions_fatal,
  pg_stat_get_db_sessions_killed(d.oid) AS sessions_killed,
  pg_stat_get_db_parallel_workers_to_launch(d.oid) AS parallel_workers_to_launch,
  pg_stat_get_db_parallel_workers_launched(d.oid) AS parallel_workers_launched,
  pg_stat_get_db_stat_reset_time(d.oid) AS stats_reset
FROM (SELECT 0::oid AS oid, NULL::name AS datname UNION ALL
  SELECT oid, datname FROM pg_database) d;
-- pg_catalog.pg_stat_database_conflicts
SELECT d.oid AS datid, d.datname, pg_stat_get_db_conflict_tablespace(d.oid) AS confl_tablespace,
  pg_stat_get_db_conflict_lock(d.oid) AS confl_lock,
  pg_stat_get_db_conflict_snapshot(d.oid) AS confl_snapshot,
  pg_stat_get_db_conflict_bufferpin(d.oid) AS confl_bufferpin,
  pg_stat_get_db_conflict_startup_deadlock(d.oid) AS confl_deadlock,
  pg_stat_get_db_conflict_logicalslot(d.oid) AS confl_active_logicalslot
FROM pg_database d;
-- pg_catalog.pg_statio_all_tables
SELECT c.oid AS relid, n.nspname AS schemaname, c.relname,
  pg_stat_get_blocks_fetched(c.oid) - pg_stat_get_blocks_hit(c.oid) AS heap_blks_read,
  pg_stat_get_blocks_hit(c.oid) AS heap_blks_hit,
  (SELECT sum(pg_stat_get_blocks_fetched(i.indexrelid) - pg_stat_get_blocks_hit(i.indexrelid))::bigint
   FROM pg_index i WHERE i.indrelid = c.oid) AS idx_blks_read,
  (SELECT sum(pg_stat_get_blocks_hit(i.indexrelid))::bigint
   FROM pg_index i WHERE i.indrelid = c.oid) AS idx_blks_hit,
  pg_stat_get_blocks_fetched(t.oid) - pg_stat_get_blocks_hit(t.oid) AS toast_blks_read,
  pg_stat_get_blocks_hit(t.oid) AS toast_blks_hit,
  (SELECT sum(pg_stat_get_blocks_fetched(i.indexrelid) - pg_stat_get_blocks_hit(i.indexrelid))::bigint
   FROM pg_index i WHERE i.indrelid = t.oid) AS tidx_blks_read,
  (SELECT sum(pg_stat_get_blocks_hit(i.indexrelid))::bigint
   FROM pg_index i WHERE i.indrelid = t.oid) AS tidx_blks_hit
FROM pg_class c LEFT JOIN pg_class t ON t.oid = c.reltoastrelid
  LEFT JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 't', 'm');
-- pg_catalog.pg_statio_all_indexes
SELECT c.oid AS relid, i.oid AS indexrelid, n.nspname AS schemaname, c.relname,
  i.relname AS indexrelname,
  pg_stat_get_blocks_fetched(i.oid) - pg_stat_get_blocks_hit(i.oid) AS idx_blks_read,
  pg_stat_get_blocks_hit(i.oid) AS idx_blks_hit
FROM pg_index x JOIN pg_class c ON c.oid = x.indrelid JOIN pg_class i ON i.oid = x.indexrelid
  LEFT JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 't', 'm');
-- pg_catalog.pg_statio_all_sequences
SELECT c.oid AS relid, n.nspname AS schemaname, c.relname,
  pg_stat_get_blocks_fetched(c.oid) - pg_stat_get_blocks_hit(c.oid) AS blks_read,
  pg_stat_get_blocks_hit(c.oid) AS blks_hit
FROM pg_class c LEFT JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'S';
-- pg_catalog.pg_statio_user_tables
SELECT * FROM pg_statio_all_tables
WHERE schemaname NOT IN ('pg_catalog', 'information_schema') AND schemaname !~ '^pg_toast';
-- pg_catalog.pg_statio_sys_tables
SELECT * FROM pg_statio_all_tables
WHERE schemaname IN ('pg_catalog', 'information_schema') OR schemaname ~ '^pg_toast';
-- pg_catalog.pg_statio_user_indexes
SELECT * FROM pg_statio_all_indexes
WHERE schemaname NOT IN ('pg_catalog', 'information_schema') AND schemaname !~ '^pg_toast';
-- pg_catalog.pg_statio_sys_indexes
SELECT * FROM pg_statio_all_indexes
WHERE schemaname IN ('pg_catalog', 'information_schema') OR schemaname ~ '^pg_toast';
-- pg_catalog.pg_statio_user_sequences
SELECT * FROM pg_statio_all_sequences
WHERE schemaname NOT IN ('pg_catalog', 'information_schema') AND schemaname !~ '^pg_toast';
-- pg_catalog.pg_statio_sys_sequences
SELECT * FROM pg_statio_all_sequences
WHERE schemaname IN ('pg_catalog', 'information_schema') OR schemaname ~ '^pg_toast';
-- pg_catalog.pg_timezone_abbrevs
SELECT abbrev, utc_offset, is_dst FROM pg_timezone_abbrevs_abbrevs();
-- information_schema.information_schema_catalog_name
SELECT current_database()::information_schema.sql_identifier AS catalog_name;
-- information_schema.enabled_roles
SELECT rolname::information_schema.sql_identifier AS role_name
FROM pg_authid WHERE pg_has_role(oid, 'USAGE');
-- information_schema.columns
SELECT current_database()::information_schema.sql_identifier AS table_catalog,
  n.nspname::information_schema.sql_identifier AS table_schema,
  c.relname::information_schema.sql_identifier AS table_name,
  a.attname::information_schema.sql_identifier AS column_name,
  a.attnum::information_schema.cardinal_number AS ordinal_position,
  (CASE WHEN a.attgenerated = '' THEN pg_get_expr(d.adbin, d.adrelid) END)::information_schema.character_data AS column_default,
  (CASE WHEN a.attnotnull OR (t.typtype = 'd' AND t.typnotnull) THEN 'NO' ELSE 'YES' END)::information_schema.yes_or_no AS is_nullable,
  (CASE WHEN b.typelem <> 0 AND b.typlen = -1 THEN 'ARRAY' WHEN bn.nspname = 'pg_catalog' THEN format_type(b.oid, NULL) ELSE 'USER-DEFINED' END)::information_schema.character_data AS data_type,
  (CASE WHEN b.oid IN (1042, 1043) AND m.mod <> -1 THEN m.mod - 4 WHEN b.oid IN (1560, 1562) AND m.mod <> -1 THEN m.mod END)::information_schema.cardinal_number AS character_maximum_length,
  (CASE WHEN b.oid IN (25, 1042, 1043) THEN CASE WHEN m.mod = -1 OR b.oid = 25 THEN 1073741824 ELSE (m.mod - 4) * 4 END END)::information_schema.cardinal_number AS character_octet_length,
  (CASE b.oid WHEN 21 THEN 16 WHEN 23 THEN 32 WHEN 20 THEN 64 WHEN 700 THEN 24 WHEN 701 THEN 53 WHEN 1700 THEN CASE WHEN m.mod <> -1 THEN ((m.mod - 4) >> 16) & 65535 END END)::information_schema.cardinal_number AS numeric_precision,
  (CASE WHEN b.oid IN (20, 21, 23, 700, 701) THEN 2 WHEN b.oid = 1700 THEN 10 END)::information_schema.cardinal_number AS numeric_precision_radix,
  (CASE WHEN b.oid IN (20, 21, 23) THEN 0 WHEN b.oid = 1700 AND m.mod <> -1 THEN (m.mod - 4) & 2047 END)::information_schema.cardinal_number AS numeric_scale,
  (CASE WHEN b.oid = 1082 THEN 0 WHEN b.oid IN (1083, 1114, 1184, 1266) THEN CASE WHEN m.mod < 0 THEN 6 ELSE m.mod END WHEN b.oid = 1186 THEN CASE WHEN m.mod < 0 OR m.mod & 65535 = 65535 THEN 6 ELSE m.mod & 65535 END END)::information_schema.cardinal_number AS datetime_precision,
  information_schema._pg_interval_type(b.oid, m.mod)::information_schema.character_data AS interval_type,
  NULL::information_schema.cardinal_number AS interval_precision,
  NULL::information_schema.sql_identifier AS character_set_catalog,
  NULL::information_schema.sql_identifier AS character_set_schema,
  NULL::information_schema.sql_identifier AS character_set_name,
  (CASE WHEN co.oid IS NOT NULL THEN current_database() END)::information_schema.sql_identifier AS collation_catalog,
  con.nspname::information_schema.sql_identifier AS collation_schema,
  co.collname::information_schema.sql_identifier AS collation_name,
  (CASE WHEN t.typtype = 'd' THEN current_database() END)::information_schema.sql_identifier AS domain_catalog,
  (CASE WHEN t.typtype = 'd' THEN tn.nspname END)::information_schema.sql_identifier AS domain_schema,
  (CASE WHEN t.typtype = 'd' THEN t.typname END)::information_schema.sql_identifier AS domain_name,
  current_database()::information_schema.sql_identifier AS udt_catalog,
  bn.nspname::information_schema.sql_identifier AS udt_schema,
  b.typname::information_schema.sql_identifier AS udt_name,
  NULL::information_schema.sql_identifier AS scope_catalog,
  NULL::information_schema.sql_identifier AS scope_schema,
  NULL::information_schema.sql_identifier AS scope_name,
  NULL::information_schema.cardinal_number AS maximum_cardinality,
  a.attnum::information_schema.sql_identifier AS dtd_identifier,
  'NO'::information_schema.yes_or_no AS is_self_referencing,
  (CASE WHEN a.attidentity IN ('a', 'd') THEN 'YES' ELSE 'NO' END)::information_schema.yes_or_no AS is_identity,
  (CASE a.attidentity WHEN 'a' THEN 'ALWAYS' WHEN 'd' THEN 'BY DEFAULT' END)::information_schema.character_data AS identity_generation,
  sq.seqstart::information_schema.character_data AS identity_start,
  sq.seqincrement::information_schema.character_data AS identity_increment,
  sq.seqmax::information_schema.character_data AS identity_maximum,
  sq.seqmin::information_schema.character_data AS identity_minimum,
  (CASE WHEN sq.seqcycle THEN 'YES' ELSE 'NO' END)::information_schema.yes_or_no AS identity_cycle,
  (CASE WHEN a.attgenerated = '' THEN 'NEVER' ELSE 'ALWAYS' END)::information_schema.character_data AS is_generated,
  (CASE WHEN a.attgenerated <> '' THEN pg_get_expr(d.adbin, d.adrelid) END)::information_schema.character_data AS generation_expression,
  (CASE WHEN c.relkind IN ('r', 'p') OR c.relkind IN ('v', 'f') AND pg_column_is_updatable(c.oid, a.attnum, false) THEN 'YES' ELSE 'NO' END)::information_schema.yes_or_no AS is_updatable
FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
  JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_type t ON t.oid = a.atttypid JOIN pg_namespace tn ON tn.oid = t.typnamespace
  JOIN pg_type b ON b.oid = CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END
  JOIN pg_namespace bn ON bn.oid = b.typnamespace
  CROSS JOIN LATERAL (SELECT CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE a.atttypmod END AS mod) m
  LEFT JOIN pg_collation co ON co.oid = a.attcollation AND co.collname <> 'default'
  LEFT JOIN pg_namespace con ON con.oid = co.collnamespace
  LEFT JOIN (pg_depend dep JOIN pg_sequence sq ON dep.classid = 'pg_class'::regclass AND dep.objid = sq.seqrelid AND dep.deptype = 'i')
    ON dep.refclassid = 'pg_class'::regclass AND dep.refobjid = c.oid AND dep.refobjsubid = a.attnum AND a.attidentity <> ''
WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'v', 'f', 'p')
  AND NOT pg_is_other_temp_schema(n.oid) AND (pg_has_role(c.relowner, 'USAGE')
    OR has_column_privilege(c.oid, a.attnum, 'SELECT, INSERT, UPDATE, REFERENCES'));
-- information_schema.views
SELECT current_database()::information_schema.sql_identifier AS table_catalog,
  n.nspname::information_schema.sql_identifier AS table_schema,
  c.relname::information_schema.sql_identifier AS table_name,
  (CASE WHEN pg_has_role(c.relowner, 'USAGE') THEN pg_get_viewdef(c.oid) END)::information_schema.character_data AS view_definition,
  (CASE WHEN 'check_option=cascaded' = ANY (c.reloptions) THEN 'CASCADED'
    WHEN 'check_option=local' = ANY (c.reloptions) THEN 'LOCAL' ELSE 'NONE' END)::information_schema.character_data AS check_option,
  (CASE WHEN pg_relation_is_updatable(c.oid, false) & 20 = 20 THEN 'YES' ELSE 'NO' END)::information_schema.yes_or_no AS is_updatable,
  (CASE WHEN pg_relation_is_updatable(c.oid, false) & 8 = 8 THEN 'YES' ELSE 'NO' END)::information_schema.yes_or_no AS is_insertable_into,
  (CASE WHEN EXISTS (SELECT 1 FROM pg_trigger t WHERE t.tgrelid = c.oid AND t.tgtype & 81 = 81) THEN 'YES' ELSE 'NO' END)::information_schema.yes_or_no AS is_trigger_updatable,
  (CASE WHEN EXISTS (SELECT 1 FROM pg_trigger t WHERE t.tgrelid = c.oid AND t.tgtype & 73 = 73) THEN 'YES' ELSE 'NO' END)::information_schema.yes_or_no AS is_trigger_deletable,
  (CASE WHEN EXISTS (SELECT 1 FROM pg_trigger t WHERE t.tgrelid = c.oid AND t.tgtype & 69 = 69) THEN 'YES' ELSE 'NO' END)::information_schema.yes_or_no AS is_trigger_insertable_into
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'v'
  AND NOT pg_is_other_temp_schema(n.oid) AND (pg_has_role(c.relowner, 'USAGE')
    OR has_table_privilege(c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
    OR has_any_column_privilege(c.oid, 'SELECT, INSERT, UPDATE, REFERENCES'));
-- information_schema.sequences
SELECT current_database()::information_schema.sql_identifier AS sequence_catalog,
  n.nspname::information_schema.sql_identifier AS sequence_schema,
  c.relname::information_schema.sql_identifier AS sequence_name,
  format_type(s.seqtypid, NULL)::information_schema.character_data AS data_type,
  (CASE s.seqtypid WHEN 21 THEN 16 WHEN 23 THEN 32 ELSE 64 END)::information_schema.cardinal_number AS numeric_precision,
  2::information_schema.cardinal_number AS numeric_precision_radix,
  0::information_schema.cardinal_number AS numeric_scale,
  s.seqstart::information_schema.character_data AS start_value,
  s.seqmin::information_schema.character_data AS minimum_value,
  s.seqmax::information_schema.character_data AS maximum_value,
  s.seqincrement::information_schema.character_data AS increment,
  (CASE WHEN s.seqcycle THEN 'YES' ELSE 'NO' END)::information_schema.yes_or_no AS cycle_option
FROM pg_sequence s JOIN pg_class c ON c.oid = s.seqrelid
  JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.classid = 'pg_class'::regclass
    AND d.objid = c.oid AND d.deptype = 'i')
  AND NOT pg_is_other_temp_schema(n.oid)
  AND (pg_has_role(c.relowner, 'USAGE') OR has_sequence_privilege(c.oid, 'SELECT, UPDATE, USAGE'));
-- information_schema.triggers
SELECT current_database()::information_schema.sql_identifier AS trigger_catalog,
  n.nspname::information_schema.sql_identifier AS trigger_schema,
  t.tgname::information_schema.sql_identifier AS trigger_name,
  e.name::information_schema.character_data AS event_manipulation,
  current_database()::information_schema.sql_identifier AS event_object_catalog,
  n.nspname::information_schema.sql_identifier AS event_object_schema,
  c.relname::information_schema.sql_identifier AS event_object_table,
  rank() OVER (PARTITION BY n.nspname, c.relname, e.bit, t.tgtype & 1, t.tgtype & 66
    ORDER BY t.tgname)::information_schema.cardinal_number AS action_order,
  (CASE WHEN pg_has_role(c.relowner, 'USAGE')
    THEN (regexp_match(pg_get_triggerdef(t.oid), E'.{35,} WHEN \\((.+)\\) EXECUTE FUNCTION'))[1]
    END)::information_schema.character_data AS action_condition,
  substring(pg_get_triggerdef(t.oid) FROM position('EXECUTE FUNCTION' IN
    substring(pg_get_triggerdef(t.oid) FROM 48)) + 47)::information_schema.character_data AS action_statement,
  (CASE t.tgtype & 1 WHEN 1 THEN 'ROW' ELSE 'STATEMENT' END)::information_schema.character_data AS action_orientation,
  (CASE t.tgtype & 66 WHEN 2 THEN 'BEFORE' WHEN 64 THEN 'INSTEAD OF' ELSE 'AFTER' END)::information_schema.character_data AS action_timing,
  t.tgoldtable::information_schema.sql_identifier AS action_reference_old_table,
  t.tgnewtable::information_schema.sql_identifier AS action_reference_new_table,
  NULL::information_schema.sql_identifier AS action_reference_old_row,
  NULL::information_schema.sql_identifier AS action_reference_new_row,
  NULL::information_schema.time_stamp AS created
FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
  JOIN pg_namespace n ON n.oid = c.relnamespace
  JOIN (VALUES (4, 'INSERT'), (8, 'DELETE'), (16, 'UPDATE')) e (bit, name) ON t.tgtype & e.bit <> 0
WHERE NOT t.tgisinternal AND NOT pg_is_other_temp_schema(n.oid)
  AND (pg_has_role(c.relowner, 'USAGE')
    OR has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
    OR has_any_column_privilege(c.oid, 'INSERT, UPDATE, REFERENCES'));
-- information_schema.table_constraints
SELECT current_database()::information_schema.sql_identifier AS constraint_catalog,
  cn.nspname::information_schema.sql_identifier AS constraint_schema,
  k.conname::information_schema.sql_identifier AS constraint_name,
  current_database()::information_schema.sql_identifier AS table_catalog,
  n.nspname::information_schema.sql_identifier AS table_schema,
  c.relname::information_schema.sql_identifier AS table_name,
  (CASE k.contype WHEN 'c' THEN 'CHECK' WHEN 'n' THEN 'CHECK' WHEN 'f' THEN 'FOREIGN KEY' WHEN 'p' THEN 'PRIMARY KEY' WHEN 'u' THEN 'UNIQUE' END)::information_schema.character_data AS constraint_type,
  (CASE WHEN k.condeferrable THEN 'YES' ELSE 'NO' END)::information_schema.yes_or_no AS is_deferrable,
  (CASE WHEN k.condeferred THEN 'YES' ELSE 'NO' END)::information_schema.yes_or_no AS initially_deferred,
  (CASE WHEN k.conenforced THEN 'YES' ELSE 'NO' END)::information_schema.yes_or_no AS enforced,
  (CASE WHEN k.contype = 'u' THEN (SELECT CASE WHEN i.indnullsnotdistinct THEN 'NO' ELSE 'YES' END FROM pg_index i WHERE i.indexrelid = k.conindid) END)::information_schema.yes_or_no AS nulls_distinct
FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
  JOIN pg_namespace cn ON cn.oid = k.connamespace JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE k.contype NOT IN ('t', 'x') AND c.relkind IN ('r', 'p')
  AND NOT pg_is_other_temp_schema(n.oid) AND (pg_has_role(c.relowner, 'USAGE')
    OR has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
    OR has_any_column_privilege(c.oid, 'INSERT, UPDATE, REFERENCES'));
-- information_schema.key_column_usage
SELECT current_database()::information_schema.sql_identifier AS constraint_catalog,
  cn.nspname::information_schema.sql_identifier AS constraint_schema,
  k.conname::information_schema.sql_identifier AS constraint_name,
  current_database()::information_schema.sql_identifier AS table_catalog,
  n.nspname::information_schema.sql_identifier AS table_schema,
  c.relname::information_schema.sql_identifier AS table_name,
  a.attname::information_schema.sql_identifier AS column_name,
  p.n::information_schema.cardinal_number AS ordinal_position,
  (CASE WHEN k.contype = 'f' THEN (SELECT u.n FROM pg_constraint r, generate_subscripts(r.conkey, 1) u(n) WHERE r.conrelid = k.confrelid AND r.conindid = k.conindid AND r.contype IN ('p', 'u') AND r.conkey[u.n] = k.confkey[p.n]) END)::information_schema.cardinal_number AS position_in_unique_constraint
FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
  JOIN pg_namespace cn ON cn.oid = k.connamespace JOIN pg_namespace n ON n.oid = c.relnamespace
  CROSS JOIN LATERAL generate_subscripts(k.conkey, 1) p(n)
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.conkey[p.n]
WHERE k.contype IN ('p', 'u', 'f') AND c.relkind IN ('r', 'p')
  AND NOT pg_is_other_temp_schema(n.oid) AND (pg_has_role(c.relowner, 'USAGE')
    OR has_column_privilege(c.oid, a.attnum, 'SELECT, INSERT, UPDATE, REFERENCES'));
-- information_schema.referential_constraints
SELECT current_database()::information_schema.sql_identifier AS constraint_catalog,
  cn.nspname::information_schema.sql_identifier AS constraint_schema,
  k.conname::information_schema.sql_identifier AS constraint_name,
  (CASE WHEN r.oid IS NOT NULL THEN current_database() END)::information_schema.sql_identifier AS unique_constraint_catalog,
  rn.nspname::information_schema.sql_identifier AS unique_constraint_schema,
  r.conname::information_schema.sql_identifier AS unique_constraint_name,
  (CASE k.confmatchtype WHEN 'f' THEN 'FULL' WHEN 'p' THEN 'PARTIAL' WHEN 's' THEN 'NONE' END)::information_schema.character_data AS match_option,
  (CASE k.confupdtype WHEN 'c' THEN 'CASCADE' WHEN 'n' THEN 'SET NULL' WHEN 'd' THEN 'SET DEFAULT' WHEN 'r' THEN 'RESTRICT' WHEN 'a' THEN 'NO ACTION' END)::information_schema.character_data AS update_rule,
  (CASE k.confdeltype WHEN 'c' THEN 'CASCADE' WHEN 'n' THEN 'SET NULL' WHEN 'd' THEN 'SET DEFAULT' WHEN 'r' THEN 'RESTRICT' WHEN 'a' THEN 'NO ACTION' END)::information_schema.character_data AS delete_rule
FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace cn ON cn.oid = k.connamespace
  LEFT JOIN pg_constraint r ON r.conrelid = k.confrelid AND r.conindid = k.conindid
    AND r.contype IN ('p', 'u')
  LEFT JOIN pg_namespace rn ON rn.oid = r.connamespace
WHERE k.contype = 'f' AND (pg_has_role(c.relowner, 'USAGE')
    OR has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
    OR has_any_column_privilege(c.oid, 'INSERT, UPDATE, REFERENCES'));
-- information_schema.check_constraints
SELECT current_database()::information_schema.sql_identifier AS constraint_catalog,
  n.nspname::information_schema.sql_identifier AS constraint_schema,
  k.conname::information_schema.sql_identifier AS constraint_name,
  (CASE k.contype WHEN 'n' THEN concat(COALESCE(a.attname, 'VALUE'), ' IS NOT NULL') ELSE CASE WHEN k.conrelid = 0
    THEN (regexp_match(pg_get_constraintdef(k.oid), '^CHECK \((.*)\)( NOT VALID)?$'))[1]
    ELSE pg_get_expr(k.conbin, k.conrelid) END END)::information_schema.character_data AS check_clause
FROM pg_constraint k JOIN pg_namespace n ON n.oid = k.connamespace
  LEFT JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = k.conkey[1]
  LEFT JOIN pg_class c ON c.oid = k.conrelid LEFT JOIN pg_type t ON t.oid = k.contypid
WHERE k.contype IN ('c', 'n')
  AND pg_has_role(COALESCE(c.relowner, t.typowner), 'USAGE');
-- information_schema.constraint_column_usage
SELECT current_database()::information_schema.sql_identifier AS table_catalog,
  n.nspname::information_schema.sql_identifier AS table_schema,
  c.relname::information_schema.sql_identifier AS table_name,
  a.attname::information_schema.sql_identifier AS column_name,
  current_database()::information_schema.sql_identifier AS constraint_catalog,
  cn.nspname::information_schema.sql_identifier AS constraint_schema,
  k.conname::information_schema.sql_identifier AS constraint_name
FROM pg_constraint k JOIN pg_namespace cn ON cn.oid = k.connamespace
  JOIN pg_class c ON c.oid = CASE WHEN k.contype = 'f' THEN k.confrelid ELSE k.conrelid END
  JOIN pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_attribute a ON a.attrelid = c.oid
    AND a.attnum = ANY (CASE WHEN k.contype = 'f' THEN k.confkey ELSE k.conkey END)
WHERE k.contype IN ('c', 'n', 'p', 'u', 'f') AND NOT a.attisdropped AND pg_has_role(c.relowner, 'USAGE');
-- information_schema.domains
SELECT current_database()::information_schema.sql_identifier AS domain_catalog,
  n.nspname::information_schema.sql_identifier AS domain_schema,
  t.typname::information_schema.sql_identifier AS domain_name,
  (CASE WHEN b.typelem <> 0 AND b.typlen = -1 THEN 'ARRAY' WHEN bn.nspname = 'pg_catalog' THEN format_type(b.oid, NULL) ELSE 'USER-DEFINED' END)::information_schema.character_data AS data_type,
  information_schema._pg_char_max_length(t.typbasetype, t.typtypmod)::information_schema.cardinal_number AS character_maximum_length,
  information_schema._pg_char_octet_length(t.typbasetype, t.typtypmod)::information_schema.cardinal_number AS character_octet_length,
  NULL::information_schema.sql_identifier AS character_set_catalog,
  NULL::information_schema.sql_identifier AS character_set_schema,
  NULL::information_schema.sql_identifier AS character_set_name,
  (CASE WHEN nco.nspname IS NOT NULL THEN current_database() END)::information_schema.sql_identifier AS collation_catalog,
  nco.nspname::information_schema.sql_identifier AS collation_schema,
  co.collname::information_schema.sql_identifier AS collation_name,
  information_schema._pg_numeric_precision(t.typbasetype, t.typtypmod)::information_schema.cardinal_number AS numeric_precision,
  information_schema._pg_numeric_precision_radix(t.typbasetype, t.typtypmod)::information_schema.cardinal_number AS numeric_precision_radix,
  information_schema._pg_numeric_scale(t.typbasetype, t.typtypmod)::information_schema.cardinal_number AS numeric_scale,
  information_schema._pg_datetime_precision(t.typbasetype, t.typtypmod)::information_schema.cardinal_number AS datetime_precision,
  information_schema._pg_interval_type(t.typbasetype, t.typtypmod)::information_schema.character_data AS interval_type,
  NULL::information_schema.cardinal_number AS interval_precision,
  t.typdefault::information_schema.character_data AS domain_default,
  current_database()::information_schema.sql_identifier AS udt_catalog,
  bn.nspname::information_schema.sql_identifier AS udt_schema,
  b.typname::information_schema.sql_identifier AS udt_name,
  NULL::information_schema.sql_identifier AS scope_catalog,
  NULL::information_schema.sql_identifier AS scope_schema,
  NULL::information_schema.sql_identifier AS scope_name,
  NULL::information_schema.cardinal_number AS maximum_cardinality,
  1::information_schema.sql_identifier AS dtd_identifier
FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
  JOIN pg_type b ON b.oid = t.typbasetype JOIN pg_namespace bn ON bn.oid = b.typnamespace
  LEFT JOIN (pg_collation co JOIN pg_namespace nco ON nco.oid = co.collnamespace)
    ON t.typcollation = co.oid AND (nco.nspname, co.collname) <> ('pg_catalog', 'default')
WHERE t.typtype = 'd'
  AND (pg_has_role(t.typowner, 'USAGE') OR has_type_privilege(t.oid, 'USAGE'));
-- pg_catalog.pg_stat_wal
SELECT * FROM pg_stat_get_wal();
-- pg_catalog.pg_stat_io
SELECT * FROM pg_stat_get_io();
-- pg_catalog.pg_stat_ssl
SELECT pid, ssl, sslversion AS version, sslcipher AS cipher, sslbits AS bits,
  ssl_client_dn AS client_dn, ssl_client_serial AS client_serial, ssl_issuer_dn AS issuer_dn
FROM pg_stat_get_activity(NULL) WHERE client_port IS NOT NULL;
-- pg_catalog.pg_stat_gssapi
SELECT pid, gss_auth AS gss_authenticated, gss_princ AS principal, gss_enc AS encrypted,
  gss_delegation AS credentials_delegated
FROM pg_stat_get_activity(NULL) WHERE client_port IS NOT NULL;
-- pg_catalog.pg_stat_archiver
SELECT * FROM pg_stat_get_archiver();
-- pg_catalog.pg_stat_slru
SELECT * FROM pg_stat_get_slru();
-- pg_catalog.pg_wait_events
SELECT * FROM pg_get_wait_events();
-- pg_catalog.pg_backend_memory_contexts
SELECT * FROM pg_get_backend_memory_contexts();
-- pg_catalog.pg_shmem_allocations
SELECT * FROM pg_get_shmem_allocations();
-- pg_catalog.pg_shmem_allocations_numa
SELECT * FROM pg_get_shmem_allocations_numa();
-- pg_catalog.pg_aios
SELECT * FROM pg_get_aios();
-- pg_catalog.pg_config
SELECT * FROM pg_config();
-- pg_catalog.pg_available_extension_versions
SELECT e.name, e.version, x.extname IS NOT NULL AS installed, e.superuser, e.trusted, e.relocatable,
  e.schema, e.requires, e.comment
FROM pg_available_extension_versions() e
  LEFT JOIN pg_extension x ON e.name = x.extname AND e.version = x.extversion;
-- pg_catalog.pg_stat_xact_all_tables
SELECT c.oid AS relid, n.nspname AS schemaname, c.relname, pg_stat_get_xact_numscans(c.oid) AS seq_scan,
  pg_stat_get_xact_tuples_returned(c.oid) AS seq_tup_read,
  sum(pg_stat_get_xact_numscans(i.indexrelid))::bigint AS idx_scan,
  sum(pg_stat_get_xact_tuples_fetched(i.indexrelid))::bigint
    + pg_stat_get_xact_tuples_fetched(c.oid) AS idx_tup_fetch,
  pg_stat_get_xact_tuples_inserted(c.oid) AS n_tup_ins,
  pg_stat_get_xact_tuples_updated(c.oid) AS n_tup_upd,
  pg_stat_get_xact_tuples_deleted(c.oid) AS n_tup_del,
  pg_stat_get_xact_tuples_hot_updated(c.oid) AS n_tup_hot_upd,
  pg_stat_get_xact_tuples_newpage_updated(c.oid) AS n_tup_newpage_upd
FROM pg_class c LEFT JOIN pg_index i ON c.oid = i.indrelid
  LEFT JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 't', 'm', 'p')
GROUP BY c.oid, n.nspname, c.relname;
-- pg_catalog.pg_stat_xact_sys_tables
SELECT * FROM pg_stat_xact_all_tables
WHERE schemaname IN ('pg_catalog', 'information_schema') OR schemaname ~ '^pg_toast';
-- pg_catalog.pg_stat_xact_user_tables
SELECT * FROM pg_stat_xact_all_tables
WHERE schemaname NOT IN ('pg_catalog', 'information_schema') AND schemaname !~ '^pg_toast';
