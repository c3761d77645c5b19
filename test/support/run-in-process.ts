import { fileURLToPath } from "node:url";
import { runCli, type CliContext } from "@millrace/cli";
import { BIN } from "./millrace-process.ts";

export const STORE_CONFIG = fileURLToPath(
  new URL("../../examples/store/millrace.config.ts", import.meta.url),
);

export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandOptions {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  readonly stdin?: string;
  readonly ask?: CliContext["ask"];
}

export function millrace(args: readonly string[], options: CommandOptions = {}): Promise<Outcome> {
  return startCommand(args, options).ended;
}

export function startCommand(
  args: readonly string[],
  { env = {}, cwd = "/", stdin = "", ask }: CommandOptions = {},
) {
  const written = { stdout: "", stderr: "" };
  const listeners = new Set<(signal: NodeJS.Signals) => void>();
  let code = 0;
  const context: CliContext = {
    env,
    cwd,
    bin: BIN,
    user: "tester",
    stdout: { write: (text) => (written.stdout += text), columns: 100 },
    stderr: { write: (text) => (written.stderr += text), columns: 100 },
    readStdin: async () => Buffer.from(stdin),
    ask,
    onStopSignal: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    setExitCode: (wanted) => (code = wanted),
    exit: (wanted) => (code = wanted),
  };
  return {
    written,
    stop: () => {
      for (const listener of listeners) listener("SIGINT");
    },
    ended: runCli(args, context).then((failure) => ({
      code: failure?.exitCode ?? code,
      ...written,
    })),
  };
}
