import {
  failpoint,
  type EnvelopedEvent,
  type HandlerTransaction,
  type IncomingEvent,
  type OnEmitted,
  type Outcome,
  type StopSignal,
} from "@millrace/core";
import { admit, type Admission, type FirstLimits } from "./admit.ts";
import { complete, isOfLedger, type FinishedRun } from "./complete-first.ts";
import { acquireConnection, type PooledConnection } from "../connection/connection.ts";
import type { Emitted, EmitTarget } from "./emit.ts";
import { isDatabaseUnavailable } from "../connection/database-errors.ts";
import { GroupRuns, type GroupRun, type GroupWork } from "./group-runs.ts";
import type { Guard } from "./guard.ts";
import { releaseHandlers, type LedgerContext } from "../connection/ledger-context.ts";
import { HandlerTimer } from "./handler-timer.ts";
import { settleError } from "./run-guarded.ts";
import { isDataError, SQLSTATE, sqlStateOf } from "../connection/sqlstate.ts";
import { rollback } from "../connection/transaction.ts";

export interface GroupUnit {
  readonly members: readonly EnvelopedEvent[];
  /** Runs the handlers of those that are admitted; of a set that threw, also of parts of it. */
  run(
    tx: HandlerTransaction,
    events: readonly IncomingEvent[],
    target: EmitTarget,
  ): Promise<Outcome>;
  /** True when its handlers send one query, so that others may begin while it is answered. */
  readonly sendsOneQuery: boolean;
  /** Called when `run` is waited for no longer. */
  abort(reason: unknown): void;
}

export type GroupTrouble =
  | "slow"
  | "contended"
  | "unsafe"
  /** Another connection recorded an event of the group, or its COMMIT was refused. */
  | "undone";

/** The end of an event of a group. */
export type MemberEnd =
  | { readonly kind: "completed"; readonly outcome: Outcome }
  | { readonly kind: "failed"; readonly error: unknown }
  /** Another transaction has it. Nothing ran. */
  | { readonly kind: "busy" }
  /** To be attempted alone. Its handlers ran and were undone if there was trouble. */
  | { readonly kind: "record_first"; readonly trouble?: GroupTrouble }
  | { readonly kind: "unknown" };

export interface UnitEnd {
  readonly members: readonly MemberEnd[];
  /** Milliseconds that the handlers ran, without waits; undefined when none ran. */
  readonly ranMs: number | undefined;
  /** Milliseconds that the rest of the group waited for them, in all and behind a first query. */
  readonly heldMs: number;
  readonly heldBehindQueryMs: number;
  /** True when no handlers of it sent more than one query. */
  readonly sentOneQuery: boolean;
}

export interface GroupLimits extends FirstLimits {
  /** Milliseconds that a member's handlers may run before the group goes on without them. */
  readonly patienceMs: number;
  /** Members whose handlers begin before it is their turn. */
  readonly ahead: number;
  readonly stop: StopSignal;
  readonly onEmitted?: OnEmitted | undefined;
}

/**
 * Makes the first attempts of events of one source in one transaction: runs their handlers one
 * after the other, each behind a savepoint, and completes those that did not throw. A set that
 * throws is undone and run again in halves, until the event that it throws for is alone. Returns
 * one end for each unit, in order. No statement is canceled from outside, since a late cancel
 * request would hit another member, or the COMMIT; Postgres' own time limits end them.
 * @throws `database_unavailable` when no handler has run.
 */
export async function attemptGroup(
  ledger: LedgerContext,
  units: readonly GroupUnit[],
  limits: GroupLimits,
): Promise<readonly UnitEnd[]> {
  const source = units[0]?.members[0]?.source ?? "";
  const connection = await acquireConnection(ledger.pool);
  const deadlineMs = ledger.short.deadlineMs + units.length * limits.patienceMs;
  const timer = setTimeout(() => connection.destroy(), deadlineMs);
  const group = new Group(ledger, connection, units, limits);
  try {
    return await group.attempt();
  } finally {
    clearTimeout(timer);
    group.close();
    releaseHandlers(ledger, connection, source);
  }
}

type Admitted = Admission & { readonly kind: "admitted"; readonly member: EnvelopedEvent };

interface Part extends GroupWork {
  readonly unit: GroupUnit;
  readonly admitted: readonly Admitted[];
}

class Group {
  readonly #ledger: LedgerContext;
  readonly #connection: PooledConnection;
  readonly #units: readonly GroupUnit[];
  readonly #limits: GroupLimits;
  readonly #timer: HandlerTimer;
  readonly #ends = new Map<EnvelopedEvent, MemberEnd>();
  readonly #finished = new Map<EnvelopedEvent, FinishedRun>();
  readonly #emitted: Emitted[] = [];
  readonly #ranMs = new Map<GroupUnit, number>();
  readonly #held = new Map<GroupUnit, { all: number; behindQuery: number }>();
  readonly #sentMore = new Set<GroupUnit>();

  constructor(
    ledger: LedgerContext,
    connection: PooledConnection,
    units: readonly GroupUnit[],
    limits: GroupLimits,
  ) {
    this.#ledger = ledger;
    this.#connection = connection;
    this.#units = units;
    this.#limits = limits;
    this.#timer = new HandlerTimer(limits);
  }

  async attempt(): Promise<readonly UnitEnd[]> {
    const { transactionId, admissions } = await this.#admit();
    failpoint("worker.group_admitted");
    const answers = admissions.values();
    const parts = this.#units.flatMap((unit) => {
      const admitted = unit.members.flatMap((member) =>
        this.#admitted(member, answers.next().value),
      );
      return admitted.length === 0 ? [] : [toPart(unit, admitted)];
    });
    const isAlive = await this.#runAll(parts);
    failpoint("worker.group_ran");
    await this.#complete(transactionId, isAlive);
    return this.#units.map((unit) => ({
      members: unit.members.map((member) => this.#ends.get(member) ?? { kind: "record_first" }),
      ranMs: this.#ranMs.get(unit),
      heldMs: this.#held.get(unit)?.all ?? 0,
      heldBehindQueryMs: this.#held.get(unit)?.behindQuery ?? 0,
      sentOneQuery: !this.#sentMore.has(unit),
    }));
  }

  #admitted(member: EnvelopedEvent, admission: Admission | undefined): Admitted[] {
    if (admission?.kind === "busy") this.#ends.set(member, { kind: "busy" });
    return admission?.kind === "admitted" ? [{ member, ...admission }] : [];
  }

  close(): void {
    this.#timer.close();
  }

  async #admit(): ReturnType<typeof admit> {
    try {
      const members = this.#units.flatMap((unit) => unit.members);
      return await admit(this.#ledger, this.#connection.client, members, this.#limits);
    } catch (error) {
      await rollback(this.#connection);
      throw error;
    }
  }

  async #runAll(parts: readonly Part[]): Promise<boolean> {
    const { stop } = this.#limits;
    const runs = new GroupRuns(this.#connection, parts, this.#ledger.tables, this.#limits.ahead);
    const isOver = () => stop.aborted || runs.broken !== undefined || this.#connection.broken;
    for (let run = runs.next(); run !== undefined; run = isOver() ? undefined : runs.next()) {
      await this.#run(runs, run);
    }
    const reason: unknown = stop.aborted ? stop.reason : runs.broken;
    for (const { unit, admitted } of await runs.abandon(reason)) {
      unit.abort(reason);
      this.#end(admitted, { kind: "record_first", trouble: "undone" });
    }
    return runs.broken === undefined;
  }

  async #run(runs: GroupRuns<Part>, run: GroupRun<Part>): Promise<void> {
    const timer = this.#timer;
    const { guard, outcome: running, work: part } = run;
    const { unit, admitted } = part;
    try {
      const outcome = await timer.wait(running as Promise<Outcome>);
      guard.seal();
      await guard.idle();
      guard.check();
      await this.#requireKept(runs, run);
      const { ranMs } = run;
      for (const { member, event, isWaiting } of admitted) {
        this.#finished.set(member, { event, isWaiting, outcome, ranMs, recorded: 0 });
      }
      if (guard.emittedIfAny !== undefined) this.#emitted.push(guard.emittedIfAny);
    } catch (thrown) {
      guard.seal();
      const error = guard.explain(thrown);
      if (timer.isOver) unit.abort(error);
      await runs.undo(run);
      const end = this.#failed(guard, error, runs.broken !== undefined);
      if (end.kind === "failed" && admitted.length > 1) {
        const half = Math.ceil(admitted.length / 2);
        runs.insert([toPart(unit, admitted.slice(0, half)), toPart(unit, admitted.slice(half))]);
      } else this.#end(admitted, end);
    } finally {
      timer.end();
      this.#ranMs.set(unit, (this.#ranMs.get(unit) ?? 0) + run.ranMs);
      const before = this.#held.get(unit) ?? { all: 0, behindQuery: 0 };
      const { all, behindQuery } = run.heldMs;
      this.#held.set(unit, {
        all: before.all + all,
        behindQuery: before.behindQuery + behindQuery,
      });
      if (run.sendsMore) this.#sentMore.add(unit);
    }
  }

  #end(admitted: readonly Admitted[], end: MemberEnd): void {
    for (const { member } of admitted) this.#ends.set(member, end);
  }

  /** A failed query may have left the transaction aborted, even if the handler caught the error. */
  async #requireKept(runs: GroupRuns<Part>, run: GroupRun<Part>): Promise<void> {
    const { guard } = run;
    if (guard.trouble !== undefined) throw guard.firstError;
    if (guard.firstError === undefined) return;
    try {
      await runs.requireAlive(run);
    } catch (error) {
      throw settleError(error, this.#connection, guard);
    }
  }

  #failed(guard: Guard, error: unknown, isBroken: boolean): MemberEnd {
    const trouble = guard.trouble ?? (this.#timer.isOver ? "slow" : undefined);
    if (trouble !== undefined) return { kind: "record_first", trouble };
    const isLost = this.#connection.broken || isBroken || isDatabaseUnavailable(error);
    return isLost ? { kind: "record_first", trouble: "undone" } : { kind: "failed", error };
  }

  async #complete(transactionId: string, isAlive: boolean): Promise<void> {
    const connection = this.#connection;
    const settle = (end: (run: FinishedRun) => MemberEnd) => {
      for (const [member, run] of this.#finished) this.#ends.set(member, end(run));
    };
    if (!isAlive || connection.broken || this.#finished.size === 0) {
      await rollback(connection);
      settle(() => ({ kind: "record_first", trouble: "undone" }));
      return;
    }
    try {
      const runs = [...this.#finished.values()];
      const { onEmitted } = this.#limits;
      const completion = { runs, emitted: this.#emitted, transactionId, onEmitted };
      const end = await complete(this.#ledger, connection, completion);
      settle(({ outcome }) => {
        if (end === "completed") return { kind: "completed", outcome };
        return end === "unknown"
          ? { kind: "unknown" }
          : { kind: "record_first", trouble: "undone" };
      });
    } catch (error) {
      if (sqlStateOf(error) === SQLSTATE.transactionChanged) connection.discard("uncleaned");
      await rollback(connection);
      // A deferred constraint: whose it is shows when each is attempted alone.
      const trouble = isDataError(error) && !isOfLedger(error) ? "unsafe" : "undone";
      settle(() => ({ kind: "record_first", trouble }));
    }
  }
}

function toPart(unit: GroupUnit, admitted: readonly Admitted[]): Part {
  const events = admitted.map(({ event }) => event);
  return {
    unit,
    admitted,
    sendsOneQuery: unit.sendsOneQuery,
    begin: (tx, target) => unit.run(tx, events, target),
  };
}
