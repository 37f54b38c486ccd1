import java.io.*;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.sql.*;
import java.time.*;
import java.util.*;
import org.postgresql.PGConnection;
import org.postgresql.copy.*;
import org.postgresql.util.PGobject;
import org.postgresql.util.PSQLException;

/** Everyday work with pgJDBC; run as "Smoke metadata" it prints what DatabaseMetaData says of a small schema. */
public class Smoke {
  interface Work { void run() throws Exception; }

  static void check(boolean ok, Object... what) {
    if (!ok) throw new AssertionError(Arrays.deepToString(what));
  }

  static PSQLException fails(String state, Work work) throws Exception {
    try {
      work.run();
    } catch (PSQLException e) {
      check(state.equals(e.getSQLState()), e.getSQLState(), e.getMessage());
      return e;
    } catch (BatchUpdateException e) {
      check(state.equals(e.getSQLState()), e.getSQLState(), e.getMessage());
      return (PSQLException) e.getNextException();
    }
    throw new AssertionError("expected " + state);
  }

  static Connection connect(String... options) throws SQLException {
    Properties p = new Properties();
    Map<String, String> env = System.getenv();
    p.put("user", env.get("PGUSER"));
    if (env.containsKey("PGPASSWORD")) p.put("password", env.get("PGPASSWORD"));
    String mode = env.getOrDefault("PGSSLMODE", "disable");
    p.put("sslmode", mode);
    if (!mode.equals("disable")) p.put("sslrootcert", env.get("PGSSLROOTCERT"));
    for (int i = 0; i < options.length; i += 2) p.put(options[i], options[i + 1]);
    String host = env.get("PGHOST") + ":" + env.get("PGPORT");
    return DriverManager.getConnection("jdbc:postgresql://" + host + "/" + env.get("PGDATABASE"), p);
  }

  static Object one(Connection c, String sql, Object... args) throws SQLException {
    try (PreparedStatement s = c.prepareStatement(sql)) {
      for (int i = 0; i < args.length; i++) s.setObject(i + 1, args[i]);
      try (ResultSet r = s.executeQuery()) {
        check(r.next());
        return r.getObject(1);
      }
    }
  }

  static void run(Connection c, String sql) throws SQLException {
    try (Statement s = c.createStatement()) { s.execute(sql); }
  }

  static void types(Connection c) throws Exception {
    Object[][] given = {
      {"bool", true}, {"int2", -3}, {"int4", 2147483647}, {"int8", Long.MIN_VALUE}, {"float4", 1.5f}, {"float8", 1e300},
      {"numeric", new BigDecimal("-1234567890.0012300")}, {"text", "grüße \uD83D\uDC18"}, {"varchar", ""}, {"bpchar", "x"},
      {"uuid", UUID.fromString("12345678-1234-5678-1234-567812345678")}, {"numeric", new BigDecimal("1E+20").setScale(0)},
      {"oid", 4294967295L}};
    // Five runs and more turn a statement into a named one whose results come in binary.
    for (Object[] v : given) {
      try (PreparedStatement s = c.prepareStatement("SELECT ?::" + v[0])) {
        for (int i = 0; i < 7; i++) {
          s.setObject(1, v[1]);
          try (ResultSet r = s.executeQuery()) {
            check(r.next() && r.getObject(1).equals(v[1]), v, r.getObject(1), i);
          }
          s.setNull(1, Types.OTHER);
          try (ResultSet r = s.executeQuery()) { check(r.next() && r.getObject(1) == null && r.wasNull(), v); }
        }
      }
    }
    try (PreparedStatement s = c.prepareStatement(
        "SELECT ?::date, ?::time, ?::timestamp, ?::timestamptz, ?::bytea, ?::int[], ?::text[], ?::jsonb, ?::inet, ?::interval")) {
      for (int i = 0; i < 7; i++) {
        s.setObject(1, LocalDate.of(2024, 2, 29));
        s.setObject(2, LocalTime.of(23, 59, 59, 123456000));
        s.setObject(3, LocalDateTime.of(1900, 1, 1, 0, 0));
        s.setObject(4, OffsetDateTime.of(2000, 1, 1, 12, 0, 0, 0, ZoneOffset.ofHours(2)));
        s.setBytes(5, new byte[] {0, -1});
        s.setArray(6, c.createArrayOf("int4", new Object[] {1, null, 3}));
        s.setArray(7, c.createArrayOf("text", new Object[] {"a,b", "\"", null, ""}));
        PGobject json = new PGobject();
        json.setType("jsonb");
        json.setValue("{\"a\": 1}");
        s.setObject(8, json);
        s.setObject(9, "10.0.0.1/8", Types.OTHER);
        s.setObject(10, "1 year 2 mons 03:04:05", Types.OTHER);
        try (ResultSet r = s.executeQuery()) {
          check(r.next());
          check(r.getObject(1, LocalDate.class).equals(LocalDate.of(2024, 2, 29)));
          check(r.getObject(2, LocalTime.class).equals(LocalTime.of(23, 59, 59, 123456000)));
          check(r.getObject(3, LocalDateTime.class).equals(LocalDateTime.of(1900, 1, 1, 0, 0)));
          check(r.getObject(4, OffsetDateTime.class).toInstant().equals(Instant.parse("2000-01-01T10:00:00Z")));
          check(Arrays.equals(r.getBytes(5), new byte[] {0, -1}));
          check(Arrays.equals((Object[]) r.getArray(6).getArray(), new Integer[] {1, null, 3}));
          check(Arrays.equals((Object[]) r.getArray(7).getArray(), new String[] {"a,b", "\"", null, ""}));
          check(r.getString(8).equals("{\"a\": 1}") && r.getString(9).equals("10.0.0.1/8"));
          check(r.getObject(10).toString().equals("1 years 2 mons 0 days 3 hours 4 mins 5.0 secs"), r.getObject(10).toString());
          ResultSetMetaData m = r.getMetaData();
          check(m.getColumnTypeName(6).equals("_int4") && m.getColumnType(8) == Types.OTHER && m.getColumnType(1) == Types.DATE);
        }
      }
    }
  }

  static void statements(Connection c) throws Exception {
    run(c, "CREATE TABLE t (id serial PRIMARY KEY, v int UNIQUE, w text DEFAULT 'd'); SELECT 1; SELECT 2");
    try (PreparedStatement s = c.prepareStatement("INSERT INTO t (v) VALUES (?)", Statement.RETURN_GENERATED_KEYS)) {
      for (int i = 1; i <= 500; i++) {
        s.setInt(1, i);
        s.addBatch();
      }
      int[] counts = s.executeBatch();
      check(counts.length == 500 && Arrays.stream(counts).sum() == 500);
      int keys = 0;
      try (ResultSet r = s.getGeneratedKeys()) { while (r.next()) keys += r.getInt("id"); }
      check(keys == 125250, keys);
    }
    c.setAutoCommit(false);
    try (Statement s = c.createStatement()) {
      s.setFetchSize(37);
      int sum = 0;
      try (ResultSet r = s.executeQuery("SELECT v FROM t ORDER BY v")) { while (r.next()) sum += r.getInt(1); }
      check(sum == 125250);
    }
    c.commit();
    try (Statement s = c.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_UPDATABLE)) {
      ResultSet r = s.executeQuery("SELECT id, v, w FROM t WHERE id <= 3 ORDER BY id");
      check(r.last() && r.getInt(1) == 3 && r.absolute(2));
      r.updateString("w", "changed");
      r.updateRow();
      r.moveToInsertRow();
      r.updateInt("v", 900);
      r.insertRow();
    }
    check("changed".equals(one(c, "SELECT w FROM t WHERE id = 2")));
    c.rollback();
    check("d".equals(one(c, "SELECT w FROM t WHERE id = 2")));
    c.setAutoCommit(true);
    run(c, "CREATE FUNCTION twice(IN x int, OUT y int) LANGUAGE sql AS 'SELECT x * 2'");
    try (CallableStatement s = c.prepareCall("{? = call twice(?)}")) {
      s.registerOutParameter(1, Types.INTEGER);
      s.setInt(2, 21);
      s.execute();
      check(s.getInt(1) == 42);
    }
    try (PreparedStatement s = c.prepareStatement("SELECT {fn concat(?, 'b')}, {d '2020-01-02'}, {fn now()} IS NOT NULL")) {
      s.setString(1, "a");
      ParameterMetaData m = s.getParameterMetaData();
      check(m.getParameterCount() == 1);
      ResultSet r = s.executeQuery();
      check(r.next() && r.getString(1).equals("ab") && r.getDate(2).toString().equals("2020-01-02") && r.getBoolean(3));
    }
  }

  static void transactions(Connection c) throws Exception {
    c.setAutoCommit(false);
    c.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
    run(c, "INSERT INTO t (v) VALUES (2000)");
    Savepoint p = c.setSavepoint("p");
    PSQLException e = fails("23505", () -> run(c, "INSERT INTO t (v) VALUES (1)"));
    check(e.getServerErrorMessage().getConstraint().equals("t_v_key"));
    check(e.getServerErrorMessage().getDetail().equals("Key (v)=(1) already exists."));
    fails("25P02", () -> run(c, "SELECT 1"));
    c.rollback(p);
    check(one(c, "SELECT count(*) FROM t WHERE v = 2000").equals(1L));
    check("serializable".equals(one(c, "SHOW transaction_isolation")));
    c.rollback();
    c.setReadOnly(true);
    fails("25006", () -> run(c, "DELETE FROM t"));
    c.rollback();
    c.setReadOnly(false);
    c.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
    c.setAutoCommit(true);
    String[][] wrong = {{"SELEC", "42601"}, {"SELECT * FROM nope", "42P01"}, {"SELECT 1/0", "22012"}, {"SELECT 'x'::int", "22P02"},
      {"INSERT INTO t (id) VALUES (NULL)", "23502"}, {"SELECT nope(1)", "42883"}, {"SELECT 'a' + 1", "22P02"}};
    for (String[] w : wrong) fails(w[1], () -> run(c, w[0]));
    try (PreparedStatement s = c.prepareStatement("INSERT INTO t (v) VALUES (?)")) {
      for (int v : new int[] {3000, 1, 3001}) {
        s.setInt(1, v);
        s.addBatch();
      }
      fails("23505", s::executeBatch);
    }
    check(one(c, "SELECT count(*) FROM t WHERE v >= 3000").equals(0L));
    // A cached plan whose result changes its type: the driver prepares again when autosave is on.
    try (Connection d = connect("autosave", "conservative"); PreparedStatement s = d.prepareStatement("SELECT * FROM t WHERE id = 1")) {
      d.setAutoCommit(false);
      for (int i = 0; i < 7; i++) s.executeQuery().close();
      d.commit();
      run(c, "ALTER TABLE t ADD COLUMN z int DEFAULT 5");
      try (ResultSet r = s.executeQuery()) { check(r.next() && r.getInt("z") == 5); }
      d.commit();
    }
  }

  static void copies(Connection c) throws Exception {
    run(c, "CREATE TABLE copied (a int, b text)");
    CopyManager m = c.unwrap(PGConnection.class).getCopyAPI();
    StringBuilder in = new StringBuilder();
    for (int i = 0; i < 5000; i++) in.append(i).append("\trow ").append(i).append('\n');
    check(m.copyIn("COPY copied FROM STDIN", new StringReader(in.toString())) == 5000);
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    check(m.copyOut("COPY (SELECT * FROM copied WHERE a < 2 ORDER BY a) TO STDOUT (FORMAT csv)", out) == 2);
    check(out.toString(StandardCharsets.UTF_8).equals("0,row 0\n1,row 1\n"), out);
    fails("22P02", () -> m.copyIn("COPY copied FROM STDIN", new StringReader("x\ty\n")));
    CopyIn aborted = m.copyIn("COPY copied FROM STDIN");
    aborted.writeToCopy("1\tz\n".getBytes(), 0, 4);
    aborted.cancelCopy();
    check(one(c, "SELECT count(*) FROM copied").equals(5000L));
  }

  static void notifications(Connection c) throws Exception {
    run(c, "LISTEN news");
    try (Connection other = connect()) { run(other, "NOTIFY news, 'hello'"); }
    var heard = c.unwrap(PGConnection.class).getNotifications(5000);
    check(heard.length == 1 && heard[0].getName().equals("news") && heard[0].getParameter().equals("hello"));
    try (Statement s = c.createStatement()) {
      s.execute("DROP TABLE IF EXISTS nothing");
      check(s.getWarnings().getMessage().equals("table \"nothing\" does not exist, skipping"));
      check(s.getWarnings().getSQLState().equals("00000"));
    }
  }

  static void cancel(Connection c) throws Exception {
    try (Statement s = c.createStatement()) {
      s.setQueryTimeout(1);
      fails("57014", () -> s.execute("SELECT pg_sleep(30)"));
    }
    try (Statement s = c.createStatement()) {
      new Thread(() -> {
        try { Thread.sleep(200); s.cancel(); } catch (Exception e) { throw new RuntimeException(e); }
      }).start();
      fails("57014", () -> s.execute("SELECT pg_sleep(30)"));
    }
    check(c.isValid(5));
    Connection doomed = connect();
    one(c, "SELECT pg_terminate_backend(?)", one(doomed, "SELECT pg_backend_pid()"));
    fails("57P01", () -> run(doomed, "SELECT 1"));
    check(doomed.isClosed());
  }

  static void modes() throws Exception {
    for (String mode : new String[] {"simple", "extended", "extendedForPrepared", "extendedCacheEverything"}) {
      try (Connection c = connect("preferQueryMode", mode, "prepareThreshold", "-1")) {
        check(one(c, "SELECT ?::int + 1", 41).equals(42));
        fails("22012", () -> one(c, "SELECT 1 / ?", 0));
      }
    }
    try (Connection c = connect("reWriteBatchedInserts", "true"); PreparedStatement s = c.prepareStatement("INSERT INTO copied VALUES (?, ?)")) {
      for (int i = 0; i < 1000; i++) {
        s.setInt(1, -i);
        s.setString(2, "batch");
        s.addBatch();
      }
      s.executeBatch();
      check(one(c, "SELECT count(*) FROM copied WHERE b = 'batch'").equals(1000L));
    }
  }

  public static void main(String[] args) throws Exception {
    try (Connection c = connect("ApplicationName", "jdbc smoke")) {
      if (args.length > 0) {
        Metadata.print(c);
        return;
      }
      check("jdbc smoke".equals(one(c, "SHOW application_name")));
      if (!System.getenv().getOrDefault("PGSSLMODE", "disable").equals("disable"))
        check(one(c, "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()").equals(true));
      types(c);
      statements(c);
      transactions(c);
      copies(c);
      notifications(c);
      cancel(c);
    }
    modes();
    System.out.println("pgjdbc: ok");
  }
}
