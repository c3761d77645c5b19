import { sql } from "drizzle-orm";
import { pgTable, text } from "drizzle-orm/pg-core";
import { defineConfig, internal, on, standardWebhooks, type HandlerParts } from "millrace";
import { createTestEnvironment } from "millrace/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { openForAll } from "../support/open-for.ts";

// oxlint-disable-next-line typescript/no-explicit-any -- mistakes that the compiler would refuse
type Slip = (event: any, context: any) => unknown;
const rows = pgTable("rows", { name: text() });
const row = { name: "a" };
const wrote = "put await before it";

const IN_WRITE: readonly [what: string, slip: Slip, says: string][] = [
  ["an insert", (_, { tx }) => void tx.insert(rows).values(row), wrote],
  ["an update", (_, { tx }) => void tx.update(rows).set(row), wrote],
  ["a delete", (_, { tx }) => void tx.delete(rows), wrote],
  ["an execute", (_, { tx }) => void tx.execute(sql`delete from rows`), wrote],
  ["an emit", (_, { emit }) => void emit("mail", "a", 1), wrote],
  [
    "a nested insert",
    (_, { tx }) => tx.transaction((own: typeof tx) => void own.insert(rows)),
    wrote,
  ],
  [
    "a nested transaction",
    (_, { tx }) => void tx.transaction(() => new Promise(() => {})),
    "nested",
  ],
  [
    "once",
    (_, { once }) => once("a", () => 1),
    "Cannot use once in write: it exists in call alone",
  ],
  [
    "no such table",
    (_, { tx }) => tx.query.rwos.findMany(),
    'no table "rwos" (did you mean "rows"?)',
  ],
  ["a source with a URL", (_, { emit }) => emit("shop", "a", 1), "not an internal source"],
  ["a misspelt source", (_, { emit }) => emit("mial", "a", 1), 'did you mean "mail"?'],
  ["an empty type", (_, { emit }) => emit("mail", "", 1), "its type is not 1 to 256 bytes"],
  ["no data", (_, { emit }) => emit("mail", "a"), "its data is not JSON"],
  ["an empty key", (_, { emit }) => emit("mail", "a", 1, { key: "" }), "its key is"],
  ["a delay", (_, { emit }) => emit("mail", "a", 1, { afterMs: "1s" }), "afterMs is 1s"],
  ["COMMIT", (_, { tx }) => tx.execute("commit"), "Cannot begin or end a transaction"],
  ["COPY", (_, { tx }) => tx.execute("copy rows to stdout"), "write rows with INSERT"],
  [
    "a swallowed error",
    (_, { tx }) => tx.execute("select 1/0").catch(() => {}),
    "division by zero",
  ],
  ["a returned error", () => new Error("no"), "Write throw in place of return"],
  ["an object", () => Promise.reject({ code: 42 }), "(no message; keys code)"], // oxlint-disable-line prefer-promise-reject-errors
  ["an event that is changed", (event) => (event.id = "b"), "read only property"],
  ["headers that are changed", (event) => (event.headers.a = "b"), "not extensible"],
];

const IN_CALL: typeof IN_WRITE = [
  ["a step", (_, { once }) => void once("a", () => 1), wrote],
  ["a step behind then", (_, { once }) => void once("a", () => 1).then(() => 2), wrote],
  ["tx", (_, { tx }) => tx.execute("select 1"), "Cannot use tx in call: it exists in write alone"],
  ["emit", (_, { emit }) => emit("mail", "a", 1), "Cannot use emit in call"],
  [
    "one name twice",
    async (_, { once }) => [await once("a", () => 1), await once("a", () => 1)],
    '"a:2"',
  ],
  ["no name", (_, { once }) => once("", () => 1), "its name must be text"],
  ["a function as result", (_, { once }) => once("a", () => () => 1), "its result is not JSON"],
  ["a BigInt as result", (_, { once }) => once("a", () => 1n), "its result is not JSON"],
  ["a returned error", () => new Error("no"), "Write throw in place of return"],
];

const bind = (part: keyof HandlerParts, list: typeof IN_WRITE) =>
  list.map(([what, slip]) => on("shop", `${part} ${what}`, { [part]: slip } as never));
const schema = z.object({ id: z.string(), lines: z.array(z.object({ n: z.number() })) });
const config = defineConfig({
  sources: { shop: standardWebhooks({ attempts: 1 }), mail: internal() },
  schema: { rows },
  handlers: [
    ...bind("write", IN_WRITE),
    ...bind("call", IN_CALL),
    on("shop", "mismatch", { schema, write: () => {} }),
  ],
});
const environment = openForAll(() => createTestEnvironment(config));
const failureOf = async (type: string, payload: object = {}) =>
  (await environment.deliver("shop", type, payload)).error?.message;

test.each(IN_WRITE)("in write: %s", async (what, _, says) => {
  expect(await failureOf(`write ${what}`)).toContain(says);
});
test.each(IN_CALL)("in call: %s", async (what, _, says) => {
  expect(await failureOf(`call ${what}`)).toContain(says);
});
test("a payload that does not match is told by paths and types, never by its values", async () => {
  const message = await failureOf("mismatch", { lines: [{ n: "4242" }, null] });
  expect(message).toContain(
    "at id (expected string, got nothing), lines[0].n (expected number, got string), lines[1] (expected object, got null)",
  );
  expect(message).not.toContain("4242");
});
