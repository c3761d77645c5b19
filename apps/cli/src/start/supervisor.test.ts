import { spawn, type ChildProcess } from "node:child_process";
import { answersSignal } from "@millrace/embedded-postgres";
import { afterEach, expect, test } from "vitest";
import { createSupervisor, type RunningProcess } from "./supervisor.ts";

const LISTENS = `process.send({ kind: "listening", role: "toy", port: 4000 });`;
const LIVES = `setInterval(() => {}, 1_000); process.on("SIGTERM", () => process.exit(0));`;

function toy(script: string): ChildProcess {
  const stdio: ("ignore" | "ipc")[] = ["ignore", "ignore", "ignore", "ipc"];
  return spawn(process.execPath, ["-e", script], { stdio });
}

const refusal = (code: string) =>
  `process.send({ kind: "failed", code: "${code}", message: "Cannot start" }, () => process.exit(1))`;

const QUICK = { backoffFirstMs: 5, backoffMaxMs: 20, steadyMs: 60_000 };

let lastMade: ReturnType<typeof createSupervisor> | undefined;
afterEach(async () => {
  await lastMade?.stop(1_000);
  lastMade = undefined;
});

function supervise(times = QUICK) {
  const seen = {
    listening: [] as RunningProcess[],
    restarts: [] as [string, string, number | undefined][],
  };
  let wake: () => void = () => {};
  const made = createSupervisor(
    {
      onListening: (process) => {
        seen.listening.push(process);
        wake();
      },
      onRestart: (...restart) => seen.restarts.push(restart),
    },
    times,
  );
  lastMade = made;
  const listened = async (count: number) => {
    while (seen.listening.length < count) await new Promise<void>((resolve) => (wake = resolve));
  };
  return { supervisor: made, seen, listened };
}

test("a process that is killed is started again", async () => {
  const { supervisor, seen, listened } = supervise();
  supervisor.add("toy", async () => toy(LISTENS + LIVES));
  await supervisor.listening();
  const [first] = supervisor.processes();
  process.kill(first?.pid ?? 0, "SIGKILL");
  await listened(2);
  const [second] = supervisor.processes();
  expect(second?.pid).not.toBe(first?.pid);
  expect(seen.restarts).toEqual([["toy", "it was ended by SIGKILL", 5]]);
});

test("each restart waits twice as long as the one before, up to a limit", async () => {
  const { supervisor, seen, listened } = supervise();
  supervisor.add("toy", async () => toy(LISTENS + "process.disconnect()"));
  await listened(6);
  expect(seen.restarts.slice(0, 5).map(([, , waitMs]) => waitMs)).toEqual([5, 10, 20, 20, 20]);
});

test("a process that lived long enough is started again as if for the first time", async () => {
  const { supervisor, seen, listened } = supervise({ ...QUICK, steadyMs: 0 });
  supervisor.add("toy", async () => toy(LISTENS + "process.disconnect()"));
  await listened(4);
  expect(new Set(seen.restarts.map(([, , waitMs]) => waitMs))).toEqual(new Set([5]));
});

test("a process that says why it cannot run is given up at once with its own error", async () => {
  const { supervisor, seen } = supervise();
  let starts = 0;
  supervisor.add("toy", async () => {
    starts += 1;
    return toy(refusal("invalid_config"));
  });
  expect(await supervisor.givenUp()).toMatchObject({
    code: "invalid_config",
    message: "Cannot start",
  });
  expect(starts).toBe(1);
  expect(seen.restarts).toEqual([]);
});

test("a process that is refused after it listened is given up too", async () => {
  const { supervisor } = supervise();
  supervisor.add("toy", async () => toy(LISTENS + refusal("redis_evicts")));
  expect(await supervisor.givenUp()).toMatchObject({ code: "redis_evicts" });
});

test.each([
  ["at once", QUICK],
  ["after a slow start", { ...QUICK, steadyMs: 0 }],
])("a process that dies %s without a word three times is named", async (_when, times) => {
  const { supervisor } = supervise(times);
  supervisor.add("toy", async () => toy("process.exit(3)"));
  expect((await supervisor.givenUp()).message).toContain("toy: it ended with code 3, 3 times over");
});

test("a process that waits for its database is tried for as long as it takes", async () => {
  const { supervisor } = supervise();
  let starts = 0;
  supervisor.add("toy", async () => {
    starts += 1;
    return toy(starts < 6 ? refusal("database_unreachable") : LISTENS + LIVES);
  });
  await supervisor.listening();
  expect(starts).toBe(6);
});

test("a process that ran well once is never given up", async () => {
  const { supervisor, listened } = supervise({ ...QUICK, steadyMs: 0 });
  let starts = 0;
  supervisor.add("toy", async () => {
    starts += 1;
    const works = starts === 1 || starts > 5;
    return toy(works ? `${LISTENS}process.disconnect()` : refusal("invalid_config"));
  });
  await listened(2);
  expect(starts).toBe(6);
});

test("a process that listens and crashes goes on being started", async () => {
  const { supervisor, seen, listened } = supervise();
  supervisor.add("toy", async () => toy(`${LISTENS}process.disconnect()`));
  await listened(5);
  expect(seen.restarts.length).toBeGreaterThanOrEqual(4);
});

test("a stop asks first, kills who does not go, and starts nobody again", async () => {
  const { supervisor, seen } = supervise();
  supervisor.add("good", async () => toy(LISTENS + LIVES));
  supervisor.add("deaf", async () =>
    toy(`process.on("SIGTERM", () => {}); setInterval(() => {}, 1_000); ${LISTENS}`),
  );
  await supervisor.listening();
  const pids = supervisor.processes().map(({ pid }) => pid);
  await supervisor.stop(200);
  expect(pids.map(answersSignal)).toEqual([false, false]);
  expect(seen.restarts).toEqual([]);
});

test("a stop does not wait out a restart's pause", async () => {
  const { supervisor, listened } = supervise({ ...QUICK, backoffFirstMs: 60_000 });
  supervisor.add("toy", async () => toy(`${LISTENS}process.disconnect()`));
  await listened(1);
  const startedAt = performance.now();
  await supervisor.stop(50_000);
  expect(performance.now() - startedAt).toBeLessThan(30_000);
});
