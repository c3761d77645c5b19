import { startBulkRunner } from "@millrace/operations";
import { expect, test } from "vitest";
import { onRedis } from "../support/backends.ts";
import { openForAll } from "../support/open-for.ts";
import { event } from "../support/queue-fixture.ts";
import { millrace, startCommand } from "../support/run-in-process.ts";
import { until } from "../support/until.ts";
import { openTestCommand } from "./cli-fixture.ts";

const stores = openForAll(async () => openTestCommand(await onRedis()));
const run = (...args: string[]) => stores.run(...args);
async function working<T>(during: () => Promise<T>): Promise<T> {
  const { ledger, queues } = stores;
  const runner = startBulkRunner({ ledger, queues, leading: () => true, notify: () => {} });
  try {
    return await during();
  } finally {
    await runner.close();
  }
}
const lastRun = async () => (await stores.ledger.bulkRuns.find({ limit: 1 }))[0];

test("a retry of many is watched to its end, and says what became of its events", async () => {
  for (const id of ["evt_a1", "evt_a2", "evt_a3"]) await stores.fail(id);
  const handle = ({ id }: { id: string }) => {
    if (id === "evt_a2") throw new Error("still off");
  };
  let outcome: Awaited<ReturnType<typeof run>> | undefined;
  const retry = async () => void (outcome = await run("retry", "--q", "evt_a"));
  await working(() => stores.work(handle, retry));
  expect(outcome).toEqual({
    code: 0,
    stdout: expect.stringMatching(
      /^run \d+: retry 3 events, 50 per second, in about 60 ms\n3 ran: 2 completed, 1 failed again \(1 error\)\n$/,
    ),
    stderr: "",
  });
});

test("an event's timeline has the run that reached it, and who retried it alone, and why", async () => {
  const id = (await lastRun())?.id;
  await run("retry", "acme", "evt_a2", "--reason", "once more");
  const { stdout } = await run("events", "acme", "evt_a2");
  expect(stdout).toMatch(
    new RegExp(
      "timeline\\n +1 .*\\n" +
        ` +by hand +\\S+Z +retry_many +tester \\(cli\\), run ${id}\\n` +
        " +2 .*still off.*\\n" +
        " +by hand +\\S+Z +retry +tester \\(cli\\): once more\\n",
    ),
  );
  const json = JSON.parse((await run("events", "acme", "evt_a2", "--json")).stdout);
  expect(json).toMatchObject({
    acts: [
      { action: "retry_many", run: id, generation: 0 },
      { action: "retry", run: null, reason: "once more" },
    ],
    steps: [],
  });
});

test("an error is shown with the line that threw it, and with what runs its events", async () => {
  const { fingerprint } = JSON.parse((await run("errors", "--q", "still", "--json")).stdout);
  const { stdout } = await run("errors", fingerprint);
  expect(stdout).toMatch(/thrown in attempt \d \(> is your own code\)\n +> .*runs\.test\.ts:\d+/);
  // Its event was retried, and is pending.
  const runNow = `run pending    millrace retry --status pending --error ${fingerprint}\n`;
  expect(stdout).toContain(`--status pending --error ${fingerprint}\n${runNow}`);
});

test("Ctrl-C stops watching and not the run, which other commands change", async () => {
  await stores.fail("evt_b1");
  const watching = startCommand(["retry", "--q", "evt_b1"], stores.options());
  await until(() => watching.written.stdout.includes("retry 1 event"));
  watching.stop();
  const { code, stderr } = await watching.ended;
  const id = String((await lastRun())?.id);
  expect([code, stderr]).toEqual([
    1,
    `Stopped watching; the run continues. Stop it with: millrace runs stop ${id}\n`,
  ]);
  expect((await run("runs", "pause", id)).stdout).toBe(
    `run ${id} is paused, 50 events per second\n`,
  );
  const paused = await run("runs", "pause", id, "--json");
  expect(JSON.parse(paused.stdout)).toMatchObject({ id: Number(id), state: "paused" });
  expect((await run("runs", "rate", id, "5")).stdout).toContain("5 events per second");
  expect((await run("runs")).stdout).toMatch(
    new RegExp(`^RUN .*\n${id} +retry +paused +0/1 .*5/s +tester`),
  );
  expect((await run("runs", "stop", id)).stdout).toContain(`stopped run ${id}`);
  const states = async (...find: string[]) =>
    (await run("runs", "--json", "--find", find.join(" "))).stdout.match(/"state":"\w+"/g);
  expect(await states("state:stopped", "verb:retry", "by:tester", "since:1h")).toEqual([
    '"state":"stopped"',
  ]);
  expect(await states("state:running")).toBeNull();
  expect((await run("runs", "--find", "nothing so")).stdout).toBe("No bulk run matches.\n");
  expect((await run("runs", "resume", id)).stdout).toContain(`run ${id} is running`);
  expect((await run("runs", "stop", id)).stdout).toContain(`stopped run ${id}`);
  expect(await run("runs", "pause", id)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("run_ended"),
  });
  expect((await run("runs", "stop", "999")).stderr).toContain("run_not_found");
});

test("pending events of a filter are given up by a run, or counted", async () => {
  const events = ["evt_c1", "evt_c2"].map((id) => event(id, { source: "patient" }));
  await stores.ledger.intake.accept(events);
  const counted = await run("give-up", "--q", "evt_c", "--dry-run");
  expect(counted.stdout).toBe("would be given up: 2\n");
  const giveUp = ["give-up", "--source", "patient", "--q", "evt_c", "--reason", "gone"];
  const done = await working(() => run(...giveUp));
  expect([done.code, done.stdout]).toEqual([
    0,
    expect.stringMatching(
      /^run \d+: give up 2 events, 50 per second, in about 40 ms\n2 given up\n$/,
    ),
  ]);
  expect(await lastRun()).toMatchObject({ verb: "give_up", reason: "gone", state: "finished" });
  const none = await run("give-up", "--q", "evt_c");
  expect([none.code, none.stdout]).toEqual([0, "No event matches.\n"]);
  expect((await run("give-up")).stderr).toContain("nothing to give up: give a source and an id");
});

test("a run that no worker takes says so after ten seconds", async () => {
  const watching = startCommand(["give-up", "--q", "evt_many", "--all"], stores.options());
  const began = performance.now();
  await until(() => watching.written.stderr.includes("no worker has taken it yet"));
  expect(performance.now() - began).toBeGreaterThan(9_500);
  watching.stop();
  await watching.ended;
  await run("runs", "stop", String((await lastRun())?.id));
});

test("the number of many is asked for at a terminal, and a wrong one starts nothing", async () => {
  const events = Array.from({ length: 1_001 }, (_, n) => event(`evt_many_${n}`));
  await stores.ledger.intake.accept(events);
  const replay = ["replay", "--q", "evt_many_", "--no-wait"];
  expect((await run(...replay)).stderr).toContain("count_mismatch");
  const asked: string[] = [];
  const typing = (answer: string) =>
    millrace(replay, {
      ...stores.options(),
      ask: async (question) => {
        asked.push(question);
        return answer;
      },
    });
  expect((await typing("1000")).stderr).toContain("count_mismatch");
  expect((await typing("1,001")).stdout).toMatch(
    /^run \d+: replay 1,001 events, 50 per second, in about 20 s\n$/,
  );
  expect(asked[0]).toBe(
    "This will replay 1,001 events, 50 per second, in about 20 s. Type 1001 to continue: ",
  );
  expect(await lastRun()).toMatchObject({ total: 1_001, verb: "replay" });
});
