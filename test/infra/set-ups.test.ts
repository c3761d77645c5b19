import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { launch, runCommand } from "../support/millrace-process.ts";
import { openForAll } from "../support/open-for.ts";
import { markQueue } from "../support/queue-fixture.ts";
import { queryOnce } from "../support/query-once.ts";
import { withRedis } from "../support/redis-client.ts";
import { describeOnRedis } from "../support/redis.ts";
import { millrace } from "../support/run-in-process.ts";
import { hasGcc } from "../support/slow-disk.ts";
import { until } from "../support/until.ts";
import { readSetUpTable, type StartState } from "./set-ups-table.ts";
import { openServers, withUrl, type SetUpServers, type Variables } from "./set-up-servers.ts";
import { SET_UPS } from "./set-ups.ts";

const CONFIG = fileURLToPath(new URL("../fixtures/set-ups/millrace.config.ts", import.meta.url));

describeOnRedis("set-ups", () => {
  const servers: SetUpServers = openForAll(openServers);

  test.for(readSetUpTable())(
    "$setUp",
    async ({ setUp, role, start, printed, doctor, told }, { skip }) => {
      if (!isThere(setUp)) skip();
      const prepared = SET_UPS[setUp];
      if (prepared === undefined)
        throw new Error(`Cannot try "${setUp}": test/infra/set-ups.ts has no such set-up`);
      await forgetOwner(servers);
      const { variables = {}, after } = await prepared(servers);
      const env = {
        MILLRACE_CONFIG: CONFIG,
        DATABASE_URL: servers.databaseUrl,
        REDIS_URL: servers.redis.url,
        ...variables,
      };
      const started = await startProcess(role, env, start);
      try {
        expect(started).toMatchObject({ state: start === "warns" ? "ready" : start });
        for (const text of printed) expect(started.text()).toContain(text);
        const quiet = start === "ready" ? told.filter((text) => text.includes(" ")) : [];
        for (const text of quiet) expect(started.text()).not.toContain(text);
        await after?.(started);
        const stdout = await runDoctor(env);
        if (doctor !== undefined) {
          const mark = doctor.mark === "?" ? "\\?" : doctor.mark;
          expect(stdout).toMatch(new RegExp(`^${mark} +${doctor.name} `, "m"));
        }
        for (const text of told) expect(stdout).toContain(text);
      } finally {
        await started.end();
      }
    },
  );

  describe("an ingress", () => {
    const start = async (variables: Variables, wanted: StartState) => {
      const env = { MILLRACE_CONFIG: CONFIG, SHOP_WEBHOOK_SECRET: "a-plain-secret", ...variables };
      const started = await startProcess("ingress", env, wanted);
      onTestFinished(() => started.end());
      return started;
    };

    test("waits for its only store, says why, and is degraded where it has another one", async () => {
      const DATABASE_URL = withUrl(servers.databaseUrl, (url) => (url.password = "another"));
      const hint = "Check the user and password in DATABASE_URL";
      const alone = await start({ DATABASE_URL }, "waits");
      expect(alone).toMatchObject({ state: "waits", status: "not_ready" });
      expect(alone.text()).toContain(hint);
      await markQueue(servers.redis.url, "shop");
      const both = await start({ DATABASE_URL, REDIS_URL: servers.redis.url }, "ready");
      expect(both).toMatchObject({ state: "ready", status: "degraded" });
      await until(() => both.text().includes(hint));
    });
  });
});

/** As if no worker had run here: set-ups share their servers. */
async function forgetOwner({ redis, databaseUrl }: SetUpServers): Promise<void> {
  await withRedis(redis.url, (client) => client.hdel("bull:millrace-shop:meta", "millrace:owner"));
  await queryOnce(databaseUrl, "UPDATE millrace.identity SET signed_since = NULL");
}

async function runDoctor(env: Variables): Promise<string> {
  if (env["CONCURRENCY"] === undefined && env["REPLICAS"] === undefined) {
    return (await millrace(["doctor"], { env })).stdout;
  }
  return (await runCommand(["doctor"], env)).output;
}

function isThere(setUp: string): boolean {
  if (/\bpooler\b/.test(setUp)) return inject("hasPgbouncer");
  if (setUp === "`DATABASE_URL` names a standby") return inject("hasPostgresPrograms");
  return setUp !== "The disk of Redis is slow" || hasGcc() || process.env["CI"] === "true";
}

const ANYWHERE: Variables = {
  WORKER_PORT: "0",
  INGRESS_PORT: "0",
  DASHBOARD_PORT: "0",
  HOST: "127.0.0.1",
};

async function startProcess(role: string, variables: Variables, wanted: StartState) {
  const { child, output } = launch([role], { ...ANYWHERE, ...variables });
  const text = () => output().split("\n").map(textOf).join("\n");
  let url: string | undefined;
  let status: string | undefined;
  child.on("message", (message: { kind?: string; port?: number }) => {
    if (message.kind === "listening") url = `http://127.0.0.1:${message.port}`;
  });
  const closed = once(child, "close");
  const state = await until(
    async () => {
      if (child.exitCode !== null) return "refused" as const;
      if (url === undefined) return undefined;
      const response = await fetch(`${url}/readyz`);
      status = ((await response.json()) as { status: string }).status;
      if (response.status === 200) return "ready" as const;
      // A process that gets ready may log an error on its way where the machine is slow.
      return wanted === "waits" && text().includes("background error") ? "waits" : undefined;
    },
    { what: `the ${role} start` },
  );
  return {
    state,
    status,
    output,
    text,
    end: async () => {
      child.kill("SIGKILL");
      await closed;
    },
  };
}

function textOf(line: string): string {
  try {
    return Object.values(JSON.parse(line) as Record<string, unknown>).join(" ");
  } catch {
    return line;
  }
}
