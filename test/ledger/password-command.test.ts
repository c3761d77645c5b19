import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readEnvironment } from "@millrace/core";
import { createPool } from "@millrace/ledger";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newFolder } from "../support/new-folder.ts";
import { openForAll } from "../support/open-for.ts";
import { queryOnce } from "../support/query-once.ts";
import { scratchDatabase } from "../support/scratch-database.ts";

const folder = newFolder();
const [program, token, runs] = [
  join(folder, "print.mjs"),
  join(folder, "token"),
  join(folder, "n"),
];
const database = openForAll(scratchDatabase);

const setPassword = (password: string) =>
  queryOnce(database.url, `ALTER ROLE token_login PASSWORD '${password}'`);
const countRuns = () => readFileSync(runs, "utf8").length;

async function connectTwice() {
  const url = new URL(database.url);
  [url.username, url.password] = ["token_login", ""];
  const { DATABASE_URL = "" } = readEnvironment({
    DATABASE_URL: url.href,
    DATABASE_PASSWORD_COMMAND: `${process.execPath} ${program}`,
  });
  const pool = createPool({ url: DATABASE_URL, max: 2, applicationName: "test" });
  try {
    return await Promise.all([1, 2].map(() => pool.query("SELECT pg_sleep(0.1)")));
  } finally {
    await pool.end();
  }
}

beforeAll(async () => {
  await queryOnce(database.url, "DROP ROLE IF EXISTS token_login");
  await queryOnce(database.url, "CREATE ROLE token_login LOGIN PASSWORD 'first'");
  writeFileSync(token, "first");
  const script = `import { appendFileSync, readFileSync } from "node:fs";
    appendFileSync(${JSON.stringify(runs)}, ".");
    console.log(readFileSync(${JSON.stringify(token)}, "utf8"));`;
  writeFileSync(program, script);
});
afterAll(() => queryOnce(database.url, "DROP ROLE token_login"));

test("a password that Postgres refuses is read anew once, for all connections", async () => {
  await connectTwice();
  await connectTwice();
  expect(countRuns()).toBe(1);
  await setPassword("second");
  writeFileSync(token, "second");
  await connectTwice();
  expect(countRuns()).toBe(2);
  await setPassword("third");
  await expect(connectTwice()).rejects.toMatchObject({ code: "28P01" });
  expect(countRuns()).toBe(3);
});
