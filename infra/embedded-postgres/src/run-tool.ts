import { spawn } from "node:child_process";
import { SERVER_ENVIRONMENT, type ServerUser } from "./server-user.ts";

export interface ToolResult {
  readonly code: number | null;
  /** What it wrote to stdout and stderr; or why it could not be run. */
  readonly output: string;
}

/** Runs one of Postgres' programs to its end; `stdin` is a file descriptor. Never throws. */
export function runTool(
  path: string,
  args: readonly string[],
  options: { cwd: string; user: ServerUser | undefined; stdin?: number },
): Promise<ToolResult> {
  return new Promise<ToolResult>((resolve) => {
    let output = "";
    const child = spawn(path, args, {
      cwd: options.cwd,
      env: SERVER_ENVIRONMENT,
      stdio: [options.stdin ?? "ignore", "pipe", "pipe"],
      ...options.user,
    });
    child.stdout?.on("data", (data: Buffer) => (output += data.toString()));
    child.stderr?.on("data", (data: Buffer) => (output += data.toString()));
    child.once("error", (error) => resolve({ code: null, output: error.message }));
    child.once("close", (code) => resolve({ code, output }));
    // Where a user does not exist (a user namespace with root alone) spawn itself throws.
  }).catch((error: unknown) => ({ code: null, output: String(error) }));
}
