import { LazySignal, type EventJob } from "@millrace/core";
import type { GroupUnit, MemberEnd, UnitEnd } from "@millrace/ledger";
import {
  HandlerWatch,
  type AttemptDeps,
  type AttemptEnd,
  type RecordFirst,
} from "../handler/attempt-event.ts";
import type { GroupSize, RunReport } from "./group-size.ts";
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
  /** Times that it was undone with its group. */
  readonly undone: number;
  resolve(end: AttemptEnd | RecordFirst): void;
}

type HandlerGroupDeps = Pick<AttemptDeps, "handlers" | "openLog" | "internalSources">;

/** Milliseconds that a group waits for a set, even if an event of the set is quick. */
const SET_PATIENCE_MS = 250;

/** The events of a transaction that one run of handlers gets: one event, or a set. */
export class HandlerGroup implements GroupUnit {
  readonly waiting: readonly Waiting[];
  readonly members: GroupUnit["members"];
  startedMs = Infinity;
  readonly #deps: HandlerGroupDeps;
  readonly #signal = new LazySignal();
  /** One for each run of the handlers: a set that throws is run again in halves. */
  readonly #runs: { readonly watch: HandlerWatch; readonly log: AttemptLog }[] = [];
  #end: UnitEnd | undefined;

  constructor(waiting: readonly Waiting[], deps: HandlerGroupDeps) {
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
    const { setHandler, plan } = this.waiting[0] ?? {};
    const parent = setHandler === undefined ? events[0] : undefined;
    const log = new AttemptLog(openLog, events, 1);
    const context = createHandlerContext(tx, this.#signal, { parent, target, sources, log });
    const watch = new HandlerWatch(this.#signal);
    this.startedMs = Math.min(this.startedMs, performance.now());
    this.#runs.push({ watch, log });
    return watch.run(async () => {
      try {
        if (setHandler !== undefined) return await handlers.runSet(setHandler, events, context);
        const [event] = events;
        if (event === undefined) return "ignored";
        return await handlers.run(event, 1, { context, locked: event, plan });
      } finally {
        log.end();
      }
    });
  };

  abort(reason: unknown): void {
    this.#signal.abort(reason);
  }

  endsOf(end: UnitEnd | undefined): readonly (AttemptEnd | RecordFirst)[] {
    this.#end = end;
    return this.waiting.map((_, index) => this.#endOf(end?.members[index]));
  }

  reports(size: GroupSize): readonly RunReport[] {
    const { ranMs, heldMs = 0, heldBehindQueryMs = 0, sentOneQuery = true } = this.#end ?? {};
    if (ranMs === undefined) return [];
    return this.waiting.flatMap((waiting, index) => {
      if (waiting.size !== size) return [];
      const end = this.#end?.members[index];
      const undoReason = end?.kind === "record_first" ? end.trouble : undefined;
      const failed = end?.kind === "failed";
      const share = 1 / this.waiting.length;
      const times = {
        ranMs: ranMs * share,
        heldMs: heldMs * share,
        heldBehindQueryMs: heldBehindQueryMs * share,
      };
      return [{ ...times, sentOneQuery, failed, undoReason }];
    });
  }

  #endOf(end: MemberEnd | undefined): AttemptEnd | RecordFirst {
    const handlerMs = this.#end?.ranMs;
    switch (end?.kind) {
      case "completed":
        return { kind: "completed", outcome: end.outcome, handlerMs };
      case "failed":
        return { kind: "failed", ...this.#failedBy(end.error), handlerMs };
      case "busy":
      case "unknown":
        return { kind: "lost", handlerMs };
      default:
        return {
          kind: "record_first",
          ran: end?.trouble !== undefined,
          undoneByOthers: end?.trouble === "contended" || end?.trouble === "undone",
        };
    }
  }

  #failedBy(error: unknown): FailedAttempt {
    const all = this.#runs.map(({ watch, log }) => ({ ...watch.failedBy(error), log }));
    return all.find(({ thrownByHandler }) => thrownByHandler) ?? all[0] ?? failedBy(error);
  }
}
