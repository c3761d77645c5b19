import { expect, test } from "vitest";
import { openForAll } from "../support/open-for.ts";
import { millrace } from "../support/run-in-process.ts";
import { scratchDatabase } from "../support/scratch-database.ts";
import { doctorConfig } from "./cli-fixture.ts";

const database = openForAll(scratchDatabase);

const migrate = (...args: string[]) =>
  millrace(["migrate", ...args], {
    env: {
      ...{ MILLRACE_CONFIG: doctorConfig("millrace"), DATABASE_URL: database.url },
      REDIS_URL: "redis://127.0.0.1:1",
    },
  });

test("applied migrations are named in one line, and then there are none", async () => {
  expect(await migrate("--check")).toMatchObject({ code: 1 });
  const { code, stdout, stderr } = await migrate();
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toMatch(/^ledger: applied 0001_ledger(, \d{4}_\w+)*$/m);
  expect((await migrate()).stdout).toBe("ledger: up to date\n");
  expect(await migrate("--check")).toMatchObject({ code: 0, stdout: "ledger: up to date\n" });
});
