import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, writeSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe } from "vitest";

export type SmallDisk = Awaited<ReturnType<typeof mountSmallDisk>>;

export async function mountSmallDisk(bytes: number) {
  const point = await mkdtemp(join(tmpdir(), "millrace-disk-"));
  const mount = `mount -t tmpfs -o size=${bytes},mode=755 none "$0" && echo mounted && exec cat`;
  // It ends with its input, so also when this process is killed.
  const holder = spawn("unshare", [...namespace(), "sh", "-c", mount, point], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const over = once(holder, "exit");
  const [said] = await Promise.race([once(holder.stdout, "data"), over.then(() => [""])]);
  if (String(said).trim() !== "mounted") throw new Error("Cannot mount a tmpfs: see above");
  const folder = `/proc/${holder.pid}/root${point}`;
  const filler = join(folder, "filler");
  return {
    folder,
    fill: () => fillUp(filler),
    free: () => rm(filler, { force: true }),
    close: async () => {
      holder.stdin.end();
      await over;
      await rm(point, { recursive: true });
    },
  };
}

export function describeOnSmallDisk(title: string, suite: () => void): void {
  const trouble = mountError();
  if (trouble !== undefined && process.env["CI"] === "true") {
    throw new Error(`Cannot run "${title}": ${trouble}`);
  }
  if (trouble !== undefined) process.stdout.write(`NOT RUN "${title}": ${trouble}\n`);
  describe.skipIf(trouble !== undefined)(`${title} (needs unshare and a tmpfs)`, suite);
}

function mountError(): string | undefined {
  const command = [...namespace(), "mount", "-t", "tmpfs", "none", tmpdir()];
  const { status, stderr, error } = spawnSync("unshare", command, { encoding: "utf8" });
  if (status === 0) return undefined;
  const said = error?.message ?? stderr.trim();
  return `it wants a small disk: Linux, as root or with user namespaces (kernel.unprivileged_userns_clone=1); ${said}`;
}

function namespace(): readonly string[] {
  return process.getuid?.() === 0 ? ["--mount"] : ["--mount", "--map-root-user"];
}

function fillUp(file: string): void {
  const handle = openSync(file, "a");
  try {
    for (let size = 1_048_576; size >= 1; size = Math.floor(size / 16)) {
      writeUntilFull(handle, Buffer.alloc(size));
    }
  } finally {
    closeSync(handle);
  }
}

function writeUntilFull(handle: number, bytes: Buffer): void {
  try {
    for (;;) writeSync(handle, bytes);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ENOSPC")) throw error;
  }
}
