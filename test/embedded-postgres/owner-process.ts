import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const script = fileURLToPath(new URL("owner.mjs", import.meta.url));

export interface Said {
  readonly url?: string;
  readonly port?: number;
  readonly pid?: number;
  readonly adopted?: boolean;
  readonly code?: string;
  readonly message?: string;
}

export async function startOwner(
  dataDir: string,
  options: { uid?: number; env?: Record<string, string> } = {},
) {
  const child = spawn(process.execPath, [script, dataDir], {
    cwd: "/",
    env: options.env ?? {},
    stdio: ["pipe", "pipe", "inherit"],
    ...(options.uid === undefined ? {} : { uid: options.uid, gid: options.uid }),
  });
  const lines = createInterface({ input: child.stdout });
  const [first] = (await once(lines, "line")) as [string];
  const end = async (finish: () => void) => {
    const exited = child.exitCode === null ? once(child, "exit") : undefined;
    finish();
    await exited;
  };
  return {
    said: JSON.parse(first) as Said,
    child,
    stop: () => end(() => child.stdin.end("stop\nleave\n")),
    kill: () => end(() => child.kill("SIGKILL")),
  };
}
