import assert from "node:assert";
import { Buffer } from "node:buffer";
import { z } from "zod";
import type { Kind } from "./corpus.ts";

// Written when the masks had been finished for a while, by somebody else: other libraries, other forms of ids, and pairs
// of kinds that differ in little.

/** One of three values. */
const pick = <Value>(n: number, ...values: readonly [Value, Value, Value]): Value =>
  values[n % 3] ?? values[0];

const query =
  (text: string, ...values: readonly (readonly [unknown, unknown, unknown])[]): Kind =>
  async (n, { pool }) =>
    await pool.query(
      text,
      values.map((three) => pick(n, ...three)),
    );

const thrown =
  (make: (n: number) => Error): Kind =>
  (n) => {
    throw make(n);
  };

class AxiosError extends Error {
  override name = "AxiosError";
}
class StripeInvalidRequestError extends Error {}
class ReplyError extends Error {
  override name = "ReplyError";
}
class PrismaClientKnownRequestError extends Error {
  override name = "PrismaClientKnownRequestError";
}
class GraphQLError extends Error {
  override name = "GraphQLError";
}
class InsufficientStock extends Error {}

const ITEMS = z.object({
  items: z.array(z.object({ price: z.number(), quantity: z.number().int() })),
});
const item = (n: number, bad: object) => ({
  items: [
    ...Array.from({ length: pick(n, 1, 4, 12) }, () => ({ price: 1, quantity: 1 })),
    { price: 1, quantity: 1, ...bad },
  ],
});

export const UNSEEN: Readonly<Record<string, Kind>> = {
  "axios: 404": thrown(() => new AxiosError("Request failed with status code 404")),
  "axios: 502": thrown(() => new AxiosError("Request failed with status code 502")),
  "axios: timeout": thrown(
    (n) => new AxiosError(`timeout of ${pick(n, 1000, 5000, 30000)}ms exceeded`),
  ),
  "stripe: no such customer": thrown(
    (n) =>
      new StripeInvalidRequestError(
        `No such customer: '${pick(n, "cus_NffrFeUfNV2Hib", "cus_9s6XKzkNRiz8i3", "cus_QwErTyUiOpAsDf")}'`,
      ),
  ),
  "stripe: no such charge": thrown(
    (n) =>
      new StripeInvalidRequestError(
        `No such charge: '${pick(n, "ch_3MmlLrLkdIwHu7ix0snN0B15", "py_1abc", "ch_1NirD82eZvKYlo2CIvbtLWuY")}'`,
      ),
  ),
  "shopify: gid": thrown(
    (n) =>
      new GraphQLError(
        `Could not find order ${pick(n, "gid://shopify/Order/4501837", "gid://shopify/Order/99", "gid://shopify/Order/82000451")}`,
      ),
  ),
  "redis: wrong type": thrown(
    () => new ReplyError("WRONGTYPE Operation against a key holding the wrong kind of value"),
  ),
  "redis: moved": thrown(
    (n) =>
      new ReplyError(
        `MOVED ${pick(n, 3999, 12182, 866)} ${pick(n, "127.0.0.1:6381", "10.1.2.3:7000", "redis-2.cache.internal:6379")}`,
      ),
  ),
  "prisma: unique": thrown(
    (n) =>
      new PrismaClientKnownRequestError(
        `\nInvalid \`prisma.order.create()\` invocation in\n/srv/app/src/orders.ts:${pick(n, 12, 15, 140)}:22\n\nUnique constraint failed on the fields: (\`email\`)`,
      ),
  ),
  "prisma: not found": thrown(
    (n) =>
      new PrismaClientKnownRequestError(
        `\nInvalid \`prisma.order.update()\` invocation in\n/srv/app/src/orders.ts:${pick(n, 31, 36, 190)}:18\n\nAn operation failed because it depends on one or more records that were required but not found. Record to update not found.`,
      ),
  ),
  "zod: price of an item": (n) => ITEMS.parse(item(n, { price: pick(n, "9.50", "12", "n/a") })),
  "zod: quantity of an item": (n) =>
    ITEMS.parse(item(n, { quantity: pick(n, "two", "3 pcs", "zero") })),
  "pg: integer out of range": query("select $1::text::int", [
    "99999999999",
    "2147483648",
    "-8000000000",
  ]),
  "pg: invalid timestamp": query("select $1::timestamptz", [
    "next week",
    "in spring",
    "the day after",
  ]),
  "pg: invalid bytes": query("select convert_from(decode($1, 'hex'), 'UTF8')", [
    "ff",
    "c328",
    "e28028",
  ]),
  "pg: array": query("select $1::int[]", ["1,2", "x", "[3]"]),
  "pg: null in an order": query(
    "insert into corpus_orders (id, total) values ($1, $2)",
    [null, null, null],
    [1, 2, 3],
  ),
  "pg: no such enum value": query("select 'x' from corpus_typed where status = $1", [
    "Refunded",
    "cancelled",
    "paid ",
  ]),
  "node: aborted": async (n) => {
    await fetch("http://127.0.0.1:9", { signal: AbortSignal.abort() }).catch((error: unknown) => {
      throw new Error(`Shipment ${pick(n, "SHP-2291", "SHP-87", "SHP-100245")} was not sent`, {
        cause: error,
      });
    });
  },
  "node: out of range": (n) => Buffer.alloc(4).readUInt32BE(pick(n, 5, 17, 1024)),
  "node: bigint": (n) => BigInt(pick(n, "12.50", "abc", "1_000")),
  "node: currency": (n) =>
    new Intl.NumberFormat("en", { style: "currency", currency: pick(n, "EURO", "Fr", "$$") }),
  "node: date": (n) => new Date(pick(n, "nope", "n/a", "2025-99-99")).toISOString(),
  "node: assertion": (n) => assert.strictEqual(pick(n, 3, 19, 204), 0, "no rows were expected"),
  "type: no such line": (n) => {
    const order = JSON.parse(`{"number":${pick(n, 1, 3, 70)}}`) as { line: { sku: string } };
    return order.line.sku;
  },
  "own: person": thrown(
    (n) =>
      new InsufficientStock(
        `Customer "${pick(n, "Ana María Ruiz", "Li Wei", "Zoë O'Neil")}" ordered ${pick(n, 2, 14, 300)} of SKU ${pick(n, "TS-RED-XL-2", "MUG-0451", "A1-99-B")}`,
      ),
  ),
  "own: account": thrown(
    (n) =>
      new Error(
        `Transfer to ${pick(n, "DE89370400440532013000", "GB29NWBK60161331926819", "FR1420041010050500013M02606")} of ${pick(n, "1.250,00", "3,99", "12")} EUR was rejected by the bank`,
      ),
  ),
  "own: upstream json": thrown(
    (n) =>
      new Error(
        `Carrier answered {"error":{"code":"label_rejected","request_id":"${pick(n, "req_8fK2", "req_00aZ19", "req_Zq7")}","weight_grams":${pick(n, 120, 4400, 9)}}}`,
      ),
  ),
  "own: upstream json, other code": thrown(
    (n) =>
      new Error(
        `Carrier answered {"error":{"code":"address_unknown","request_id":"${pick(n, "req_8fK2", "req_00aZ19", "req_Zq7")}","weight_grams":${pick(n, 120, 4400, 9)}}}`,
      ),
  ),
  "own: ulid and sha": thrown(
    (n) =>
      new Error(
        `Event ${pick(n, "01J9ZQ6R8T2V4W6X8Y0Z1A2B3C", "01HZX3M5N7P9Q1R3S5T7V9W1X3", "01ARZ3NDEKTSV4RRFFQ69G5FAV")} was made by build ${pick(n, "3f2a91c", "0be5d1a", "9c4e77f2")}, which is too old`,
      ),
  ),
};
