import {
  failpoint,
  type EnvelopedEvent,
  type OnEmitted,
  type Outcome,
  type StopSignal,
} from "@millrace/core";
import { admit, RECORD_FIRST, type Admission, type FirstLimits } from "./admit.ts";
import {
  acquireConnection,
  releaseHandlers,
  type PooledConnection,
} from "../connection/connection.ts";
import type { Emitted } from "./emit.ts";
import { isDatabaseUnavailable, isOfLedger } from "../connection/database-errors.ts";
import { GroupRuns, type GroupPart, type GroupRun, type GroupUnit } from "./group-runs.ts";
import type { Guard } from "./guard.ts";
import { queryRows, type LedgerContext } from "../connection/ledger-context.ts";
import { complete, settleError, type AttemptEnd, type FinishedRun } from "./settle.ts";
import { isDataError, SQLSTATE, sqlStateOf } from "../connection/sqlstate.ts";
import { rollback } from "../connection/transaction.ts";

export interface GroupLimits extends FirstLimits {
  /** Milliseconds that a member's handlers may run before the group goes on without them. */
  readonly patienceMs: number;
  readonly ahead: number;
  /** False when an event that fails may undo all others. */
  readonly hasSavepoints: boolean;
  readonly stop: StopSignal;
  readonly onEmitted?: OnEmitted | undefined;
}

/**
 * Makes first attempts of one source in one transaction, and completes those that did not throw. A
 * set that throws runs again in halves, until the event that it throws for is alone. Returns one
 * end for each member, in order. No statement is canceled from outside, since a late cancel request
 * would hit another member, or the COMMIT; Postgres' own time limits end them.
 * @throws `database_unavailable` when no handler has run.
 */
export async function attemptGroup(
  ledger: LedgerContext,
  units: readonly GroupUnit[],
  limits: GroupLimits,
): Promise<readonly AttemptEnd[]> {
  const source = units[0]?.members[0]?.source ?? "";
  const connection = await acquireConnection(ledger.pool);
  const deadlineMs = ledger.short.deadlineMs + units.length * limits.patienceMs;
  const timer = setTimeout(() => connection.destroy(), deadlineMs);
  const group = new Group(ledger, connection, units, limits);
  try {
    return await group.attempt();
  } catch (error) {
    await rollback(connection);
    throw error;
  } finally {
    clearTimeout(timer);
    group.close();
    releaseHandlers(ledger, connection, source);
  }
}

class Group {
  readonly #ledger: LedgerContext;
  readonly #connection: PooledConnection;
  readonly #units: readonly GroupUnit[];
  readonly #limits: GroupLimits;
  readonly #timer: HandlerTimer;
  readonly #ends = new Map<EnvelopedEvent, AttemptEnd>();
  readonly #finished = new Map<EnvelopedEvent, FinishedRun>();
  readonly #emitted: Emitted[] = [];
  readonly #times = new Map<GroupUnit, Pick<AttemptEnd, "ranMs" | "held">>();

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

  async attempt(): Promise<readonly AttemptEnd[]> {
    const members = this.#units.flatMap((unit) => unit.members);
    const { transactionId, admissions } = await admit(
      this.#ledger,
      this.#connection,
      members,
      this.#limits,
    );
    failpoint("worker.group_admitted");
    const isAlive = await this.#runAll(this.#admitted(admissions));
    failpoint("worker.group_ran");
    await this.#complete(transactionId, isAlive);
    return this.#units.flatMap((unit) =>
      unit.members.map((member) => ({
        ...(this.#ends.get(member) ?? RECORD_FIRST),
        ...this.#times.get(unit),
      })),
    );
  }

  #admitted(admissions: readonly Admission[]): readonly GroupPart[] {
    const answers = admissions.values();
    return this.#units.flatMap((unit) => {
      const admitted = unit.members.flatMap((member) => {
        const { value: admission = RECORD_FIRST } = answers.next();
        if (admission.kind === "admitted") return [{ member, ...admission }];
        this.#ends.set(member, admission);
        return [];
      });
      return admitted.length === 0 ? [] : [{ unit, admitted }];
    });
  }

  close(): void {
    this.#timer.close();
  }

  async #runAll(parts: readonly GroupPart[]): Promise<boolean> {
    const { stop } = this.#limits;
    const runs = new GroupRuns(this.#ledger, this.#connection, parts, this.#limits);
    const isOver = () => stop.aborted || runs.broken !== undefined || this.#connection.broken;
    for (let run = runs.next(); run !== undefined; run = isOver() ? undefined : runs.next()) {
      await this.#run(runs, run);
    }
    const reason: unknown = stop.aborted ? stop.reason : runs.broken;
    for (const { unit, admitted } of await runs.abandon(reason)) {
      unit.abort(reason);
      this.#end(admitted, UNDONE);
    }
    return runs.broken === undefined;
  }

  async #run(runs: GroupRuns, run: GroupRun): Promise<void> {
    const timer = this.#timer;
    const { guard, outcome: running, part } = run;
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
        const halves = [admitted.slice(0, half), admitted.slice(half)];
        runs.insert(halves.map((some) => ({ unit, admitted: some })));
      } else this.#end(admitted, end);
    } finally {
      timer.end();
      this.#note(run);
    }
  }

  #note({ part: { unit }, ranMs, heldMs, sendsMore, isUndone }: GroupRun): void {
    const { ranMs: before = 0, held } = this.#times.get(unit) ?? {};
    this.#times.set(unit, {
      ranMs: before + ranMs,
      held: {
        ms: (held?.ms ?? 0) + heldMs.all,
        behindQueryMs: (held?.behindQueryMs ?? 0) + heldMs.behindQuery,
        sentOneQuery: held?.sentOneQuery !== false && !sendsMore,
        isUndone: held?.isUndone === true || isUndone,
        events: unit.members.length,
      },
    });
  }

  #end(admitted: GroupPart["admitted"], end: AttemptEnd): void {
    for (const { member } of admitted) this.#ends.set(member, end);
  }

  /** A failed query may have left the transaction aborted, even if the handler caught the error. */
  async #requireKept(runs: GroupRuns, run: GroupRun): Promise<void> {
    const { guard } = run;
    if (guard.trouble !== undefined) throw guard.firstError;
    if (guard.firstError === undefined) return;
    try {
      await runs.requireAlive(run);
    } catch (error) {
      throw settleError(error, this.#connection, guard);
    }
  }

  #failed(guard: Guard, error: unknown, isBroken: boolean): AttemptEnd {
    const reason = guard.trouble ?? (this.#timer.isOver ? "slow" : undefined);
    if (reason !== undefined) return { kind: "record_first", reason };
    const isLost = this.#connection.broken || isBroken || isDatabaseUnavailable(error);
    return isLost ? UNDONE : { kind: "failed", error };
  }

  async #complete(transactionId: string, isAlive: boolean): Promise<void> {
    const end = await this.#commit(transactionId, isAlive);
    for (const [member, { outcome }] of this.#finished) {
      this.#ends.set(member, end ?? { kind: "completed", outcome });
    }
  }

  async #commit(transactionId: string, isAlive: boolean): Promise<AttemptEnd | undefined> {
    const connection = this.#connection;
    const runs = [...this.#finished.values()];
    if (!isAlive || connection.broken || runs.length === 0) {
      await rollback(connection);
      return UNDONE;
    }
    try {
      const { onEmitted } = this.#limits;
      const isGroup = runs.length > 1;
      const settlement = { emitted: this.#emitted, transactionId, onEmitted, isGroup };
      return await complete(this.#ledger, connection, runs, settlement);
    } catch (error) {
      if (sqlStateOf(error) === SQLSTATE.transactionChanged) connection.discard("uncleaned");
      await rollback(connection);
      // A deferred constraint: whose it is shows when each is attempted alone.
      const isOfHandler = isDataError(error) && !isOfLedger(error);
      return isOfHandler ? { kind: "record_first", reason: "unsafe" } : UNDONE;
    }
  }
}

const UNDONE: AttemptEnd = { kind: "record_first", reason: "undone" };

class HandlerTimer {
  isOver = false;
  readonly #stop: StopSignal;
  readonly #timer: NodeJS.Timeout;
  #giveUp: ((reason: unknown) => void) | undefined;
  readonly #onStop = () => this.#expire(this.#stop.reason);

  constructor({ stop, patienceMs }: { readonly stop: StopSignal; readonly patienceMs: number }) {
    this.#stop = stop;
    const late = () => this.#expire(new Error(`it ran longer than ${patienceMs} ms`));
    this.#timer = setTimeout(late, patienceMs);
    stop.addEventListener("abort", this.#onStop);
  }

  wait<T>(work: Promise<T>): Promise<T> {
    this.isOver = false;
    this.#timer.refresh();
    return new Promise((resolve, reject) => {
      this.#giveUp = reject;
      work.then(resolve, reject);
    });
  }

  end(): void {
    this.#giveUp = undefined;
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#stop.removeEventListener("abort", this.#onStop);
  }

  #expire(reason: unknown): void {
    if (this.#giveUp === undefined) return;
    this.isOver = true;
    this.#giveUp(reason);
  }
}

/** No statement shows them: policies that read settings, functions that set some until the end. */
const HAZARDS = `
SELECT format('table %I.%I has row-level security', n.nspname, c.relname) AS hazard
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relrowsecurity AND n.nspname !~ '^(pg_|information_schema$|millrace$|bullmq$)'
UNION ALL
SELECT format('function %I.%I may change settings, locks or temporary tables', n.nspname, p.proname)
FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
WHERE n.nspname !~ '^(pg_|information_schema$|millrace$|bullmq$)'
  AND p.prosrc ~* '(set_config|advisory|[[:<:]]temp(orary)?[[:>:]]|pg_temp|(^|;|[[:<:]](begin|then|else|loop)[[:>:]])[[:space:]]*set[[:space:]])'
  AND NOT EXISTS (
    SELECT FROM pg_catalog.pg_depend d
    WHERE d.classid = 'pg_catalog.pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
  )
ORDER BY hazard
LIMIT 5`;

export async function groupHazards(ledger: LedgerContext): Promise<readonly string[]> {
  const rows = await queryRows<{ hazard: string }>(ledger, HAZARDS);
  return rows.map(({ hazard }) => hazard);
}
