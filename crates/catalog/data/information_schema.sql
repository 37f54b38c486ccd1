-- information_schema._pg_foreign_data_wrappers
SELECT w.oid,
  w.fdwowner,
  w.fdwoptions,
  current_database()::information_schema.sql_identifier AS foreign_data_wrapper_catalog,
  w.fdwname::information_schema.sql_identifier AS foreign_data_wrapper_name,
  a.rolname::information_schema.sql_identifier AS authorization_identifier,
  'c'::information_schema.character_data AS foreign_data_wrapper_language
FROM pg_foreign_data_wrapper w JOIN pg_authid a ON a.oid = w.fdwowner
WHERE pg_has_role(w.fdwowner, 'USAGE') OR has_foreign_data_wrapper_privilege(w.oid, 'USAGE');
-- information_schema._pg_foreign_servers
SELECT s.oid,
  s.srvoptions,
  current_database()::information_schema.sql_identifier AS foreign_server_catalog,
  s.srvname::information_schema.sql_identifier AS foreign_server_name,
  current_database()::information_schema.sql_identifier AS foreign_data_wrapper_catalog,
  w.fdwname::information_schema.sql_identifier AS foreign_data_wrapper_name,
  s.srvtype::information_schema.character_data AS foreign_server_type,
  s.srvversion::information_schema.character_data AS foreign_server_version,
  a.rolname::information_schema.sql_identifier AS authorization_identifier
FROM pg_foreign_server s JOIN pg_foreign_data_wrapper w ON w.oid = s.srvfdw
  JOIN pg_authid a ON a.oid = s.srvowner
WHERE pg_has_role(s.srvowner, 'USAGE') OR has_server_privilege(s.oid, 'USAGE');
-- information_schema._pg_foreign_table_columns
SELECT n.nspname,
  c.relname,
  a.attname,
  a.attfdwoptions
FROM pg_foreign_table t JOIN pg_class c ON c.oid = t.ftrelid
  JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
WHERE a.attnum > 0 AND (pg_has_role(c.relowner, 'USAGE')
    OR has_column_privilege(c.oid, a.attnum, 'SELECT, INSERT, UPDATE, REFERENCES'));
-- information_schema._pg_foreign_tables
SELECT current_database()::information_schema.sql_identifier AS foreign_table_catalog,
  n.nspname::information_schema.sql_identifier AS foreign_table_schema,
  c.relname::information_schema.sql_identifier AS foreign_table_name,
  t.ftoptions,
  current_database()::information_schema.sql_identifier AS foreign_server_catalog,
  s.srvname::information_schema.sql_identifier AS foreign_server_name,
  a.rolname::information_schema.sql_identifier AS authorization_identifier
FROM pg_foreign_table t JOIN pg_class c ON c.oid = t.ftrelid
  JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_foreign_server s ON s.oid = t.ftserver
  JOIN pg_authid a ON a.oid = c.relowner
WHERE (pg_has_role(c.relowner, 'USAGE')
    OR has_table_privilege(c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
    OR has_any_column_privilege(c.oid, 'SELECT, INSERT, UPDATE, REFERENCES'));
-- information_schema._pg_user_mappings
SELECT m.oid,
  m.umoptions,
  m.umuser,
  (COALESCE(a.rolname, 'PUBLIC'))::information_schema.sql_identifier AS authorization_identifier,
  s.foreign_server_catalog::information_schema.sql_identifier AS foreign_server_catalog,
  s.foreign_server_name::information_schema.sql_identifier AS foreign_server_name,
  s.authorization_identifier::information_schema.sql_identifier AS srvowner
FROM pg_user_mapping m JOIN information_schema._pg_foreign_servers s ON s.oid = m.umserver
  LEFT JOIN pg_authid a ON a.oid = m.umuser;
-- information_schema.applicable_roles
SELECT a.rolname::information_schema.sql_identifier AS grantee,
  b.rolname::information_schema.sql_identifier AS role_name,
  (CASE WHEN m.admin_option THEN 'YES' ELSE 'NO' END)::information_schema.yes_or_no AS is_grantable
FROM (SELECT member, roleid, admin_option FROM pg_auth_members
    UNION SELECT d.datdba, r.oid, false FROM pg_database d, pg_authid r
      WHERE d.datname = current_database() AND r.rolname = 'pg_database_owner') m
  JOIN pg_authid a ON a.oid = m.member JOIN pg_authid b ON b.oid = m.roleid
WHERE pg_has_role(a.oid, 'USAGE');
-- information_schema.administrable_role_authorizations
SELECT grantee, role_name, is_grantable
FROM information_schema.applicable_roles WHERE is_grantable = 'YES';
-- information_schema.attributes
SELECT current_database()::information_schema.sql_identifier AS udt_catalog,
  nc.nspname::information_schema.sql_identifier AS udt_schema,
  c.relname::information_schema.sql_identifier AS udt_name,
  a.attname::information_schema.sql_identifier AS attribute_name,
  a.attnum::information_schema.cardinal_number AS ordinal_position,
  (pg_get_expr(d.adbin, d.adrelid))::information_schema.character_data AS attribute_default,
  (CASE WHEN a.attnotnull OR t.typtype = 'd' AND t.typnotnull THEN 'NO' ELSE 'YES' END)::information_schema.yes_or_no AS is_nullable,
  (CASE WHEN t.typelem <> 0 AND t.typlen = -1 THEN 'ARRAY' WHEN nt.nspname = 'pg_catalog' THEN format_type(t.oid, NULL) ELSE 'USER-DEFINED' END)::information_schema.character_data AS data_type,
  (information_schema._pg_char_max_length(x.type, x.mod))::information_schema.cardinal_number AS character_maximum_length,
  (information_schema._pg_char_octet_length(x.type, x.mod))::information_schema.cardinal_number AS character_octet_length,
  NULL::information_schema.sql_identifier AS character_set_catalog,
  NULL::information_schema.sql_identifier AS character_set_schema,
  NULL::information_schema.sql_identifier AS character_set_name,
  (CASE WHEN nco.nspname IS NOT NULL THEN current_database() END)::information_schema.sql_identifier AS collation_catalog,
  nco.nspname::information_schema.sql_identifier AS collation_schema,
  co.collname::information_schema.sql_identifier AS collation_name,
  (information_schema._pg_numeric_precision(x.type, x.mod))::information_schema.cardinal_number AS numeric_precision,
  (information_schema._pg_numeric_precision_radix(x.type, x.mod))::information_schema.cardinal_number AS numeric_precision_radix,
  (information_schema._pg_numeric_scale(x.type, x.mod))::information_schema.cardinal_number AS numeric_scale,
  (information_schema._pg_datetime_precision(x.type, x.mod))::information_schema.cardinal_number AS datetime_precision,
  (information_schema._pg_interval_type(x.type, x.mod))::information_schema.character_data AS interval_type,
  NULL::information_schema.cardinal_number AS interval_precision,
  current_database()::information_schema.sql_identifier AS attribute_udt_catalog,
  nt.nspname::information_schema.sql_identifier AS attribute_udt_schema,
  t.typname::information_schema.sql_identifier AS attribute_udt_name,
  NULL::information_schema.sql_identifier AS scope_catalog,
  NULL::information_schema.sql_identifier AS scope_schema,
  NULL::information_schema.sql_identifier AS scope_name,
  NULL::information_schema.cardinal_number AS maximum_cardinality,
  a.attnum::information_schema.sql_identifier AS dtd_identifier,
  'NO'::information_schema.yes_or_no AS is_derived_reference_attribute
FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
  JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace nc ON nc.oid = c.relnamespace
  JOIN pg_type t ON t.oid = a.atttypid JOIN pg_namespace nt ON nt.oid = t.typnamespace
  CROSS JOIN LATERAL (SELECT CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END,
    CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE a.atttypmod END) x (type, mod)
  LEFT JOIN (pg_collation co JOIN pg_namespace nco ON nco.oid = co.collnamespace)
    ON a.attcollation = co.oid AND (nco.nspname, co.collname) <> ('pg_catalog', 'default')
WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind = 'c'
  AND (pg_has_role(c.relowner, 'USAGE') OR has_type_privilege(c.reltype, 'USAGE'));
-- information_schema.character_sets
SELECT NULL::information_schema.sql_identifier AS character_set_catalog,
  NULL::information_schema.sql_identifier AS character_set_schema,
  getdatabaseencoding()::information_schema.sql_identifier AS character_set_name,
  (CASE WHEN getdatabaseencoding() = 'UTF8' THEN 'UCS' ELSE getdatabaseencoding() END)::information_schema.sql_identifier AS character_repertoire,
  getdatabaseencoding()::information_schema.sql_identifier AS form_of_use,
  current_database()::information_schema.sql_identifier AS default_collate_catalog,
  nc.nspname::information_schema.sql_identifier AS default_collate_schema,
  c.collname::information_schema.sql_identifier AS default_collate_name
FROM pg_database d LEFT JOIN (pg_collation c JOIN pg_namespace nc ON nc.oid = c.collnamespace)
    ON c.collcollate = d.datcollate AND c.collctype = d.datctype
WHERE d.datname = current_database()
ORDER BY char_length(c.collname) DESC, c.collname ASC LIMIT 1;
-- information_schema.check_constraint_routine_usage
SELECT DISTINCT current_database()::information_schema.sql_identifier AS constraint_catalog,
  nc.nspname::information_schema.sql_identifier AS constraint_schema,
  c.conname::information_schema.sql_identifier AS constraint_name,
  current_database()::information_schema.sql_identifier AS specific_catalog,
  np.nspname::information_schema.sql_identifier AS specific_schema,
  (nameconcatoid(p.proname, p.oid))::information_schema.sql_identifier AS specific_name
FROM pg_constraint c JOIN pg_namespace nc ON nc.oid = c.connamespace
  JOIN pg_depend d ON d.classid = 'pg_constraint'::regclass AND d.objid = c.oid
    AND d.refclassid = 'pg_proc'::regclass
  JOIN pg_proc p ON p.oid = d.refobjid JOIN pg_namespace np ON np.oid = p.pronamespace
WHERE c.contype = 'c' AND pg_has_role(p.proowner, 'USAGE');
-- information_schema.collation_character_set_applicability
SELECT current_database()::information_schema.sql_identifier AS collation_catalog,
  n.nspname::information_schema.sql_identifier AS collation_schema,
  c.collname::information_schema.sql_identifier AS collation_name,
  NULL::information_schema.sql_identifier AS character_set_catalog,
  NULL::information_schema.sql_identifier AS character_set_schema,
  getdatabaseencoding()::information_schema.sql_identifier AS character_set_name
FROM pg_collation c JOIN pg_namespace n ON n.oid = c.collnamespace
WHERE c.collencoding IN (-1, (SELECT encoding FROM pg_database WHERE datname = current_database()));
-- information_schema.collations
SELECT current_database()::information_schema.sql_identifier AS collation_catalog,
  n.nspname::information_schema.sql_identifier AS collation_schema,
  c.collname::information_schema.sql_identifier AS collation_name,
  'NO PAD'::information_schema.character_data AS pad_attribute
FROM pg_collation c JOIN pg_namespace n ON n.oid = c.collnamespace
WHERE c.collencoding IN (-1, (SELECT encoding FROM pg_database WHERE datname = current_database()));
-- information_schema.column_privileges
SELECT u.rolname::information_schema.sql_identifier AS grantor,
  g.rolname::information_schema.sql_identifier AS grantee,
  current_database()::information_schema.sql_identifier AS table_catalog,
  n.nspname::information_schema.sql_identifier AS table_schema,
  x.relname::information_schema.sql_identifier AS table_name,
  x.attname::information_schema.sql_identifier AS column_name,
  x.privilege_type::information_schema.character_data AS privilege_type,
  (CASE WHEN pg_has_role(g.oid, x.relowner, 'USAGE') OR x.is_grantable THEN 'YES' ELSE 'NO' END)::information_schema.yes_or_no AS is_grantable
FROM (SELECT c.relname, c.relnamespace, c.relowner, a.attname, e.*
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid,
      aclexplode(COALESCE(c.relacl, acldefault('r', c.relowner))) e
    WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'v', 'f', 'p')
    UNION SELECT c.relname, c.relnamespace, c.relowner, a.attname, e.*
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid,
      aclexplode(COALESCE(a.attacl, acldefault('c', c.relowner))) e
    WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'v', 'f', 'p')) x
  JOIN pg_namespace n ON n.oid = x.relnamespace JOIN pg_authid u ON u.oid = x.grantor
  JOIN (SELECT oid, rolname FROM pg_authid UNION ALL SELECT 0::oid, 'PUBLIC') g (oid, rolname) ON g.oid = x.grantee
WHERE x.privilege_type IN ('INSERT', 'SELECT', 'UPDATE', 'REFERENCES')
  AND (pg_has_role(u.oid, 'USAGE') OR pg_has_role(g.oid, 'USAGE') OR g.rolname = 'PUBLIC');
-- information_schema.column_udt_usage
SELECT current_database()::information_schema.sql_identifier AS udt_catalog,
  bn.nspname::information_schema.sql_identifier AS udt_schema,
  b.typname::information_schema.sql_identifier AS udt_name,
  current_database()::information_schema.sql_identifier AS table_catalog,
  n.nspname::information_schema.sql_identifier AS table_schema,
  c.relname::information_schema.sql_identifier AS table_name,
  a.attname::information_schema.sql_identifier AS column_name
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
  JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_type t ON t.oid = a.atttypid
  JOIN pg_type b ON b.oid = CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END
  JOIN pg_namespace bn ON bn.oid = b.typnamespace
WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'v', 'f', 'p')
  AND pg_has_role(b.typowner, 'USAGE');
-- information_schema.constraint_table_usage
SELECT current_database()::information_schema.sql_identifier AS table_catalog,
  n.nspname::information_schema.sql_identifier AS table_schema,
  c.relname::information_schema.sql_identifier AS table_name,
  current_database()::information_schema.sql_identifier AS constraint_catalog,
  cn.nspname::information_schema.sql_identifier AS constraint_schema,
  k.conname::information_schema.sql_identifier AS constraint_name
FROM pg_constraint k JOIN pg_namespace cn ON cn.oid = k.connamespace
  JOIN pg_class c ON c.oid = CASE WHEN k.contype = 'f' THEN k.confrelid ELSE k.conrelid END
  JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE k.contype IN ('f', 'p', 'u') AND c.relkind IN ('r', 'p')
  AND pg_has_role(c.relowner, 'USAGE');
-- information_schema.data_type_privileges
SELECT current_database()::information_schema.sql_identifier AS object_catalog,
  x.object_schema::information_schema.sql_identifier AS object_schema,
  x.object_name::information_schema.sql_identifier AS object_name,
  x.object_type::information_schema.character_data AS object_type,
  x.dtd_identifier::information_schema.sql_identifier AS dtd_identifier
FROM (SELECT udt_schema, udt_name, 'USER-DEFINED TYPE'::text, dtd_identifier
      FROM information_schema.attributes
    UNION ALL SELECT table_schema, table_name, 'TABLE'::text, dtd_identifier
      FROM information_schema.columns
    UNION ALL SELECT domain_schema, domain_name, 'DOMAIN'::text, dtd_identifier
      FROM information_schema.domains
    UNION ALL SELECT specific_schema, specific_name, 'ROUTINE'::text, dtd_identifier
      FROM information_schema.parameters
    UNION ALL SELECT specific_schema, specific_name, 'ROUTINE'::text, dtd_identifier
      FROM information_schema.routines) x (object_schema, object_name, object_type, dtd_identifier);
-- information_schema.domain_constraints
SELECT current_database()::information_schema.sql_identifier AS constraint_catalog,
  cn.nspname::information_schema.sql_identifier AS constraint_schema,
  k.conname::information_schema.sql_identifier AS constraint_name,
  current_database()::information_schema.sql_identifier AS domain_catalog,
  n.nspname::information_schema.sql_identifier AS domain_schema,
  t.typname::information_schema.sql_identifier AS domain_name,
  (CASE WHEN k.condeferrable THEN 'YES' ELSE 'NO' END)::information_schema.yes_or_no AS is_deferrable,
  (CASE WHEN k.condeferred THEN 'YES' ELSE 'NO' END)::information_schema.yes_or_no AS initially_deferred
FROM pg_constraint k JOIN pg_namespace cn ON cn.oid = k.connamespace
  JOIN pg_type t ON t.oid = k.contypid JOIN pg_namespace n ON n.oid = t.typnamespace
WHERE pg_has_role(t.typowner, 'USAGE') OR has_type_privilege(t.oid, 'USAGE');
-- information_schema.domain_udt_usage
SELECT current_database()::information_schema.sql_identifier AS udt_catalog,
  bn.nspname::information_schema.sql_identifier AS udt_schema,
  b.typname::information_schema.sql_identifier AS udt_name,
  current_database()::information_schema.sql_identifier AS domain_catalog,
  n.nspname::information_schema.sql_identifier AS domain_schema,
  t.typname::information_schema.sql_identifier AS domain_name
FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
  JOIN pg_type b ON b.oid = t.typbasetype JOIN pg_namespace bn ON bn.oid = b.typnamespace
WHERE t.typtype = 'd' AND pg_has_role(b.typowner, 'USAGE');
-- information_schema.element_types
SELECT current_database()::information_schema.sql_identifier AS object_catalog,
  n.nspname::information_schema.sql_identifier AS object_schema,
  x.name::information_schema.sql_identifier AS object_name,
  x.kind::information_schema.character_data AS object_type,
  x.dtd::information_schema.sql_identifier AS collection_type_identifier,
  (CASE WHEN nb.nspname = 'pg_catalog' THEN format_type(b.oid, NULL) ELSE 'USER-DEFINED' END)::information_schema.character_data AS data_type,
  NULL::information_schema.cardinal_number AS character_maximum_length,
  NULL::information_schema.cardinal_number AS character_octet_length,
  NULL::information_schema.sql_identifier AS character_set_catalog,
  NULL::information_schema.sql_identifier AS character_set_schema,
  NULL::information_schema.sql_identifier AS character_set_name,
  (CASE WHEN nco.nspname IS NOT NULL THEN current_database() END)::information_schema.sql_identifier AS collation_catalog,
  nco.nspname::information_schema.sql_identifier AS collation_schema,
  co.collname::information_schema.sql_identifier AS collation_name,
  NULL::information_schema.cardinal_number AS numeric_precision,
  NULL::information_schema.cardinal_number AS numeric_precision_radix,
  NULL::information_schema.cardinal_number AS numeric_scale,
  NULL::information_schema.cardinal_number AS datetime_precision,
  NULL::information_schema.character_data AS interval_type,
  NULL::information_schema.cardinal_number AS interval_precision,
  current_database()::information_schema.sql_identifier AS udt_catalog,
  nb.nspname::information_schema.sql_identifier AS udt_schema,
  b.typname::information_schema.sql_identifier AS udt_name,
  NULL::information_schema.sql_identifier AS scope_catalog,
  NULL::information_schema.sql_identifier AS scope_schema,
  NULL::information_schema.sql_identifier AS scope_name,
  NULL::information_schema.cardinal_number AS maximum_cardinality,
  'a' || x.dtd::information_schema.sql_identifier AS dtd_identifier
FROM (SELECT c.relnamespace, c.relname,
      CASE WHEN c.relkind = 'c' THEN 'USER-DEFINED TYPE'::text ELSE 'TABLE'::text END,
      a.attnum::text, a.atttypid, a.attcollation
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relkind IN ('r', 'v', 'f', 'c', 'p') AND a.attnum > 0 AND NOT a.attisdropped
    UNION ALL SELECT t.typnamespace, t.typname, 'DOMAIN', '1', t.typbasetype, t.typcollation
    FROM pg_type t WHERE t.typtype = 'd'
    UNION ALL SELECT p.pronamespace, nameconcatoid(p.proname, p.oid), 'ROUTINE', i.n::text, i.x, 0
    FROM pg_proc p,
      unnest(COALESCE(p.proallargtypes, p.proargtypes::oid[])) WITH ORDINALITY i (x, n)
    UNION ALL SELECT p.pronamespace, nameconcatoid(p.proname, p.oid), 'ROUTINE', '0',
      p.prorettype, 0
    FROM pg_proc p) x (namespace, name, kind, dtd, type, coll)
  JOIN pg_namespace n ON n.oid = x.namespace
  JOIN pg_type at ON at.oid = x.type AND at.typelem <> 0 AND at.typlen = -1
  JOIN pg_type b ON b.oid = at.typelem JOIN pg_namespace nb ON nb.oid = b.typnamespace
  LEFT JOIN (pg_collation co JOIN pg_namespace nco ON nco.oid = co.collnamespace)
    ON x.coll = co.oid AND (nco.nspname, co.collname) <> ('pg_catalog', 'default')
WHERE (n.nspname, x.name, x.kind, x.dtd) IN (SELECT object_schema, object_name, object_type, dtd_identifier
  FROM information_schema.data_type_privileges);
-- information_schema.parameters
SELECT current_database()::information_schema.sql_identifier AS specific_catalog,
  n.nspname::information_schema.sql_identifier AS specific_schema,
  (nameconcatoid(p.proname, p.oid))::information_schema.sql_identifier AS specific_name,
  i.n::information_schema.cardinal_number AS ordinal_position,
  (CASE COALESCE(p.proargmodes[i.n], 'i') WHEN 'i' THEN 'IN' WHEN 'o' THEN 'OUT' WHEN 'b' THEN 'INOUT' WHEN 'v' THEN 'IN' WHEN 't' THEN 'OUT' END)::information_schema.character_data AS parameter_mode,
  'NO'::information_schema.yes_or_no AS is_result,
  'NO'::information_schema.yes_or_no AS as_locator,
  (NULLIF(p.proargnames[i.n], ''))::information_schema.sql_identifier AS parameter_name,
  (CASE WHEN t.typelem <> 0 AND t.typlen = -1 THEN 'ARRAY' WHEN nt.nspname = 'pg_catalog' THEN format_type(t.oid, NULL) ELSE 'USER-DEFINED' END)::information_schema.character_data AS data_type,
  NULL::information_schema.cardinal_number AS character_maximum_length,
  NULL::information_schema.cardinal_number AS character_octet_length,
  NULL::information_schema.sql_identifier AS character_set_catalog,
  NULL::information_schema.sql_identifier AS character_set_schema,
  NULL::information_schema.sql_identifier AS character_set_name,
  NULL::information_schema.sql_identifier AS collation_catalog,
  NULL::information_schema.sql_identifier AS collation_schema,
  NULL::information_schema.sql_identifier AS collation_name,
  NULL::information_schema.cardinal_number AS numeric_precision,
  NULL::information_schema.cardinal_number AS numeric_precision_radix,
  NULL::information_schema.cardinal_number AS numeric_scale,
  NULL::information_schema.cardinal_number AS datetime_precision,
  NULL::information_schema.character_data AS interval_type,
  NULL::information_schema.cardinal_number AS interval_precision,
  current_database()::information_schema.sql_identifier AS udt_catalog,
  nt.nspname::information_schema.sql_identifier AS udt_schema,
  t.typname::information_schema.sql_identifier AS udt_name,
  NULL::information_schema.sql_identifier AS scope_catalog,
  NULL::information_schema.sql_identifier AS scope_schema,
  NULL::information_schema.sql_identifier AS scope_name,
  NULL::information_schema.cardinal_number AS maximum_cardinality,
  i.n::information_schema.sql_identifier AS dtd_identifier,
  (CASE WHEN pg_has_role(p.proowner, 'USAGE') THEN pg_get_function_arg_default(p.oid, i.n::integer) END)::information_schema.character_data AS parameter_default
FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
  CROSS JOIN LATERAL unnest(COALESCE(p.proallargtypes, p.proargtypes::oid[]))
    WITH ORDINALITY i (type, n)
  JOIN pg_type t ON t.oid = i.type JOIN pg_namespace nt ON nt.oid = t.typnamespace
WHERE pg_has_role(p.proowner, 'USAGE') OR has_function_privilege(p.oid, 'EXECUTE');
-- information_schema.role_column_grants
SELECT grantor, grantee, table_catalog, table_schema, table_name, column_name, privilege_type, is_grantable
FROM information_schema.column_privileges
WHERE grantor IN (SELECT role_name FROM information_schema.enabled_roles)
  OR grantee IN (SELECT role_name FROM information_schema.enabled_roles);
-- information_schema.role_routine_grants
SELECT grantor, grantee, specific_catalog, specific_schema, specific_name, routine_catalog, routine_schema, routine_name, privilege_type, is_grantable
FROM information_schema.routine_privileges
WHERE grantor IN (SELECT role_name FROM information_schema.enabled_roles)
  OR grantee IN (SELECT role_name FROM information_schema.enabled_roles);
-- information_schema.role_table_grants
SELECT grantor, grantee, table_catalog, table_schema, table_name, privilege_type, is_grantable, with_hierarchy
FROM information_schema.table_privileges
WHERE grantor IN (SELECT role_name FROM information_schema.enabled_roles)
  OR grantee IN (SELECT role_name FROM information_schema.enabled_roles);
-- information_schema.role_udt_grants
SELECT grantor, grantee, udt_catalog, udt_schema, udt_name, privilege_type, is_grantable
FROM information_schema.udt_privileges
WHERE grantor IN (SELECT role_name FROM information_schema.enabled_roles)
  OR grantee IN (SELECT role_name FROM information_schema.enabled_roles);
-- information_schema.role_usage_grants
SELECT grantor, grantee, object_catalog, object_schema, object_name, object_type, privilege_type, is_grantable
FROM information_schema.usage_privileges
WHERE grantor IN (SELECT role_name FROM information_schema.enabled_roles)
  OR grantee IN (SELECT role_name FROM information_schema.enabled_roles);
-- information_schema.routine_column_usage
SELECT DISTINCT current_database()::information_schema.sql_identifier AS specific_catalog,
  np.nspname::information_schema.sql_identifier AS specific_schema,
  (nameconcatoid(p.proname, p.oid))::information_schema.sql_identifier AS specific_name,
  current_database()::information_schema.sql_identifier AS routine_catalog,
  np.nspname::information_schema.sql_identifier AS routine_schema,
  p.proname::information_schema.sql_identifier AS routine_name,
  current_database()::information_schema.sql_identifier AS table_catalog,
  n.nspname::information_schema.sql_identifier AS table_schema,
  c.relname::information_schema.sql_identifier AS table_name,
  a.attname::information_schema.sql_identifier AS column_name
FROM pg_proc p JOIN pg_namespace np ON np.oid = p.pronamespace
  JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
    AND d.refclassid = 'pg_class'::regclass
  JOIN pg_class c ON c.oid = d.refobjid JOIN pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = d.refobjsubid
WHERE c.relkind IN ('r', 'v', 'f', 'p') AND pg_has_role(c.relowner, 'USAGE');
-- information_schema.routine_privileges
SELECT u.rolname::information_schema.sql_identifier AS grantor,
  g.rolname::information_schema.sql_identifier AS grantee,
  current_database()::information_schema.sql_identifier AS specific_catalog,
  n.nspname::information_schema.sql_identifier AS specific_schema,
  (nameconcatoid(p.proname, p.oid))::information_schema.sql_identifier AS specific_name,
  current_database()::information_schema.sql_identifier AS routine_catalog,
  n.nspname::information_schema.sql_identifier AS routine_schema,
  p.proname::information_schema.sql_identifier AS routine_name,
  'EXECUTE'::information_schema.character_data AS privilege_type,
  (CASE WHEN pg_has_role(g.oid, p.proowner, 'USAGE') OR e.is_grantable THEN 'YES' ELSE 'NO' END)::information_schema.yes_or_no AS is_grantable
FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
  CROSS JOIN LATERAL aclexplode(COALESCE(p.proacl, acldefault('f', p.proowner))) e
  JOIN pg_authid u ON u.oid = e.grantor JOIN (SELECT oid, rolname FROM pg_authid UNION ALL SELECT 0::oid, 'PUBLIC') g (oid, rolname) ON g.oid = e.grantee
WHERE e.privilege_type = 'EXECUTE'
  AND (pg_has_role(u.oid, 'USAGE') OR pg_has_role(g.oid, 'USAGE') OR g.rolname = 'PUBLIC');
-- information_schema.routine_routine_usage
SELECT DISTINCT current_database()::information_schema.sql_identifier AS specific_catalog,
  np.nspname::information_schema.sql_identifier AS specific_schema,
  (nameconcatoid(p.proname, p.oid))::information_schema.sql_identifier AS specific_name,
  current_database()::information_schema.sql_identifier AS routine_catalog,
  n.nspname::information_schema.sql_identifier AS routine_schema,
  (nameconcatoid(q.proname, q.oid))::information_schema.sql_identifier AS routine_name
FROM pg_proc p JOIN pg_namespace np ON np.oid = p.pronamespace
  JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
    AND d.refclassid = 'pg_proc'::regclass
  JOIN pg_proc q ON q.oid = d.refobjid JOIN pg_namespace n ON n.oid = q.pronamespace
WHERE pg_has_role(q.proowner, 'USAGE');
-- information_schema.routine_sequence_usage
SELECT DISTINCT current_database()::information_schema.sql_identifier AS specific_catalog,
  np.nspname::information_schema.sql_identifier AS specific_schema,
  (nameconcatoid(p.proname, p.oid))::information_schema.sql_identifier AS specific_name,
  current_database()::information_schema.sql_identifier AS routine_catalog,
  np.nspname::information_schema.sql_identifier AS routine_schema,
  p.proname::information_schema.sql_identifier AS routine_name,
  current_database()::information_schema.sql_identifier AS sequence_catalog,
  n.nspname::information_schema.sql_identifier AS sequence_schema,
  c.relname::information_schema.sql_identifier AS sequence_name
FROM pg_proc p JOIN pg_namespace np ON np.oid = p.pronamespace
  JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
    AND d.refclassid = 'pg_class'::regclass
  JOIN pg_class c ON c.oid = d.refobjid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'S' AND pg_has_role(c.relowner, 'USAGE');
-- information_schema.routine_table_usage
SELECT DISTINCT current_database()::information_schema.sql_identifier AS specific_catalog,
  np.nspname::information_schema.sql_identifier AS specific_schema,
  (nameconcatoid(p.proname, p.oid))::information_schema.sql_identifier AS specific_name,
  current_database()::information_schema.sql_identifier AS routine_catalog,
  np.nspname::information_schema.sql_identifier AS routine_schema,
  p.proname::information_schema.sql_identifier AS routine_name,
  current_database()::information_schema.sql_identifier AS table_catalog,
  n.nspname::information_schema.sql_identifier AS table_schema,
  c.relname::information_schema.sql_identifier AS table_name
FROM pg_proc p JOIN pg_namespace np ON np.oid = p.pronamespace
  JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
    AND d.refclassid = 'pg_class'::regclass
  JOIN pg_class c ON c.oid = d.refobjid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'v', 'f', 'p') AND pg_has_role(c.relowner, 'USAGE');
-- information_schema.routines
SELECT current_database()::information_schema.sql_identifier AS specific_catalog,
  n.nspname::information_schema.sql_identifier AS specific_schema,
  (nameconcatoid(p.proname, p.oid))::information_schema.sql_identifier AS specific_name,
  current_database()::information_schema.sql_identifier AS routine_catalog,
  n.nspname::information_schema.sql_identifier AS routine_schema,
  p.proname::information_schema.sql_identifier AS routine_name,
  (CASE p.prokind WHEN 'f' THEN 'FUNCTION' WHEN 'p' THEN 'PROCEDURE' END)::information_schema.character_data AS routine_type,
  NULL::information_schema.sql_identifier AS module_catalog,
  NULL::information_schema.sql_identifier AS module_schema,
  NULL::information_schema.sql_identifier AS module_name,
  NULL::information_schema.sql_identifier AS udt_catalog,
  NULL::information_schema.sql_identifier AS udt_schema,
  NULL::information_schema.sql_identifier AS udt_name,
  (CASE WHEN p.prokind = 'p' THEN NULL WHEN t.typelem <> 0 AND t.typlen = -1 THEN 'ARRAY' WHEN nt.nspname = 'pg_catalog' THEN format_type(t.oid, NULL) ELSE 'USER-DEFINED' END)::information_schema.character_data AS data_type,
  NULL::information_schema.cardinal_number AS character_maximum_length,
  NULL::information_schema.cardinal_number AS character_octet_length,
  NULL::information_schema.sql_identifier AS character_set_catalog,
  NULL::information_schema.sql_identifier AS character_set_schema,
  NULL::information_schema.sql_identifier AS character_set_name,
  NULL::information_schema.sql_identifier AS collation_catalog,
  NULL::information_schema.sql_identifier AS collation_schema,
  NULL::information_schema.sql_identifier AS collation_name,
  NULL::information_schema.cardinal_number AS numeric_precision,
  NULL::information_schema.cardinal_number AS numeric_precision_radix,
  NULL::information_schema.cardinal_number AS numeric_scale,
  NULL::information_schema.cardinal_number AS datetime_precision,
  NULL::information_schema.character_data AS interval_type,
  NULL::information_schema.cardinal_number AS interval_precision,
  (CASE WHEN nt.nspname IS NOT NULL THEN current_database() END)::information_schema.sql_identifier AS type_udt_catalog,
  nt.nspname::information_schema.sql_identifier AS type_udt_schema,
  t.typname::information_schema.sql_identifier AS type_udt_name,
  NULL::information_schema.sql_identifier AS scope_catalog,
  NULL::information_schema.sql_identifier AS scope_schema,
  NULL::information_schema.sql_identifier AS scope_name,
  NULL::information_schema.cardinal_number AS maximum_cardinality,
  (CASE WHEN p.prokind <> 'p' THEN 0 END)::information_schema.sql_identifier AS dtd_identifier,
  (CASE WHEN l.lanname = 'sql' THEN 'SQL' ELSE 'EXTERNAL' END)::information_schema.character_data AS routine_body,
  (CASE WHEN pg_has_role(p.proowner, 'USAGE') THEN p.prosrc END)::information_schema.character_data AS routine_definition,
  (CASE WHEN l.lanname = 'c' THEN p.prosrc END)::information_schema.character_data AS external_name,
  (upper(l.lanname))::information_schema.character_data AS external_language,
  'GENERAL'::information_schema.character_data AS parameter_style,
  (CASE WHEN p.provolatile = 'i' THEN 'YES' ELSE 'NO' END)::information_schema.yes_or_no AS is_deterministic,
  'MODIFIES'::information_schema.character_data AS sql_data_access,
  (CASE WHEN p.prokind <> 'p' THEN CASE WHEN p.proisstrict THEN 'YES' ELSE 'NO' END END)::information_schema.yes_or_no AS is_null_call,
  NULL::information_schema.character_data AS sql_path,
  'YES'::information_schema.yes_or_no AS schema_level_routine,
  0::information_schema.cardinal_number AS max_dynamic_result_sets,
  NULL::information_schema.yes_or_no AS is_user_defined_cast,
  NULL::information_schema.yes_or_no AS is_implicitly_invocable,
  (CASE WHEN p.prosecdef THEN 'DEFINER' ELSE 'INVOKER' END)::information_schema.character_data AS security_type,
  NULL::information_schema.sql_identifier AS to_sql_specific_catalog,
  NULL::information_schema.sql_identifier AS to_sql_specific_schema,
  NULL::information_schema.sql_identifier AS to_sql_specific_name,
  'NO'::information_schema.yes_or_no AS as_locator,
  NULL::information_schema.time_stamp AS created,
  NULL::information_schema.time_stamp AS last_altered,
  NULL::information_schema.yes_or_no AS new_savepoint_level,
  'NO'::information_schema.yes_or_no AS is_udt_dependent,
  NULL::information_schema.character_data AS result_cast_from_data_type,
  NULL::information_schema.yes_or_no AS result_cast_as_locator,
  NULL::information_schema.cardinal_number AS result_cast_char_max_length,
  NULL::information_schema.cardinal_number AS result_cast_char_octet_length,
  NULL::information_schema.sql_identifier AS result_cast_char_set_catalog,
  NULL::information_schema.sql_identifier AS result_cast_char_set_schema,
  NULL::information_schema.sql_identifier AS result_cast_char_set_name,
  NULL::information_schema.sql_identifier AS result_cast_collation_catalog,
  NULL::information_schema.sql_identifier AS result_cast_collation_schema,
  NULL::information_schema.sql_identifier AS result_cast_collation_name,
  NULL::information_schema.cardinal_number AS result_cast_numeric_precision,
  NULL::information_schema.cardinal_number AS result_cast_numeric_precision_radix,
  NULL::information_schema.cardinal_number AS result_cast_numeric_scale,
  NULL::information_schema.cardinal_number AS result_cast_datetime_precision,
  NULL::information_schema.character_data AS result_cast_interval_type,
  NULL::information_schema.cardinal_number AS result_cast_interval_precision,
  NULL::information_schema.sql_identifier AS result_cast_type_udt_catalog,
  NULL::information_schema.sql_identifier AS result_cast_type_udt_schema,
  NULL::information_schema.sql_identifier AS result_cast_type_udt_name,
  NULL::information_schema.sql_identifier AS result_cast_scope_catalog,
  NULL::information_schema.sql_identifier AS result_cast_scope_schema,
  NULL::information_schema.sql_identifier AS result_cast_scope_name,
  NULL::information_schema.cardinal_number AS result_cast_maximum_cardinality,
  NULL::information_schema.sql_identifier AS result_cast_dtd_identifier
FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace JOIN pg_language l ON l.oid = p.prolang
  LEFT JOIN (pg_type t JOIN pg_namespace nt ON nt.oid = t.typnamespace)
    ON p.prorettype = t.oid AND p.prokind <> 'p'
WHERE pg_has_role(p.proowner, 'USAGE') OR has_function_privilege(p.oid, 'EXECUTE');
-- information_schema.table_privileges
SELECT u.rolname::information_schema.sql_identifier AS grantor,
  g.rolname::information_schema.sql_identifier AS grantee,
  current_database()::information_schema.sql_identifier AS table_catalog,
  n.nspname::information_schema.sql_identifier AS table_schema,
  c.relname::information_schema.sql_identifier AS table_name,
  e.privilege_type::information_schema.character_data AS privilege_type,
  (CASE WHEN pg_has_role(g.oid, c.relowner, 'USAGE') OR e.is_grantable THEN 'YES' ELSE 'NO' END)::information_schema.yes_or_no AS is_grantable,
  (CASE WHEN e.privilege_type = 'SELECT' THEN 'YES' ELSE 'NO' END)::information_schema.yes_or_no AS with_hierarchy
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  CROSS JOIN LATERAL aclexplode(COALESCE(c.relacl, acldefault('r', c.relowner))) e
  JOIN pg_authid u ON u.oid = e.grantor JOIN (SELECT oid, rolname FROM pg_authid UNION ALL SELECT 0::oid, 'PUBLIC') g (oid, rolname) ON g.oid = e.grantee
WHERE c.relkind IN ('r', 'v', 'f', 'p')
  AND e.privilege_type IN ('INSERT', 'SELECT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES',
    'TRIGGER')
  AND (pg_has_role(u.oid, 'USAGE') OR pg_has_role(g.oid, 'USAGE') OR g.rolname = 'PUBLIC');
-- information_schema.triggered_update_columns
SELECT current_database()::information_schema.sql_identifier AS trigger_catalog,
  n.nspname::information_schema.sql_identifier AS trigger_schema,
  t.tgname::information_schema.sql_identifier AS trigger_name,
  current_database()::information_schema.sql_identifier AS event_object_catalog,
  n.nspname::information_schema.sql_identifier AS event_object_schema,
  c.relname::information_schema.sql_identifier AS event_object_table,
  a.attname::information_schema.sql_identifier AS event_object_column
FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
  JOIN pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (t.tgattr)
WHERE NOT t.tgisinternal AND NOT pg_is_other_temp_schema(n.oid)
  AND (pg_has_role(c.relowner, 'USAGE')
    OR has_column_privilege(c.oid, a.attnum, 'INSERT, UPDATE, REFERENCES'));
-- information_schema.udt_privileges
SELECT u.rolname::information_schema.sql_identifier AS grantor,
  g.rolname::information_schema.sql_identifier AS grantee,
  current_database()::information_schema.sql_identifier AS udt_catalog,
  n.nspname::information_schema.sql_identifier AS udt_schema,
  t.typname::information_schema.sql_identifier AS udt_name,
  'TYPE USAGE'::information_schema.character_data AS privilege_type,
  (CASE WHEN pg_has_role(g.oid, t.typowner, 'USAGE') OR e.is_grantable THEN 'YES' ELSE 'NO' END)::information_schema.yes_or_no AS is_grantable
FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
  CROSS JOIN LATERAL aclexplode(COALESCE(t.typacl, acldefault('T', t.typowner))) e
  JOIN pg_authid u ON u.oid = e.grantor JOIN (SELECT oid, rolname FROM pg_authid UNION ALL SELECT 0::oid, 'PUBLIC') g (oid, rolname) ON g.oid = e.grantee
WHERE t.typtype = 'c' AND e.privilege_type = 'USAGE'
  AND (pg_has_role(u.oid, 'USAGE') OR pg_has_role(g.oid, 'USAGE') OR g.rolname = 'PUBLIC');
-- information_schema.usage_privileges
SELECT x.grantor::information_schema.sql_identifier AS grantor,
  x.grantee::information_schema.sql_identifier AS grantee,
  current_database()::information_schema.sql_identifier AS object_catalog,
  x.schema::information_schema.sql_identifier AS object_schema,
  x.name::information_schema.sql_identifier AS object_name,
  x.kind::information_schema.character_data AS object_type,
  'USAGE'::information_schema.character_data AS privilege_type,
  (CASE WHEN x.grantable THEN 'YES' ELSE 'NO' END)::information_schema.yes_or_no AS is_grantable
FROM (SELECT u.rolname, 'PUBLIC'::name, n.nspname, c.collname, 'COLLATION'::text, false
    FROM pg_collation c JOIN pg_namespace n ON n.oid = c.collnamespace
      JOIN pg_authid u ON u.oid = c.collowner
    WHERE c.collencoding IN (-1,
      (SELECT encoding FROM pg_database WHERE datname = current_database()))
    UNION ALL SELECT u.rolname, g.rolname, o.schema, o.name, o.kind,
      pg_has_role(g.oid, o.owner, 'USAGE') OR e.is_grantable
    FROM (SELECT n.nspname, t.typname, 'DOMAIN'::text, t.typowner,
          COALESCE(t.typacl, acldefault('T', t.typowner))
        FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace WHERE t.typtype = 'd'
        UNION ALL SELECT '', w.fdwname, 'FOREIGN DATA WRAPPER', w.fdwowner,
          COALESCE(w.fdwacl, acldefault('F', w.fdwowner))
        FROM pg_foreign_data_wrapper w
        UNION ALL SELECT '', s.srvname, 'FOREIGN SERVER', s.srvowner,
          COALESCE(s.srvacl, acldefault('S', s.srvowner))
        FROM pg_foreign_server s
        UNION ALL SELECT n.nspname, c.relname, 'SEQUENCE', c.relowner,
          COALESCE(c.relacl, acldefault('r', c.relowner))
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'S'
      ) o (schema, name, kind, owner, acl)
      CROSS JOIN LATERAL aclexplode(o.acl) e
      JOIN pg_authid u ON u.oid = e.grantor JOIN (SELECT oid, rolname FROM pg_authid UNION ALL SELECT 0::oid, 'PUBLIC') g (oid, rolname) ON g.oid = e.grantee
    WHERE e.privilege_type = 'USAGE'
      AND (pg_has_role(u.oid, 'USAGE') OR pg_has_role(g.oid, 'USAGE') OR g.rolname = 'PUBLIC')
  ) x (grantor, grantee, schema, name, kind, grantable);
-- information_schema.user_defined_types
SELECT current_database()::information_schema.sql_identifier AS user_defined_type_catalog,
  n.nspname::information_schema.sql_identifier AS user_defined_type_schema,
  c.relname::information_schema.sql_identifier AS user_defined_type_name,
  'STRUCTURED'::information_schema.character_data AS user_defined_type_category,
  'YES'::information_schema.yes_or_no AS is_instantiable,
  NULL::information_schema.yes_or_no AS is_final,
  NULL::information_schema.character_data AS ordering_form,
  NULL::information_schema.character_data AS ordering_category,
  NULL::information_schema.sql_identifier AS ordering_routine_catalog,
  NULL::information_schema.sql_identifier AS ordering_routine_schema,
  NULL::information_schema.sql_identifier AS ordering_routine_name,
  NULL::information_schema.character_data AS reference_type,
  NULL::information_schema.character_data AS data_type,
  NULL::information_schema.cardinal_number AS character_maximum_length,
  NULL::information_schema.cardinal_number AS character_octet_length,
  NULL::information_schema.sql_identifier AS character_set_catalog,
  NULL::information_schema.sql_identifier AS character_set_schema,
  NULL::information_schema.sql_identifier AS character_set_name,
  NULL::information_schema.sql_identifier AS collation_catalog,
  NULL::information_schema.sql_identifier AS collation_schema,
  NULL::information_schema.sql_identifier AS collation_name,
  NULL::information_schema.cardinal_number AS numeric_precision,
  NULL::information_schema.cardinal_number AS numeric_precision_radix,
  NULL::information_schema.cardinal_number AS numeric_scale,
  NULL::information_schema.cardinal_number AS datetime_precision,
  NULL::information_schema.character_data AS interval_type,
  NULL::information_schema.cardinal_number AS interval_precision,
  NULL::information_schema.sql_identifier AS source_dtd_identifier,
  NULL::information_schema.sql_identifier AS ref_dtd_identifier
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_type t ON t.oid = c.reltype
WHERE c.relkind = 'c' AND (pg_has_role(t.typowner, 'USAGE') OR has_type_privilege(t.oid, 'USAGE'));
-- information_schema.view_column_usage
SELECT DISTINCT current_database()::information_schema.sql_identifier AS view_catalog,
  nv.nspname::information_schema.sql_identifier AS view_schema,
  v.relname::information_schema.sql_identifier AS view_name,
  current_database()::information_schema.sql_identifier AS table_catalog,
  nt.nspname::information_schema.sql_identifier AS table_schema,
  t.relname::information_schema.sql_identifier AS table_name,
  a.attname::information_schema.sql_identifier AS column_name
FROM pg_class v JOIN pg_namespace nv ON nv.oid = v.relnamespace
  JOIN pg_depend dv ON dv.refclassid = 'pg_class'::regclass AND dv.refobjid = v.oid
    AND dv.classid = 'pg_rewrite'::regclass AND dv.deptype = 'i'
  JOIN pg_depend dt ON dt.classid = 'pg_rewrite'::regclass AND dt.objid = dv.objid
    AND dt.refclassid = 'pg_class'::regclass AND dt.refobjid <> v.oid
  JOIN pg_class t ON t.oid = dt.refobjid JOIN pg_namespace nt ON nt.oid = t.relnamespace
  JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = dt.refobjsubid
WHERE v.relkind = 'v' AND t.relkind IN ('r', 'v', 'f', 'p') AND pg_has_role(t.relowner, 'USAGE');
-- information_schema.view_routine_usage
SELECT DISTINCT current_database()::information_schema.sql_identifier AS table_catalog,
  nv.nspname::information_schema.sql_identifier AS table_schema,
  v.relname::information_schema.sql_identifier AS table_name,
  current_database()::information_schema.sql_identifier AS specific_catalog,
  np.nspname::information_schema.sql_identifier AS specific_schema,
  (nameconcatoid(p.proname, p.oid))::information_schema.sql_identifier AS specific_name
FROM pg_class v JOIN pg_namespace nv ON nv.oid = v.relnamespace
  JOIN pg_depend dv ON dv.refclassid = 'pg_class'::regclass AND dv.refobjid = v.oid
    AND dv.classid = 'pg_rewrite'::regclass AND dv.deptype = 'i'
  JOIN pg_depend dt ON dt.classid = 'pg_rewrite'::regclass AND dt.objid = dv.objid
    AND dt.refclassid = 'pg_proc'::regclass
  JOIN pg_proc p ON p.oid = dt.refobjid JOIN pg_namespace np ON np.oid = p.pronamespace
WHERE v.relkind = 'v' AND pg_has_role(p.proowner, 'USAGE');
-- information_schema.view_table_usage
SELECT DISTINCT current_database()::information_schema.sql_identifier AS view_catalog,
  nv.nspname::information_schema.sql_identifier AS view_schema,
  v.relname::information_schema.sql_identifier AS view_name,
  current_database()::information_schema.sql_identifier AS table_catalog,
  nt.nspname::information_schema.sql_identifier AS table_schema,
  t.relname::information_schema.sql_identifier AS table_name
FROM pg_class v JOIN pg_namespace nv ON nv.oid = v.relnamespace
  JOIN pg_depend dv ON dv.refclassid = 'pg_class'::regclass AND dv.refobjid = v.oid
    AND dv.classid = 'pg_rewrite'::regclass AND dv.deptype = 'i'
  JOIN pg_depend dt ON dt.classid = 'pg_rewrite'::regclass AND dt.objid = dv.objid
    AND dt.refclassid = 'pg_class'::regclass AND dt.refobjid <> v.oid
  JOIN pg_class t ON t.oid = dt.refobjid JOIN pg_namespace nt ON nt.oid = t.relnamespace
WHERE v.relkind = 'v' AND t.relkind IN ('r', 'v', 'f', 'p') AND pg_has_role(t.relowner, 'USAGE');
-- information_schema.column_domain_usage
SELECT current_database()::information_schema.sql_identifier AS domain_catalog,
  nt.nspname::information_schema.sql_identifier AS domain_schema,
  t.typname::information_schema.sql_identifier AS domain_name,
  current_database()::information_schema.sql_identifier AS table_catalog,
  n.nspname::information_schema.sql_identifier AS table_schema,
  c.relname::information_schema.sql_identifier AS table_name,
  a.attname::information_schema.sql_identifier AS column_name
FROM pg_type t JOIN pg_namespace nt ON nt.oid = t.typnamespace
  JOIN pg_attribute a ON a.atttypid = t.oid JOIN pg_class c ON c.oid = a.attrelid
  JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE t.typtype = 'd' AND c.relkind IN ('r', 'v', 'f', 'p') AND a.attnum > 0
  AND NOT a.attisdropped AND pg_has_role(t.typowner, 'USAGE');
-- information_schema.column_column_usage
SELECT DISTINCT current_database()::information_schema.sql_identifier AS table_catalog,
  n.nspname::information_schema.sql_identifier AS table_schema,
  c.relname::information_schema.sql_identifier AS table_name,
  u.attname::information_schema.sql_identifier AS column_name,
  g.attname::information_schema.sql_identifier AS dependent_column
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_attribute g ON g.attrelid = c.oid AND g.attgenerated <> ''
  JOIN pg_attrdef f ON f.adrelid = c.oid AND f.adnum = g.attnum
  JOIN pg_depend d ON d.classid = 'pg_attrdef'::regclass AND d.objid = f.oid
    AND d.refclassid = 'pg_class'::regclass AND d.refobjid = c.oid AND d.refobjsubid <> g.attnum
  JOIN pg_attribute u ON u.attrelid = c.oid AND u.attnum = d.refobjsubid
WHERE c.relkind IN ('r', 'v', 'f', 'p') AND pg_has_role(c.relowner, 'USAGE');
