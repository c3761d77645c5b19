import { once } from "node:events";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { createServer, type AddressInfo, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { queryOnce } from "../support/query-once.ts";
import { until } from "../support/until.ts";
import { millrace } from "../support/run-in-process.ts";
import {
  PIPELINE,
  refusedStart,
  startMillrace,
  statusOf,
  type Run,
  type StartProcess,
} from "./start-process.ts";

let dataDir: string;
let last: StartProcess | undefined;
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "millrace-start-"));
});
afterAll(() => rm(dataDir, { recursive: true, force: true }));

function start(env: Record<string, string> = {}, args: string[] = []): StartProcess {
  last = startMillrace(dataDir, { MILLRACE_CONFIG: PIPELINE, ...env }, args);
  return last;
}

async function stopLast(): Promise<void> {
  last?.signal("SIGTERM");
  await last?.ended;
  last = undefined;
}

const command = (...args: string[]) =>
  millrace(args, { env: { MILLRACE_CONFIG: PIPELINE, MILLRACE_DATA_DIR: dataDir } });

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

async function pidsOf(run: Run): Promise<number[]> {
  const [row] = await queryOnce<{ pid: number }>(
    run.database_url,
    String.raw`select split_part(pg_read_file('postmaster.pid'), E'\n', 1)::int as pid`,
  );
  return [...run.processes.map(({ pid }) => pid), row?.pid ?? 0];
}

async function completed(running: StartProcess, id: string): Promise<void> {
  const { database_url: url } = await running.run();
  await until(async () => (await statusOf(url, id)) === "completed", { what: `${id} completed` });
  const { stdout } = await command("events", "--q", id, "--status", "completed", "--json");
  expect(stdout).toContain(id);
}

describe("millrace start", () => {
  let running: StartProcess;
  let run: Run;
  beforeAll(async () => {
    running = start();
    await running.greeted();
    run = await running.run();
  });
  afterAll(stopLast);

  test("brings up all roles, tells where they are, and keeps that to its owner", async () => {
    expect(run.pid).toBe(running.pid);
    expect(run.processes.map(({ name }) => name)).toEqual([
      "ingress",
      "worker-1",
      "worker-2",
      "dashboard",
    ]);
    for (const { port } of run.processes) {
      await until(async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).status === 200);
    }
    expect(running.output()).toContain(`${run.ingress_url}/webhooks/<source>`);
    expect(running.output()).toContain(`${run.dashboard_url}/queues`);
    expect(running.output()).toContain("npx millrace send acme");
    for (const file of ["run.json", "secrets.json"]) {
      expect((await stat(join(dataDir, file))).mode & 0o777).toBe(0o600);
    }
  });

  test("other commands find it: a sent event completes, and is sent once", async () => {
    const sent = await command("send", "acme", "test.effect", "--id", "msg_found_1");
    expect(sent).toMatchObject({ code: 0, stderr: "" });
    expect(sent.stdout).toMatch(/^acme test\.effect msg_found_1\n202 .*accepted/);
    await completed(running, "msg_found_1");
    const again = await command("send", "acme", "test.effect", "--id", "msg_found_1");
    expect(again.stdout).toContain("duplicate");
    const many = await command("send", "stripe", "--count", "5", "--duplicates", "2");
    expect(many.stdout).toMatch(/sent +15 in .*\naccepted +5\nduplicate +10\nrejected +0\n/);
    expect(many.code).toBe(0);
    expect(await command("migrate", "--check")).toMatchObject({ code: 0 });
  });

  test("a refused event ends the sender with 1 and its code", async () => {
    const ACME_WEBHOOK_SECRET = `whsec_${Buffer.alloc(32, 1).toString("base64")}`;
    const env = { MILLRACE_CONFIG: PIPELINE, MILLRACE_DATA_DIR: dataDir, ACME_WEBHOOK_SECRET };
    const { code, stdout } = await millrace(["send", "acme", "test.effect"], { env });
    expect(stdout).toMatch(/401[^]*invalid_signature/);
    expect(code).toBe(1);
  });

  test("a second one in the same folder is refused by name", async () => {
    const { code, output } = await refusedStart(dataDir, {});
    expect(code).toBe(1);
    expect(output).toContain(String(running.pid));
    expect(output).toContain("(already_running)");
    expect(await running.run()).toEqual(run);
  });

  test("a worker that is killed comes back where it was", async () => {
    const before = run.processes[1];
    process.kill(before?.pid ?? 0, "SIGKILL");
    const after = await until(async () => {
      const worker = (await running.run()).processes[1];
      return worker?.pid === before?.pid ? undefined : worker;
    });
    expect(after).toMatchObject({ name: "worker-1", port: before?.port });
  });

  test("a Postgres that is killed comes back, and events complete again", async () => {
    const postmaster = (await pidsOf(run)).at(-1) ?? 0;
    process.kill(postmaster, "SIGKILL");
    await until(async () => {
      const { code } = await command("send", "acme", "test.effect", "--id", "msg_postgres_1");
      return code === 0;
    });
    await completed(running, "msg_postgres_1");
  });

  // Processes were killed before, which the logs may have as errors.
  test("SIGTERM stops all of it, Postgres last", () =>
    expectGoodEnd(running, "SIGTERM", running.output().length));
});

async function expectGoodEnd(
  running: StartProcess,
  signal: NodeJS.Signals,
  from: number,
): Promise<void> {
  const pids = await pidsOf(await running.run());
  running.signal(signal);
  expect(await running.ended).toBe(0);
  expect(pids.filter(isAlive)).toEqual([]);
  await expect(running.run()).rejects.toThrow("ENOENT");
  expect(running.output().slice(from)).not.toContain('"level":"error"');
}

describe("millrace start, when it ends,", () => {
  // What one test leaves running serves the next: a start is five processes.
  let left: StartProcess | undefined;
  afterAll(stopLast);

  async function startOrTakeOver(): Promise<StartProcess> {
    const running = left ?? start({}, ["--workers", "1"]);
    await running.greeted();
    return running;
  }

  test("killed itself, its roles end, and the next one takes over the Postgres", async () => {
    const running = await startOrTakeOver();
    await command("send", "acme", "test.effect", "--id", "msg_killed_1");
    const pids = await pidsOf(await running.run());
    running.signal("SIGKILL");
    await running.ended;
    expect((await command("send", "acme")).stderr).toContain("ingress_unreachable");
    await until(() => pids.slice(0, -1).every((pid) => !isAlive(pid)));
    expect(pids.slice(-1).map(isAlive)).toEqual([true]);
    const next = start({}, ["--workers", "1"]);
    await next.greeted();
    expect((await pidsOf(await next.run())).at(-1)).toBe(pids.at(-1));
    await completed(next, "msg_killed_1");
    left = next;
  });

  test("a second Ctrl-C ends it at once, though a handler hangs", async () => {
    const running = await startOrTakeOver();
    left = undefined;
    await command("send", "acme", "test.hang_once", "--id", "msg_hang_1");
    await until(() => running.output().includes("in the handler of msg_hang_1"));
    const pids = await pidsOf(await running.run());
    running.signal("SIGINT");
    await until(() => running.output().includes("Stopping"));
    // Two signals within 400 ms are one press of the keys.
    await new Promise((resolve) => setTimeout(resolve, 500));
    running.signal("SIGINT");
    expect(await running.ended).toBe(130);
    await until(() => pids.every((pid) => !isAlive(pid)), { withinMs: 10_000 });
  });
});

describe("millrace start, in the way of others,", () => {
  let stranger: Server;
  let running: StartProcess;
  beforeAll(async () => {
    stranger = createServer().listen(0, "127.0.0.1");
    await once(stranger, "listening");
    const { port } = stranger.address() as AddressInfo;
    running = start({ INGRESS_PORT: String(port) }, ["--workers", "1"]);
    await running.greeted();
  });
  afterAll(async () => {
    await stopLast();
    stranger.close();
    await once(stranger, "close");
  });

  test("takes the next free port and says so", async () => {
    const { port } = stranger.address() as AddressInfo;
    const run = await running.run();
    expect(running.output()).toContain(run.ingress_url);
    // Others on this machine may have the ports right behind it.
    const found = Number(new URL(run.ingress_url).port);
    expect(found).toBeGreaterThan(port);
    expect(found).toBeLessThan(port + 50);
    expect(run.processes).toHaveLength(3);
  });

  test("SIGINT stops all of it, Postgres last", () => expectGoodEnd(running, "SIGINT", 0));
});
