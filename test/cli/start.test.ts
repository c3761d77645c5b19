import { stat } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../support/until.ts";
import { expectGoodEnd, pidsOf, useStarts } from "./start-fixture.ts";
import { millrace } from "../support/run-in-process.ts";
import { PIPELINE, refusedStart, type Run, type StartProcess } from "./start-process.ts";

const { start, stopLast, command, completed, dataDir } = useStarts();

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
    const [, after = ""] = running.output().split("Ctrl-C stops all of it.");
    expect(after).not.toMatch(/"msg":"(listening|taking jobs|connections of Postgres)"/);
    expect(running.output()).toContain(`${run.ingress_url}/webhooks/<source>`);
    expect(running.output()).toContain(`${run.dashboard_url}/queues`);
    expect(running.output()).toContain("npx millrace send acme");
    for (const file of ["run.json", "secrets.json"]) {
      expect((await stat(join(dataDir(), file))).mode & 0o777).toBe(0o600);
    }
  });

  test("other commands find it: a sent event completes, and is sent once", async () => {
    const sent = await command("send", "acme", "test.effect", "--id", "msg_found_1");
    expect(sent).toMatchObject({ code: 0, stderr: "" });
    expect(sent.stdout).toMatch(/^acme test\.effect msg_found_1\n202 .*accepted/);
    await completed(running, "msg_found_1");
    const again = await command("send", "acme", "test.effect", "--id", "msg_found_1");
    expect(again.stdout).toContain("duplicate");
    const json = await command(
      "send",
      "acme",
      "test.effect",
      "--id",
      "msg_json",
      "--wait",
      "--json",
    );
    expect(JSON.parse(json.stdout)).toMatchObject({
      ...{ source: "acme", type: "test.effect", event_id: "msg_json" },
      ...{ status: 202, outcome: "accepted", code: null, event: { status: "completed" } },
    });
    const two = await command("send", "stripe", "--count", "2", "--json");
    expect(two.stdout).toMatch(/^(\{"source":"stripe",.*"outcome":"accepted".*\}\n){2}$/);
    const many = await command("send", "stripe", "--count", "5");
    expect(many.stdout).toMatch(/sent +5\naccepted +5\nduplicate +0\nrejected +0\n/);
    expect(many.code).toBe(0);
    expect(await command("migrate", "--check")).toMatchObject({ code: 0 });
  });

  test("a refused event ends the sender with 1 and its code", async () => {
    const ACME_WEBHOOK_SECRET = `whsec_${Buffer.alloc(32, 1).toString("base64")}`;
    const env = { MILLRACE_CONFIG: PIPELINE, MILLRACE_DATA_DIR: dataDir(), ACME_WEBHOOK_SECRET };
    const { code, stdout } = await millrace(["send", "acme", "test.effect"], { env });
    expect(stdout).toMatch(/401[^]*invalid_signature/);
    expect(code).toBe(1);
    const json = await millrace(["send", "acme", "test.effect", "--json"], { env });
    const refused = { status: 401, outcome: "rejected", code: "invalid_signature" };
    expect(json).toMatchObject({
      code: 1,
      stdout: expect.stringContaining(JSON.stringify(refused).slice(1)),
    });
  });

  test("a second one in the same folder is refused by name", async () => {
    const { code, output } = await refusedStart(dataDir(), {});
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
