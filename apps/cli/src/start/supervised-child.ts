import type { ChildProcess } from "node:child_process";
import { type ErrorCode, MillraceError, ERROR_CODES, isMillraceError } from "@millrace/core";
import { z } from "zod";

interface ChildHooks {
  /** It listens, for the first time or again. */
  onListening(port: number, pid: number): void;
  /** It died, and is started again after `waitMs`. */
  onRestart(reason: string, waitMs: number): void;
}

export interface ChildTimes {
  /** Milliseconds before the first restart; each further one waits twice as long. */
  readonly backoffFirstMs: number;
  /** Milliseconds that no wait exceeds. */
  readonly backoffMaxMs: number;
  /** Milliseconds a process must have lived to be started again as if for the first time. */
  readonly steadyMs: number;
}

export interface SupervisedChild {
  /** Resolves when it first listens. */
  readonly listening: Promise<void>;
  /** Resolves with its own error when it is given up. */
  readonly givenUp: Promise<MillraceError>;
  /** SIGTERM, then SIGKILL after `deadlineMs`; resolves when it is gone for good. */
  stop(deadlineMs: number): Promise<void>;
  /** SIGKILL, and no restart. */
  kill(): void;
}

/** Early deaths without an error after which a process that never ran well is given up. */
const EARLY_DEATHS_MAX = 3;

/**
 * Keeps one process alive: when it dies it is started again, after a wait that grows. A process
 * that never ran well is given up when it reports an error (of its config, for example), or when it
 * dies three times in a row without one.
 */
export function superviseChild(
  name: string,
  launch: Launch,
  hooks: ChildHooks,
  times: ChildTimes,
): SupervisedChild {
  const stopping = new AbortController();
  const listening = deferred<void>();
  const givenUp = deferred<MillraceError>();
  let child: ChildProcess | undefined;

  const life = {
    onLaunched: (launched: ChildProcess) => {
      child = launched;
      if (stopping.signal.aborted) child.kill("SIGTERM");
    },
    onListening: (port: number, pid: number) => {
      listening.resolve();
      hooks.onListening(port, pid);
    },
  };

  async function live(): Promise<void> {
    let refusals = 0;
    let ranWell = false;
    let waitMs = times.backoffFirstMs;
    while (!stopping.signal.aborted) {
      const death = await runChild(launch, life);
      if (stopping.signal.aborted) return;
      if (death.livedMs >= times.steadyMs) {
        ranWell = true;
        waitMs = times.backoffFirstMs;
      }
      refusals = isRefusal(death) ? refusals + 1 : 0;
      if (!ranWell && (isFinal(death) || refusals >= EARLY_DEATHS_MAX)) {
        givenUp.resolve(death.error ?? withoutAWord(name, death.reason));
        return;
      }
      hooks.onRestart(death.error?.message ?? death.reason, waitMs);
      await pause(waitMs, stopping.signal);
      waitMs = Math.min(waitMs * 2, times.backoffMaxMs);
    }
  }
  const gone = live();

  return {
    listening: listening.promise,
    givenUp: givenUp.promise,
    async stop(deadlineMs) {
      stopping.abort();
      child?.kill("SIGTERM");
      const deadline = setTimeout(() => child?.kill("SIGKILL"), deadlineMs);
      await gone;
      clearTimeout(deadline);
    },
    kill() {
      stopping.abort();
      child?.kill("SIGKILL");
    },
  };
}

/** A death that the next start will probably repeat. */
function isRefusal({ error, hadListened }: Death): boolean {
  return error === undefined ? !hadListened : !isPassing(error);
}

/** It said why, and trying again would only say it again. */
function isFinal({ error }: Death): boolean {
  return error !== undefined && error.code !== "internal" && !isPassing(error);
}

function withoutAWord(name: string, reason: string): MillraceError {
  return new MillraceError(
    "internal",
    `Cannot start ${name}: ${reason}, ${EARLY_DEATHS_MAX} times over`,
  );
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const timer = setTimeout(finish, ms);
    signal.addEventListener("abort", finish, { once: true });
    function finish(): void {
      clearTimeout(timer);
      signal.removeEventListener("abort", finish);
      resolve();
    }
  });
}

function deferred<Value>(): { promise: Promise<Value>; resolve: (value: Value) => void } {
  let resolve: (value: Value) => void = () => {};
  const promise = new Promise<Value>((settle) => (resolve = settle));
  return { promise, resolve };
}

const PASSING: ReadonlySet<ErrorCode> = new Set([
  "database_unreachable",
  "database_unavailable",
  "database_read_only",
  "redis_unreachable",
  "redis_not_writing",
  "port_in_use",
  "shutting_down",
]);

/** True for errors that another start can get past. */
function isPassing(error: MillraceError): boolean {
  return PASSING.has(error.code);
}

/** Starts a supervised process; called again for each restart. */
export type Launch = () => Promise<ChildProcess>;

/** The end of one life of a process. */
interface Death {
  readonly reason: string;
  /** The error that it reported. */
  readonly error: MillraceError | undefined;
  readonly hadListened: boolean;
  readonly livedMs: number;
}

interface LifeHooks {
  onLaunched(child: ChildProcess): void;
  onListening(port: number, pid: number): void;
}

/** Follows one life of a process, from its launch to its end. */
async function runChild(launch: Launch, hooks: LifeHooks): Promise<Death> {
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

/** A message of a role's process: its port, or the error of its start. */
type ChildMessage =
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
