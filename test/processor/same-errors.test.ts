import assert from "node:assert";
import { readFile } from "node:fs/promises";
import { identifyError } from "@millrace/core";
import { sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import { beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { describeError } from "../../packages/processor/src/errors/describe-error.ts";
import { useLedger } from "../support/ledger-fixture.ts";

// Errors of one kind must be one group, and those of another kind another: of all pairs that are in one
// group, how many belong there (precision), and of all that belong there, how many are (recall).

const VALUES = [
  {
    ...{ id: "ord_8aF3kd92LmQ1", uuid: "3f2b8c1e-9a4d-4e57-8b1c-2d9e6f7a8b90", n: 7 },
    ...{ word: "EUR", when: "2026-01-31T12:00:00.123Z", email: "kim@example.com" },
    ...{ ref: "cus_NffrFeUfNV2Hib", short: "ch_3", sku: "TS-RED-XL-2", sha: "3f2a91c" },
    ...{ host: "127.0.0.1:6381", iban: "DE89370400440532013000", person: "Ana María Ruiz" },
  },
  {
    ...{ id: "ord_Zz19QpL0aa7X", uuid: "a1b2c3d4-e5f6-4a7b-8c9d-0e1f2a3b4c5d", n: 1_250 },
    ...{ word: "chf", when: "2026-11-02T23:59:59Z", email: "a.b+c@mail.test.org" },
    ...{ ref: "cus_9s6XKzkNRiz8i3", short: "py_1a", sku: "MUG-0451", sha: "0be5d1a" },
    ...{ host: "10.1.2.3:7000", iban: "GB29NWBK60161331926819", person: "Li Wei" },
  },
  {
    ...{ id: "ord_00112233aabb", uuid: "00000000-1111-4222-8333-444455556666", n: 98_765_432 },
    ...{ word: "Rappen", when: "2025-06-15T08:30:00+02:00", email: "orders@shop.io" },
    ...{ ref: "cus_QwErTyUiOpAsDf", short: "ch_1x", sku: "A1-99-B", sha: "9c4e77f2" },
    ...{ host: "redis-2.cache.internal:6379", iban: "FR1420041010050500013M02606" },
    ...{ person: "Zoë O'Neil" },
  },
] as const;
type Values = (typeof VALUES)[number];

type Kind = (values: Values, n: number) => unknown;

const it = useLedger();
beforeAll(async () => {
  await it.pool.query(`
    create table corpus_customers (id text primary key, email text unique);
    create table corpus_orders (id text primary key, total int not null);
    create type corpus_status as enum ('open', 'paid');
    create function corpus_raise(what text) returns void language plpgsql as
      $$ begin raise exception 'order % is locked', what; end $$;
    insert into corpus_customers select email, email
      from unnest(array['${VALUES.map(({ email }) => email).join("','")}']) email;
    insert into corpus_orders select id, 1
      from unnest(array['${VALUES.map(({ id }) => id).join("','")}']) id`);
});

const query =
  (text: string, ...names: readonly (keyof Values)[]): Kind =>
  (values) =>
    it.pool.query(
      text,
      names.map((name) => values[name]),
    );
const thrown =
  (text: (values: Values, n: number) => string, name = "Error", cause?: Kind): Kind =>
  (values, n) => {
    const options = cause === undefined ? {} : { cause: cause(values, n) };
    throw Object.assign(new Error(text(values, n), options), { name });
  };
const jsonOf = (v: Values, code: string) =>
  JSON.stringify({ error: { code, request_id: v.id, weight: v.n, at: v.when } });
const ITEMS = z.object({
  items: z.array(z.object({ price: z.number(), quantity: z.number().int() })),
});
const itemsWith = (n: number, bad: object) => ({
  items: Array.from({ length: n + 2 }, (_, at) => ({
    ...{ price: 1, quantity: 1 },
    ...(at > n ? bad : {}),
  })),
});

type Shape = Record<"customer" | "charge", { name: string; amount: number }>;

const KINDS: Readonly<Record<string, Kind>> = {
  "pg: duplicate order": query("insert into corpus_orders values ($1, 1)", "id"),
  "pg: duplicate email": query("insert into corpus_customers values ($1, $2)", "uuid", "email"),
  "pg: total is null": query("insert into corpus_orders values ($1, null)", "uuid"),
  "pg: no such table": query("select * from corpus_nothing where id = $1", "id"),
  "pg: no such status": query("select $1::corpus_status", "word"),
  "pg: invalid uuid": query("select $1::uuid", "id"),
  "pg: invalid bytes": (_, n) =>
    it.pool.query("select convert_from(decode($1, 'hex'), 'UTF8')", [["ff", "c328", "e28028"][n]]),
  "pg: raised": query("select corpus_raise($1)", "id"),
  "drizzle: no such column": ({ id }) =>
    drizzle({ client: it.pool }).execute(sql`select weight from corpus_orders where id = ${id}`),
  "drizzle: invalid number": ({ id }) =>
    drizzle({ client: it.pool }).execute(sql`select ${id}::int`),
  "fetch: refused": ({ id }, n) => fetch(`http://127.0.0.1:${n + 2}/orders/${id}`),
  "fetch: no such host": ({ uuid }, n) => fetch(`http://api-${n}.shipper.invalid/${uuid}`),
  "fetch: aborted": ({ sku }) =>
    fetch("http://127.0.0.1:9", { signal: AbortSignal.abort() }).catch((cause: unknown) => {
      throw new Error(`Shipment ${sku} was not sent`, { cause });
    }),
  "http: 503": thrown((v) => `HTTP 503 from https://api.shop.io/v1/${v.id}: retry in ${v.n} s`),
  "http: 404": thrown((v) => `HTTP 404 from https://api.shop.io/v1/${v.id}: retry in ${v.n} s`),
  "axios: 404": thrown(() => "Request failed with status code 404", "AxiosError"),
  "axios: 502": thrown(() => "Request failed with status code 502", "AxiosError"),
  "axios: timeout": thrown((v) => `timeout of ${v.n}ms exceeded`, "AxiosError"),
  "json: html": ({ id }) => JSON.parse(`<html><body>${id}`),
  "json: cut": ({ id }) => JSON.parse(`{"id":"${id}","total":`),
  "zod: email": ({ word }) => z.object({ email: z.email() }).parse({ email: word }),
  "zod: total": ({ n }) => z.object({ total: z.number().max(5) }).parse({ total: n }),
  "zod: price of an item": ({ word }, n) => ITEMS.parse(itemsWith(n, { price: word })),
  "zod: quantity of an item": ({ word }, n) => ITEMS.parse(itemsWith(n, { quantity: word })),
  "type: no customer": ({ id }) => (({ customer: undefined, id }) as never as Shape).customer.name,
  "type: no amount": ({ id }) => (({ charge: undefined, id }) as never as Shape).charge.amount,
  "type: no function": ({ n }) => (n as never as unknown[]).map(String),
  "node: bigint": (_, n) => BigInt(["12.50", "abc", "1_000"][n] ?? ""),
  "node: currency": (_, n) =>
    new Intl.NumberFormat("en", { style: "currency", currency: ["EURO", "Fr", "$$"][n] }),
  "node: assertion": ({ n }) => assert.strictEqual(n, 0, "no rows were expected"),
  "fs: no file": ({ id }) => readFile(`/nowhere/${id}/invoice.pdf`),
  "own: not found": thrown((v) => `Order ${v.id} not found`),
  "own: customer not found": thrown((v) => `Customer ${v.email} not found`),
  "own: declined": thrown((v) => `Payment of ${v.n}.50 was declined at ${v.when}: no funds`),
  "own: expired card": thrown((v) => `Payment of ${v.n}.50 was declined at ${v.when}: card`),
  "own: with cause": thrown(
    (v) => `Cannot ship ${v.uuid}`,
    "Error",
    (v) => new TypeError(`carrier ${v.n} is closed`),
  ),
  "own: other cause": thrown(
    (v) => `Cannot ship ${v.uuid}`,
    "Error",
    (v) => new TypeError(`label ${v.n} is invalid`),
  ),
  "own: upstream json": thrown((v) => `Carrier answered ${jsonOf(v, "label_rejected")}`),
  "own: other upstream json": thrown((v) => `Carrier answered ${jsonOf(v, "address_unknown")}`),
  "own: list": thrown(
    (_, n) =>
      `Unknown items: ${VALUES.slice(0, n + 1)
        .map(({ id }) => id)
        .join(", ")}`,
  ),
  "own: status changed": thrown((v) => `Order #${v.n} cannot go from "${v.word}" to "paid"`),
  "own: person": thrown((v) => `Customer "${v.person}" ordered ${v.n} of SKU ${v.sku}`),
  "own: account": thrown((v) => `Transfer to ${v.iban} of ${v.n} EUR was rejected by the bank`),
  "own: build": thrown((v) => `Event ${v.id} was made by build ${v.sha}, which is too old`),
  "redis: moved": thrown((v) => `MOVED ${v.n} ${v.host}`, "ReplyError"),
  "prisma: unique": thrown(
    (v) =>
      `\nInvalid \`prisma.order.create()\` invocation in\n/srv/app/src/orders.ts:${v.n}:22\n\nUnique constraint failed on the fields: (\`email\`)`,
  ),
  "stripe: no such customer": thrown((v) => `No such customer: '${v.ref}'`),
  "stripe: no such charge": thrown((v) => `No such charge: ${v.short}`),
  "string thrown": ({ n }) => {
    // oxlint-disable-next-line no-throw-literal, only-throw-error -- handlers do
    throw `rate limit of ${n} exceeded`;
  },
};

test("The kinds of errors are told apart, and no kind is split", async () => {
  const seen: { kind: string; fingerprint: string; title: string }[] = [];
  for (const [kind, provoke] of Object.entries(KINDS)) {
    for (const [n, values] of VALUES.entries()) {
      seen.push({ kind, ...(await identify(provoke, values, n)) });
    }
  }
  const pairs = seen.flatMap((one, index) =>
    seen.slice(index + 1).map((other) => [one, other] as const),
  );
  const same = pairs.filter(([one, other]) => one.fingerprint === other.fingerprint);
  const belong = pairs.filter(([one, other]) => one.kind === other.kind);
  const right = same.filter(([one, other]) => one.kind === other.kind).length;
  const wrong = pairs
    .filter(([one, other]) => (one.fingerprint === other.fingerprint) !== (one.kind === other.kind))
    .map(([one, other]) => `${one.kind}: ${one.title} | ${other.kind}: ${other.title}`)
    .join("\n");
  expect(right / same.length, wrong).toBe(1);
  expect(right / belong.length, wrong).toBeGreaterThanOrEqual(0.95);
});

async function identify(provoke: Kind, values: Values, n: number) {
  try {
    await provoke(values, n);
  } catch (error) {
    return identifyError({ code: "handler_failed", text: describeError(error) });
  }
  throw new Error(`Nothing was thrown by ${provoke.toString()}, ${n}`);
}
