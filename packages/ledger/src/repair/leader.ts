import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { settlesWithin } from "@millrace/core";
import type pg from "pg";
import { runStatement } from "../connection/transaction.ts";

/** Milliseconds of a lease by the database's clock; after that, another process can lead. */
const LEASE_MS = 10_000;
/** Milliseconds between renewals, and to the next try after one that failed. */
const RENEW_INTERVAL_MS = 3_000;
const RENEW_RETRY_MS = 500;
/** A leader stops so long before its lease ends: its clock may go slower than the database's. */
const MARGIN_MS = 2_000;
const RELEASE_MS = 1_000;

const TIMES = { statementTimeoutMs: 2_000, lockTimeoutMs: 2_000, deadlineMs: 3_000 };

/** A lease in the future is free: the database's clock was set back. */
const TAKE = `
INSERT INTO millrace.leaders AS l (name, holder, host, renewed_at, expires_at)
VALUES ($1, $2, $3, clock_timestamp(), clock_timestamp() + make_interval(secs => $4::float8 / 1000))
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, host = excluded.host,
  renewed_at = clock_timestamp(),
  expires_at = clock_timestamp() + make_interval(secs => $4::float8 / 1000)
WHERE l.holder = excluded.holder OR l.expires_at <= clock_timestamp()
  OR l.renewed_at > clock_timestamp() + (l.expires_at - l.renewed_at)
RETURNING true`;

const RELEASE = `
UPDATE millrace.leaders SET expires_at = clock_timestamp() WHERE name = $1 AND holder = $2`;

/**
 * Leader election: of all processes on one database, at most one leads under a name.
 *
 * A lease is a row, by the database's clock. The leader counts from before it asked, by two clocks,
 * so it stops before another may begin, also after a pause of the machine. Statements sent by then
 * can still take effect, and a failover may lose the lease: two leaders at once must do no harm.
 */
export class Leader {
  readonly #pool: pg.Pool;
  readonly #name: string;
  readonly #holder = randomUUID();
  #lost: AbortController | undefined;
  /** Its end unless renewed: by the monotonic clock, and by the one that goes on during sleep. */
  #ends = { monotonicMs: 0, wallMs: 0 };
  #ending: NodeJS.Timeout | undefined;
  #renewing: NodeJS.Timeout | undefined;
  #asking: Promise<AbortSignal | undefined> | undefined;
  #closed = false;

  constructor({ pool }: { readonly pool: pg.Pool }, name: string) {
    this.#pool = pool;
    this.#name = name;
  }

  /** True while this process leads. Ask before each step: a signal may come a moment late. */
  get leading(): boolean {
    if (this.#lost === undefined) return false;
    if (performance.now() < this.#ends.monotonicMs && Date.now() < this.#ends.wallMs) return true;
    this.#resign();
    return false;
  }

  async lead(): Promise<AbortSignal | undefined> {
    if (this.#closed) return undefined;
    return this.leading ? this.#lost?.signal : await this.#ask();
  }

  async close(): Promise<void> {
    this.#closed = true;
    const mayHold = this.#lost !== undefined || this.#asking !== undefined;
    this.#resign();
    if (mayHold) await settlesWithin(this.#release(), RELEASE_MS);
  }

  /** Two calls at once must not ask twice. */
  #ask(): Promise<AbortSignal | undefined> {
    return (this.#asking ??= this.#take().finally(() => (this.#asking = undefined)));
  }

  async #take(): Promise<AbortSignal | undefined> {
    const heldMs = LEASE_MS - MARGIN_MS;
    const ends = { monotonicMs: performance.now() + heldMs, wallMs: Date.now() + heldMs };
    const values = [this.#name, this.#holder, hostname(), LEASE_MS];
    const { rowCount } = await runStatement(this.#pool, { text: TAKE, values }, TIMES);
    if (rowCount !== 1 || this.#closed) {
      this.#resign();
      return undefined;
    }
    this.#lost ??= new AbortController();
    this.#ends = ends;
    clearTimeout(this.#ending);
    this.#ending = setTimeout(() => this.#resign(), ends.monotonicMs - performance.now()).unref();
    this.#renewIn(RENEW_INTERVAL_MS);
    return this.leading ? this.#lost.signal : undefined;
  }

  #renewIn(delayMs: number): void {
    clearTimeout(this.#renewing);
    this.#renewing = setTimeout(() => {
      this.#ask().catch(() => {
        if (this.leading) this.#renewIn(RENEW_RETRY_MS);
      });
    }, delayMs).unref();
  }

  #resign(): void {
    clearTimeout(this.#ending);
    clearTimeout(this.#renewing);
    const lost = this.#lost;
    this.#lost = undefined;
    lost?.abort(new Error(`Cannot continue: another process may lead "${this.#name}" now`));
  }

  async #release(): Promise<void> {
    await Promise.allSettled([this.#asking]);
    const query = { text: RELEASE, values: [this.#name, this.#holder] };
    await runStatement(this.#pool, query, TIMES).catch(() => {});
  }
}

type FoundLeader = { readonly host: string; readonly seenMsAgo: number };

const FIND = `
SELECT host, extract(epoch FROM clock_timestamp() - renewed_at)::float8 * 1000 AS "seenMsAgo"
FROM millrace.leaders WHERE name = $1 AND expires_at > clock_timestamp()`;

export async function findLeader(pool: pg.Pool, name: string): Promise<FoundLeader | undefined> {
  const query = { text: FIND, values: [name] };
  const { rows } = await runStatement<FoundLeader>(pool, query, TIMES);
  return rows[0];
}
