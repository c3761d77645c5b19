import { readFileSync, readdirSync, readlinkSync } from "node:fs";
import { sep } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** The living processes that work in a folder or name it on their command line. */
export function processesOf(folder) {
  const found = [];
  for (const name of readdirSync("/proc")) {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid) continue;
    const cwd = attempt(() => readlinkSync(`/proc/${pid}/cwd`)) ?? "";
    const words = attempt(() => readFileSync(`/proc/${pid}/cmdline`, "utf8")) ?? "";
    const inside = cwd === folder || cwd.startsWith(folder + sep) || words.includes(folder + sep);
    if (inside) found.push({ pid, command: words.replaceAll("\0", " ").trim() });
  }
  return found;
}

/** Ends processes that a case has left behind. */
export async function endProcesses(processes) {
  for (const signal of ["SIGTERM", "SIGKILL"]) {
    const alive = processes.filter(({ pid }) => attempt(() => process.kill(pid, signal)) === true);
    if (alive.length > 0) await sleep(2_000);
  }
}

function attempt(act) {
  try {
    return act();
  } catch {
    return undefined;
  }
}
