import { DrizzleQueryError } from "drizzle-orm/errors";
import pg from "pg";
import { expect, test } from "vitest";
import { describeError } from "./describe-error.ts";

test("an error is shown by its name and message, never by its stack", () => {
  expect(describeError(new TypeError("no such thing"))).toBe("TypeError: no such thing");
  class CardDeclined extends Error {}
  expect(describeError(new CardDeclined("insufficient funds"))).toBe(
    "CardDeclined: insufficient funds",
  );
});

test("causes follow the error", () => {
  const refused = new Error("connect ECONNREFUSED 127.0.0.1:1");
  expect(describeError(new TypeError("fetch failed", { cause: refused }))).toBe(
    "TypeError: fetch failed (cause: Error: connect ECONNREFUSED 127.0.0.1:1)",
  );
  const error = new Error("round");
  error.cause = error;
  expect(describeError(error)).toContain("round");
});

test("an aggregate without words is shown by its first error", () => {
  const error = new AggregateError([new Error("connect ECONNREFUSED ::1:1"), new Error("other")]);
  expect(describeError(error)).toBe("AggregateError: Error: connect ECONNREFUSED ::1:1");
});

test("a failed query shows Postgres's words and SQLSTATE, and neither query nor parameters", () => {
  const cause = new pg.DatabaseError(
    'duplicate key value violates unique constraint "users_pkey"',
    1,
    "error",
  );
  cause.code = "23505";
  cause.severity = "ERROR";
  cause.detail = "Key (email)=(ada@example.com) already exists.";
  const error = new DrizzleQueryError("insert into users values ($1)", ["ada@example.com"], cause);
  expect(describeError(error)).toBe(
    'DatabaseError: duplicate key value violates unique constraint "users_pkey" (SQLSTATE 23505)',
  );
  const wrapped = describeError(new Error(`cannot save: ${error.message}`, { cause: error }));
  expect(wrapped).toContain("cannot save: Failed query (cause: DatabaseError: duplicate key");
  expect(wrapped).not.toContain("ada@");
  expect(describeError(new DrizzleQueryError("select $1", ["canary"]))).not.toContain("canary");
});

test.each([
  [null, "null was thrown"],
  [undefined, "undefined was thrown"],
  [5n, "5 was thrown"],
  [Symbol("s"), "Symbol(s) was thrown"],
  ["out of stock", "out of stock"],
  ["", "An empty string was thrown"],
  [{ message: "plain" }, "Object: plain"],
  [{ secret: "canary", status: 503 }, "Object: (no message; status 503; keys secret, status)"],
  [Object.create(null), "Error: (no message)"],
])("%o can be thrown", (thrown, shown) => {
  expect(describeError(thrown)).toBe(shown);
});

test("what cannot be read is described all the same", () => {
  const getters = {
    get message(): string {
      throw new Error("no");
    },
    get name(): string {
      throw new Error("no");
    },
  };
  expect(describeError(getters)).toMatch(/^Object: \(no message; keys [a-z, ]+\)$/i);
  const trap = () => {
    throw new Error("no");
  };
  const hostile: unknown = new Proxy({}, { get: trap, has: trap, getPrototypeOf: trap });
  expect(describeError(hostile)).toBe("Error: (no message)");
});

test("a message of a megabyte is cut to 8 kB, and not in the middle of a letter", () => {
  const shown = describeError(new Error("é".repeat(500_000)));
  expect(Buffer.byteLength(shown)).toBeLessThanOrEqual(8_192);
  expect(Buffer.byteLength(shown)).toBeGreaterThan(8_000);
  expect(shown).not.toContain("\ufffd");
});

test("control characters do not reach a log, and half a surrogate pair does not reach Postgres", () => {
  expect(describeError("a\nlevel=error\u001b[31m\u0000b\u202ec")).toBe(
    "a level=error\\u001b[31m\\u0000b\\u202ec",
  );
  expect(describeError("a\ud800b")).toBe("a\ufffdb");
});
