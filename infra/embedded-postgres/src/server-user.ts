import { spawn } from "node:child_process";
import { once } from "node:events";
import { stat } from "node:fs/promises";

const NOBODY = 65_534;

/** The user that Postgres runs as, where it cannot be the user of this process. */
export interface ServerUser {
  readonly uid: number;
  readonly gid: number;
}

/** Postgres refuses to run as root: it then runs as its data's owner, or as uid 65534. */
export async function serverUser(pgdata: string): Promise<ServerUser | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const owner = await stat(pgdata).catch(() => undefined);
  if (owner !== undefined && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  return { uid: NOBODY, gid: NOBODY };
}

/** The other user may not be able to walk to it (a clone under /root), but to its own directory. */
export function dataArgument(pgdata: string, user: ServerUser | undefined): string {
  return user !== undefined && process.platform === "linux" ? "/proc/self/cwd" : pgdata;
}

/** Nothing of our own environment reaches Postgres: neither its locale nor PG* variables. */
export const SERVER_ENVIRONMENT = {
  PATH: "/usr/local/bin:/usr/bin:/bin",
  LC_ALL: "C",
  TZ: "UTC",
} as const;

interface ToolResult {
  readonly code: number | null;
  /** Its stdout and stderr, or the error of its launch. */
  readonly output: string;
}

/** Runs one of Postgres' programs to its end; `stdin` is a file descriptor. Never throws. */
export async function runTool(
  path: string,
  args: readonly string[],
  options: { cwd: string; user: ServerUser | undefined; stdin?: number },
): Promise<ToolResult> {
  let output = "";
  try {
    const child = spawn(path, args, {
      cwd: options.cwd,
      env: SERVER_ENVIRONMENT,
      stdio: [options.stdin ?? "ignore", "pipe", "pipe"],
      ...options.user,
    });
    child.stdout?.on("data", (data: Buffer) => (output += data.toString()));
    child.stderr?.on("data", (data: Buffer) => (output += data.toString()));
    await once(child, "close");
    return { code: child.exitCode, output };
  } catch (error) {
    // Where a user does not exist (a user namespace with root alone) spawn itself throws.
    return { code: null, output: String(error) };
  }
}
