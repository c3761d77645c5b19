import { LazySignal } from "@millrace/core";
import type { GroupUnit, MemberEnd, UnitEnd } from "@millrace/ledger";
import { HandlerWatch, type AttemptEnd } from "../handler/attempt-event.ts";
import type { InternalSources } from "../handler/emit.ts";
import type { FirstEnd, Waiting } from "./first-attempts.ts";
import type { GroupSize, RunReport } from "./group-size.ts";
import { createHandlerContext } from "../handler/handler-context.ts";
import { AttemptLog, type OpenLog } from "../handler/handler-log.ts";
import type { FailedAttempt } from "../job/retry-policy.ts";
import type { Handlers } from "../handler/run-handlers.ts";

/** What a set may take, however quick an event of it is. */
const SET_PATIENCE_MS = 250;

interface UnitDeps {
  readonly handlers: Handlers;
  readonly openLog: OpenLog;
  readonly internalSources: InternalSources;
}

/** Events of a group that are handled together. */
export class Unit implements GroupUnit {
  readonly waiting: readonly Waiting[];
  readonly members: GroupUnit["members"];
  private readonly deps: UnitDeps;
  private readonly signal = new LazySignal();
  /** One for each time that handlers ran: a set that throws is run again in halves. */
  private readonly runs: { readonly watch: HandlerWatch; readonly log: AttemptLog }[] = [];
  private end: UnitEnd | undefined;
  /** When its handlers began; never, if they did not. */
  beganMs = Infinity;

  constructor(waiting: readonly Waiting[], deps: UnitDeps) {
    this.waiting = waiting;
    this.members = waiting.map(({ job, policy }) => ({
      event: job.event,
      bodyDedup: policy.bodyDedup,
    }));
    this.deps = deps;
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
    const { signal } = this;
    const { handlers, openLog, internalSources: sources } = this.deps;
    const { setHandler, plan } = this.waiting[0] ?? {};
    const parent = setHandler === undefined ? events[0] : undefined;
    const log = new AttemptLog(openLog, events, 1);
    const context = createHandlerContext(tx, signal, { parent, target, sources, log });
    const watch = new HandlerWatch(signal);
    this.beganMs = Math.min(this.beganMs, performance.now());
    this.runs.push({ watch, log });
    return watch.run(async () => {
      try {
        if (setHandler !== undefined) return await handlers.runSet(setHandler, events, context);
        const [event] = events;
        if (event === undefined) return "ignored";
        const locked = { ...event, suspectedReplay: false };
        return await handlers.run(event, 1, { context, locked, plan });
      } finally {
        log.end();
      }
    });
  };

  abort(reason: unknown): void {
    this.signal.abort(reason);
  }

  /** How each event ended, in order. */
  answers(end: UnitEnd | undefined): readonly FirstEnd[] {
    this.end = end;
    return this.waiting.map((_, index) => this.answer(end?.members[index]));
  }

  /** How the events of a type went, if their handlers ran. */
  reports(size: GroupSize): readonly RunReport[] {
    const { ranMs, sentOneQuery = true } = this.end ?? {};
    if (ranMs === undefined) return [];
    return this.waiting.flatMap((waiting, index) => {
      if (waiting.size !== size) return [];
      const end = this.end?.members[index];
      const trouble = end?.kind === "record_first" ? end.trouble : undefined;
      const failed = end?.kind === "failed";
      return [{ ranMs: ranMs / this.waiting.length, sentOneQuery, failed, trouble }];
    });
  }

  private answer(end: MemberEnd | undefined): FirstEnd {
    const handlerMs = this.end?.ranMs;
    switch (end?.kind) {
      case "completed":
        return ended({ kind: "completed", outcome: end.outcome, handlerMs });
      case "failed":
        return ended({ kind: "failed", ...this.failedWith(end.error), handlerMs });
      case "busy":
      case "unknown":
        return ended({ kind: "lost", handlerMs });
      default:
        return { kind: "record_first", ran: end?.trouble !== undefined };
    }
  }

  private failedWith(error: unknown): FailedAttempt {
    const all = this.runs.map(({ watch, log }) => ({ ...watch.failedWith(error), log }));
    return all.find(({ thrownByHandler }) => thrownByHandler) ?? all[0] ?? toFailed(error);
  }
}

function toFailed(error: unknown): FailedAttempt {
  return { error, thrownByHandler: false, abortReason: undefined };
}

function ended(end: AttemptEnd): FirstEnd {
  return { kind: "ended", end, recorded: false };
}
