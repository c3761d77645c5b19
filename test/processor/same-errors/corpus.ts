import { sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import type pg from "pg";
import { z } from "zod";

// Errors as handlers really throw them: each kind is provoked several times, with other values.

/** What kinds are provoked with. */
export interface Provoked {
  readonly pool: pg.Pool;
  /** Answers with the status of its path: `/503`. */
  readonly http: string;
}

/** One kind of error: it throws, with other values each time. */
export type Kind = (n: number, on: Provoked) => unknown;

/** Values that differ from one event to the next. */
const VALUES = [
  {
    id: "ord_8aF3kd92LmQ1",
    uuid: "3f2b8c1e-9a4d-4e57-8b1c-2d9e6f7a8b90",
    n: 7,
    word: "EUR",
    when: "2026-01-31T12:00:00.123Z",
    email: "kim@example.com",
  },
  {
    id: "ord_Zz19QpL0aa7X",
    uuid: "a1b2c3d4-e5f6-4a7b-8c9d-0e1f2a3b4c5d",
    n: 1_250,
    word: "chf",
    when: "2026-11-02T23:59:59Z",
    email: "a.b+c@mail.test.org",
  },
  {
    id: "ord_00112233aabb",
    uuid: "00000000-1111-4222-8333-444455556666",
    n: 98_765_432,
    word: "Rappen",
    when: "2025-06-15T08:30:00+02:00",
    email: "orders@shop.io",
  },
] as const;
const of = (n: number) => VALUES[n % VALUES.length] ?? VALUES[0];

class OutOfStockError extends Error {
  override name = "OutOfStockError";
}
class PaymentDeclined extends Error {}
class UpstreamError extends Error {
  override name = "UpstreamError";
}

/** Makes the tables that the kinds of Postgres break. */
export async function prepare(pool: pg.Pool): Promise<void> {
  await pool.query(`
    create table corpus_customers (id text primary key, email text unique, age int check (age >= 0));
    create table corpus_orders (id text primary key, total int not null, customer text references corpus_customers);
    create type corpus_status as enum ('open', 'paid');
    create table corpus_typed (status corpus_status, short varchar(4), day date, amount numeric(6, 2), small smallint);
    create function corpus_raise(what text) returns void language plpgsql as $$ begin raise exception 'order % is locked', what; end $$;
    insert into corpus_customers select email, email from unnest(array['${VALUES.map(({ email }) => email).join("','")}']) email;
    insert into corpus_orders select id, 1 from unnest(array['${VALUES.map(({ id }) => id).join("','")}']) id`);
}

export async function openHttp(): Promise<{ url: string; close: () => void }> {
  const server = createServer((request, response) => {
    response.statusCode = Number(request.url?.slice(1, 4)) || 200;
    if (request.url?.startsWith("/reset") === true) request.socket.destroy();
    else response.end("<html>Bad gateway</html>");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, close: () => void server.close() };
}

type Value = keyof (typeof VALUES)[number] | ((n: number) => unknown);

/** Runs a query with values of {@link VALUES}, by their names. */
const query =
  (text: string, ...values: Value[]): Kind =>
  async (n, { pool }) =>
    await pool.query(
      text,
      values.map((value) => (typeof value === "string" ? of(n)[value] : value(n))),
    );

/** Throws what is made of values that differ from one event to the next. */
const thrown =
  (make: (values: (typeof VALUES)[number], n: number) => unknown): Kind =>
  (n) => {
    throw make(of(n), n);
  };

/** Asks a server that answers with a status, and throws about it. */
const answered =
  (status: number, text: (status: number, url: string, n: number) => string): Kind =>
  async (n, { http }) => {
    const url = `${http}/${status}/${of(n).id}`;
    throw new UpstreamError(text((await fetch(url)).status, url, of(n).n));
  };
const refused = (status: number, url: string) => `POST ${url} answered with status ${status}`;
const throttled = (status: number, url: string, n: number) =>
  `HTTP ${status} from ${url}: retry in ${n} s`;

/** Looked at while the masks were written. */
export const KNOWN: Readonly<Record<string, Kind>> = {
  "pg: duplicate order": query("insert into corpus_orders values ($1, 1)", "id"),
  "pg: duplicate email": query("insert into corpus_customers values ($1, $2)", "uuid", "email"),
  "pg: unknown customer": query("insert into corpus_orders values ($1, 1, $2)", "uuid", "id"),
  "pg: total is null": query("insert into corpus_orders values ($1, null)", "uuid"),
  "pg: no such table": query("select * from corpus_nothing where id = $1", "id"),
  "pg: no such status": query("insert into corpus_typed (status) values ($1)", "word"),
  "pg: statement timeout": async (n, { pool }) => {
    const client = await pool.connect();
    try {
      await client.query("begin; set local statement_timeout = 20");
      await client.query(`select pg_sleep(1), ${of(n).n}`);
    } finally {
      await client.query("rollback");
      client.release();
    }
  },
  "drizzle: no such column": async (n, { pool }) =>
    await drizzle({ client: pool }).execute(
      sql`select weight from corpus_orders where id = ${of(n).id}`,
    ),
  "fetch: refused": async (n) =>
    await fetch(`http://127.0.0.1:${[2, 3, 4][n % 3]}/orders/${of(n).id}`),
  "fetch: no such host": async (n) => await fetch(`http://api-${n}.shipper.invalid/${of(n).uuid}`),
  "http: 503": answered(503, refused),
  "http: 404": answered(404, refused),
  "json: html": (n) => JSON.parse(`<html><body>${of(n).id}`),
  "json: cut": (n) => JSON.parse(`{"id":"${of(n).id}","total":`),
  "zod: email": (n) => z.object({ email: z.email() }).parse({ email: of(n).word }),
  "zod: total": (n) => z.object({ total: z.number().max(5) }).parse({ total: of(n).n }),
  "type: no customer": (n) =>
    (({ id: of(n).id }) as unknown as { customer: { name: string } }).customer.name,
  "type: no amount": (n) =>
    (({ id: of(n).id }) as unknown as { charge: { amount: string } }).charge.amount,
  "type: no function": (n) =>
    (({ items: of(n).n }) as unknown as { items: unknown[] }).items.map(String),
  "own: not found": thrown((v) => new Error(`Order ${v.id} not found`)),
  "own: customer not found": thrown((v) => new Error(`Customer ${v.email} not found`)),
  "own: out of stock": thrown(
    (v, n) => new OutOfStockError(`Only ${n} of ${v.id} left, ${v.n} wanted`),
  ),
  "own: declined": thrown(
    (v) =>
      new PaymentDeclined(`Payment of ${v.n}.50 was declined at ${v.when}: insufficient funds`),
  ),
  "own: expired card": thrown(
    (v) => new PaymentDeclined(`Payment of ${v.n}.50 was declined at ${v.when}: expired card`),
  ),
  "own: with cause": thrown(
    (v) =>
      new Error(`Cannot ship ${v.uuid}`, {
        cause: new UpstreamError(`carrier ${v.n} is closed`),
      }),
  ),
  "own: other cause": thrown(
    (v) =>
      new Error(`Cannot ship ${v.uuid}`, {
        cause: new UpstreamError(`label ${v.n} is invalid`),
      }),
  ),
  "fs: no file": async (n) => await readFile(`/nowhere/${of(n).id}/invoice.pdf`),
  "string thrown": thrown(({ n }) => `rate limit of ${n} exceeded`),
  "url: invalid": (n) => new URL(of(n).word),
  "range: precision": (n) => (1).toFixed(of(n).n + 200),
};

/** Held back until the masks were done. */
export const HELD: Readonly<Record<string, Kind>> = {
  "pg: negative age": query(
    "insert into corpus_customers values ($1, null, $2)",
    "uuid",
    (n: number) => -of(n).n,
  ),
  "pg: text too long": query("insert into corpus_typed (short) values ($1)", "uuid"),
  "pg: no date": query("insert into corpus_typed (day) values ($1)", "word"),
  "pg: numeric overflow": query(
    "insert into corpus_typed (amount) values ($1)",
    (n) => of(n).n + 100_000,
  ),
  "pg: smallint out of range": query(
    "insert into corpus_typed (small) values ($1)",
    (n) => of(n).n + 40_000,
  ),
  "pg: no such column": query("select nothing from corpus_orders where id = $1", "id"),
  "pg: no such function": query("select corpus_none($1::text)", "id"),
  "pg: raised": query("select corpus_raise($1)", "id"),
  "pg: division": query("select $1::int / 0", (n) => of(n).n % 1_000),
  "pg: syntax": query("selct 1"),
  "pg: invalid json": query("select $1::jsonb", (n: number) => `{"id": ${of(n).word}`),
  "pg: invalid uuid": query("select $1::uuid", "id"),
  "pg: lock not available": async (n, { pool }) => {
    const [holder, other] = [await pool.connect(), await pool.connect()];
    try {
      await holder.query("begin; lock table corpus_typed");
      await other.query(`lock table corpus_typed nowait -- ${of(n).id}`);
    } finally {
      await holder.query("rollback");
      holder.release();
      other.release();
    }
  },
  "drizzle: total is null": async (n, { pool }) =>
    await drizzle({ client: pool }).execute(
      sql`insert into corpus_orders values (${of(n).uuid}, null)`,
    ),
  "drizzle: invalid number": async (n, { pool }) =>
    await drizzle({ client: pool }).execute(sql`select ${of(n).id}::int`),
  "fetch: reset": async (n, { http }) => await fetch(`${http}/reset/${of(n).id}`),
  "fetch: timeout": async (n, { http }) => {
    const signal = AbortSignal.abort(new DOMException("The operation timed out", "TimeoutError"));
    await fetch(`${http}/200/${of(n).id}`, { signal });
  },
  "http: 429": answered(429, throttled),
  "http: 500": answered(500, throttled),
  "json: answer is html": async (n, { http }) =>
    await (await fetch(`${http}/200/${of(n).id}`)).json(),
  "zod: missing": (n) =>
    z.object({ order: z.object({ id: z.string() }) }).parse({ order: { total: of(n).n } }),
  "zod: enum": (n) => z.object({ currency: z.enum(["USD"]) }).parse({ currency: of(n).word }),
  "type: null": (n) =>
    (JSON.parse(`{"n":${of(n).n},"address":null}`) as { address: { city: string } }).address.city,
  "type: iterable": (n) => [...(of(n).n as unknown as unknown[])],
  "own: locked": thrown(
    (v) => new OutOfStockError(`Warehouse 'W-${v.n}' is locked by ${v.email} since ${v.when}`),
  ),
  "own: json in text": thrown(
    (v) =>
      new Error(`Refused by the carrier: ${JSON.stringify({ id: v.id, weight: v.n, at: v.when })}`),
  ),
  "own: ip": thrown(
    (v, n) => new Error(`No answer from 10.0.${n}.${v.n % 250}:8443 after ${v.n} ms`),
  ),
  "own: hex": thrown((v) => new Error(`Checksum ${v.uuid.replaceAll("-", "")} does not match`)),
  "own: list": thrown(
    (_, n) =>
      new Error(
        `Unknown items: ${VALUES.slice(0, n + 1)
          .map(({ id }) => id)
          .join(", ")}`,
      ),
  ),
  "own: status changed": thrown(
    (v) => new Error(`Order #${v.n} cannot go from "${v.word}" to "paid"`),
  ),
};
