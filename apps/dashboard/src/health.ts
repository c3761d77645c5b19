import type { Health, HealthItem } from "@millrace/api-contract";
import { isMillraceError, withDeadline } from "@millrace/core";
import type { Refusals } from "@millrace/ledger";
import { RECONCILER } from "@millrace/operations";
import type { Comparison, DashboardLedger, DashboardQueues } from "./ports.ts";
import { cached } from "./cache.ts";

interface Deps {
  readonly ledger: {
    readonly reads: Pick<
      DashboardLedger["reads"],
      "ping" | "findLeader" | "findOpen" | "findRefusals"
    >;
  };
  readonly queues: Pick<
    DashboardQueues,
    "backend" | "queues" | "ping" | "counts" | "measurePressure"
  >;
  readonly comparison: () => Promise<Pick<Comparison, "diagnosis">>;
}

/** Milliseconds of each part. All are read at the same time, so the answer takes little more. */
const PART_MS = 1_000;
/**
 * A server is asked this often at most, however many pages are open: the page shows within 5 s that
 * it stopped.
 */
const PING_TTL = { ttlMinMs: 500, timesTaken: 0 };
const READ_TTL = { ttlMinMs: 1_000, timesTaken: 20 };
/** The comparison reads all that is pending, and the page asks every few seconds. */
const COMPARISON_TTL = { ttlMinMs: 60_000, timesTaken: 20 };
/** Refused deliveries are counted for the minute that runs and for so many before it. */
const REFUSED_MINUTES = 5;
/** Reasons that are listed. */
const REASONS_MAX = 3;
/** A job that waits longer than this for its first attempt is worth a look. */
const WAIT_MS_MAX = 5 * 60_000;

/**
 * Makes the reader of problems that need attention. It never rejects and answers in little more
 * than a second: a part that fails is reported as such, and one that depends on it as unknown.
 */
export function createHealthReader(deps: Deps): () => Promise<Health> {
  const { ledger, queues } = deps;
  const within = <T>(read: () => Promise<T>) => withDeadline(read(), PART_MS, () => new Late());
  const pingQueue = cached(PING_TTL, () => within(() => queues.ping()));
  const pingLedger = cached(PING_TTL, () => within(() => ledger.reads.ping()));
  const findLeader = cached(PING_TTL, () => within(() => ledger.reads.findLeader(RECONCILER)));
  const findOpen = cached(READ_TTL, () => within(() => ledger.reads.findOpen()));
  const findRefusals = cached(READ_TTL, () =>
    within(() => ledger.reads.findRefusals(REFUSED_MINUTES)),
  );
  const readQueues = cached(READ_TTL, () =>
    within(async () => {
      // Without it the counts of a server that is away would never come.
      await pingQueue();
      const [counts, pressure] = await Promise.all([queues.counts(), queues.measurePressure()]);
      return { counts, pressure };
    }),
  );
  // Takes its own time: the first answers say that it is not known yet.
  const compare = cached(COMPARISON_TTL, deps.comparison);

  return async () => {
    const [queue, postgres, leader, open, refusals, lastRead, compared] = await Promise.all([
      settle(pingQueue()),
      settle(pingLedger()),
      settle(findLeader()),
      settle(findOpen()),
      settle(findRefusals()),
      settle(readQueues()),
      settle(within(compare)),
    ]);
    // A reading from before the queue went away is no longer true.
    const read = queue.reason === undefined ? lastRead : queue;
    return {
      checked_at: new Date().toISOString(),
      items: [
        ...(queues.backend === "redis" ? [answers("redis", "Redis", queue)] : []),
        answers("postgres", "Postgres", postgres),
        ...(queues.backend === "redis" ? [eventStore(queue, read)] : []),
        leaderItem(leader),
        disagreements(compared),
        oldestWaiting(read, [...queues.queues.keys()]),
        paused(read, [...queues.queues.keys()]),
        openRuns(open),
        refused(refusals),
      ],
      open_errors: open.value?.errors ?? null,
    };
  };
}

class Late extends Error {
  override readonly message = `No answer within ${PART_MS} ms.`;
}

type Settled<T> =
  | { readonly value: T; readonly reason?: undefined }
  | { readonly reason: string; readonly isReadOnly: boolean; readonly value?: undefined };

async function settle<T>(promise: Promise<T>): Promise<Settled<T>> {
  try {
    return { value: await promise };
  } catch (error) {
    const isReadOnly = isMillraceError(error) && error.code === "database_read_only";
    return { reason: reasonOf(error), isReadOnly };
  }
}

/** Only our own messages reach the page; another one may name an address or a user. */
function reasonOf(error: unknown): string {
  if (isMillraceError(error) || error instanceof Late) return error.message;
  return "The connection fails.";
}

interface QueueValue {
  readonly counts: Awaited<ReturnType<Deps["queues"]["counts"]>>;
  readonly pressure: Awaited<ReturnType<Deps["queues"]["measurePressure"]>>;
}
type QueueRead = Settled<QueueValue>;

const item = (
  id: HealthItem["id"],
  level: HealthItem["level"],
  text: string,
  detail: string | null = null,
): HealthItem => ({ id, level, text, detail });

function answers(id: "redis" | "postgres", name: string, ping: Settled<void>): HealthItem {
  if (ping.reason === undefined) return item(id, "ok", `${name} answers`);
  const text = ping.isReadOnly ? `${name} takes no writes` : `${name} does not answer`;
  return item(id, "bad", text, ping.reason);
}

/** Each ingress decides for itself; while Redis is away none of them has a choice. */
function eventStore(queue: Settled<void>, { value, reason }: QueueRead): HealthItem {
  if (queue.reason !== undefined) {
    return item("event_store", "warn", "New events go to the ledger, not to Redis");
  }
  if (value === undefined) {
    return item("event_store", "unknown", "Event store not known", reason);
  }
  const { risk } = value.pressure;
  if (risk === undefined) return item("event_store", "ok", "Redis takes new events");
  return item("event_store", "warn", "Redis may lose events that it confirms", risk);
}

function leaderItem({ value, reason }: Settled<LeaderFound>): HealthItem {
  if (reason !== undefined) return item("leader", "unknown", "Leader not known", reason);
  if (value === undefined) {
    const detail = "Nothing is repaired until one leads. Start a worker: `millrace worker`.";
    return item("leader", "bad", "No worker leads", detail);
  }
  return item("leader", "ok", `A worker on ${value.host ?? "an unnamed machine"} leads`);
}

type LeaderFound = Awaited<ReturnType<Deps["ledger"]["reads"]["findLeader"]>>;

function disagreements({ value, reason }: Settled<Pick<Comparison, "diagnosis">>): HealthItem {
  const id = "disagreements";
  if (value === undefined) return item(id, "unknown", "Ledger and queues not compared yet", reason);
  let count = 0;
  for (const kind of value.diagnosis.found.values()) count += kind.count;
  const unknown = listOf("Not compared", [...value.diagnosis.notCompared.keys()]);
  if (count > 0) {
    const text = `${countOf(count, "disagreement")} between ledger and queues`;
    return item(id, "bad", text, joined(" ", "A worker repairs what it can.", unknown));
  }
  if (unknown !== undefined) return item(id, "unknown", "Some queues not compared", unknown);
  return item(id, "ok", "No disagreement found");
}

function oldestWaiting({ value, reason }: QueueRead, sources: readonly string[]): HealthItem {
  const id = "oldest_waiting";
  if (value === undefined) return item(id, "unknown", "Oldest waiting event not known", reason);
  const ages = sources.map((source) => ({
    source,
    ageMs: value.counts.get(source)?.paused ? 0 : (value.pressure.of(source).oldestAgeMs ?? 0),
  }));
  const oldest = ages.reduce((a, b) => (b.ageMs > a.ageMs ? b : a), { source: "", ageMs: 0 });
  const unknown = notCounted(value, sources);
  if (oldest.ageMs <= WAIT_MS_MAX && unknown !== undefined) {
    return item(id, "unknown", "Oldest waiting event not known", unknown);
  }
  if (oldest.ageMs <= WAIT_MS_MAX) return item(id, "ok", "No event waits longer than 5 min");
  const minutes = Math.floor(oldest.ageMs / 60_000);
  const text = `An event of ${oldest.source} has waited for ${minutes} min`;
  return item(id, "warn", text, "It has had no attempt yet. Add workers, or look at their log.");
}

/** The queues that fail by themselves; undefined when none does. */
function notCounted({ counts }: QueueValue, sources: readonly string[]): string | undefined {
  return listOf(
    "not known",
    sources.filter((source) => !counts.has(source)),
  );
}

const listOf = (what: string, names: readonly string[]): string | undefined =>
  names.length === 0 ? undefined : `${what}: ${names.join(", ")}`;

const joined = (by: string, ...texts: readonly (string | undefined)[]): string =>
  texts.filter((text) => text !== undefined).join(by);

function paused({ value, reason }: QueueRead, sources: readonly string[]): HealthItem {
  if (value === undefined) return item("paused", "unknown", "Paused sources not known", reason);
  const names = [...value.counts].filter(([, { paused: is }]) => is).map(([source]) => source);
  const unknown = notCounted(value, sources);
  if (names.length > 0) {
    const told = joined("; ", names.join(", "), unknown);
    return item("paused", "warn", `${countOf(names.length, "source")} paused`, told);
  }
  if (unknown !== undefined) return item("paused", "unknown", "Paused sources not known", unknown);
  return item("paused", "ok", "No source is paused");
}

function openRuns({ value, reason }: Settled<OpenFound>): HealthItem {
  const id = "open_runs";
  if (value === undefined) return item(id, "unknown", "Open bulk runs not known", reason);
  const { runs } = value;
  if (runs.length === 0) return item(id, "ok", "No bulk run is open");
  const text = runs.length === 1 ? "1 bulk run is open" : `${runs.length} bulk runs are open`;
  const told = runs.map(({ id: run, verb, state, error }) => {
    return `run ${run}: ${verb.replace("_", " ")}, ${error === null ? state : "waits"}`;
  });
  return item(id, "warn", text, told.join("; "));
}

type OpenFound = Awaited<ReturnType<Deps["ledger"]["reads"]["findOpen"]>>;

function refused({ value, reason }: Settled<readonly Refusals[]>): HealthItem {
  const id = "refused";
  if (value === undefined) return item(id, "unknown", "Refused deliveries not known", reason);
  const span = `refused in the last ${REFUSED_MINUTES} min`;
  let total = 0;
  for (const { deliveries } of value) total += deliveries;
  if (total === 0) return item(id, "ok", `No delivery ${span}`);
  const text = `${total.toLocaleString("en-US")} ${total === 1 ? "delivery" : "deliveries"} ${span}`;
  const told = value.slice(0, REASONS_MAX).map(({ source, code, deliveries }) => {
    const from = source === undefined ? "" : `${source}: `;
    return `${from}${deliveries.toLocaleString("en-US")} ${code}`;
  });
  const more = value.length - told.length;
  return item(
    id,
    "warn",
    text,
    [...told, ...(more > 0 ? [`${more} more reasons`] : [])].join("; "),
  );
}

const countOf = (count: number, noun: string): string =>
  `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`;
