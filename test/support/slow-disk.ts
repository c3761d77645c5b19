import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const SOURCE = fileURLToPath(new URL("../fixtures/slow-fsync.c", import.meta.url));

export type SlowDisk = ReturnType<typeof createSlowDisk>;

/** A disk whose fsync takes long while it is told to, for a redis-server with its `env`. @throws without gcc. */
export function createSlowDisk(fsyncMs: number) {
  const folder = mkdtempSync(join(tmpdir(), "millrace-fsync-"));
  const library = join(folder, "slow-fsync.so");
  const flag = join(folder, "slow");
  execFileSync("gcc", ["-shared", "-fPIC", "-o", library, SOURCE, "-ldl"]);
  return {
    env: { LD_PRELOAD: library, SLOW_FSYNC_WHILE: flag, SLOW_FSYNC_MS: String(fsyncMs) },
    slowDown: () => writeFileSync(flag, ""),
    speedUp: () => rmSync(flag, { force: true }),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

export function hasGcc(): boolean {
  try {
    execFileSync("gcc", ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
