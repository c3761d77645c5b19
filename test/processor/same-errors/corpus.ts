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

const query =
  (text: string, ...values: unknown[]): Kind =>
  async (n, { pool }) =>
    await pool.query(
      text,
      values.map((value) =>
        typeof value === "function" ? (value as (n: number) => unknown)(n) : value,
      ),
    );

/** Looked at while the masks were written. */
export const KNOWN: Readonly<Record<string, Kind>> = {
  "pg: duplicate order": query("insert into corpus_orders values ($1, 1)", (n: number) => of(n).id),
  "pg: duplicate email": query(
    "insert into corpus_customers values ($1, $2)",
    (n: number) => of(n).uuid,
    (n: number) => of(n).email,
  ),
  "pg: unknown customer": query(
    "insert into corpus_orders values ($1, 1, $2)",
    (n: number) => of(n).uuid,
    (n: number) => of(n).id,
  ),
  "pg: total is null": query(
    "insert into corpus_orders values ($1, null)",
    (n: number) => of(n).uuid,
  ),
  "pg: no such table": query("select * from corpus_nothing where id = $1", (n: number) => of(n).id),
  "pg: no such status": query(
    "insert into corpus_typed (status) values ($1)",
    (n: number) => of(n).word,
  ),
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
  "http: 503": async (n, { http }) => {
    const { status } = await fetch(`${http}/503/${of(n).id}`);
    throw new UpstreamError(`POST ${http}/503/${of(n).id} answered with status ${status}`);
  },
  "http: 404": async (n, { http }) => {
    const { status } = await fetch(`${http}/404/${of(n).id}`);
    throw new UpstreamError(`POST ${http}/404/${of(n).id} answered with status ${status}`);
  },
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
  "own: not found": (n) => {
    throw new Error(`Order ${of(n).id} not found`);
  },
  "own: customer not found": (n) => {
    throw new Error(`Customer ${of(n).email} not found`);
  },
  "own: out of stock": (n) => {
    throw new OutOfStockError(`Only ${n} of ${of(n).id} left, ${of(n).n} wanted`);
  },
  "own: declined": (n) => {
    throw new PaymentDeclined(
      `Payment of ${of(n).n}.50 was declined at ${of(n).when}: insufficient funds`,
    );
  },
  "own: expired card": (n) => {
    throw new PaymentDeclined(
      `Payment of ${of(n).n}.50 was declined at ${of(n).when}: expired card`,
    );
  },
  "own: with cause": (n) => {
    throw new Error(`Cannot ship ${of(n).uuid}`, {
      cause: new UpstreamError(`carrier ${of(n).n} is closed`),
    });
  },
  "own: other cause": (n) => {
    throw new Error(`Cannot ship ${of(n).uuid}`, {
      cause: new UpstreamError(`label ${of(n).n} is invalid`),
    });
  },
  "fs: no file": async (n) => await readFile(`/nowhere/${of(n).id}/invoice.pdf`),
  "string thrown": (n) => {
    // oxlint-disable-next-line no-throw-literal, only-throw-error
    throw `rate limit of ${of(n).n} exceeded`;
  },
  "url: invalid": (n) => new URL(of(n).word),
  "range: precision": (n) => (1).toFixed(of(n).n + 200),
};

/** Held back until the masks were done. */
export const HELD: Readonly<Record<string, Kind>> = {
  "pg: negative age": query(
    "insert into corpus_customers values ($1, null, $2)",
    (n: number) => of(n).uuid,
    (n: number) => -of(n).n,
  ),
  "pg: text too long": query(
    "insert into corpus_typed (short) values ($1)",
    (n: number) => of(n).uuid,
  ),
  "pg: no date": query("insert into corpus_typed (day) values ($1)", (n: number) => of(n).word),
  "pg: numeric overflow": query(
    "insert into corpus_typed (amount) values ($1)",
    (n: number) => of(n).n + 100_000,
  ),
  "pg: smallint out of range": query(
    "insert into corpus_typed (small) values ($1)",
    (n: number) => of(n).n + 40_000,
  ),
  "pg: no such column": query(
    "select nothing from corpus_orders where id = $1",
    (n: number) => of(n).id,
  ),
  "pg: no such function": query("select corpus_none($1::text)", (n: number) => of(n).id),
  "pg: raised": query("select corpus_raise($1)", (n: number) => of(n).id),
  "pg: division": query("select $1::int / 0", (n: number) => of(n).n % 1_000),
  "pg: syntax": query("selct 1"),
  "pg: invalid json": query("select $1::jsonb", (n: number) => `{"id": ${of(n).word}`),
  "pg: invalid uuid": query("select $1::uuid", (n: number) => of(n).id),
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
  "http: 429": async (n, { http }) => {
    const { status } = await fetch(`${http}/429/${of(n).id}`);
    throw new UpstreamError(`HTTP ${status} from ${http}/429/${of(n).id}: retry in ${of(n).n} s`);
  },
  "http: 500": async (n, { http }) => {
    const { status } = await fetch(`${http}/500/${of(n).id}`);
    throw new UpstreamError(`HTTP ${status} from ${http}/500/${of(n).id}: retry in ${of(n).n} s`);
  },
  "json: answer is html": async (n, { http }) =>
    await (await fetch(`${http}/200/${of(n).id}`)).json(),
  "zod: missing": (n) =>
    z.object({ order: z.object({ id: z.string() }) }).parse({ order: { total: of(n).n } }),
  "zod: enum": (n) => z.object({ currency: z.enum(["USD"]) }).parse({ currency: of(n).word }),
  "type: null": (n) =>
    (JSON.parse(`{"n":${of(n).n},"address":null}`) as { address: { city: string } }).address.city,
  "type: iterable": (n) => [...(of(n).n as unknown as unknown[])],
  "own: locked": (n) => {
    throw new OutOfStockError(
      `Warehouse 'W-${of(n).n}' is locked by ${of(n).email} since ${of(n).when}`,
    );
  },
  "own: json in text": (n) => {
    throw new Error(
      `Refused by the carrier: ${JSON.stringify({ id: of(n).id, weight: of(n).n, at: of(n).when })}`,
    );
  },
  "own: ip": (n) => {
    throw new Error(`No answer from 10.0.${n}.${of(n).n % 250}:8443 after ${of(n).n} ms`);
  },
  "own: hex": (n) => {
    throw new Error(`Checksum ${of(n).uuid.replaceAll("-", "")} does not match`);
  },
  "own: list": (n) => {
    throw new Error(
      `Unknown items: ${VALUES.slice(0, n + 1)
        .map(({ id }) => id)
        .join(", ")}`,
    );
  },
  "own: status changed": (n) => {
    throw new Error(`Order #${of(n).n} cannot go from "${of(n).word}" to "paid"`);
  },
};
