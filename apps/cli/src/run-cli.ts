import { CommanderError } from "commander";
import type { CliContext } from "./context.ts";
import { createProgram } from "./program.ts";
import { reportError } from "./report-error.ts";

/** The failure of a command. */
export interface CommandFailure {
  /** 1 failure, 2 usage. */
  readonly exitCode: number;
  readonly code: string;
  readonly message: string;
}

/** Runs one command line. Prints a failure and returns it. */
export async function runCli(
  args: readonly string[],
  context: CliContext,
): Promise<CommandFailure | undefined> {
  try {
    const program = await createProgram(context, args[0]);
    await program.parseAsync(args, { from: "user" });
    return undefined;
  } catch (error) {
    // Commander has printed the help, or what is wrong with the command line.
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return undefined;
      return { exitCode: 2, code: "invalid_request", message: error.message };
    }
    const withStack = ["debug", "trace"].includes(context.env["LOG_LEVEL"] ?? "");
    return { exitCode: 1, ...reportError(error, context.stderr, { withStack }) };
  }
}
