import jakarta.persistence.*;
import java.math.BigDecimal;
import java.time.*;
import java.util.*;
import org.hibernate.SessionFactory;
import org.hibernate.annotations.JdbcTypeCode;
import org.hibernate.cfg.Configuration;
import org.hibernate.exception.ConstraintViolationException;
import org.hibernate.type.SqlTypes;

/** An application on Hibernate: schema made, updated and validated from entities, queries, locks, batches. */
public class Hibernated {
  enum Kind { PAPER, EBOOK }

  @Entity(name = "Publisher") @Table(name = "publishers", uniqueConstraints = @UniqueConstraint(columnNames = "name"))
  static class Publisher {
    @Id @GeneratedValue(strategy = GenerationType.IDENTITY) Long id;
    @Column(nullable = false, length = 60) String name;
    String getName() { return name; }
    @OneToMany(mappedBy = "publisher", cascade = CascadeType.ALL, orphanRemoval = true) List<Title> titles = new ArrayList<>();
  }

  @Entity(name = "Title") @Table(name = "titles", indexes = @Index(name = "titles_made", columnList = "made DESC"))
  static class Title {
    @Id @GeneratedValue(strategy = GenerationType.SEQUENCE) Long id;
    @Version int version;
    @Column(unique = true) String name;
    @Column(precision = 10, scale = 2) BigDecimal price;
    @Enumerated(EnumType.STRING) Kind kind;
    LocalDate made;
    Instant seen;
    UUID code;
    byte[] cover;
    @Column(length = 100_000) String text;
    @JdbcTypeCode(SqlTypes.JSON) Map<String, Object> data;
    String[] words;
    Duration reading;
    @ManyToOne(fetch = FetchType.LAZY) Publisher publisher;
    @ElementCollection @CollectionTable(name = "marks") Set<Integer> marks = new HashSet<>();
  }

  static void check(boolean ok, Object... what) {
    if (!ok) throw new AssertionError(Arrays.deepToString(what));
  }

  static SessionFactory factory(String mode) {
    Map<String, String> env = System.getenv();
    String tls = env.getOrDefault("PGSSLMODE", "disable");
    String url = "jdbc:postgresql://" + env.get("PGHOST") + ":" + env.get("PGPORT") + "/" + env.get("PGDATABASE") + "?sslmode=" + tls
      + (tls.equals("disable") ? "" : "&sslrootcert=" + env.get("PGSSLROOTCERT"));
    return new Configuration().addAnnotatedClass(Publisher.class).addAnnotatedClass(Title.class)
      .setProperty("hibernate.connection.url", url).setProperty("hibernate.connection.username", env.get("PGUSER"))
      .setProperty("hibernate.connection.password", env.getOrDefault("PGPASSWORD", ""))
      .setProperty("hibernate.hbm2ddl.auto", mode).setProperty("hibernate.jdbc.batch_size", "20").buildSessionFactory();
  }

  static Title title(int i, Publisher p) {
    Title t = new Title();
    t.name = "title " + i;
    t.price = BigDecimal.valueOf(i * 25L, 2);
    t.kind = i % 2 == 0 ? Kind.PAPER : Kind.EBOOK;
    t.made = LocalDate.of(2024, 1, 1).plusDays(i);
    t.seen = Instant.parse("2024-05-06T07:08:09.123456Z");
    t.code = new UUID(i, i);
    t.cover = new byte[] {(byte) i, 0};
    t.text = "long ".repeat(100);
    t.data = Map.of("n", i, "list", List.of(1, 2));
    t.words = new String[] {"a", "b" + i};
    t.reading = Duration.ofMinutes(i);
    t.publisher = p;
    t.marks.addAll(List.of(i, i + 1));
    return t;
  }

  static void work(SessionFactory f) {
    f.inTransaction(s -> {
      Publisher p = new Publisher();
      p.name = "Olifant";
      for (int i = 0; i < 50; i++) p.titles.add(title(i, p));
      s.persist(p);
    });
    f.inTransaction(s -> {
      Title t = s.createQuery("from Title where name = :n", Title.class).setParameter("n", "title 7").getSingleResult();
      check(t.price.equals(new BigDecimal("1.75")) && t.kind == Kind.EBOOK && t.words[1].equals("b7") && t.code.equals(new UUID(7, 7)));
      check(t.seen.equals(Instant.parse("2024-05-06T07:08:09.123456Z")) && t.reading.toMinutes() == 7 && t.data.get("n").equals(7));
      check(t.marks.equals(Set.of(7, 8)) && t.publisher.getName().equals("Olifant") && t.text.length() == 500);
      t.price = new BigDecimal("99");
    });
    f.inTransaction(s -> {
      Object[] r = s.createQuery("select count(t), sum(t.price), max(t.made) from Title t where t.kind = ?1 group by t.kind", Object[].class)
        .setParameter(1, Kind.EBOOK).getSingleResult();
      check(r[0].equals(25L) && r[2].equals(LocalDate.of(2024, 2, 19)), r);
      check(s.createQuery("select t from Title t join fetch t.publisher where t.made between ?1 and ?2 order by t.price desc", Title.class)
        .setParameter(1, LocalDate.of(2024, 1, 10)).setParameter(2, LocalDate.of(2024, 1, 20)).setMaxResults(3).setFirstResult(2).list().size() == 3);
      check(s.createQuery("select t.name from Title t where 7 member of t.marks order by 1", String.class).list().equals(List.of("title 6", "title 7")));
      check(s.createNativeQuery("select count(*) from titles where data ->> 'n' = :n", Long.class).setParameter("n", "5").getSingleResult() == 1L);
      check(s.createMutationQuery("update Title set version = version + 1 where id > 0").executeUpdate() == 50);
      Title locked = s.createQuery("from Title where name = 'title 3'", Title.class).setLockMode(LockModeType.PESSIMISTIC_WRITE).getSingleResult();
      check(locked.version == 1, locked.version);
    });
    try {
      f.inTransaction(s -> s.persist(title(3, null)));
      throw new AssertionError("no error");
    } catch (ConstraintViolationException e) {
      check(e.getSQLState().equals("23505") && e.getConstraintName() != null);
    }
    f.inTransaction(s -> {
      Publisher p = s.createQuery("from Publisher", Publisher.class).getSingleResult();
      p.titles.removeIf(t -> t.kind == Kind.PAPER);
    });
    f.inTransaction(s -> check(s.createQuery("select count(*) from Title", Long.class).getSingleResult() == 25L));
  }

  public static void main(String[] args) {
    java.util.logging.LogManager.getLogManager().reset();
    try (SessionFactory f = factory("create")) { work(f); }
    // It finds its own tables, sequences and constraints through the driver's metadata.
    factory("update").close();
    factory("validate").close();
    factory("create-drop").close();
    System.out.println("hibernate: ok");
  }
}
