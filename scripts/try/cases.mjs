import { createServer } from "node:net";
import { command, millrace, npm, ready, sees, sendOne, stop } from "./clone.mjs";
import { processesOf } from "./processes.mjs";

const USUAL_PORTS = [3000, 3001, 3002, 5432, 6379];

/** Starts, sends an event, sees it completed, stops: what every clone must be able to do. */
async function whole(clone, { during = async (_started) => {}, end = {} } = {}) {
  const started = npm(clone, ["start"]);
  await ready(clone, started);
  await sendOne(clone);
  await during(started);
  return stop(clone, started, end);
}

async function twice(clone) {
  await whole(clone, { during: (started) => printedLine(clone, started) });
  const again = npm(clone, ["start"]);
  await ready(clone, again);
  await sees(clone, 2);
  await stop(clone, again);
  isUntouched(clone);
}

// The line that the start prints has to work as printed.
async function printedLine(clone, started) {
  const line = /^\s+(npx millrace send .*)$/m.exec(started.said())?.[1];
  if (line === undefined) throw new Error(`npm start printed no line to try:\n${started.said()}`);
  command(clone, "sh", ["-c", line]);
  await sees(clone, 2);
}

function isUntouched(clone) {
  const changed = command(clone, "git", ["status", "--porcelain"]);
  if (changed !== "") throw new Error(`npm start changed the checkout:\n${changed}`);
}

async function withPortsTaken(clone) {
  const servers = await Promise.all(USUAL_PORTS.map(take));
  try {
    await whole(clone);
  } finally {
    for (const server of servers) server?.close();
  }
}

// Where one is taken already, so much the better.
function take(port) {
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy());
    server.once("error", () => resolve(undefined));
    server.listen(port, "127.0.0.1", () => resolve(server));
  });
}

async function killed(clone) {
  const first = npm(clone, ["start"]);
  const run = await ready(clone, first);
  await sendOne(clone);
  const postgres = processesOf(clone.folder).find(({ command: words }) =>
    words.includes("postgres"),
  );
  process.kill(run.pid, "SIGKILL");
  await first.ended;
  const second = npm(clone, ["start"]);
  await ready(clone, second);
  await sees(clone, 1);
  await sendOne(clone);
  const same = processesOf(clone.folder).some(({ pid }) => pid === postgres?.pid);
  if (!same) throw new Error("The Postgres that was left behind was not taken over");
  await stop(clone, second);
}

// The scripts between npm and millrace die: the processes that they started have to end too.
async function abandoned(clone) {
  const first = npm(clone, ["start"]);
  await ready(clone, first);
  await sendOne(clone);
  const script = processesOf(clone.folder).find(({ command: words }) =>
    words.includes("start.mjs"),
  );
  process.kill(script.pid, "SIGKILL");
  await first.ended;
  const deadline = Date.now() + 60_000;
  while (processesOf(clone.folder).length > 0) {
    if (Date.now() > deadline) throw new Error("Processes outlive scripts/start.mjs by a minute");
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  const second = npm(clone, ["start"]);
  await ready(clone, second);
  await sees(clone, 1);
  await stop(clone, second);
}

async function twoAtOnce(clone) {
  const both = [npm(clone, ["start"]), npm(clone, ["start"])];
  const lost = await Promise.race(both.map(async (start) => start.ended.then(() => start)));
  const won = both.find((start) => start !== lost);
  const { code } = await lost.ended;
  if (code === 0) throw new Error("The second start ended with 0");
  if (!/already_running/.test(lost.said())) {
    throw new Error(`The second start was not refused by name:\n${lost.said()}`);
  }
  await ready(clone, won);
  await sendOne(clone);
  await stop(clone, won);
}

async function testsPass(clone) {
  const run = npm(clone, ["test"]);
  const { code } = await run.ended;
  const last = run.said().trim().split("\n").at(-1) ?? "";
  if (code !== 0 || !/^\d+ passed, 0 failed, \d+ skipped$/.test(last)) {
    throw new Error(`npm test ended with ${code}:\n${run.said().slice(-4_000)}`);
  }
  isUntouched(clone);
  return last;
}

async function showsHelp(clone) {
  await whole(clone);
  millrace(clone, ["--help"]);
}

const homeless = { HOME: "/nonexistent" };

/** The cases by name. `user: "nobody"` needs root to change to; `slow` ones run with --all. */
export const CASES = {
  "closed-folder": { what: "under a folder (0700) that only we can enter", run: twice },
  nobody: {
    what: "as nobody, with HOME=/nonexistent and LANG unset",
    user: "nobody",
    env: homeless,
    run: twice,
  },
  "odd-locale": { what: "with LC_ALL=xx", env: { LC_ALL: "xx" }, run: whole },
  production: { what: "with NODE_ENV=production", env: { NODE_ENV: "production" }, run: showsHelp },
  "ignore-scripts": {
    what: "with install scripts off",
    env: { npm_config_ignore_scripts: "true" },
    run: whole,
  },
  "nobody-ignore-scripts": {
    what: "as nobody, with install scripts off",
    user: "nobody",
    env: { ...homeless, npm_config_ignore_scripts: "true" },
    run: whole,
  },
  "ports-taken": { what: `with ports ${USUAL_PORTS.join(", ")} taken`, run: withPortsTaken },
  "odd-path": {
    what: "in a folder with a space and an apostrophe",
    folder: "it's here",
    run: whole,
  },
  "no-git": { what: "without .git", bare: true, run: whole },
  "ctrl-c": {
    what: "stopped with Ctrl-C",
    run: (clone) => whole(clone, { end: { signal: "SIGINT", group: true } }),
  },
  killed: { what: "started again after KILL of the start", run: killed },
  abandoned: { what: "started again after KILL of scripts/start.mjs", run: abandoned },
  "two-at-once": { what: "two starts at once: the second is refused", run: twoAtOnce },
  tests: { what: "npm test", slow: true, run: testsPass },
  "tests-nobody": {
    what: "npm test as nobody, with HOME=/nonexistent, LANG unset and NODE_ENV=production",
    slow: true,
    user: "nobody",
    env: { ...homeless, NODE_ENV: "production" },
    run: testsPass,
  },
};
