import { expect, test } from "vitest";
import { connectionHint, withHint } from "./connections.ts";
import { MillraceError } from "./errors.ts";

const away = (code: "database_unavailable" | "redis_unreachable", cause: unknown) =>
  new MillraceError(code, "Cannot reach it", { cause });

test("the hint names the variable of the server that is away, and goes by the cause", () => {
  const refused = Object.assign(new Error(""), { code: "ECONNREFUSED" });
  const ofBoth = new AggregateError([refused], "");
  expect(connectionHint(away("database_unavailable", ofBoth))).toContain("port in DATABASE_URL");
  expect(connectionHint(away("redis_unreachable", refused))).toContain("port in REDIS_URL");
  expect(connectionHint(away("redis_unreachable", new Error("odd")))).toBe(
    "Check REDIS_URL, and that the server runs there",
  );
});

test("a password that the Sentinels refuse is told from one that Redis refuses", () => {
  const ofRedis = new Error("WRONGPASS invalid username-password pair or user is disabled.");
  const ofSentinels = new Error(
    `All sentinels are unreachable and retry is disabled. Last error: ${ofRedis.message}`,
  );
  const hintOf = (cause: Error) => connectionHint(away("redis_unreachable", cause));
  expect(hintOf(ofSentinels)).toBe("Check sentinelUsername and sentinelPassword in REDIS_URL");
  expect(hintOf(ofRedis)).toBe("Check the user and password in REDIS_URL");
});

test.each([
  ["closes", new Error("Connection is closed.")],
  ["resets", Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" })],
])("a Redis that %s connections may want TLS; Postgres says so itself", (_verb, cause) => {
  expect(connectionHint(away("redis_unreachable", cause))).toContain("begin REDIS_URL with rediss");
  expect(connectionHint(away("database_unavailable", cause))).not.toContain("rediss");
});

test("an error that says itself what to do, or is of something else, gets none", () => {
  const unset = new MillraceError("database_unreachable", "DATABASE_URL is not set");
  const other = new MillraceError("internal", "password");
  for (const error of [unset, other, new Error("password")]) {
    expect(connectionHint(error)).toBeUndefined();
    expect(withHint(error)).toBe(error);
  }
});
