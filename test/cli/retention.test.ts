import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { newFolder } from "../support/new-folder.ts";
import { openForEach } from "../support/open-for.ts";
import { openTestRetention } from "../support/retention-fixture.ts";
import { millrace, STORE_CONFIG } from "../support/run-in-process.ts";

const it = openForEach(openTestRetention);
let folder: string;
beforeEach(() => {
  folder = newFolder();
});

async function run(args: readonly string[], retention = "{}") {
  const config = join(folder, "millrace.config.mjs");
  await writeFile(
    config,
    `import config from "${STORE_CONFIG}";
     export default { ...config, retention: ${retention} };`,
  );
  const env = { DATABASE_URL: it.url, MILLRACE_CONFIG: config };
  return await millrace(["retention", ...args], { env, cwd: folder });
}

test("a run says what it did", async () => {
  const gone = await it.event("completed", 91);
  const failed = await it.event("failed", 91);
  const { code, stdout } = await run([]);
  expect(stdout).toMatch(/^moved on 1 bodies .*\ndropped 1 days .*\ndeleted 1 /);
  expect(code).toBe(0);
  expect([await it.statusOf(gone), await it.statusOf(failed)]).toEqual([undefined, "failed"]);
  expect(await it.bodyOf(failed)).toBeDefined();
});

test("the outcome as JSON has what was done, and the oldest day that is left", async () => {
  await it.event("completed", 40);
  const oldest = await it.event("completed", 20);
  const { code, stdout } = await run(["--json"], "{ bodiesDays: 25, keysDays: 25 }");
  expect(JSON.parse(stdout)).toEqual({
    ...{ outcome: "done", moved: 0, partitions_dropped: 1 },
    ...{ bytes: expect.any(Number), keys_deleted: 1, busy: [] },
    oldest_day: (await it.partition(20)).day,
  });
  expect(code).toBe(0);
  expect(await it.statusOf(oldest)).toBe("completed");
});

test("while a worker is at it, nothing is done, and it ends with 1", async () => {
  const key = await it.event("completed", 40);
  const answer = await it.retention.withLeadership(() => run([]));
  expect(answer).toMatchObject({
    code: 1,
    stdout: "nothing done: a worker is running retention\n",
  });
  expect(await it.bodyOf(key)).toBeDefined();
});
