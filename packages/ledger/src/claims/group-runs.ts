import type { EnvelopedEvent, HandlerTransaction, IncomingEvent, Outcome } from "@millrace/core";
import type pg from "pg";
import type { PooledConnection } from "../connection/connection.ts";
import type { Admitted } from "./admit.ts";
import type { EmitTarget } from "./emit.ts";
import { Guard, type GuardContext } from "./guard.ts";
import { command, pipeline } from "../connection/pipeline.ts";
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
  readonly savepoint: string;
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
  startedMs = 0;
  settledMs: number | undefined;
  turnMs: number | undefined;

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
    return Math.max(0, settledMs - this.startedMs - waitedMs);
  }

  get heldMs(): { readonly all: number; readonly behindQuery: number } {
    const { first, settledMs = performance.now(), turnMs = settledMs } = this;
    const all = Math.max(0, settledMs - turnMs);
    const { askedMs = settledMs } = first ?? {};
    return { all, behindQuery: Math.min(all, Math.max(0, settledMs - askedMs)) };
  }
}

/** A connection keeps so many prepared: a group has fewer events, but may send them again. */
const PREPARED_MAX = 64;

/**
 * Runs handlers in one transaction, one after the other, each behind a savepoint. Some begin ahead,
 * so that their waits for other systems overlap. Most send one query, so all first queries are sent
 * at once (SAVEPOINT 1; query of A; SAVEPOINT 2; query of B), and B gets its answer when A has
 * ended. When A sends a second query or fails, the queries behind it are undone and sent again.
 */
export class GroupRuns {
  broken: unknown;
  readonly #connection: PooledConnection;
  readonly #ledger: GuardContext;
  readonly #runs: GroupRun[];
  readonly #ahead: number;
  #at = -1;
  #savepoints = 0;
  #isFlushing = false;

  constructor(
    ledger: GuardContext,
    connection: PooledConnection,
    parts: readonly GroupPart[],
    ahead: number,
  ) {
    this.#ledger = ledger;
    this.#connection = connection;
    this.#ahead = ahead;
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
    stream.cork();
    for (let index = Math.max(0, this.#at); index < this.#runs.length; index += 1) {
      const run = this.#runs[index];
      if (run?.outcome === undefined) break;
      if (index > this.#at && !run.part.unit.sendsOneQuery) break;
      if (run.first === undefined) {
        if (run.settledMs === undefined) break;
        continue;
      }
      if (run.sent === undefined) this.#sendFirst(run, run.first);
      if (run.sendsMore || run.sent?.answer?.status === "rejected") break;
    }
    stream.uncork();
  }

  #sendFirst(run: GroupRun, { query }: FirstQuery): void {
    const sent: Sent = { savepoint: this.#nextSavepoint() };
    run.sent = sent;
    const answered = (answer: NonNullable<Sent["answer"]>) => {
      if (run.sent !== sent) return;
      sent.answer = answer;
      if (this.#runs[this.#at] === run) this.#deliver(run);
    };
    const text = `SAVEPOINT ${sent.savepoint}`;
    const saving = this.#savepoints <= PREPARED_MAX ? command(text) : { text };
    pipeline(this.#connection.client, [saving, query]).then(
      ([, value]) => answered({ status: "fulfilled", value: value as pg.QueryResult }),
      (reason: unknown) => answered({ status: "rejected", reason }),
    );
  }

  #deliver({ first, sent }: GroupRun): void {
    if (sent?.answer?.status === "fulfilled") first?.resolve(sent.answer.value);
    if (sent?.answer?.status === "rejected") first?.reject(sent.answer.reason);
  }

  #withdrawAfter(run: GroupRun): void {
    const sent = this.#after(run).find((later) => later.sent !== undefined)?.sent;
    if (sent === undefined) return;
    for (const later of this.#after(run)) later.sent = undefined;
    this.#connection.client
      .query(`ROLLBACK TO SAVEPOINT ${sent.savepoint}`)
      .catch((error: unknown) => {
        // If the run's own query failed, the savepoint behind it was never set.
        if (run.sent?.answer?.status !== "rejected") this.broken ??= error;
      });
  }

  async #rollBackTo({ savepoint }: Sent): Promise<void> {
    try {
      await this.#connection.client.query(`ROLLBACK TO SAVEPOINT ${savepoint}`);
    } catch (error) {
      this.broken ??= error;
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
