//! Random statements over objects other than tables: types, rights, locks, and queries that few
//! statements of the others have.

use super::statement::Writer;

const TYPES: [&str; 6] = ["dom", "mood", "pair", "span", "no_type", "int"];
const RIGHTS: [&str; 7] =
    ["SELECT", "INSERT (a), UPDATE (b)", "ALL", "TRUNCATE", "USAGE", "REFERENCES (a)", "MAINTAIN"];

impl Writer<'_> {
    /// Domains, enums, composite types and ranges.
    pub(super) fn type_statement(&mut self) -> String {
        let ty = self.of(&TYPES);
        match self.c.below(22) {
            0 => "CREATE DOMAIN dom AS int DEFAULT 2 CHECK (value > 0)".into(),
            1 => "CREATE DOMAIN dom AS text NOT NULL CONSTRAINT short CHECK (length(value) < 3)"
                .into(),
            2 => format!(
                "ALTER DOMAIN dom {}",
                self.of(&[
                    "SET NOT NULL",
                    "DROP NOT NULL",
                    "DROP DEFAULT",
                    "SET DEFAULT 'x'",
                    "ADD CONSTRAINT small CHECK (value < 5) NOT VALID",
                    "VALIDATE CONSTRAINT small",
                    "DROP CONSTRAINT IF EXISTS small",
                    "DROP CONSTRAINT nothing",
                    "RENAME CONSTRAINT short TO small",
                ])
            ),
            3 => "CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')".into(),
            4 => format!(
                "ALTER TYPE mood {}",
                self.of(&[
                    "ADD VALUE 'fine' AFTER 'ok'",
                    "ADD VALUE IF NOT EXISTS 'ok'",
                    "ADD VALUE 'ok'",
                    "ADD VALUE 'x' BEFORE 'nothing'",
                    "RENAME VALUE 'ok' TO 'well'",
                    "RENAME VALUE 'sad' TO 'happy'",
                ])
            ),
            5 => "CREATE TYPE pair AS (x int, y text)".into(),
            6 => format!(
                "ALTER TYPE pair {}",
                self.of(&[
                    "ADD ATTRIBUTE z date",
                    "DROP ATTRIBUTE y",
                    "DROP ATTRIBUTE IF EXISTS w",
                    "ALTER ATTRIBUTE x TYPE bigint",
                    "ALTER ATTRIBUTE x TYPE bigint CASCADE",
                    "RENAME ATTRIBUTE x TO xx",
                    "RENAME ATTRIBUTE x TO xx CASCADE",
                ])
            ),
            7 => "CREATE TYPE span AS RANGE (subtype = int)".into(),
            8 => format!("DROP TYPE {ty}{}", self.of(&["", " CASCADE", " RESTRICT"])),
            9 => format!("DROP DOMAIN IF EXISTS {ty}"),
            10 => format!("ALTER TABLE {} ADD COLUMN e {ty}", self.table()),
            11 => format!("CREATE TABLE t2 (a {ty}, b {ty}[] DEFAULT NULL, c int)"),
            12 => "CREATE TABLE t2 OF pair (PRIMARY KEY (x))".into(),
            13 => format!("SELECT {}::{ty}", self.of(&["1", "'ok'", "'(1,2)'", "NULL", "'[1,3)'"])),
            14 => "SELECT (ROW(1, 'x')::pair).*, ('(3,)'::pair).y IS NULL".into(),
            15 => {
                "SELECT lower(r), upper(r), r @> 2, r * span(2, 9) FROM (SELECT span(1, 5, '[]')) \
                   s(r)"
                    .into()
            }
            16 => {
                "SELECT enum_range(NULL::mood), enum_first('ok'::mood), 'sad' < 'ok'::mood".into()
            }
            17 => {
                "SELECT array['ok', 'sad']::mood[], array_agg(v) FROM unnest('{ok,sad}'::mood[]) \
                   v"
                .into()
            }
            18 => format!("INSERT INTO t2 VALUES ({})", self.of(&["'1'", "'bad'", "NULL", "'ok'"])),
            19 => format!("ALTER TYPE {ty} RENAME TO renamed"),
            20 => format!("COMMENT ON TYPE {ty} IS 'c'"),
            _ => "SELECT typname, typtype, typcategory, typnotnull, typdefault, \
                  format_type(typbasetype, typtypmod) FROM pg_type WHERE typnamespace = \
                  'differ'::regnamespace AND typname !~ '^_?[tpv][0-9]'"
                .into(),
        }
    }

    /// Rights, row security, locks and messages.
    pub(super) fn right_statement(&mut self) -> String {
        let table = self.table();
        let rights = self.of(&RIGHTS);
        match self.c.below(18) {
            0 => format!("GRANT {rights} ON {table} TO pg_monitor{}", self.grant_option()),
            1 => format!("REVOKE {rights} ON {table} FROM pg_monitor"),
            2 => format!("REVOKE GRANT OPTION FOR {rights} ON {table} FROM pg_monitor CASCADE"),
            3 => format!("GRANT {rights} ON ALL TABLES IN SCHEMA differ TO PUBLIC"),
            4 => format!("GRANT {rights} ON SCHEMA differ TO pg_monitor"),
            5 => "SET ROLE pg_monitor".into(),
            6 | 7 => "RESET ROLE".into(),
            8 => format!(
                "CREATE POLICY pol ON {table} AS {} FOR {} TO {} {}",
                self.of(&["PERMISSIVE", "RESTRICTIVE"]),
                self.of(&["ALL", "SELECT", "INSERT", "UPDATE", "DELETE"]),
                self.of(&["PUBLIC", "pg_monitor", "current_user"]),
                self.of(&[
                    "USING (a > 1)",
                    "WITH CHECK (a > 1)",
                    "USING (b <> 'x') WITH CHECK (c IS NULL)",
                    "USING (a IN (SELECT a FROM t1))",
                ])
            ),
            9 => format!("ALTER POLICY pol ON {table} USING ({})", self.condition("")),
            10 => format!(
                "ALTER TABLE {table} {} ROW LEVEL SECURITY",
                self.of(&["ENABLE", "DISABLE", "FORCE", "NO FORCE"])
            ),
            11 => format!(
                "LOCK TABLE {table} IN {} MODE{}",
                self.of(&["ACCESS SHARE", "ROW EXCLUSIVE", "EXCLUSIVE", "ACCESS EXCLUSIVE"]),
                self.of(&["", " NOWAIT"])
            ),
            12 => format!(
                "TRUNCATE {}, {table} {}",
                self.of(&["t0", "t1", "ONLY p0", "ONLY t1"]),
                self.of(&["", "CASCADE", "RESTART IDENTITY CASCADE", "CONTINUE IDENTITY"])
            ),
            13 => format!("SELECT has_table_privilege('pg_monitor', '{table}', 'SELECT')"),
            14 => "SELECT grantee, table_name, privilege_type, is_grantable FROM \
                   information_schema.role_table_grants WHERE table_schema = 'differ' AND \
                   grantee = 'pg_monitor'"
                .into(),
            15 => self.of(&["LISTEN differ", "UNLISTEN *", "NOTIFY differ", "NOTIFY differ, 'p'"]),
            16 => format!("SET CONSTRAINTS k{} DEFERRED", self.c.below(4)),
            _ => format!(
                "COMMENT ON {} IS {}",
                self.of(&["SCHEMA differ", "POLICY pol ON t0", "INDEX i0", "RULE r ON t0"]),
                self.of(&["'c'", "NULL"])
            ),
        }
    }

    fn grant_option(&mut self) -> &'static str {
        if self.c.once_in(3) { " WITH GRANT OPTION" } else { "" }
    }

    /// Forms of tables and of queries over them.
    pub(super) fn form_statement(&mut self) -> String {
        let table = self.table();
        match self.c.below(18) {
            0 => format!(
                "CREATE TABLE t2 (LIKE {table} {})",
                self.of(&[
                    "",
                    "INCLUDING DEFAULTS INCLUDING IDENTITY",
                    "INCLUDING CONSTRAINTS",
                    "INCLUDING INDEXES INCLUDING COMMENTS",
                    "INCLUDING GENERATED",
                    "INCLUDING ALL EXCLUDING INDEXES",
                    "INCLUDING STORAGE INCLUDING STATISTICS",
                ])
            ),
            1 => format!(
                "ALTER TABLE p0 DETACH PARTITION {}",
                self.of(&["p0_0", "p0_1 CONCURRENTLY", "t1", "p0_1 FINALIZE"])
            ),
            2 => format!(
                "ALTER TABLE p0 ATTACH PARTITION {} {}",
                self.of(&["p0_0", "t2", "t1", "v0"]),
                self.of(&[
                    "DEFAULT",
                    "FOR VALUES FROM (20) TO (30)",
                    "FOR VALUES IN ('zz')",
                    "FOR VALUES WITH (MODULUS 4, REMAINDER 1)",
                    "FOR VALUES FROM (5) TO (2)",
                ])
            ),
            3 => "CREATE TABLE t2 (a int, b text, c int, d numeric(6,2))".into(),
            4 => format!("DROP TABLE IF EXISTS {table}, t2 CASCADE"),
            5 => format!("SELECT * FROM {table} TABLESAMPLE bernoulli (100) REPEATABLE (1)"),
            6 => format!("SELECT * FROM {table} TABLESAMPLE {} REPEATABLE (0)", {
                self.of(&["system (0)", "bernoulli (101)", "bernoulli ('x')", "nothing (1)"])
            }),
            7 => format!("SELECT a FROM {table} ORDER BY a FETCH FIRST 2 ROWS WITH TIES"),
            8 => format!("SELECT c FROM {table} ORDER BY c OFFSET 1 FETCH NEXT ROW WITH TIES"),
            9 => format!("SELECT a FROM {table} FETCH FIRST 1 ROW WITH TIES"),
            10 => "SELECT * FROM ROWS FROM (generate_series(1, 3), unnest(array['x', 'y'])) WITH \
                   ORDINALITY AS f (a, b, n)"
                .into(),
            11 => format!(
                "SELECT t.a, s.* FROM {table} t, LATERAL ROWS FROM (generate_series(1, t.a)) s"
            ),
            12 => format!(
                "SELECT * FROM JSON_TABLE('[{{\"a\": 1, \"b\": [1, 2]}}, {{\"a\": \"x\"}}]', '$[*]' \
                 COLUMNS (n FOR ORDINALITY, a {} PATH '$.a' {}, NESTED PATH '$.b[*]' COLUMNS (b \
                 int PATH '$')))",
                self.of(&["text", "int", "numeric(3,1)"]),
                self.of(&["", "NULL ON ERROR", "ERROR ON ERROR", "DEFAULT '7' ON ERROR"])
            ),
            13 => {
                "SELECT JSON_OBJECT('a': 1, 'b': NULL ABSENT ON NULL), JSON_ARRAY(1, 'x', NULL), \
                   JSON_SCALAR(2.5), JSON_SERIALIZE('{}')"
                    .into()
            }
            14 => format!(
                "SELECT JSON_VALUE('{{\"a\": [1, \"x\"]}}', '{}' RETURNING {})",
                self.of(&["$.a[0]", "strict $.z", "$.a", "$.a[*]"]),
                self.of(&["int", "text DEFAULT 'none' ON EMPTY", "int ERROR ON ERROR"])
            ),
            15 => format!("SELECT array_agg(t ORDER BY t) FROM {table} t"),
            16 => format!("SELECT t.* IS NULL, count(t.*) FROM {table} t GROUP BY 1"),
            _ => format!("DECLARE cur2 NO SCROLL CURSOR FOR TABLE {table}"),
        }
    }
}
