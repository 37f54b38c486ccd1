// Everyday work with node-postgres: pool, types, named statements, cursors, streams, COPY, errors.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { Readable } from 'node:stream';
import pg from 'pg';
import Cursor from 'pg-cursor';
import QueryStream from 'pg-query-stream';
import copy from 'pg-copy-streams';

const tls = (process.env.PGSSLMODE ?? 'disable') !== 'disable';
const ssl = tls ? { ca: fs.readFileSync(process.env.PGSSLROOTCERT), servername: 'localhost' } : false;
const config = { ssl, application_name: 'node smoke' };
const fails = async (work, code, fields = {}) => {
  const error = await work.then(() => assert.fail(`expected ${code}`), e => e);
  assert.equal(error.code, code, error.stack);
  for (const [name, value] of Object.entries(fields)) assert.equal(error[name], value);
};

async function types(c) {
  const { rows: [row], fields } = await c.query(`SELECT true b, 7::int2 i2, 8 i4, 9::int8 i8, 1.5::float8 f, 2.50 n,
    'x'::text t, '\\x00ff'::bytea y, '2024-02-29'::date d, '2024-02-29 12:00:00.5Z'::timestamptz z, '{"a":[1]}'::jsonb j,
    ARRAY[1,NULL,3] a, ARRAY['a','b,c','"q"'] s, '1 mon 2 days 03:04:05.678'::interval v, '(1,2)'::point p,
    NULL::int nothing, ARRAY['2024-01-01'::date] ds, '{}'::json[] js`);
  assert.deepEqual([row.b, row.i2, row.i4, row.i8, row.f, row.n], [true, 7, 8, '9', 1.5, '2.50']);
  assert.deepEqual(row.y, Buffer.from([0, 255]));
  assert.equal(row.z.toISOString(), '2024-02-29T12:00:00.500Z');
  assert.deepEqual([row.j, row.a, row.s, row.nothing, row.js], [{ a: [1] }, [1, null, 3], ['a', 'b,c', '"q"'], null, []]);
  assert.equal(row.v.toPostgres(), '5.678 seconds 4 minutes 3 hours 2 days 1 months');
  assert.deepEqual(row.p, { x: 1, y: 2 });
  assert.deepEqual(fields.slice(0, 3).map(f => [f.name, f.dataTypeID, f.dataTypeSize]), [['b', 16, 1], ['i2', 21, 2], ['i4', 23, 4]]);
  const given = [true, 3, 1e21, 'grüße', Buffer.from('é'), new Date(0), { k: 'v' }, [1, 2], ['x', null], null];
  const back = await c.query({
    text: `SELECT $1::bool, $2::int, $3::float8, $4::text, $5::bytea, $6::timestamptz, $7::jsonb, $8::int[], $9::text[], $10::int`,
    values: given, rowMode: 'array' });
  assert.deepEqual(back.rows[0], given);
  const binary = await c.query({ text: 'SELECT $1::int8 a, $2::bool b, $3::float8 c, $4::text d', values: ['5', false, 2.5, 'e'], binary: true });
  assert.deepEqual([binary.rows[0].b, binary.rows[0].c, binary.rows[0].d], [false, 2.5, 'e']);
}

async function statements(c, pool) {
  await c.query('CREATE TABLE t (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, v int UNIQUE CHECK (v < 5000), w varchar(5) NOT NULL DEFAULT \'d\')');
  for (let i = 1; i <= 100; i++) {
    const r = await c.query({ name: 'add', text: 'INSERT INTO t (v) VALUES ($1) RETURNING id', values: [i] });
    assert.deepEqual([r.command, r.rowCount, r.rows], ['INSERT', 1, [{ id: i }]]);
  }
  const answers = await Promise.all([1, 2, 3, 4].map(i => pool.query('SELECT v FROM t WHERE id = $1', [i])));
  assert.deepEqual(answers.map(a => a.rows[0].v), [1, 2, 3, 4]);
  const several = await c.query('SELECT 1 AS a; UPDATE t SET w = \'e\' WHERE id < 3; SELECT 2 AS b');
  assert.deepEqual(several.map(r => [r.command, r.rowCount]), [['SELECT', 1], ['UPDATE', 2], ['SELECT', 1]]);
  assert.equal((await c.query('')).command, null);
  const cursor = c.query(new Cursor('SELECT v FROM t ORDER BY v'));
  assert.equal((await cursor.read(30)).length, 30);
  assert.equal((await cursor.read(100)).length, 70);
  await cursor.close();
  let seen = 0;
  for await (const row of c.query(new QueryStream('SELECT generate_series(1, $1::int) n', [10000], { batchSize: 777 }))) seen += row.n;
  assert.equal(seen, 50005000);
}

async function transactions(c) {
  await c.query('BEGIN');
  await c.query('INSERT INTO t (v) VALUES (1000)');
  await c.query('SAVEPOINT s');
  await fails(c.query('INSERT INTO t (v) VALUES ($1)', [1]), '23505', { constraint: 't_v_key', table: 't', schema: 'public',
    detail: 'Key (v)=(1) already exists.', severity: 'ERROR' });
  await fails(c.query('SELECT 1'), '25P02');
  await c.query('ROLLBACK TO SAVEPOINT s');
  assert.equal((await c.query('SELECT count(*)::int n FROM t WHERE v = 1000')).rows[0].n, 1);
  await c.query('ROLLBACK');
  await fails(c.query('SELEC'), '42601', { position: '1' });
  await fails(c.query('SELECT * FROM nope'), '42P01', { position: '15' });
  await fails(c.query('SELECT 1 / $1::int', [0]), '22012');
  await fails(c.query('INSERT INTO t (v) VALUES (9999)'), '23514', { constraint: 't_v_check' });
  await fails(c.query('INSERT INTO t (v, w) VALUES (300, \'too long\')'), '22001');
  await fails(c.query('INSERT INTO t (v, w) VALUES (300, NULL)'), '23502', { column: 'w' });
  await fails(c.query('SELECT $1::int', ['x']), '22P02');
  await fails(c.query('SELECT 1; SELECT 1/0; SELECT 2'), '22012');
}

async function copies(c) {
  await c.query('CREATE TABLE copied (a int, b text)');
  await pipeline(Readable.from(Array.from({ length: 5000 }, (_, i) => `${i}\trow ${i}\n`)), c.query(copy.from('COPY copied FROM STDIN')));
  let text = '';
  for await (const piece of c.query(copy.to('COPY (SELECT * FROM copied WHERE a < 2 ORDER BY a) TO STDOUT (FORMAT csv, HEADER)'))) text += piece;
  assert.equal(text, 'a,b\n0,row 0\n1,row 1\n');
  await fails(pipeline(Readable.from(['x\ty\n']), c.query(copy.from('COPY copied FROM STDIN'))), '22P02');
  const aborted = c.query(copy.from('COPY copied FROM STDIN'));
  aborted.write('1\tz\n');
  const refused = new Promise(done => aborted.on('error', done));
  aborted.destroy(new Error('enough'));
  assert.equal((await refused).message, 'COPY from stdin failed: enough');
  assert.equal((await c.query('SELECT count(*)::int n FROM copied')).rows[0].n, 5000);
}

async function notices(c, pool) {
  const heard = new Promise(done => c.on('notification', done));
  const noticed = new Promise(done => c.once('notice', done));
  await c.query('LISTEN news');
  await pool.query(`SELECT pg_notify('news', 'hello')`);
  const n = await heard;
  assert.deepEqual([n.channel, n.payload], ['news', 'hello']);
  await c.query('COMMIT');
  const w = await noticed;
  assert.deepEqual([w.severity, w.code, w.message], ['WARNING', '25P01', 'there is no transaction in progress']);
}

async function cancel(c, pool) {
  const { rows: [{ pid }] } = await c.query('SELECT pg_backend_pid() pid');
  const sleep = c.query('SELECT pg_sleep(30)');
  const checked = fails(sleep, '57014');
  await new Promise(done => setTimeout(done, 200));
  await pool.query('SELECT pg_cancel_backend($1)', [pid]);
  await checked;
  const doomed = new pg.Client({ ...config, statement_timeout: 100 });
  await doomed.connect();
  await fails(doomed.query('SELECT pg_sleep(30)'), '57014');
  const ended = new Promise(done => doomed.on('error', done));
  await pool.query('SELECT pg_terminate_backend($1)', [(await doomed.query('SELECT pg_backend_pid() pid')).rows[0].pid]);
  assert.equal((await ended).code, '57P01');
}

const pool = new pg.Pool({ ...config, max: 5 });
const c = await pool.connect();
assert.equal((await c.query('SHOW application_name')).rows[0].application_name, 'node smoke');
if (tls) assert.equal((await c.query('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()')).rows[0].ssl, true);
await types(c);
await statements(c, pool);
await transactions(c);
await copies(c);
await notices(c, pool);
await cancel(c, pool);
c.release();
const sums = await Promise.all(Array.from({ length: 40 }, (_, i) => pool.query('SELECT $1::int * 2 AS d', [i])));
assert.deepEqual(sums.map(r => r.rows[0].d), Array.from({ length: 40 }, (_, i) => 2 * i));
await pool.end();
await fails(new pg.Client({ ...config, user: 'nobody_at_all', password: 'x' }).connect(), tls ? '28P01' : '28000');
console.log('node-postgres: ok');
