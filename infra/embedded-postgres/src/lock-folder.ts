import { randomBytes } from "node:crypto";
import { mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { MillraceError } from "@millrace/core";
import { identifyProcess, isAlive, type ProcessIdentity } from "./process-identity.ts";

const TRIES = 60;

export type FolderLock = Awaited<ReturnType<typeof lockFolder>>;

interface Claim extends ProcessIdentity {
  readonly holds: boolean;
}

/**
 * Writes a file of this process into `lock/`, and goes on only when it then sees none of another
 * living process: of two that ask at once at most one goes on. A process that dies gives it back.
 * @throws `already_running` with the pid of the process that has it
 */
export async function lockFolder(folder: string) {
  const locks = join(folder, "lock");
  await mkdir(locks, { recursive: true, mode: 0o700 });
  const me = await identifyProcess(process.pid);
  const name = `${process.pid}.${me?.since ?? "0"}.${randomBytes(6).toString("hex")}`;
  const path = join(locks, name);
  for (let attempt = 1; ; attempt += 1) {
    await writeFile(path, "asks", { mode: 0o600 });
    const others = await livingClaims(locks, name);
    if (others[0] === undefined) {
      await writeFile(path, "holds");
      return { release: () => rm(path, { force: true }) };
    }
    await rm(path, { force: true });
    const holder = others.find((claim) => claim.holds);
    if (holder !== undefined || attempt === TRIES) {
      const { pid } = holder ?? others[0];
      throw new MillraceError(
        "already_running",
        `Cannot work in ${JSON.stringify(folder)}: process ${pid} already does. ` +
          `Stop it first, or choose another folder with MILLRACE_DATA_DIR`,
        { cause: { pid } },
      );
    }
    await sleep(20 + Math.random() * 80);
  }
}

async function livingClaims(locks: string, mine: string): Promise<Claim[]> {
  const claims: Claim[] = [];
  for (const name of await readdir(locks)) {
    if (name === mine) continue;
    const [pid, since] = name.split(".");
    const identity = { pid: Number(pid), since: since ?? "0" };
    if (await isAlive(identity)) {
      const text = await readFile(join(locks, name), "utf8").catch(() => "");
      claims.push({ ...identity, holds: text === "holds" });
    } else {
      await rm(join(locks, name), { force: true });
    }
  }
  return claims;
}
