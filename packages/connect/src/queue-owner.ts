import { hasCode, isMillraceError, isSameDatabase, MillraceError, wait } from "@millrace/core";
import type { Ledger, LedgerIdentity } from "@millrace/ledger";
import type { JobOwner, QueueMark, Queues } from "@millrace/queue";

/** Milliseconds between renewals of the marks, a sixth of the time for which they hold. */
const RENEW_INTERVAL_MS = 5_000;
const LOOK_INTERVAL_MS = 1_000;
const WATCH_INTERVAL_MS = 5_000;

type OwnedQueues = Pick<Queues, "readMark" | "takeMark" | "ping">;
type Signing = { readonly signs: boolean; readonly isOnRedis: boolean };
type Repair = Pick<Ledger["repair"], "readIdentity" | "keepIdentity">;

/** @throws `ledger_moved` on a copy; `queue_key_missing` without a key where jobs are signed */
export async function requireIdentity(
  repair: Repair,
  { signs, isOnRedis }: Signing,
): Promise<LedgerIdentity> {
  const identity = await repair.readIdentity();
  const { ranOn } = identity;
  if (ranOn !== undefined && !isSameDatabase(ranOn, identity)) throw moved();
  requireKey(identity, { signs, isOnRedis });
  await repair.keepIdentity(identity, { signs });
  return identity;
}

function moved(): MillraceError {
  return new MillraceError(
    "ledger_moved",
    "Cannot start the worker: the ledger is on another database than its workers ran on, so it was restored or copied. " +
      "If this database takes the other's place, run `millrace restored`; if the other one goes on, run `millrace adopt`",
  );
}

function requireKey({ signedSinceMs }: LedgerIdentity, { signs, isOnRedis }: Signing): void {
  if (signedSinceMs === undefined || signs || !isOnRedis) return;
  const since = new Date(signedSinceMs).toISOString();
  throw new MillraceError(
    "queue_key_missing",
    `Cannot run jobs: workers of this ledger sign them since ${since}, and MILLRACE_QUEUE_KEY is not set here`,
  );
}

export interface QueueClaimOptions {
  readonly queues: OwnedQueues;
  readonly repair: Pick<Repair, "readIdentity">;
  readonly identity: LedgerIdentity;
  readonly sources: readonly string[];
  readonly signs: boolean;
  readonly signal: AbortSignal;
  /** Called for a queue that was another ledger's until its workers were gone. */
  readonly onTakenOver: (source: string, was: QueueMark) => void;
  /** Called once, when this process may run no more jobs. */
  readonly onLost: (error: MillraceError) => void;
}

export class QueueClaim {
  readonly #options: QueueClaimOptions;
  readonly #held = new Map<string, QueueMark>();
  #identity: LedgerIdentity;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: QueueClaimOptions) {
    this.#options = options;
    this.#identity = options.identity;
  }

  /** Waits up to 30 seconds for another database's mark. @throws `queue_in_use` if it is renewed */
  async take(): Promise<void> {
    const { sources, signal, queues } = this.#options;
    await queues.ping();
    await Promise.all(sources.map((source) => this.#takeFirst(source)));
    this.#timer = setInterval(() => void this.#renew(), RENEW_INTERVAL_MS).unref();
    signal.addEventListener("abort", () => clearInterval(this.#timer), { once: true });
  }

  /** Ends the marks: a worker of the same ledger that goes on renews them. */
  async release(): Promise<void> {
    clearInterval(this.#timer);
    const { queues } = this.#options;
    const ends = [...this.#held].map(([source, held]) =>
      queues.takeMark(source, { ...this.#identity, held, leaseMs: 0 }),
    );
    await Promise.allSettled(ends);
  }

  async #takeFirst(source: string): Promise<void> {
    const { queues, signal, onTakenOver } = this.#options;
    await this.#refuseTwin(source);
    let first: QueueMark | undefined;
    for (;;) {
      const taken = await queues.takeMark(source, this.#identity);
      // Workers must empty a full Redis: they run with our mark, or with none.
      if (taken === undefined || taken.kind === "full") return;
      const { was } = taken;
      if (taken.kind === "taken") {
        this.#held.set(source, taken.mark);
        if (was !== undefined) onTakenOver(source, was);
        return;
      }
      first ??= taken.was;
      if (taken.was.untilMs > first.untilMs) throw inUse(source, taken.was, this.#identity);
      await wait(LOOK_INTERVAL_MS, signal);
      signal.throwIfAborted();
    }
  }

  // A copy of the server's folder has the same names. Only the time at which it started differs,
  // as it does after a restart, until our workers have renewed the mark. The first renewal may
  // have begun before the restart; the second did not.
  async #refuseTwin(source: string): Promise<void> {
    const { queues, repair, signal } = this.#options;
    let renewals = -1;
    let untilMs = 0;
    for (let lookedMs = 0; lookedMs <= RENEW_INTERVAL_MS; lookedMs += LOOK_INTERVAL_MS) {
      const mark = await queues.readMark(source);
      if (mark?.isLive !== true || !isOurs(mark, this.#identity)) return;
      if (mark.untilMs > untilMs) {
        [renewals, untilMs, lookedMs] = [renewals + 1, mark.untilMs, 0];
        this.#identity = await repair.readIdentity();
        if ([0, this.#identity.startedAtMs].includes(mark.startedAtMs)) return;
        if (renewals === 2) throw inUse(source, mark, this.#identity);
      }
      await wait(LOOK_INTERVAL_MS, signal);
      signal.throwIfAborted();
    }
  }

  async #renew(): Promise<void> {
    const { sources, queues, repair, signs, onLost } = this.#options;
    try {
      // While Postgres is away, it may be starting again.
      const known = await repair
        .readIdentity()
        .catch(() => ({ ...this.#identity, startedAtMs: 0 }));
      requireKey(known, { signs, isOnRedis: true });
      const isMoved = known.ranOn !== undefined && !isSameDatabase(known.ranOn, known);
      if (isMoved || known.ledger !== this.#identity.ledger) throw moved();
      this.#identity = known;
      for (const source of sources) {
        const taken = await queues.takeMark(source, { ...known, held: this.#held.get(source) });
        if (taken?.kind === "refused") throw inUse(source, taken.was, known);
        if (taken?.kind === "taken") this.#held.set(source, taken.mark);
      }
    } catch (error) {
      if (!isMillraceError(error) || !LOSSES.has(error.code)) return;
      clearInterval(this.#timer);
      onLost(error);
    }
  }
}

const LOSSES: ReadonlySet<string> = new Set(["queue_in_use", "ledger_moved", "queue_key_missing"]);

function isOurs(mark: QueueMark, identity: LedgerIdentity): boolean {
  return mark.ledger === identity.ledger && isSameDatabase(mark, identity);
}

function inUse(source: string, mark: QueueMark, own: LedgerIdentity | undefined): MillraceError {
  const { ledger, systemId, oid } = mark;
  const theirs = `workers of the ledger ${ledger} (database ${systemId}/${oid})`;
  const ours = own && `; this ledger is ${own.ledger} (database ${own.systemId}/${own.oid})`;
  return new MillraceError(
    "queue_in_use",
    `Cannot use the queue of source "${source}": ${theirs} run its jobs${ours ?? ""}. ` +
      "Set another QUEUE_PREFIX for the roles of one of them, or stop its workers and wait 30 s",
  );
}

/**
 * The process' own ledger, or without a database the one that the queues are marked with.
 * @throws `queue_in_use`, `queue_unclaimed`, `redis_unreachable`
 */
export async function findJobOwner(
  queues: OwnedQueues,
  sources: readonly string[],
  own: LedgerIdentity | undefined,
): Promise<string | undefined> {
  const found = new Map<string, QueueMark>();
  let left: MillraceError | undefined;
  await queues.ping();
  for (const source of sources) {
    const mark = await queues.readMark(source);
    if (mark === undefined) continue;
    const isForeign = own !== undefined && !isOurs(mark, own);
    if (isForeign && mark.isLive) throw inUse(source, mark, own);
    if (isForeign) left ??= notTaken(source, mark);
    found.set(mark.ledger, mark);
    if (own === undefined && found.size > 1) throw inUse(source, mark, own);
  }
  // Last: `millrace restored` goes on after it, and must not where another queue is in use.
  if (left !== undefined) throw left;
  const [ledger] = found.keys();
  if (own !== undefined || ledger !== undefined) return own?.ledger ?? ledger;
  throw new MillraceError(
    "queue_unclaimed",
    "Cannot use the queue: no worker has marked it yet, so this ingress cannot know its ledger. " +
      "Start a worker on this Redis, or set DATABASE_URL",
  );
}

/** Workers alone take a queue over. A job that another role adds would stand in a foreign queue. */
function notTaken(source: string, { ledger, systemId, oid }: QueueMark): MillraceError {
  return new MillraceError(
    "queue_unclaimed",
    `Cannot use the queue of source "${source}": it was the ledger ${ledger}'s (database ${systemId}/${oid}), ` +
      "whose workers are gone. Start a worker of this ledger, which takes it, or set another QUEUE_PREFIX",
  );
}

interface OwnerWatch extends Pick<QueueClaimOptions, "queues" | "sources" | "signal"> {
  readonly repair: Pick<Repair, "readIdentity"> | undefined;
  readonly owner: JobOwner;
  /** Called after each look: with why the queues are another ledger's, or undefined. */
  readonly onForeign: (reason: string | undefined) => void;
}

/** Finds the ledger of an ingress' jobs, then keeps looking. @throws as {@link findJobOwner} */
export async function watchJobOwner(watch: OwnerWatch): Promise<void> {
  const { queues, sources, repair, owner, signal, onForeign } = watch;
  let identity: LedgerIdentity | undefined;
  const find = async () => {
    // While the database is away, the marks in the queues say which ledger it is.
    identity ??= await repair?.readIdentity().catch(() => undefined);
    return await findJobOwner(queues, sources, identity);
  };
  owner.ledger = await find();
  const look = async () => {
    try {
      const ledger = await find();
      onForeign(ledger === owner.ledger ? undefined : `it is the ledger ${ledger}'s now`);
    } catch (error) {
      const isForeign = identity !== undefined && hasCode(error, "queue_unclaimed");
      if (isForeign || hasCode(error, "queue_in_use")) onForeign(error.message);
    }
  };
  const looking = setInterval(() => void look(), WATCH_INTERVAL_MS).unref();
  signal.addEventListener("abort", () => clearInterval(looking), { once: true });
}
