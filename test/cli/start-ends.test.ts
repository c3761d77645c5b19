import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { serve } from "../support/free-port.ts";
import { isAlive } from "../support/millrace-process.ts";
import { openForAll } from "../support/open-for.ts";
import { until } from "../support/until.ts";
import { expectGoodEnd, pidsOf, useStarts } from "./start-fixture.ts";
import type { StartProcess } from "./start-process.ts";

const { start, stopLast, command, completed } = useStarts();

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
  const stranger = openForAll(() => serve());
  let running: StartProcess;
  beforeAll(async () => {
    running = start({ INGRESS_PORT: String(stranger.port) }, ["--workers", "1", "--json"]);
    await running.greeted();
  });
  afterAll(stopLast);

  test("takes the next free port and says so", async () => {
    const run = await running.run();
    const line = running
      .output()
      .split("\n")
      .find((each) => each.startsWith('{"ingress_url"'));
    const { dashboard_url, ingress_url, processes } = run;
    expect(JSON.parse(line ?? "")).toMatchObject({
      ...{ ingress_url, dashboard_url, dashboard_user: null, processes, queue: "postgres" },
      database: { host: "127.0.0.1", login: "millrace_app", name: "millrace", embedded: true },
    });
    // Others on this machine may have the ports right behind it.
    const found = Number(new URL(run.ingress_url).port);
    expect(found).toBeGreaterThan(stranger.port);
    expect(found).toBeLessThan(stranger.port + 50);
    expect(run.processes).toHaveLength(3);
  });

  test("SIGINT stops all of it, Postgres last", () => expectGoodEnd(running, "SIGINT", 0));
});
