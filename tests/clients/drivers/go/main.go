// Everyday work with pgx: binary values, statement modes, batches, COPY, nested transactions, errors, LISTEN, cancel.
package main

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"net/netip"
	"os"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
)

var ctx = context.Background()

func check(ok bool, what ...any) {
	if !ok {
		_, _, line, _ := runtime.Caller(1)
		fmt.Println(append([]any{"pgx: FAILED at line", line}, what...)...)
		os.Exit(1)
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		_, _, line, _ := runtime.Caller(1)
		fmt.Println("pgx: FAILED at line", line, err)
		os.Exit(1)
	}
	return value
}

func fails(err error, code string) *pgconn.PgError {
	var e *pgconn.PgError
	if !errors.As(err, &e) || e.Code != code {
		_, _, line, _ := runtime.Caller(1)
		fmt.Println("pgx: FAILED at line", line, "expected", code, "got", err)
		os.Exit(1)
	}
	return e
}

// back sends a value as a parameter of a type and reads it again.
func back[T any](c *pgx.Conn, typ string, value T) {
	var got T
	err := c.QueryRow(ctx, "SELECT $1::"+typ, value).Scan(&got)
	_, _, line, _ := runtime.Caller(1)
	if err != nil || !reflect.DeepEqual(got, value) {
		fmt.Println("pgx: FAILED at line", line, typ, value, got, err)
		os.Exit(1)
	}
}

func types(c *pgx.Conn) {
	back(c, "bool", true)
	back(c, "int2", int16(-5))
	back(c, "int4", int32(1<<31-1))
	back(c, "int8", int64(-1<<63))
	back(c, "float4", float32(1.25))
	back(c, "float8", 1e-300)
	back(c, "text", "grüße")
	back(c, "bytea", []byte{0, 255})
	back(c, "numeric", pgtype.Numeric{Int: big.NewInt(-12345), Exp: -3, Valid: true})
	back(c, "date", time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC))
	back(c, "timestamp", time.Date(1969, 7, 20, 20, 17, 40, 123456000, time.UTC))
	back(c, "uuid", [16]byte{1, 2, 3, 15: 9})
	back(c, "inet", netip.MustParsePrefix("10.1.0.0/16"))
	back(c, "cidr", netip.MustParsePrefix("2001:db8::/32"))
	back(c, "interval", pgtype.Interval{Months: 14, Days: -3, Microseconds: 5, Valid: true})
	back(c, "time", pgtype.Time{Microseconds: 86399999999, Valid: true})
	back(c, "json", map[string]any{"a": []any{1.0, "x"}})
	back(c, "jsonb", map[string]any{"a": nil})
	back(c, "int4[]", []int32{1, 2, 3})
	back(c, "text[]", []*string{nil, ptr("x")})
	back(c, "int8[]", [][]int64{{1, 2}, {3, 4}})
	back(c, "point", pgtype.Point{P: pgtype.Vec2{X: 1, Y: 2}, Valid: true})
	back(c, "bit(5)", pgtype.Bits{Bytes: []byte{0b10110000}, Len: 5, Valid: true})
	back(c, "tid", pgtype.TID{BlockNumber: 1, OffsetNumber: 2, Valid: true})
	back(c, "int4range", pgtype.Range[pgtype.Int4]{
		Lower: pgtype.Int4{Int32: 1, Valid: true}, Upper: pgtype.Int4{Int32: 5, Valid: true},
		LowerType: pgtype.Inclusive, UpperType: pgtype.Exclusive, Valid: true})
	must(c.Exec(ctx, "CREATE TYPE colour AS ENUM ('red', 'green'); CREATE TYPE thing AS (n int, c colour, t text[])"))
	for _, name := range []string{"colour", "_colour", "thing", "_thing"} {
		c.TypeMap().RegisterType(must(c.LoadType(ctx, name)))
	}
	type thing struct {
		N int32
		C string
		T []string
	}
	back(c, "colour[]", []string{"red", "green"})
	back(c, "thing", thing{7, "red", []string{"a", "b"}})
	back(c, "thing[]", []thing{{1, "green", nil}})
}

func ptr[T any](v T) *T { return &v }

func modes(c *pgx.Conn) {
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe,
		pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol} {
		var n int
		var t string
		err := c.QueryRow(ctx, "SELECT $1::int + 1, $2::text", mode, 41, "o'clock").Scan(&n, &t)
		check(err == nil && n == 42 && t == "o'clock", mode, err)
		_, err = c.Exec(ctx, "SELECT 1 / $1::int", mode, 0)
		fails(err, "22012")
	}
	d := must(c.Prepare(ctx, "named", "SELECT $1::date, $2::text AS b"))
	check(reflect.DeepEqual(d.ParamOIDs, []uint32{1082, 25}) && d.Fields[1].Name == "b")
	check(c.Deallocate(ctx, "named") == nil)
}

func batches(c *pgx.Conn) {
	must(c.Exec(ctx, "CREATE TABLE t (id bigserial PRIMARY KEY, v int UNIQUE, at timestamptz DEFAULT now())"))
	b := &pgx.Batch{}
	for i := range 300 {
		b.Queue("INSERT INTO t (v) VALUES ($1)", i)
	}
	b.Queue("SELECT count(*), sum(v) FROM t").QueryRow(func(r pgx.Row) error {
		var n, sum int
		err := r.Scan(&n, &sum)
		check(n == 300 && sum == 44850, n, sum)
		return err
	})
	check(c.SendBatch(ctx, b).Close() == nil)
	// An error in a batch undoes all of it.
	b = &pgx.Batch{}
	b.Queue("INSERT INTO t (v) VALUES (1000)")
	b.Queue("INSERT INTO t (v) VALUES (1)")
	b.Queue("INSERT INTO t (v) VALUES (1001)")
	e := fails(c.SendBatch(ctx, b).Close(), "23505")
	check(e.ConstraintName == "t_v_key" && e.TableName == "t" && e.Detail == "Key (v)=(1) already exists.", e)
	var n int
	check(c.QueryRow(ctx, "SELECT count(*) FROM t").Scan(&n) == nil && n == 300, n)
	rows := must(c.Query(ctx, "SELECT id, v FROM t WHERE v < $1 ORDER BY v", 3))
	type pair struct{ ID, V int }
	got := must(pgx.CollectRows(rows, pgx.RowToStructByPos[pair]))
	check(len(got) == 3 && got[2].V == 2, got)
	p := c.PgConn().StartPipeline(ctx)
	p.SendQueryParams("SELECT 1", nil, nil, nil, nil)
	p.SendQueryParams("SELECT 1/0", nil, nil, nil, nil)
	p.SendQueryParams("SELECT 2", nil, nil, nil, nil)
	check(p.Sync() == nil)
	p.SendQueryParams("SELECT 3", nil, nil, nil, nil)
	check(p.Sync() == nil)
	var seen []string
	for {
		r, err := p.GetResults()
		if err != nil {
			fails(err, "22012")
			seen = append(seen, "error")
			continue
		}
		if r == nil {
			break
		}
		switch r := r.(type) {
		case *pgconn.ResultReader:
			if read := r.Read(); read.Err != nil {
				fails(read.Err, "22012")
				seen = append(seen, "error")
			} else {
				seen = append(seen, string(read.Rows[0][0]))
			}
		case *pgconn.PipelineSync:
			seen = append(seen, "sync")
		}
	}
	check(strings.Join(seen, " ") == "1 error sync 3 sync", seen)
	check(p.Close() == nil)
}

func transactions(c *pgx.Conn) {
	tx := must(c.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}))
	must(tx.Exec(ctx, "UPDATE t SET v = -v WHERE v = 5"))
	inner := must(tx.Begin(ctx))
	_, err := inner.Exec(ctx, "INSERT INTO t (v) VALUES (1)")
	fails(err, "23505")
	_, err = inner.Exec(ctx, "SELECT 1")
	fails(err, "25P02")
	check(inner.Rollback(ctx) == nil)
	var n int
	check(tx.QueryRow(ctx, "SELECT v FROM t WHERE v < 0").Scan(&n) == nil && n == -5)
	check(tx.Commit(ctx) == nil)
	tx = must(c.BeginTx(ctx, pgx.TxOptions{AccessMode: pgx.ReadOnly}))
	_, err = tx.Exec(ctx, "DELETE FROM t")
	fails(err, "25006")
	check(errors.Is(tx.Commit(ctx), pgx.ErrTxCommitRollback))
	for sql, code := range map[string]string{"SELEC": "42601", "SELECT * FROM nope": "42P01", "SELECT nope FROM t": "42703",
		"SELECT 'x'::int": "22P02", "SELECT 1::int2 * 40000::int2": "22003", "SELECT nope(1)": "42883",
		"INSERT INTO t (id) VALUES (NULL)": "23502"} {
		_, err := c.Exec(ctx, sql)
		fails(err, code)
	}
}

func copies(c *pgx.Conn) {
	must(c.Exec(ctx, "CREATE TABLE copied (a int, b text, c timestamptz, d numeric, e int[])"))
	rows := [][]any{}
	for i := range 3000 {
		rows = append(rows, []any{i, fmt.Sprint("row ", i), time.Unix(int64(i), 0), float64(i) / 8, []int32{int32(i)}})
	}
	n := must(c.CopyFrom(ctx, pgx.Identifier{"copied"}, []string{"a", "b", "c", "d", "e"}, pgx.CopyFromRows(rows)))
	check(n == 3000)
	var out strings.Builder
	tag := must(c.PgConn().CopyTo(ctx, &out, "COPY (SELECT a, b, d, e FROM copied WHERE a IN (1, 2) ORDER BY a) TO STDOUT"))
	check(tag.RowsAffected() == 2 && out.String() == "1\trow 1\t0.125\t{1}\n2\trow 2\t0.25\t{2}\n", out.String())
	_, err := c.PgConn().CopyFrom(ctx, strings.NewReader("x\n"), "COPY copied (a) FROM STDIN")
	e := fails(err, "22P02")
	check(e.Where == `COPY copied, line 1, column a: "x"`, e.Where)
	check(c.Ping(ctx) == nil)
}

func notifications(c *pgx.Conn, pool *pgxpool.Pool) {
	must(c.Exec(ctx, "LISTEN news"))
	must(pool.Exec(ctx, "SELECT pg_notify('news', $1)", "hello"))
	soon, stop := context.WithTimeout(ctx, 5*time.Second)
	defer stop()
	n := must(c.WaitForNotification(soon))
	check(n.Channel == "news" && n.Payload == "hello")
	short, stop2 := context.WithTimeout(ctx, 100*time.Millisecond)
	defer stop2()
	_, err := c.WaitForNotification(short)
	check(pgconn.Timeout(err), err)
}

func cancel(pool *pgxpool.Pool) {
	c := must(pool.Acquire(ctx)).Hijack()
	go func() {
		time.Sleep(200 * time.Millisecond)
		check(c.PgConn().CancelRequest(ctx) == nil)
	}()
	_, err := c.Exec(ctx, "SELECT pg_sleep(30)")
	fails(err, "57014")
	check(c.Close(ctx) == nil)
}

func main() {
	pool := must(pgxpool.New(ctx, os.Getenv("PGX")))
	c := must(pgx.Connect(ctx, os.Getenv("PGX")))
	if mode := os.Getenv("PGSSLMODE"); mode != "" && mode != "disable" {
		var tls bool
		check(c.QueryRow(ctx, "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()").Scan(&tls) == nil && tls)
	}
	types(c)
	modes(c)
	batches(c)
	transactions(c)
	copies(c)
	notifications(c, pool)
	cancel(pool)
	var wg sync.WaitGroup
	for i := range 30 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			var n int
			err := pool.QueryRow(ctx, "SELECT $1::int * 2", i).Scan(&n)
			check(err == nil && n == 2*i, err)
		}()
	}
	wg.Wait()
	pool.Close()
	check(c.Close(ctx) == nil)
	fmt.Println("pgx: ok")
}
