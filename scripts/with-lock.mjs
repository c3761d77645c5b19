import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/**
 * Runs `work` while no other living process of this clone runs work under the same name; waits
 * for one that does. Each process writes a file of its own and goes on only when it is alone, so
 * that nobody ever takes over the file of another.
 */
export async function withLock(folder, work) {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const mine = join(folder, `${process.pid}.${startOf(process.pid) ?? "0"}`);
  const release = () => rmSync(mine, { force: true });
  process.on("exit", release);
  try {
    await acquire(folder, mine);
    return await work();
  } finally {
    release();
    process.off("exit", release);
  }
}

async function acquire(folder, mine) {
  let said = false;
  for (;;) {
    writeFileSync(mine, "");
    const other = livingOther(folder, basename(mine));
    if (other === undefined) return;
    rmSync(mine, { force: true });
    if (!said) console.error(`Waiting for process ${other}, which is at work in this folder...`);
    said = true;
    await sleep(50 + Math.random() * 200);
  }
}

function livingOther(folder, mine) {
  for (const name of readdirSync(folder)) {
    if (name === mine) continue;
    const [pid, start] = name.split(".");
    const now = startOf(Number(pid));
    if (now !== undefined && (now === start || now === "0" || start === "0")) return Number(pid);
    rmSync(join(folder, name), { force: true });
  }
  return undefined;
}

/** When a process started, `0` where the system does not say; undefined when it is gone. */
function startOf(pid) {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (error.code !== "EPERM") return undefined;
  }
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" ? undefined : fields[19];
  } catch {
    return "0";
  }
}
