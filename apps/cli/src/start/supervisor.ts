import type { ChildProcess } from "node:child_process";
import {
  ERROR_CODES,
  isMillraceError,
  MillraceError,
  SERVER_AWAY,
  wait,
  type ErrorCode,
} from "@millrace/core";
import { z } from "zod";

export interface RunningProcess {
  readonly name: string;
  readonly pid: number;
  readonly port: number;
}

interface SupervisorHooks {
  /** True when a process that cannot start waits for `restart`, and is not given up. */
  readonly isWatching?: boolean;
  onListening(process: RunningProcess): void;
  /** @param waitMs - undefined when it waits for `restart`. */
  onRestart(name: string, reason: string, waitMs: number | undefined): void;
}

interface Times {
  readonly backoffFirstMs: number;
  readonly backoffMaxMs: number;
  /** Milliseconds a process must have lived to be started again as if for the first time. */
  readonly steadyMs: number;
}

export type Launch = () => Promise<ChildProcess>;

export type Supervisor = ReturnType<typeof createSupervisor>;

const TIMES: Times = { backoffFirstMs: 250, backoffMaxMs: 10_000, steadyMs: 10_000 };

export function createSupervisor(hooks: SupervisorHooks, times: Times = TIMES) {
  const children = new Map<string, ReturnType<typeof superviseChild>>();
  const running = new Map<string, RunningProcess>();
  return {
    add(name: string, launch: Launch): void {
      const onListening = (process: RunningProcess) => {
        running.set(name, process);
        hooks.onListening(process);
      };
      children.set(name, superviseChild(name, launch, { ...hooks, onListening }, times));
    },
    async listening(): Promise<void> {
      await Promise.all([...children.values()].map((child) => child.listening));
    },
    givenUp(): Promise<Error> {
      return Promise.race([...children.values()].map((child) => child.givenUp));
    },
    processes(): RunningProcess[] {
      return [...children.keys()].flatMap((name) => running.get(name) ?? []);
    },
    /** SIGTERM to all, SIGKILL after `deadlineMs`; resolves when all are gone. */
    async stop(deadlineMs: number): Promise<void> {
      await Promise.all([...children.values()].map((child) => child.stop(deadlineMs)));
    },
    kill(): void {
      for (const child of children.values()) child.kill();
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
function superviseChild(name: string, launch: Launch, hooks: SupervisorHooks, times: Times) {
  const stopping = new AbortController();
  let restarting = new AbortController();
  const listening = deferred<void>();
  const givenUp = deferred<MillraceError>();
  let child: ChildProcess | undefined;

  const life: LifeHooks = {
    onLaunched: (launched) => {
      child = launched;
      if (stopping.signal.aborted || restarting.signal.aborted) child.kill("SIGTERM");
    },
    onListening: (port, pid) => {
      listening.resolve();
      hooks.onListening({ name, pid, port });
    },
  };

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
      const death = await runChild(launch, life);
      if (stopping.signal.aborted) return;
      if (restarting.signal.aborted) continue;
      if (death.hadListened && death.livedMs >= times.steadyMs) {
        ranWell = true;
        waitMs = times.backoffFirstMs;
      }
      const { error } = death;
      const isPassing = error === undefined ? death.hadListened : PASSING.has(error.code);
      refusals = isPassing ? 0 : refusals + 1;
      // Another start would only repeat an error that the process reported.
      const isFinal = error !== undefined && error.code !== "internal" && !isPassing;
      const isRefused = !ranWell && (isFinal || refusals >= EARLY_DEATHS_MAX);
      if (isRefused && hooks.isWatching !== true) {
        const text = `Cannot start ${name}: ${death.reason}, ${EARLY_DEATHS_MAX} times over`;
        givenUp.resolve(error ?? new MillraceError("internal", text));
        return;
      }
      const reason = error?.message ?? death.reason;
      hooks.onRestart(name, reason, isRefused ? undefined : waitMs);
      const called = AbortSignal.any([stopping.signal, restarting.signal]);
      await wait(isRefused ? WAIT_MAX_MS : waitMs, called);
      waitMs = Math.min(waitMs * 2, times.backoffMaxMs);
    }
  }
  const gone = live();

  return {
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

interface Death {
  readonly reason: string;
  readonly error: MillraceError | undefined;
  readonly hadListened: boolean;
  readonly livedMs: number;
}

interface LifeHooks {
  onLaunched(child: ChildProcess): void;
  onListening(port: number, pid: number): void;
}

async function runChild(launch: Launch, hooks: LifeHooks): Promise<Death> {
  const startedAtMs = Date.now();
  let error: MillraceError | undefined;
  let hadListened = false;
  let reason: string;
  try {
    const child = await launch();
    hooks.onLaunched(child);
    child.on("message", (message) => {
      const { success, data } = messageSchema.safeParse(message);
      if (!success) return;
      if (data.kind === "failed") {
        error = new MillraceError(data.code, data.message);
        return;
      }
      hadListened = true;
      hooks.onListening(data.port, child.pid ?? -1);
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

const CODE = z.enum(Object.keys(ERROR_CODES) as ErrorCode[]).catch("internal");

const messageSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("listening"), port: z.number() }),
  z.object({ kind: z.literal("failed"), code: CODE, message: z.string() }),
]);
