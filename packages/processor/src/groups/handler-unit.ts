import { LazySignal, type EventJob } from "@millrace/core";
import type { GroupUnit, AttemptEnd as LedgerEnd } from "@millrace/ledger";
import { HandlerWatch, type AttemptDeps, type AttemptEnd } from "../handler/run-attempt.ts";
import type { GroupSize } from "./group-size.ts";
import { AttemptLog } from "../handler/handler-log.ts";
import { failedBy, type FailedAttempt } from "../job/retry-policy.ts";
import { createHandlerContext, type Plan, type SetHandler } from "../handler/run-handlers.ts";

export interface Attempted {
  readonly job: EventJob;
  readonly plan: Plan | undefined;
}

export interface Waiting extends Attempted {
  readonly setHandler: SetHandler | undefined;
  readonly size: GroupSize;
  readonly undone: number;
  resolve(end: AttemptEnd): void;
}

type HandlerDeps = Pick<AttemptDeps, "handlers" | "openLog" | "internalSources">;

/** Milliseconds that a group waits for a set, even if an event of the set is quick. */
const SET_PATIENCE_MS = 250;

/** The events of a transaction that one run of handlers gets: one event, or a set. */
export class HandlerUnit implements GroupUnit {
  readonly waiting: readonly Waiting[];
  readonly members: GroupUnit["members"];
  startedMs = Infinity;
  readonly #deps: HandlerDeps;
  readonly #signal = new LazySignal();
  /** One for each run of the handlers: a set that throws is run again in halves. */
  readonly #runs: { readonly watch: HandlerWatch; readonly log: AttemptLog }[] = [];

  constructor(waiting: readonly Waiting[], deps: HandlerDeps) {
    this.waiting = waiting;
    this.members = waiting.map(({ job }) => job.event);
    this.#deps = deps;
  }

  get patienceMs(): number {
    const [first] = this.waiting;
    return first === undefined || first.setHandler !== undefined
      ? SET_PATIENCE_MS
      : first.size.patienceMs;
  }

  get sendsOneQuery(): boolean {
    return this.waiting[0]?.size.sendsOneQuery === true;
  }

  readonly run: GroupUnit["run"] = (tx, events, target) => {
    const { handlers, openLog, internalSources: sources } = this.#deps;
    const { setHandler, plan, job } = this.waiting[0] ?? {};
    const trace = job?.trace;
    const [first] = setHandler === undefined ? events : [];
    const parent = trace && first ? { ...first, trace } : first;
    const log = new AttemptLog(openLog, events, 1);
    const context = createHandlerContext(tx, this.#signal, { parent, target, sources, log });
    const watch = new HandlerWatch(this.#signal);
    this.startedMs = Math.min(this.startedMs, performance.now());
    this.#runs.push({ watch, log });
    const handle = async () => {
      try {
        if (setHandler !== undefined) return await handlers.runSet(setHandler, events, context);
        const [event] = events;
        if (event === undefined) return "ignored";
        return await handlers.run(event, 1, { context, locked: event, plan });
      } finally {
        log.end();
      }
    };
    return watch.run(trace ? () => trace.part("write", handle) : handle);
  };

  abort(reason: unknown): void {
    this.#signal.abort(reason);
  }

  endOf(end: LedgerEnd): AttemptEnd {
    return end.kind === "failed" ? { ...end, ...this.#failedBy(end.error) } : end;
  }

  #failedBy(error: unknown): FailedAttempt {
    const all = this.#runs.map(({ watch, log }) => ({ ...watch.failedBy(error), log }));
    return all.find(({ thrownByHandler }) => thrownByHandler) ?? all[0] ?? failedBy(error);
  }
}
