import { expect, test, vi } from "vitest";
import { readEnvironment, secretVariable } from "./environment.ts";

test("nothing set gives the documented defaults", () => {
  expect(readEnvironment({})).toMatchObject({
    INGRESS_PORT: 3000,
    DASHBOARD_PORT: 3001,
    WORKER_PORT: 3002,
    MILLRACE_DATA_DIR: ".millrace",
    LOG_LEVEL: "info",
  });
});

test("an empty variable counts as unset", () => {
  expect(readEnvironment({ DATABASE_URL: "", INGRESS_PORT: "" })).toMatchObject({
    INGRESS_PORT: 3000,
  });
});

test("every wrong variable is named at once, and a URL's password is not", () => {
  const read = () =>
    readEnvironment({
      DATABASE_URL: "mysql://u:hunter2@h/db",
      REDIS_URL: "h:6379",
      INGRESS_PORT: "x",
    });
  expect(read).toThrow(/DATABASE_URL[\s\S]*REDIS_URL[\s\S]*INGRESS_PORT/);
  expect(read).toThrow(
    expect.not.objectContaining({ message: expect.stringContaining("hunter2") }),
  );
});

test("a source's variable is its name in capitals", () => {
  expect(secretVariable("hook-mesh")).toBe("HOOK_MESH_WEBHOOK_SECRET");
});

test.each([
  [{ INGRESS_PORT: "1.5" }, "INGRESS_PORT: must be a whole number, 0 to 65535"],
  [{ WORKER_PORT: "65536" }, "WORKER_PORT: must be a whole number, 0 to 65535"],
  [{ MILLRACE_QUEUE_KEY: "change-me" }, "MILLRACE_QUEUE_KEY: each key must be 32 bytes"],
  [{ LOG_LEVEL: "loud" }, "LOG_LEVEL: must be one of trace, debug, info, warn"],
  [{ REDIS_URL: "redis://h:99999" }, "REDIS_URL: has a port that is not 1 to 65535"],
  [
    { REDIS_URL: "redis://h", REDIS_CA_FILE: "ca.pem" },
    "REDIS_CA_FILE: needs a REDIS_URL that begins with rediss://",
  ],
  [
    { REDIS_URL: "redis+sentinel://h1,h2/main", REDIS_CA_FILE: "ca.pem" },
    "REDIS_CA_FILE: needs a REDIS_URL that begins with rediss:// or rediss+sentinel://",
  ],
  [{ REDIS_URL: "redis+sentinel://:pa#ss@h1,h2/main" }, "REDIS_URL: must be a URL"],
  [{ REDIS_URL: "redis://h1:1,h2:2" }, "REDIS_URL: names several hosts"],
  [{ REDIS_CA_FILE: "ca.pem" }, "REDIS_CA_FILE: needs a REDIS_URL"],
  [
    { DATABASE_URL: "postgres://u:p@h/db", DATABASE_PASSWORD_COMMAND: "token" },
    "DATABASE_PASSWORD_COMMAND: needs a DATABASE_URL without a password",
  ],
  [
    { DATABASE_URL: "postgres://u@h/db", DATABASE_PASSWORD_COMMAND: "sh -c 'echo $TOKEN'" },
    "DATABASE_PASSWORD_COMMAND: runs without a shell",
  ],
  [{ TRUST_PROXY: "true" }, "TRUST_PROXY: must be a number of proxies"],
  [{ TRUST_PROXY: "11" }, "TRUST_PROXY: must be a number of proxies"],
  [{ TRUST_PROXY: "10.0.0.1, proxy.internal" }, "TRUST_PROXY: must be a number of proxies"],
  [{ TRUST_PROXY: "0.0.0.0/0" }, "TRUST_PROXY: must be a number of proxies"],
  [{ TRUST_PROXY: "10.0.0.1,::/0" }, "TRUST_PROXY: must be a number of proxies"],
  [{ DASHBOARD_TOKENS: "a-token-without-a-name" }, "DASHBOARD_TOKENS: must be name:token"],
  [{ DASHBOARD_VIEWER_TOKENS: "a b:token" }, "DASHBOARD_VIEWER_TOKENS: must be name:token"],
])("a wrong variable is told what it must be: %j", (env, message) => {
  expect(() => readEnvironment(env)).toThrow(message);
});

test.each([
  ["redis://h/abc", "has a database that is no number: write /0"],
  ["redis://h/1/2", "has a database that is no number"],
  ["unix:///run/redis.sock?db=x", "has a database that is no number"],
  ["redis+sentinel://h1,h2/main?db=x", "has a database that is no number"],
  ["redis+sentinel://h1,h2", "names no primary"],
  ["redis://h?family=5", "has another family than 0, 4, 6"],
  ["rediss://h?sslmode=off", "has another sslmode than verify-full, no-verify"],
  ["redis://h?sslmode=no-verify", "has an sslmode, which needs rediss://"],
  ["redis://:100%@h", "must be a URL; in its user and password"],
  ["unix://u:p@/run/redis.sock", "must begin with"],
])("a URL of Redis is told by its wrong part: %s", (REDIS_URL, why) => {
  expect(() => readEnvironment({ REDIS_URL })).toThrow(`REDIS_URL: ${why}`);
});

test.each([
  ["postgres://u:pa#ss@h/db", "must be a URL"],
  ["postgres://u:p@h1:5432,h2:5433/db", "names several hosts: name one"],
  ["postgres://h1,h2/db?target_session_attrs=read-write", "names several hosts"],
  ["postgres:///db?host=h1,h2", "names several hosts"],
  ["postgres://u:p@h:54321234/db", "has a port that is not 1 to 65535"],
  ["postgres:///db?host=h&port=x", "has a port that is not 1 to 65535"],
  ["postgres://h/db?sslmode=required", "has another sslmode than disable, allow, prefer"],
  ["postgres://h/db?ssl=yes", "has another ssl than true, 1, 0, no-verify"],
  ["postgres://h/db?sslnegotiation=tls", "has another sslnegotiation than postgres, direct"],
  ["postgres://h/db?sslnegotiation=direct&sslmode=disable", "has sslmode=disable, and"],
])("a URL of Postgres is told by its wrong part: %s", (DATABASE_URL, why) => {
  expect(() => readEnvironment({ DATABASE_URL })).toThrow(`DATABASE_URL: ${why}`);
});

test.each(["0", "1", "10", "10.0.0.1", "10.0.0.0/8, 2001:db8::/32,::1"])(
  "TRUST_PROXY may be %j",
  (TRUST_PROXY) => {
    expect(readEnvironment({ TRUST_PROXY })).toMatchObject({ TRUST_PROXY });
  },
);

test("a private CA becomes a part of Redis' URL, as it is in one of Postgres", () => {
  const read = (url: string) =>
    readEnvironment({ REDIS_URL: url, REDIS_CA_FILE: "/etc/a ca&.pem" }).REDIS_URL;
  const ca = "sslrootcert=%2Fetc%2Fa%20ca%26.pem";
  expect(read("rediss://:p%23w@h:6380/1")).toBe(`rediss://:p%23w@h:6380/1?${ca}`);
  expect(read("rediss://h?family=6")).toBe(`rediss://h?family=6&${ca}`);
  expect(read("rediss+sentinel://h1:1,h2/main")).toBe(`rediss+sentinel://h1:1,h2/main?${ca}`);
});

test("a command for the password goes to the URLs that have none, once", () => {
  const DATABASE_PASSWORD_COMMAND = "print-token --user app";
  const first = readEnvironment({
    ...{ DATABASE_URL: "postgres://u@h/db?sslmode=require", DATABASE_PASSWORD_COMMAND },
    RETENTION_DATABASE_URL: "postgres://r:p@h/db",
  });
  const DATABASE_URL =
    "postgres://u@h/db?sslmode=require&password_command=print-token%20--user%20app";
  expect(first).toMatchObject({ DATABASE_URL, RETENTION_DATABASE_URL: "postgres://r:p@h/db" });
  // A process that `start` starts gets both.
  const again = { DATABASE_URL, DATABASE_PASSWORD_COMMAND };
  expect(readEnvironment(again)).toMatchObject({ DATABASE_URL });
});

test("a URL of several Sentinels is taken", () => {
  const REDIS_URL = "redis+sentinel://user:p%23w@10.0.0.1:26379,[::1]:26380,h3/main?db=2";
  expect(readEnvironment({ REDIS_URL })).toMatchObject({ REDIS_URL });
});

test("URLs of sockets, with parameters and with encoded passwords are taken", () => {
  for (const DATABASE_URL of [
    "postgres:///app?host=/run/postgresql",
    "postgresql://%2Frun%2Fpostgresql/app",
    "postgres://u:p%23a@h:5433/app?sslmode=require",
  ]) {
    expect(readEnvironment({ DATABASE_URL })).toMatchObject({ DATABASE_URL });
  }
});

test("PORT is the port of a role without one of its own, and quotes around a value are left out", () => {
  const warn = vi.spyOn(process, "emitWarning").mockReturnValue();
  const env = { PORT: "8080", WORKER_PORT: "9000", DATABASE_URL: '"postgres://h/db"' };
  expect(readEnvironment(env)).toMatchObject({
    ...{ INGRESS_PORT: 8080, DASHBOARD_PORT: 8080, WORKER_PORT: 9000 },
    DATABASE_URL: "postgres://h/db",
  });
  expect(warn.mock.calls[0]?.[0]).toBe("DATABASE_URL is in quotes, which are left out");
});
