import { fileURLToPath } from "node:url";
import { runCli, type CliContext } from "@millrace/cli";

export const BIN = fileURLToPath(new URL("../../apps/cli/bin/millrace.mjs", import.meta.url));
export const STORE_CONFIG = fileURLToPath(
  new URL("../../examples/store/millrace.config.ts", import.meta.url),
);

/** What a command line came to. */
export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandOptions {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  readonly stdin?: string;
}

/** Runs a command line in this process, with an environment of its own. */
export async function millrace(
  args: readonly string[],
  { env = {}, cwd = "/", stdin = "" }: CommandOptions = {},
): Promise<Outcome> {
  const written = { stdout: "", stderr: "" };
  let code = 0;
  const context: CliContext = {
    env,
    cwd,
    bin: BIN,
    user: "tester",
    stdout: { write: (text) => (written.stdout += text), columns: 100 },
    stderr: { write: (text) => (written.stderr += text), columns: 100 },
    readStdin: async () => Buffer.from(stdin),
    onStopSignal: () => () => {},
    setExitCode: (wanted) => (code = wanted),
    exit: (wanted) => (code = wanted),
  };
  const failure = await runCli(args, context);
  return { code: failure?.exitCode ?? code, ...written };
}
