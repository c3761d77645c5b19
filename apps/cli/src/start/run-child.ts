import { ERROR_CODES, type ErrorCode, isMillraceError, MillraceError } from "@millrace/core";
import type { ChildProcess } from "node:child_process";
import { z } from "zod";

/** How a supervised process is begun; called again for each restart. */
export type Launch = () => Promise<ChildProcess>;

/** How one life of a process ended. */
export interface Death {
  readonly reason: string;
  /** What it said of its end. */
  readonly error: MillraceError | undefined;
  readonly hadListened: boolean;
  readonly livedMs: number;
}

export interface LifeHooks {
  onLaunched(child: ChildProcess): void;
  onListening(port: number, pid: number): void;
}

/** Follows one life of a process, from its launch to its end. */
export async function runChild(launch: Launch, hooks: LifeHooks): Promise<Death> {
  const startedAtMs = Date.now();
  let error: MillraceError | undefined;
  let hadListened = false;
  let reason: string;
  try {
    const child = await launch();
    hooks.onLaunched(child);
    child.on("message", (message) => {
      const read = readChildMessage(message);
      if (read?.kind === "failed") error = read.error;
      if (read?.kind !== "listening") return;
      hadListened = true;
      hooks.onListening(read.port, child.pid ?? -1);
    });
    reason = await ended(child);
  } catch (cause) {
    reason = String(cause);
    error = isMillraceError(cause) ? cause : undefined;
  }
  return { reason, error, hadListened, livedMs: Date.now() - startedAtMs };
}

function ended(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once("error", (error) => resolve(error.message));
    // `close` comes after the last line of its output, `exit` may come before.
    child.once("close", (code, signal) => {
      resolve(signal === null ? `it ended with code ${code}` : `it was ended by ${signal}`);
    });
  });
}

const listeningSchema = z.object({ kind: z.literal("listening"), port: z.number() });
const failedSchema = z.object({
  kind: z.literal("failed"),
  code: z.string(),
  message: z.string(),
});
const messageSchema = z.discriminatedUnion("kind", [listeningSchema, failedSchema]);

/** What a role's process says over its channel: where it listens, or why it did not start. */
export type ChildMessage =
  | { readonly kind: "listening"; readonly port: number }
  | { readonly kind: "failed"; readonly error: MillraceError };

/** Reads a message of a child process; undefined for anything else. */
function readChildMessage(message: unknown): ChildMessage | undefined {
  const parsed = messageSchema.safeParse(message);
  if (!parsed.success) return undefined;
  if (parsed.data.kind === "listening") return parsed.data;
  const { code, message: text } = parsed.data;
  return { kind: "failed", error: new MillraceError(isErrorCode(code) ? code : "internal", text) };
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERROR_CODES, code);
}
