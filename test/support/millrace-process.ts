import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

export const BIN = fileURLToPath(new URL("../../apps/cli/bin/millrace.mjs", import.meta.url));

export type MillraceProcess = Awaited<ReturnType<typeof startRole>>;

type Environment = Readonly<Record<string, string | undefined>>;

export interface ProcessOptions {
  readonly bin?: string;
  readonly args?: readonly string[];
  readonly cwd?: string;
  readonly uid?: number | undefined;
  readonly gid?: number | undefined;
  /** True by default: by its channel it says where it listens, and ends with this process. */
  readonly ipc?: boolean;
}

export async function startRole(
  role: string,
  env: Environment,
  { args = [], ...options }: ProcessOptions = {},
) {
  const { child, output } = launch([role, ...args], env, options);
  const url = await Promise.race([
    new Promise<string>((resolve) => {
      child.on("message", (message: { kind?: string; port?: number }) => {
        if (message.kind === "listening") resolve(`http://127.0.0.1:${message.port}`);
      });
    }),
    once(child, "exit").then(([code]) => {
      throw new Error(`Cannot start ${role}: it exited with ${code}\n${output()}`);
    }),
  ]);
  const exited = async () => {
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    return child.exitCode;
  };
  return {
    pid: child.pid ?? -1,
    url,
    output,
    signal: (signal: NodeJS.Signals) => void child.kill(signal),
    exited,
    end: (signal: NodeJS.Signals = "SIGKILL") => {
      child.kill(signal);
      return exited();
    },
  };
}

export async function runCommand(
  args: readonly string[],
  env: Environment,
  options?: ProcessOptions,
): Promise<{ code: number | null; output: string }> {
  const { bin = BIN, ...spawned } = options ?? {};
  return await runProgram(process.execPath, [bin, ...args], env, spawned);
}

export function launch(
  args: readonly string[],
  env: Environment,
  options?: ProcessOptions,
): { child: ChildProcess; output(): string } {
  const { bin = BIN, ...spawned } = options ?? {};
  const child = spawnProgram(process.execPath, [bin, ...args], env, spawned);
  return { child, output: outputOf(child) };
}

export async function runProgram(
  ...given: Parameters<typeof spawnProgram>
): Promise<{ code: number | null; output: string }> {
  const child = spawnProgram(...given);
  const output = outputOf(child);
  await once(child, "close");
  return { code: child.exitCode, output: output() };
}

export function outputOf({ stdout, stderr }: ChildProcess): () => string {
  const chunks: string[] = [];
  for (const stream of [stdout, stderr]) {
    stream?.on("data", (chunk: Buffer) => chunks.push(chunk.toString()));
  }
  return () => chunks.join("");
}

export function spawnProgram(
  command: string,
  args: readonly string[],
  env: Environment,
  { ipc = true, ...options }: Omit<ProcessOptions, "bin" | "args"> = {},
): ChildProcess {
  return spawn(command, args, {
    ...options,
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"], ...env },
    stdio: ["ignore", "pipe", "pipe", ...(ipc ? ["ipc" as const] : [])],
  });
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
