import { readFile } from "node:fs/promises";

/** A process, distinct from a later one with the same number. */
export interface ProcessIdentity {
  readonly pid: number;
  /** When it started, in words of this boot; `0` where the system does not say. */
  readonly since: string;
}

export async function identifyProcess(pid: number): Promise<ProcessIdentity | undefined> {
  if (!answersSignal(pid)) return undefined;
  const stat = await readProcStat(pid);
  if (stat === undefined) return { pid, since: "0" };
  if (stat.state === "Z" || stat.state === "X") return undefined;
  const bootId = await readFile("/proc/sys/kernel/random/boot_id", "utf8").catch(() => "");
  return { pid, since: `${stat.startTicks}-${bootId.slice(0, 8)}` };
}

/** True while that very process lives; a zombie does not. */
export async function isAlive(identity: ProcessIdentity): Promise<boolean> {
  const now = await identifyProcess(identity.pid);
  if (now === undefined) return false;
  return now.since === identity.since || now.since === "0" || identity.since === "0";
}

/** True while a process of this pid lives, also another user's. */
export function answersSignal(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return hasErrno(error, "EPERM");
  }
}

/** True for an error of the system with this name, such as `ENOENT`. */
export const hasErrno = (error: unknown, name: string): boolean =>
  error instanceof Error && "code" in error && error.code === name;

// proc(5): the command may hold spaces and brackets, so fields count from the last bracket.
async function readProcStat(pid: number) {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return { state: fields[0] ?? "", startTicks: fields[19] ?? "0" };
}
