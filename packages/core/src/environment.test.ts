import { expect, test } from "vitest";
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
  [{ LOG_LEVEL: "loud" }, "LOG_LEVEL: must be one of trace, debug, info, warn"],
  [{ REDIS_URL: "redis://h:99999" }, "REDIS_URL: must be a URL"],
  [{ DATABASE_URL: "postgres://u:pa#ss@h/db" }, "DATABASE_URL: must be a URL"],
])("a wrong variable is told what it must be: %j", (env, message) => {
  expect(() => readEnvironment(env)).toThrow(message);
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
