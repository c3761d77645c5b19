import {
  type Launch,
  superviseChild,
  type ChildTimes,
  type SupervisedChild,
} from "./supervised-child.ts";

/** A process that listens. */
export interface RunningProcess {
  readonly name: string;
  readonly pid: number;
  readonly port: number;
}

interface SupervisorHooks {
  /** A process listens, for the first time or again. */
  onListening(process: RunningProcess): void;
  /** A process died, and is started again after `waitMs`. */
  onRestart(name: string, reason: string, waitMs: number): void;
}

export interface Supervisor {
  /** Starts a process and keeps it alive. */
  add(name: string, launch: Launch): void;
  /** Resolves when every process has come to listen. */
  listening(): Promise<void>;
  /** Resolves with the error of the first process that is given up. */
  givenUp(): Promise<Error>;
  /** The processes as they last listened, in the order they were added. */
  processes(): RunningProcess[];
  /** SIGTERM to all, SIGKILL after `deadlineMs`; resolves when all are gone. */
  stop(deadlineMs: number): Promise<void>;
  /** SIGKILL to all, at once. */
  kill(): void;
}

const TIMES: ChildTimes = { backoffFirstMs: 250, backoffMaxMs: 10_000, steadyMs: 10_000 };

/** Keeps a set of processes alive, and ends them together. */
export function createSupervisor(hooks: SupervisorHooks, times: ChildTimes = TIMES): Supervisor {
  const children = new Map<string, SupervisedChild>();
  const running = new Map<string, RunningProcess>();

  return {
    add(name, launch) {
      const child = superviseChild(
        name,
        launch,
        {
          onListening: (port, pid) => {
            running.set(name, { name, pid, port });
            hooks.onListening({ name, pid, port });
          },
          onRestart: (reason, waitMs) => hooks.onRestart(name, reason, waitMs),
        },
        times,
      );
      children.set(name, child);
    },
    async listening() {
      await Promise.all([...children.values()].map((child) => child.listening));
    },
    givenUp() {
      return Promise.race([...children.values()].map((child) => child.givenUp));
    },
    processes() {
      return [...children.keys()].flatMap((name) => running.get(name) ?? []);
    },
    async stop(deadlineMs) {
      await Promise.all([...children.values()].map((child) => child.stop(deadlineMs)));
    },
    kill() {
      for (const child of children.values()) child.kill();
    },
  };
}
