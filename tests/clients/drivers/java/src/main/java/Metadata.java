import java.sql.*;
import java.util.*;

/** What DatabaseMetaData says of a small schema, as lines. The recorded answers are PostgreSQL's. */
class Metadata {
  interface Rows { ResultSet get() throws SQLException; }

  static void show(String what, Rows rows) throws SQLException {
    System.out.println("== " + what);
    ResultSet r;
    try {
      r = rows.get();
    } catch (SQLException e) {
      System.out.println(e.getMessage());
      return;
    }
    ResultSetMetaData m = r.getMetaData();
    List<String> lines = new ArrayList<>();
    while (r.next()) {
      StringJoiner line = new StringJoiner("|");
      for (int i = 1; i <= m.getColumnCount(); i++) {
        String name = m.getColumnName(i);
        String value = r.getString(i);
        // Numbers that differ from one installation, or one run, to the next.
        boolean own = Set.of("TABLE_CAT", "TABLE_CATALOG", "PKTABLE_CAT", "FKTABLE_CAT", "PAGES", "CARDINALITY", "SPECIFIC_NAME", "FUNCTION_CAT", "PROCEDURE_CAT").contains(name);
        line.add(own ? "-" : String.valueOf(value));
      }
      lines.add(line.toString());
    }
    if (what.equals("types")) Collections.sort(lines);
    lines.forEach(System.out::println);
  }

  static void print(Connection c) throws SQLException {
    try (Statement s = c.createStatement()) {
      s.execute("""
        CREATE SCHEMA shop;
        CREATE TYPE shop.size AS ENUM ('s', 'm');
        CREATE TYPE shop.place AS (x int, y text);
        CREATE DOMAIN shop.price AS numeric(8, 2) DEFAULT 1 CHECK (VALUE >= 0);
        CREATE TABLE shop.maker (country char(2), nr int, name varchar(40) NOT NULL, PRIMARY KEY (country, nr));
        CREATE TABLE shop.item (
          id bigserial PRIMARY KEY, nr int GENERATED ALWAYS AS IDENTITY, title text NOT NULL DEFAULT 'new', cost shop.price,
          sizes shop.size[], made date, seen timestamp(3) with time zone, country char(2), maker int, flags bit(3), b bytea,
          twice int GENERATED ALWAYS AS (maker * 2) STORED, at shop.place, ok boolean DEFAULT true, f float4, j jsonb, u uuid,
          UNIQUE (title, made), CHECK (maker > 0),
          CONSTRAINT made_by FOREIGN KEY (country, maker) REFERENCES shop.maker ON DELETE CASCADE ON UPDATE SET NULL DEFERRABLE INITIALLY DEFERRED);
        COMMENT ON TABLE shop.item IS 'what is sold';
        COMMENT ON COLUMN shop.item.cost IS 'in euro';
        CREATE INDEX item_lower ON shop.item (lower(title), cost DESC NULLS LAST) WHERE ok;
        CREATE VIEW shop.cheap AS SELECT id, title FROM shop.item WHERE cost < 5;
        CREATE MATERIALIZED VIEW shop.summary AS SELECT count(*) AS n FROM shop.item;
        CREATE TABLE shop.log (at timestamptz, line text) PARTITION BY RANGE (at);
        CREATE TABLE shop.log_old PARTITION OF shop.log FOR VALUES FROM (MINVALUE) TO ('2020-01-01');
        CREATE FUNCTION shop.total(a int, INOUT b numeric, OUT c text) LANGUAGE sql AS 'SELECT b, a::text';
        CREATE FUNCTION shop.items(n int) RETURNS TABLE (id bigint, title text) LANGUAGE sql AS 'SELECT 1::bigint, title FROM shop.item';
        CREATE FUNCTION shop.one() RETURNS SETOF shop.maker LANGUAGE sql AS 'SELECT * FROM shop.maker';
        CREATE ROLE shop_reader;
        GRANT SELECT, UPDATE ON shop.item TO shop_reader;
        GRANT SELECT (name) ON shop.maker TO shop_reader WITH GRANT OPTION;
        DROP ROLE IF EXISTS shop_nobody;
      """);
    }
    DatabaseMetaData m = c.getMetaData();
    System.out.println("product " + m.getDatabaseProductName() + " major " + m.getDatabaseMajorVersion());
    System.out.println("limits " + m.getMaxColumnNameLength() + " " + m.getMaxIndexLength() + " " + m.getDefaultTransactionIsolation());
    System.out.println("keywords " + m.getSQLKeywords());
    show("schemas", () -> m.getSchemas(null, "%"));
    show("tableTypes", m::getTableTypes);
    show("tables", () -> m.getTables(null, "shop", "%", null));
    show("views", () -> m.getTables(null, "shop", "%", new String[] {"VIEW", "MATERIALIZED VIEW"}));
    show("catalogs", () -> m.getTables(null, "pg_catalog", "pg_c%", new String[] {"SYSTEM TABLE"}));
    show("columns", () -> m.getColumns(null, "shop", "%", "%"));
    show("catalog columns", () -> m.getColumns(null, "pg_catalog", "pg_type", "%"));
    show("primary key", () -> m.getPrimaryKeys(null, "shop", "maker"));
    show("imported", () -> m.getImportedKeys(null, "shop", "item"));
    show("exported", () -> m.getExportedKeys(null, "shop", "maker"));
    show("cross", () -> m.getCrossReference(null, "shop", "maker", null, "shop", "item"));
    show("indexes", () -> m.getIndexInfo(null, "shop", "item", false, true));
    show("unique indexes", () -> m.getIndexInfo(null, "shop", "item", true, false));
    show("best row", () -> m.getBestRowIdentifier(null, "shop", "maker", DatabaseMetaData.bestRowSession, true));
    show("versions", () -> m.getVersionColumns(null, "shop", "maker"));
    show("functions", () -> m.getFunctions(null, "shop", "%"));
    show("procedures", () -> m.getProcedures(null, "shop", "%"));
    show("function columns", () -> m.getFunctionColumns(null, "shop", "%", "%"));
    show("procedure columns", () -> m.getProcedureColumns(null, "shop", "%", "%"));
    show("table privileges", () -> m.getTablePrivileges(null, "shop", "%"));
    show("column privileges", () -> m.getColumnPrivileges(null, "shop", "maker", "%"));
    show("udts", () -> m.getUDTs(null, "shop", "%", null));
    show("types", m::getTypeInfo);
    show("client info", m::getClientInfoProperties);
    try (Statement s = c.createStatement(); ResultSet r = s.executeQuery("SELECT i.id, i.cost AS price, i.made, 1 AS one, i.title FROM shop.item i")) {
      ResultSetMetaData q = r.getMetaData();
      System.out.println("== result set");
      for (int i = 1; i <= q.getColumnCount(); i++)
        System.out.println(String.join("|", q.getColumnLabel(i), q.getColumnName(i), q.getSchemaName(i), q.getTableName(i), q.getColumnTypeName(i),
          q.getPrecision(i) + "", q.getScale(i) + "", q.isNullable(i) + "", q.isAutoIncrement(i) + "", q.getColumnDisplaySize(i) + ""));
    }
    try (Statement s = c.createStatement()) { s.execute("DROP SCHEMA shop CASCADE; DROP ROLE shop_reader"); }
  }
}
