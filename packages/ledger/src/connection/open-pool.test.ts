import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readEnvironment } from "@millrace/core";
import { afterAll, expect, test, vi } from "vitest";
import { openPool, PasswordCommand } from "./open-pool.ts";

const folder = mkdtempSync(join(tmpdir(), "millrace-pool-"));
const CA = join(folder, "global-bundle.pem");
writeFileSync(CA, "a certificate");
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The settings of a pool for `DATABASE_URL`, past the check of the environment. */
function optionsOf(DATABASE_URL: string, variables: Record<string, string> = {}) {
  const environment = readEnvironment({ DATABASE_URL, ...variables });
  const settings = { application_name: "ours", options: "-c x=y" };
  return openPool(environment.DATABASE_URL ?? "", settings).options;
}

test.each([
  [
    "Cloud SQL",
    "postgresql://u:p@/app?host=/cloudsql/proj:eu:main",
    { user: "u", password: "p", host: "/cloudsql/proj:eu:main", database: "app" },
  ],
  [
    "Cloud SQL, all of it parameters",
    "postgresql:///app?host=/cloudsql/proj:eu:main&user=u&password=p",
    { user: "u", password: "p", host: "/cloudsql/proj:eu:main", database: "app" },
  ],
  [
    "a socket in the host",
    "postgresql://u:p@%2Fcloudsql%2Fproj%3Aeu%3Amain/app",
    { host: "/cloudsql/proj:eu:main", database: "app" },
  ],
  [
    "Neon",
    "postgresql://u:p@ep-a-1-pooler.eu.aws.neon.tech/neondb?sslmode=require&channel_binding=require",
    { host: "ep-a-1-pooler.eu.aws.neon.tech", ssl: {}, database: "neondb" },
  ],
  [
    "Neon without SNI",
    "postgres://u:p@eu.aws.neon.tech/neondb?options=endpoint%3Dep-a-1",
    { options: "endpoint=ep-a-1 -c x=y", application_name: "ours" },
  ],
  [
    "Supabase",
    "postgresql://postgres.abc:p%40ss@aws-0-eu.pooler.supabase.com:6543/postgres",
    { user: "postgres.abc", password: "p@ss", port: 6543 },
  ],
  [
    "RDS",
    `postgres://u:p@app.abc.eu-west-1.rds.amazonaws.com:5432/app?sslmode=verify-full&sslrootcert=${CA}`,
    { ssl: { ca: "a certificate" } },
  ],
  [
    "Heroku",
    "postgres://u:p@ec2-1-2-3-4.aws.com:5432/d1?sslmode=no-verify",
    { ssl: { rejectUnauthorized: false } },
  ],
  [
    "Railway",
    "postgresql://postgres:p@postgres.railway.internal:5432/railway",
    { user: "postgres" },
  ],
  [
    "Render",
    "postgresql://u:100%@dpg-a-1-a.frankfurt-postgres.render.com/app",
    { password: "100%" },
  ],
  ["Fly", "postgres://u:p@app-db.flycast:5432/app?sslmode=disable", { ssl: false }],
  ["an IPv6 address", "postgres://u:p@[fdaa::3]:5433/app", { host: "fdaa::3", port: 5433 }],
  [
    "Azure, by libpq's words",
    "postgres://u:p@a.postgres.database.azure.com/app?sslmode=require&sslrootcert=system",
    { ssl: {}, host: "a.postgres.database.azure.com" },
  ],
  [
    "Node's CAs, and a weaker mode beside them",
    "postgres://u:p@h/app?sslrootcert=system&sslmode=require&uselibpqcompat=true",
    { ssl: {} },
  ],
  [
    "a name and times of the URL",
    "postgres://h/app?application_name=theirs&query_timeout=5&statement_timeout=5&max=1",
    { application_name: "ours", options: "-c x=y" },
  ],
])("a URL of Postgres as written for %s is read", (_, url, expected) => {
  vi.spyOn(process, "emitWarning").mockReturnValue();
  const options = optionsOf(url);
  expect(options).toMatchObject(expected);
  expect(options).not.toHaveProperty("query_timeout");
});

test.each([
  [
    "sslrootcert=/nowhere/ca.pem",
    "sslrootcert that cannot be read: ENOENT: no such file or directory, open '/nowhere/ca.pem'",
  ],
  ["sslcert=/nowhere/a.pem", "sslcert that cannot be read: ENOENT"],
  ["sslkey=/", "sslkey that cannot be read: EISDIR"],
  ["uselibpqcompat=true&sslmode=verify-ca", "requires specifying a CA with sslrootcert"],
  ["password=%ff", "must have % in its password as %25"],
])("a URL of Postgres with %s is refused with the reason", (parameters, reason) => {
  const url = parameters.startsWith("password")
    ? `postgres://u:hidden%ff@h/app`
    : `postgres://u:hidden@h/app?${parameters}`;
  const open = () => optionsOf(url);
  expect(open).toThrow(expect.objectContaining({ code: "invalid_config" }));
  expect(open).toThrow(reason);
  expect(open).not.toThrow(/hidden/);
});

/** A program that prints another password each time, and `pool.options.password`. */
function command(script: string): () => Promise<string> {
  const file = join(folder, `${Math.random()}.mjs`);
  writeFileSync(file, script);
  const { password } = optionsOf("postgres://u@h/app", {
    DATABASE_PASSWORD_COMMAND: JSON.stringify([process.execPath, file]),
  });
  if (typeof password !== "function") throw new TypeError("It has no command");
  return async () => await password();
}

const COUNTING = `
  import { appendFileSync, readFileSync } from "node:fs";
  appendFileSync(import.meta.filename + ".runs", ".");
  console.log("token-" + readFileSync(import.meta.filename + ".runs").length);`;

test("a command prints the password once for all who ask, and again after five minutes", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  try {
    const read = command(COUNTING);
    expect(await Promise.all([read(), read()])).toEqual(["token-1", "token-1"]);
    vi.advanceTimersByTime(299_000);
    expect(await read()).toBe("token-1");
    vi.advanceTimersByTime(2_000);
    expect(await read()).toBe("token-2");
  } finally {
    vi.useRealTimers();
  }
});

test.each([
  ["console.error('no credentials'); process.exit(3)", "no credentials"],
  ["", "it printed nothing"],
])("a command that fails says why, and is run again: %s", async (script, reason) => {
  const read = command(script);
  for (const _ of [1, 2]) {
    await expect(read()).rejects.toMatchObject({
      code: "database_unavailable",
      message: `Cannot use Postgres: DATABASE_PASSWORD_COMMAND failed: ${reason}`,
    });
  }
});

test("a command that is not there, or hangs, is given up", async () => {
  await expect(PasswordCommand.of("/nowhere/token").read()).rejects.toThrow("ENOENT");
  await expect(PasswordCommand.of("sleep 60").read()).rejects.toThrow("no answer in 5 s");
}, 15_000);
