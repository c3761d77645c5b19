import type { EnvelopedEvent, HandlerTransaction, IncomingEvent, Outcome } from "@millrace/core";
import type pg from "pg";
import type { PooledConnection } from "../connection/connection.ts";
import type { Admitted } from "./admit.ts";
import type { EmitTarget } from "./emit.ts";
import { Guard, type GuardContext } from "./guard.ts";
import { command, sendBatch } from "../connection/pipeline.ts";
import { SAVEPOINT_PREFIX } from "./transaction-control.ts";

/** Events of a group whose handlers run once: one event, or a set. */
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

export interface GroupPart {
  readonly unit: GroupUnit;
  readonly admitted: readonly (Admitted & { readonly member: EnvelopedEvent })[];
}

interface Sent {
  /** Undefined in a group without savepoints. */
  readonly savepoint: string | undefined;
  answer?: PromiseSettledResult<pg.QueryResult>;
}

interface FirstQuery {
  readonly query: pg.QueryConfig;
  readonly askedMs: number;
  resolve(result: pg.QueryResult): void;
  reject(error: unknown): void;
}

export class GroupRun {
  readonly part: GroupPart;
  readonly guard: Guard;
  readonly turn: Promise<void>;
  beginTurn: () => void = () => {};
  refuseTurn: (reason: unknown) => void = () => {};
  outcome: Promise<Outcome> | undefined;
  first: FirstQuery | undefined;
  sent: Sent | undefined;
  sendsMore = false;
  /** True when it, or what was sent behind it, had to be undone. */
  isUndone = false;
  startedMs = 0;
  settledMs: number | undefined;
  turnMs: number | undefined;
  /** Its share of waits for the answers of several runs, less its own waits for theirs. */
  sharedMs = 0;

  constructor(part: GroupPart, createGuard: (run: GroupRun) => Guard) {
    this.part = part;
    this.guard = createGuard(this);
    this.turn = new Promise((resolve, reject) => {
      this.beginTurn = resolve;
      this.refuseTurn = reject;
    });
    this.turn.catch(() => {});
  }

  get ranMs(): number {
    const { first, settledMs = performance.now(), turnMs = settledMs } = this;
    const waitedMs = first === undefined ? 0 : Math.max(0, turnMs - first.askedMs);
    return Math.max(0, settledMs - this.startedMs - waitedMs + this.sharedMs);
  }

  get heldMs(): { readonly all: number; readonly behindQuery: number } {
    const { first, settledMs = performance.now(), turnMs = settledMs, sharedMs } = this;
    const all = Math.max(0, settledMs - turnMs + sharedMs);
    const { askedMs = settledMs } = first ?? {};
    return { all, behindQuery: Math.min(all, Math.max(0, settledMs - askedMs + sharedMs)) };
  }
}

/** A connection keeps so many prepared: a group has fewer events, but may send them again. */
const PREPARED_MAX = 64;
/** First queries in one message, whose answers come together. A group waits for ten usual runs. */
const FIRSTS_MAX = 8;

/**
 * Runs handlers in one transaction, one after the other, each behind a savepoint. Some begin ahead,
 * so that their waits for other systems overlap. Most send one query, so all first queries are sent
 * at once (SAVEPOINT 1; query of A; SAVEPOINT 2; query of B), and B gets its answer when A has
 * ended. When A sends a second query or fails, the queries behind it are undone and sent again.
 * Handlers that have not failed for long go without savepoints: if one fails after its first query,
 * all are undone.
 */
export class GroupRuns {
  broken: unknown;
  readonly #connection: PooledConnection;
  readonly #ledger: GuardContext;
  readonly #runs: GroupRun[];
  readonly #ahead: number;
  readonly #hasSavepoints: boolean;
  #at = -1;
  #savepoints = 0;
  #isFlushing = false;

  constructor(
    ledger: GuardContext,
    connection: PooledConnection,
    parts: readonly GroupPart[],
    { ahead, hasSavepoints }: { readonly ahead: number; readonly hasSavepoints: boolean },
  ) {
    this.#ledger = ledger;
    this.#connection = connection;
    this.#ahead = ahead;
    this.#hasSavepoints = hasSavepoints;
    this.#runs = parts.map((part) => this.#createRun(part));
  }

  #createRun(part: GroupPart): GroupRun {
    return new GroupRun(part, (run) => {
      return new Guard(this.#ledger, this.#connection, (query) => this.#send(run, query));
    });
  }

  next(): GroupRun | undefined {
    this.#at += 1;
    const run = this.#runs[this.#at];
    if (run === undefined) return undefined;
    run.turnMs = performance.now();
    for (const next of this.#runs.slice(this.#at, this.#at + 1 + this.#ahead)) this.#begin(next);
    this.#flush();
    run.beginTurn();
    this.#deliver(run);
    return run;
  }

  insert(parts: readonly GroupPart[]): void {
    this.#runs.splice(this.#at + 1, 0, ...parts.map((part) => this.#createRun(part)));
  }

  /** Requires that the transaction goes on although a query of this run has failed. */
  async requireAlive(run: GroupRun): Promise<void> {
    this.#withdrawAfter(run);
    await this.#connection.client.query(`SAVEPOINT ${this.#nextSavepoint()}`);
  }

  async undo(run: GroupRun): Promise<void> {
    await run.guard.idle();
    if (run.sent === undefined) return;
    for (const later of this.#after(run)) later.sent = undefined;
    run.isUndone = true;
    await this.#rollBackTo(run.sent);
  }

  async abandon(reason: unknown): Promise<readonly GroupPart[]> {
    const begun = this.#runs.slice(this.#at + 1).filter(({ outcome }) => outcome !== undefined);
    this.#at = this.#runs.length;
    for (const run of begun) {
      run.guard.seal();
      run.first?.reject(reason);
      run.refuseTurn(reason);
    }
    const sent = begun.find((run) => run.sent !== undefined)?.sent;
    if (sent !== undefined) await this.#rollBackTo(sent);
    return begun.map(({ part }) => part);
  }

  #begin(run: GroupRun): void {
    if (run.outcome !== undefined) return;
    run.startedMs = performance.now();
    const { unit, admitted } = run.part;
    const events = admitted.map(({ event }) => event);
    run.outcome = unit.run(run.guard.transaction(), events, run.guard);
    const settled = () => {
      run.settledMs = performance.now();
      this.#follow(run);
    };
    run.outcome.then(settled, settled);
  }

  #follow(run: GroupRun): void {
    const next = this.#runs[this.#runs.indexOf(run) + 1];
    const isOver = this.#at >= this.#runs.length;
    if (next !== undefined && !isOver && run.part.unit.sendsOneQuery) this.#begin(next);
  }

  #send(run: GroupRun, query: pg.QueryConfig): Promise<pg.QueryResult> {
    if (run.first !== undefined) return this.#sendMore(run, query);
    return new Promise((resolve, reject) => {
      run.first = { query, askedMs: performance.now(), resolve, reject };
      // Behind the microtasks in which the next handlers send theirs.
      if (!this.#isFlushing) {
        this.#isFlushing = true;
        process.nextTick(() => this.#flush());
      }
      this.#follow(run);
    });
  }

  async #sendMore(run: GroupRun, query: pg.QueryConfig): Promise<pg.QueryResult> {
    run.sendsMore = true;
    await run.turn;
    if (run.sent === undefined) this.#flush();
    this.#withdrawAfter(run);
    return await this.#connection.client.query(query);
  }

  #flush(): void {
    this.#isFlushing = false;
    const { client } = this.#connection;
    const { stream } = client.connection;
    const firsts: GroupRun[] = [];
    for (let index = Math.max(0, this.#at); index < this.#runs.length; index += 1) {
      const run = this.#runs[index];
      if (run?.outcome === undefined) break;
      if (index > this.#at && !run.part.unit.sendsOneQuery) break;
      if (run.first === undefined) {
        if (run.settledMs === undefined) break;
        continue;
      }
      if (run.sent === undefined) firsts.push(run);
      if (run.sendsMore || run.sent?.answer?.status === "rejected") break;
    }
    stream.cork();
    for (let from = 0; from < firsts.length; from += FIRSTS_MAX) {
      void this.#sendFirsts(firsts.slice(from, from + FIRSTS_MAX));
    }
    stream.uncork();
  }

  async #sendFirsts(runs: readonly GroupRun[]): Promise<void> {
    const sentMs = performance.now();
    const statements = runs.flatMap((run) => {
      const query = run.first?.query ?? [];
      const savepoint = this.#hasSavepoints ? this.#nextSavepoint() : undefined;
      run.sent = { savepoint };
      if (savepoint === undefined) return query;
      const text = `SAVEPOINT ${savepoint}`;
      return [this.#savepoints <= PREPARED_MAX ? command(text) : { text }].concat(query);
    });
    const each = statements.length / runs.length;
    const allSent = runs.map(({ sent }) => sent);
    const answer = await sendBatch(this.#connection.client, statements);
    const { results, error: reason, failedAt = statements.length } = answer;
    for (const [index, sent] of allSent.entries()) {
      const at = each * (index + 1) - 1;
      const value = at < failedAt ? results[at] : undefined;
      if (sent === undefined || sent !== runs[index]?.sent) continue;
      sent.answer = value ? { status: "fulfilled", value } : { status: "rejected", reason };
    }
    const current = this.#runs[this.#at];
    if (current === undefined || !runs.includes(current)) return;
    const waitedMs = performance.now() - Math.max(sentMs, current.turnMs ?? 0);
    for (const run of runs) run.sharedMs += waitedMs / runs.length;
    current.sharedMs -= waitedMs;
    this.#deliver(current);
  }

  #deliver({ first, sent }: GroupRun): void {
    if (sent?.answer?.status === "fulfilled") first?.resolve(sent.answer.value);
    if (sent?.answer?.status === "rejected") first?.reject(sent.answer.reason);
  }

  #withdrawAfter(run: GroupRun): void {
    const sent = this.#after(run).find((later) => later.sent !== undefined)?.sent;
    if (sent === undefined) return;
    for (const later of this.#after(run)) later.sent = undefined;
    run.isUndone = true;
    // If the run's own query failed, the savepoint behind it was never set.
    void this.#rollBackTo(sent, () => run.sent?.answer?.status === "rejected");
  }

  async #rollBackTo({ savepoint }: Sent, mayFail = () => false): Promise<void> {
    try {
      if (savepoint === undefined) throw new Error("Cannot undo one event: it has no savepoint");
      await this.#connection.client.query(`ROLLBACK TO SAVEPOINT ${savepoint}`);
    } catch (error) {
      if (!mayFail()) this.broken ??= error;
    }
  }

  #after(run: GroupRun): readonly GroupRun[] {
    return this.#runs.slice(this.#runs.indexOf(run) + 1);
  }

  #nextSavepoint(): string {
    this.#savepoints += 1;
    return `${SAVEPOINT_PREFIX}${this.#savepoints}`;
  }
}
