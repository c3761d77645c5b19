import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { openForAll } from "../support/open-for.ts";
import { describeOnRedis } from "../support/redis.ts";
import { startTestBoard } from "./board-fixture.ts";

const scripts = readScripts();

function readScripts(): string {
  const folder = fileURLToPath(
    new URL("./dist/static/js", import.meta.resolve("@bull-board/ui/package.json")),
  );
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".js"))
    .map((file) => readFileSync(join(folder, file), "utf8"))
    .join("\n");
}

const left = (names: readonly string[]) =>
  names.filter((_, index) => index < names.length - 3 && index !== 1);

describeOnRedis("the queue board's buttons", () => {
  const board = openForAll(() => startTestBoard());

  test("the page hides what is refused, by names that bull-board ships", async () => {
    for (const path of ["/", "/queue/millrace-acme"]) {
      const page = await (await fetch(board.base + path)).text();
      const style = /<style>([^<]*)\{display:none!important\}<\/style><\/head>/.exec(page)?.[1];
      const classes = [...(style ?? "").matchAll(/\.([\w-]+)/g)].map((match) => match[1] ?? "");
      expect(new Set(classes).size).toBe(3);
      for (const name of classes) expect(scripts).toContain(`"${name}`);
    }
  });

  test("its queues offer retry and no retry of what is completed, no rate limit, and are writable", async () => {
    const answer = (await (await fetch(`${board.base}/api/queues`)).json()) as { queues: object[] };
    expect(answer.queues[0]).toMatchObject({
      type: "bullmq",
      readOnlyMode: false,
      allowRetries: true,
      allowCompletedRetries: false,
      supportsGlobalRateLimit: false,
    });
  });

  test("of a job's buttons retry and promote are left", () => {
    const table = /\[\w+\.\w+\.failed\]:\[\w+\.retry,.*?\}/.exec(scripts)?.[0] ?? "";
    const lists = [...table.matchAll(/\[\w+\.\w+\.(\w+)\]:\[([^\]]*)\]/g)].map(
      ([, status, list]) => [status, list?.split(",").map((name) => name.replace(/^\w+\./, ""))],
    );
    const buttons = Object.fromEntries(lists) as Record<string, string[]>;
    expect(left(buttons["failed"] ?? [])).toEqual(["retry"]);
    expect(left(buttons["delayed"] ?? [])).toEqual(["promote"]);
    for (const status of ["waiting", "paused"]) expect(left(buttons[status] ?? [])).toEqual([]);
    // Without its retry, which is not offered.
    expect(buttons["completed"]).toEqual(["duplicate", "retry", "clean"]);
  });

  test("of a list's buttons retry all and promote all are left, of a menu's retry, pause and resume", () => {
    const named = (from: RegExp) => {
      const found = from.exec(scripts)?.[0] ?? "";
      return [...found.matchAll(/"QUEUE\.ACTIONS\.(\w+)"/g)].map((match) => match[1]);
    };
    expect(named(/className:"queueActions-dnGfku"[^]{0,900}/).slice(0, 3)).toEqual([
      ...["RETRY_ALL", "PROMOTE_ALL", "CLEAN_ALL"],
    ]);
    expect(named(/onClick:\w+\.addJob,[^]*?OBLITERATE"/)).toEqual([
      ...["ADD_JOB", "RETRY_ALL_FAILED", "RESUME", "PAUSE", "SET_CONCURRENCY", "SET_RATE_LIMIT"],
      ...["EMPTY", "OBLITERATE"],
    ]);
  });
});
