import {
  failpoint,
  type HandlerTransaction,
  type IncomingEvent,
  type Outcome,
} from "@millrace/core";
import { admit, type Admission, type Candidate, type FirstLimits } from "./admit.ts";
import type { FinishedRun } from "./complete-first.ts";
import { lease, type Lease } from "./connection.ts";
import { isDatabaseUnavailable } from "./database-errors.ts";
import { complete, isOfLedger } from "./attempt-first.ts";
import { Guard, handlerTransaction } from "./guard.ts";
import type { LedgerContext } from "./ledger-context.ts";
import { Patience } from "./patience.ts";
import { settleError } from "./run-guarded.ts";
import { isDataError } from "./sqlstate.ts";
import { rollback } from "./transaction.ts";

/** Events of a group that are handled together, behind one savepoint: one, or those of a set-based handler. */
export interface GroupUnit {
  readonly members: readonly Candidate[];
  /** Runs the handlers of those that are admitted; of a set that threw, also of parts of it. */
  run(tx: HandlerTransaction, events: readonly IncomingEvent[]): Promise<Outcome>;
  /** Called when `run` is waited for no longer. */
  abort(reason: unknown): void;
}

/** Why an event does not complete in its group although its handlers did not throw. */
export type GroupTrouble =
  /** Its handlers took longer than a group waits. */
  | "slow"
  /** A statement waited for a lock too long, or met a deadlock. */
  | "contended"
  /** A statement's effect would outlast its savepoint. */
  | "unsafe"
  /** The group was undone: another connection recorded an event of it, or its COMMIT was refused. */
  | "undone";

/** How an event of a group ended. */
export type MemberEnd =
  | { readonly kind: "completed"; readonly outcome: Outcome }
  /** Its handlers threw, and what they wrote was undone. */
  | { readonly kind: "failed"; readonly error: unknown }
  /** Another transaction has it. Nothing ran. */
  | { readonly kind: "busy" }
  /** It is to be attempted alone. Its handlers ran and were undone if there was trouble. */
  | { readonly kind: "record_first"; readonly trouble?: GroupTrouble }
  /** Nobody knows whether it completed: the answer to the COMMIT did not come. */
  | { readonly kind: "unknown" };

export interface GroupLimits extends FirstLimits {
  /** Milliseconds that a member's handlers may run before the group goes on without them. */
  readonly patienceMs: number;
  /** When it aborts, no further handlers are begun, and those that run are undone. */
  readonly stop: AbortSignal;
}

/**
 * Makes the first attempts of some events of one source in one transaction: admits them, runs their
 * handlers one after the other, each behind a savepoint, and completes those that did not throw. A set that
 * throws is undone and run again in halves, until the event that it throws for is alone. One end for each
 * member of each unit, in order.
 *
 * No member can harm another: what one writes is undone to its savepoint when it throws, takes longer than
 * `patienceMs`, waits for a lock or does what a savepoint does not undo. No statement is canceled from outside,
 * since a late cancel request would hit another member, or the COMMIT; Postgres' own time limits end them.
 *
 * @throws `database_unavailable` when no handler has run.
 */
export async function attemptGroup(
  ledger: LedgerContext,
  units: readonly GroupUnit[],
  limits: GroupLimits,
): Promise<readonly (readonly MemberEnd[])[]> {
  const held = await lease(ledger.pool);
  // For a server that does not answer at all; one that answers ends each statement itself.
  const deadlineMs = ledger.short.deadlineMs + units.length * limits.patienceMs;
  const timer = setTimeout(() => held.destroy(), deadlineMs);
  const group = new Group(ledger, held, units, limits);
  try {
    return await group.attempt();
  } finally {
    clearTimeout(timer);
    group.close();
    held.release();
  }
}

const SAVEPOINT = "SAVEPOINT millrace_member";
const RELEASE = "RELEASE SAVEPOINT millrace_member";
const ROLLBACK_TO = "ROLLBACK TO SAVEPOINT millrace_member";

/** A member whose first attempt may begin. */
type Admitted = Admission & { readonly kind: "admitted"; readonly member: Candidate };

class Group {
  private readonly ledger: LedgerContext;
  private readonly held: Lease;
  private readonly units: readonly GroupUnit[];
  private readonly limits: GroupLimits;
  private readonly patience: Patience;
  private readonly ends = new Map<Candidate, MemberEnd>();
  private readonly finished = new Map<Candidate, FinishedRun>();
  /** True while the savepoint is set. */
  private isSaved = false;
  /** True when the savepoint holds what a member wrote that is to be kept. */
  private isKept = false;
  /** What Postgres said of a savepoint; the transaction is lost then. */
  private broken: unknown;

  constructor(
    ledger: LedgerContext,
    held: Lease,
    units: readonly GroupUnit[],
    limits: GroupLimits,
  ) {
    this.ledger = ledger;
    this.held = held;
    this.units = units;
    this.limits = limits;
    this.patience = new Patience(limits);
  }

  async attempt(): Promise<readonly (readonly MemberEnd[])[]> {
    const { held, units, limits } = this;
    const { transactionId, admissions } = await this.admit();
    failpoint("worker.group_admitted");
    const answers = admissions.values();
    const admitted = units.map(({ members }) =>
      members.flatMap((member) => this.admitted(member, answers.next().value)),
    );
    for (const [index, unit] of units.entries()) {
      if (limits.stop.aborted || this.broken !== undefined || held.broken) break;
      await this.run(unit, admitted[index] ?? []);
    }
    failpoint("worker.group_ran");
    await this.complete(transactionId);
    return units.map(({ members }) =>
      members.map((member) => this.ends.get(member) ?? { kind: "record_first" }),
    );
  }

  private admitted(member: Candidate, admission: Admission | undefined): Admitted[] {
    if (admission?.kind === "busy") this.ends.set(member, { kind: "busy" });
    return admission?.kind === "admitted" ? [{ member, ...admission }] : [];
  }

  close(): void {
    this.patience.close();
  }

  private async admit(): ReturnType<typeof admit> {
    const { ledger, held, units, limits } = this;
    try {
      const members = units.flatMap((unit) => unit.members);
      return await admit(ledger, held.client, members, limits);
    } catch (error) {
      await rollback(held);
      throw error;
    }
  }

  private async run(unit: GroupUnit, admitted: readonly Admitted[]): Promise<void> {
    if (admitted.length === 0) return;
    const guard = new Guard(this.held, { beforeFirstQuery: () => this.save() });
    const startedMs = performance.now();
    const { patience } = this;
    const events = admitted.map(({ event }) => event);
    try {
      const outcome = await patience.wait(unit.run(handlerTransaction(guard), events));
      guard.seal();
      await guard.idle();
      guard.check();
      await this.keep(guard);
      const ranMs = performance.now() - startedMs;
      for (const { member, event, isWaiting } of admitted) {
        const { bodyDedup } = member;
        this.finished.set(member, { event, isWaiting, outcome, ranMs, bodyDedup, recorded: 0 });
      }
    } catch (thrown) {
      guard.seal();
      const error = guard.explain(thrown);
      if (patience.isOver) unit.abort(error);
      const end = await this.undo(guard, error);
      if (end.kind === "failed" && admitted.length > 1) return await this.runHalves(unit, admitted);
      for (const { member } of admitted) this.ends.set(member, end);
    } finally {
      patience.end();
    }
  }

  private async runHalves(unit: GroupUnit, admitted: readonly Admitted[]): Promise<void> {
    const half = Math.ceil(admitted.length / 2);
    await this.run(unit, admitted.slice(0, half));
    await this.run(unit, admitted.slice(half));
  }

  /** Sets the savepoint, in one packet with the first query of a handler. */
  private save(): void {
    const { stream } = this.held.client.connection;
    stream.cork();
    process.nextTick(() => stream.uncork());
    if (this.isKept) this.send(`${RELEASE}; ${SAVEPOINT}`);
    else if (!this.isSaved) this.send(SAVEPOINT);
    this.isSaved = true;
    this.isKept = false;
  }

  // Nobody waits for it: it fails only with the whole transaction, and then the next statement does too.
  private send(text: string): void {
    this.held.client.query(text).catch((error: unknown) => {
      this.broken ??= error;
    });
  }

  /** Keeps what a member wrote. A query that failed may have left the transaction aborted, so it is asked. */
  private async keep(guard: Guard): Promise<void> {
    if (guard.trouble !== undefined) throw guard.firstError;
    if (guard.firstError !== undefined) {
      try {
        await this.held.client.query(`${RELEASE}; ${SAVEPOINT}`);
      } catch (error) {
        throw settleError(error, this.held, guard);
      }
    } else if (this.isSaved) {
      this.isKept = true;
    }
  }

  private async undo(guard: Guard, error: unknown): Promise<MemberEnd> {
    await guard.idle();
    if (this.isSaved && !this.isKept) {
      try {
        await this.held.client.query(ROLLBACK_TO);
      } catch (failed) {
        this.broken ??= failed;
      }
    }
    if (this.patience.isOver) return { kind: "record_first", trouble: "slow" };
    const { trouble } = guard;
    if (trouble !== undefined) return { kind: "record_first", trouble };
    // The connection is lost, or the transaction, and with it the group.
    const isLost = this.held.broken || this.broken !== undefined || isDatabaseUnavailable(error);
    return isLost ? { kind: "record_first", trouble: "undone" } : { kind: "failed", error };
  }

  private async complete(transactionId: string): Promise<void> {
    const { ledger, held, finished, ends } = this;
    const settle = (end: (run: FinishedRun) => MemberEnd) => {
      for (const [member, run] of finished) ends.set(member, end(run));
    };
    if (this.broken !== undefined || held.broken || finished.size === 0) {
      await rollback(held);
      settle(() => ({ kind: "record_first", trouble: "undone" }));
      return;
    }
    try {
      const end = await complete(ledger, held, [...finished.values()], transactionId);
      settle(({ outcome }) => {
        if (end === "completed") return { kind: "completed", outcome };
        return end === "unknown"
          ? { kind: "unknown" }
          : { kind: "record_first", trouble: "undone" };
      });
    } catch (error) {
      await rollback(held);
      // A deferred constraint: whose it is shows when each is attempted alone.
      const trouble = isDataError(error) && !isOfLedger(error) ? "unsafe" : "undone";
      settle(() => ({ kind: "record_first", trouble }));
    }
  }
}
