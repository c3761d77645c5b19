import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { millrace } from "../support/run-in-process.ts";
import { scratchDatabase } from "../support/scratch-database.ts";

const CONFIG = fileURLToPath(new URL("../fixtures/doctor/millrace.config.ts", import.meta.url));

let database: Awaited<ReturnType<typeof scratchDatabase>>;
beforeAll(async () => {
  database = await scratchDatabase();
});
afterAll(() => database?.drop());

const migrate = (...args: string[]) =>
  millrace(["migrate", ...args], {
    env: {
      ...{ MILLRACE_CONFIG: CONFIG, DATABASE_URL: database.url },
      REDIS_URL: "redis://127.0.0.1:1",
    },
  });

test("many migrations are told in one line, whose numbers have no gap to wonder about", async () => {
  expect(await migrate("--check")).toMatchObject({ code: 1 });
  const { code, stdout, stderr } = await migrate();
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toMatch(/^ledger: applied \d+ migrations, 0001_ledger\S* to 00\d\d_\S+$/m);
  expect(stdout).not.toMatch(/0004|0006/);
  expect((await migrate()).stdout).toBe("ledger: up to date\n");
  expect(await migrate("--check")).toMatchObject({ code: 0, stdout: "ledger: up to date\n" });
});
