import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import {
  ERROR_CODES,
  errorText,
  isMillraceError,
  MillraceError,
  SERVER_AWAY,
  wait,
  type ErrorCode,
} from "@millrace/core";
import { z } from "zod";
import type { Run } from "../data-folder.ts";

export type RunningProcess = Run["processes"][number];

interface SupervisorHooks {
  /** True when a process that cannot start waits for `restart`, and is not given up. */
  readonly isWatching?: boolean;
  onListening(process: RunningProcess): void;
  /** @param waitMs - undefined when it waits for `restart`. */
  onRestart(name: string, reason: string, waitMs: number | undefined): void;
}

export type Launch = () => Promise<ChildProcess>;

const TIMES = {
  backoffFirstMs: 250,
  backoffMaxMs: 10_000,
  /** The life after which a process is started again as if for the first time. */
  steadyMs: 10_000,
};

export function createSupervisor(hooks: SupervisorHooks, times = TIMES) {
  const children = new Map<string, ReturnType<typeof superviseChild>>();
  const all = () => [...children.values()];
  return {
    add(name: string, launch: Launch): void {
      children.set(name, superviseChild(name, launch, hooks, times));
    },
    async listening(): Promise<void> {
      await Promise.all(all().map((child) => child.listening));
    },
    givenUp: (): Promise<Error> => Promise.race(all().map((child) => child.givenUp)),
    processes: (): RunningProcess[] => all().flatMap((child) => child.running() ?? []),
    /** SIGTERM to all, SIGKILL after `deadlineMs`; resolves when all are gone. */
    async stop(deadlineMs: number): Promise<void> {
      await Promise.all(all().map((child) => child.stop(deadlineMs)));
    },
    kill(): void {
      for (const child of all()) child.kill();
    },
    restart(isMeant: (name: string) => boolean): void {
      for (const [name, child] of children) if (isMeant(name)) child.restart();
    },
  };
}

const EARLY_DEATHS_MAX = 3;
/** The longest time that a timer takes. */
const WAIT_MAX_MS = 2 ** 31 - 1;

// Starts a process that died again, after a wait that grows. One that never ran well is given up
// when it reports an error, or dies three times in a row without one.
function superviseChild(name: string, launch: Launch, hooks: SupervisorHooks, times: typeof TIMES) {
  const stopping = new AbortController();
  let restarting = new AbortController();
  const listening = deferred<void>();
  const givenUp = deferred<MillraceError>();
  let child: ChildProcess | undefined;
  let running: RunningProcess | undefined;

  async function runOnce() {
    const startedAtMs = Date.now();
    let error: MillraceError | undefined;
    let hadListened = false;
    let reason: string;
    try {
      const launched = await launch();
      child = launched;
      if (stopping.signal.aborted || restarting.signal.aborted) child.kill("SIGTERM");
      child.on("message", (message) => {
        const { data } = messageSchema.safeParse(message);
        if (data?.kind === "failed") error = new MillraceError(data.code, data.message);
        if (data?.kind !== "listening") return;
        hadListened = true;
        running = { name, pid: launched.pid ?? -1, port: data.port };
        listening.resolve();
        hooks.onListening(running);
      });
      // `close` comes after the last line of its output, `exit` may come before.
      await once(child, "close");
      const { exitCode, signalCode } = child;
      reason =
        signalCode === null ? `it ended with code ${exitCode}` : `it was ended by ${signalCode}`;
    } catch (cause) {
      reason = errorText(cause);
      error = isMillraceError(cause) ? cause : undefined;
    }
    return { reason, error, hadListened, livedMs: Date.now() - startedAtMs };
  }

  async function live(): Promise<void> {
    let refusals = 0;
    let ranWell = false;
    let waitMs = times.backoffFirstMs;
    while (!stopping.signal.aborted) {
      if (restarting.signal.aborted) {
        restarting = new AbortController();
        refusals = 0;
        waitMs = times.backoffFirstMs;
      }
      const { reason, error, hadListened, livedMs } = await runOnce();
      if (stopping.signal.aborted) return;
      if (restarting.signal.aborted) continue;
      if (hadListened && livedMs >= times.steadyMs) {
        ranWell = true;
        waitMs = times.backoffFirstMs;
      }
      const isPassing = error === undefined ? hadListened : PASSING.has(error.code);
      refusals = isPassing ? 0 : refusals + 1;
      // Another start would only repeat an error that the process reported.
      const isFinal = error !== undefined && error.code !== "internal" && !isPassing;
      const isRefused = !ranWell && (isFinal || refusals >= EARLY_DEATHS_MAX);
      if (isRefused && hooks.isWatching !== true) {
        const text = `Cannot start ${name}: ${reason}, ${EARLY_DEATHS_MAX} times over`;
        givenUp.resolve(error ?? new MillraceError("internal", text));
        return;
      }
      hooks.onRestart(name, error?.message ?? reason, isRefused ? undefined : waitMs);
      const called = AbortSignal.any([stopping.signal, restarting.signal]);
      await wait(isRefused ? WAIT_MAX_MS : waitMs, called);
      waitMs = Math.min(waitMs * 2, times.backoffMaxMs);
    }
  }
  const gone = live();

  return {
    running: () => running,
    listening: listening.promise,
    givenUp: givenUp.promise,
    async stop(deadlineMs: number): Promise<void> {
      stopping.abort();
      child?.kill("SIGTERM");
      const deadline = setTimeout(() => child?.kill("SIGKILL"), deadlineMs);
      await gone;
      clearTimeout(deadline);
    },
    kill(): void {
      stopping.abort();
      child?.kill("SIGKILL");
    },
    restart(): void {
      restarting.abort();
      child?.kill("SIGTERM");
    },
  };
}

function deferred<Value>(): { promise: Promise<Value>; resolve: (value: Value) => void } {
  let resolve: (value: Value) => void = () => {};
  const promise = new Promise<Value>((settle) => (resolve = settle));
  return { promise, resolve };
}

const PASSING: ReadonlySet<ErrorCode> = new Set([...SERVER_AWAY, "port_in_use", "shutting_down"]);

const CODE = z.enum(Object.keys(ERROR_CODES) as ErrorCode[]).catch("internal");

const messageSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("listening"), port: z.number() }),
  z.object({ kind: z.literal("failed"), code: CODE, message: z.string() }),
]);
