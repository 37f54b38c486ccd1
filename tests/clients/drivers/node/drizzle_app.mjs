// An application on Drizzle: tables and enums made from its schema, relations, upserts, nested transactions, aggregates.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import pg from 'pg';
import { and, asc, count, desc, eq, gt, inArray, relations, sql, sum } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { migrate } from 'drizzle-orm/node-postgres/migrator';
import { boolean, index, integer, jsonb, numeric, pgSchema, primaryKey, serial, text, timestamp, uniqueIndex, uuid, varchar } from 'drizzle-orm/pg-core';

const shop = pgSchema('drizzled');
const mood = shop.enum('mood', ['sad', 'happy']);
const users = shop.table('users', {
  id: serial('id').primaryKey(), name: varchar('name', { length: 50 }).notNull(), mood: mood('mood').default('happy'),
  key: uuid('key').defaultRandom(), settings: jsonb('settings').default({}), tags: text('tags').array(),
  created: timestamp('created', { withTimezone: true }).defaultNow() }, t => [uniqueIndex('users_name').on(t.name)]);
const posts = shop.table('posts', {
  id: integer('id').primaryKey().generatedAlwaysAsIdentity(), author: integer('author').notNull().references(() => users.id, { onDelete: 'cascade' }),
  title: text('title').notNull(), score: numeric('score', { precision: 6, scale: 2 }), live: boolean('live').default(false) },
  t => [index('posts_author').on(t.author)]);
const likes = shop.table('likes', { user: integer('user_id').references(() => users.id), post: integer('post_id').references(() => posts.id) },
  t => [primaryKey({ columns: [t.user, t.post] })]);
const schema = { users, posts, likes,
  usersRelations: relations(users, ({ many }) => ({ posts: many(posts) })),
  postsRelations: relations(posts, ({ one }) => ({ writer: one(users, { fields: [posts.author], references: [users.id] }) })) };

// What drizzle-kit generates for this schema, run by its migrator, which keeps a journal in the database.
const folder = fs.mkdtempSync('/tmp/drizzle-');
fs.mkdirSync(`${folder}/meta`);
fs.writeFileSync(`${folder}/meta/_journal.json`, JSON.stringify({ version: '7', dialect: 'postgresql',
  entries: [{ idx: 0, version: '7', when: 1700000000000, tag: '0000_start', breakpoints: true }] }));
fs.writeFileSync(`${folder}/0000_start.sql`, `CREATE SCHEMA "drizzled";
--> statement-breakpoint
CREATE TYPE "drizzled"."mood" AS ENUM('sad', 'happy');--> statement-breakpoint
CREATE TABLE "drizzled"."users" ("id" serial PRIMARY KEY NOT NULL, "name" varchar(50) NOT NULL, "mood" "drizzled"."mood" DEFAULT 'happy',
  "key" uuid DEFAULT gen_random_uuid(), "settings" jsonb DEFAULT '{}'::jsonb, "tags" text[], "created" timestamp with time zone DEFAULT now());
--> statement-breakpoint
CREATE TABLE "drizzled"."posts" ("id" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "drizzled"."posts_id_seq" INCREMENT BY 1
  MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1), "author" integer NOT NULL, "title" text NOT NULL, "score" numeric(6, 2), "live" boolean DEFAULT false);
--> statement-breakpoint
CREATE TABLE "drizzled"."likes" ("user_id" integer, "post_id" integer, CONSTRAINT "likes_pk" PRIMARY KEY("user_id","post_id"));
--> statement-breakpoint
ALTER TABLE "drizzled"."posts" ADD CONSTRAINT "posts_author_fk" FOREIGN KEY ("author") REFERENCES "drizzled"."users"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
CREATE UNIQUE INDEX "users_name" ON "drizzled"."users" USING btree ("name");--> statement-breakpoint
CREATE INDEX "posts_author" ON "drizzled"."posts" USING btree ("author");`);

const tls = (process.env.PGSSLMODE ?? 'disable') !== 'disable';
const pool = new pg.Pool({ ssl: tls ? { ca: fs.readFileSync(process.env.PGSSLROOTCERT), servername: 'localhost' } : false });
const db = drizzle(pool, { schema });
await migrate(db, { migrationsFolder: folder });
await migrate(db, { migrationsFolder: folder });
fs.rmSync(folder, { recursive: true });

const made = await db.insert(users).values(['Ada', 'Bob', 'Cy'].map(name => ({ name, tags: [name, 'x'], settings: { theme: name } }))).returning();
assert.deepEqual(made.map(u => [u.id, u.mood, u.tags[0], u.settings.theme]), [[1, 'happy', 'Ada', 'Ada'], [2, 'happy', 'Bob', 'Bob'], [3, 'happy', 'Cy', 'Cy']]);
assert(made[0].created instanceof Date);
await db.insert(posts).values(Array.from({ length: 30 }, (_, i) => ({ author: i % 3 + 1, title: `post ${i}`, score: String(i / 4), live: i % 2 === 0 })));
const nested = await db.query.users.findMany({ where: eq(users.name, 'Ada'), with: { posts: { limit: 2, orderBy: desc(posts.id), columns: { title: true } } } });
assert.deepEqual(nested[0].posts, [{ title: 'post 27' }, { title: 'post 24' }]);
const post = await db.query.posts.findFirst({ with: { writer: true }, orderBy: asc(posts.id) });
assert.equal(post.writer.name, 'Ada');
const totals = await db.select({ name: users.name, n: count(), total: sum(posts.score) }).from(users).leftJoin(posts, eq(posts.author, users.id))
  .where(gt(posts.score, '1')).groupBy(users.name).having(gt(count(), 1)).orderBy(users.name);
assert.deepEqual(totals, [{ name: 'Ada', n: 8, total: '33.00' }, { name: 'Bob', n: 8, total: '35.00' }, { name: 'Cy', n: 9, total: '38.25' }]);
const [upserted] = await db.insert(users).values({ name: 'Ada' }).onConflictDoUpdate({ target: users.name, set: { mood: 'sad' } }).returning();
assert.deepEqual([upserted.id, upserted.mood], [1, 'sad']);
await db.insert(likes).values([{ user: 1, post: 2 }, { user: 1, post: 2 }]).onConflictDoNothing();
assert.equal(await db.$count(likes), 1);
await assert.rejects(db.transaction(async tx => {
  await tx.update(posts).set({ score: sql`${posts.score} * 2` }).where(inArray(posts.id, [1, 2]));
  await tx.transaction(async inner => { await inner.delete(likes); inner.rollback(); }).catch(() => {});
  assert.equal(await tx.$count(likes), 1);
  await tx.insert(posts).values({ author: 99, title: 'nobody' });
}), e => (e.cause ?? e).code === '23503');
const prepared = db.select().from(posts).where(and(eq(posts.author, sql.placeholder('a')), posts.live)).prepare('by_author');
for (let i = 0; i < 8; i++) assert.equal((await prepared.execute({ a: i % 3 + 1 })).length, 5);
const busy = db.$with('busy').as(db.select({ author: posts.author, n: count().as('n') }).from(posts).groupBy(posts.author));
assert.equal((await db.with(busy).select().from(busy).where(gt(busy.n, 5))).length, 3);
await db.delete(users).where(eq(users.id, 3));
assert.equal(await db.$count(posts), 20);
await db.execute(sql`DROP SCHEMA drizzled CASCADE`);
await db.execute(sql`DROP SCHEMA drizzle CASCADE`);
await pool.end();
console.log('drizzle: ok');
