import { spawn, type ChildProcess, type SpawnOptions } from "node:child_process";
import { once } from "node:events";
import { endWithThisProcess } from "./end-with-process.ts";
import { until } from "./until.ts";

interface ServerOptions {
  readonly name: string;
  readonly path: string;
  readonly args: readonly string[];
  readonly folder: string;
  readonly spawn?: Pick<SpawnOptions, "cwd" | "env" | "uid" | "gid"> | undefined;
  isReady(): Promise<unknown>;
}

export async function startServerProcess(options: ServerOptions) {
  let child = await launch(options);
  return {
    get pid(): number {
      return child.pid ?? -1;
    },
    signal: (signal: NodeJS.Signals) => void child.kill(signal),
    end: async (signal: NodeJS.Signals = "SIGKILL") => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      // Children that it leaves behind have its output until they notice.
      const gone = once(child, "close");
      child.kill(signal);
      await gone;
    },
    start: async () => {
      child = await launch(options);
    },
  };
}

async function launch(options: ServerOptions): Promise<ChildProcess> {
  const { name, path, args, folder, isReady } = options;
  const stdio: SpawnOptions["stdio"] = ["ignore", "pipe", "pipe"];
  const child = spawn(path, args, { ...options.spawn, stdio });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (chunk: Buffer) => (output = `${output}${chunk.toString()}`.slice(-4_000)));
  }
  if (child.pid !== undefined) child.once("exit", endWithThisProcess(child.pid, folder));
  const over = once(child, "exit").then(([code]) => {
    throw new Error(`Cannot start ${name}: it exited with ${code}\n${output}`);
  });
  over.catch(() => {});
  await Promise.race([until(isReady, { what: name }), over]);
  return child;
}

export function ordinaryUser(): { uid: number; gid: number } | undefined {
  return process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : undefined;
}
