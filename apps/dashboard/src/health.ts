import type { Health, HealthItem } from "@millrace/api-contract";
import { countOf } from "@millrace/api-contract/run-text";
import { hasCode, isMillraceError, withDeadline } from "@millrace/core";
import type { Ledger, LedgerIdentity } from "@millrace/ledger";
import {
  behindOf,
  behindText,
  failingText,
  findSenders,
  RECONCILER,
  signingText,
  type Diagnosis,
  type Failing,
  type SenderFinding,
} from "@millrace/operations";
import type { Queues } from "@millrace/queue";
import { cached, type CacheTtl } from "./cache.ts";

interface Deps {
  readonly ledger: Pick<Ledger, "reads" | "repair">;
  readonly queues: Queues;
  readonly comparison: () => Promise<{ readonly diagnosis: Diagnosis }>;
  readonly failing: () => Promise<Failing>;
  readonly authenticatedOnly: readonly string[];
}

const PART_MS = 1_000;
/** For any number of pages. A page shows within 5 s that a server stopped. */
const PING_TTL = { ttlMinMs: 500, timesTaken: 0 };
const READ_TTL = { ttlMinMs: 1_000, timesTaken: 20 };
/** Read from a week of conflicts and all refused copies. */
const SENDERS_TTL = { ttlMinMs: 5_000, timesTaken: 20 };
/** The comparison reads all pending events. */
const COMPARISON_TTL = { ttlMinMs: 60_000, timesTaken: 20 };
/** Besides the minute that runs. */
export const REFUSED_MINUTES = 5;
const REASONS_MAX = 3;
/** The ledger counts no further. */
const OPEN_ERRORS_MAX = 100;

/** Never rejects. A part that fails is a problem, and what depends on it is unknown. */
export function createHealthReader(deps: Deps): () => Promise<Health> {
  const { ledger, queues, comparison, failing, authenticatedOnly } = deps;
  const within = <T>(read: () => Promise<T>) => withDeadline(read(), PART_MS, () => new Late());
  const part = <T>(ttl: CacheTtl, read: () => Promise<T>) => cached(ttl, () => within(read));
  const pingQueue = part(PING_TTL, () => queues.ping());
  const pingLedger = part(PING_TTL, () => ledger.reads.ping());
  const findLeader = part(PING_TTL, () => ledger.reads.findLeader(RECONCILER));
  const findOpen = part(READ_TTL, () => ledger.reads.findOpen());
  const findRefusals = part(READ_TTL, () => ledger.reads.findRefusals(REFUSED_MINUTES));
  const readSenders = part(SENDERS_TTL, () => findSenders({ ledger, queues }));
  const readIdentity = part(READ_TTL, () => ledger.repair.readIdentity());
  const readState = part(READ_TTL, async () => {
    // While Redis is away its counts never come.
    await pingQueue();
    return await readQueues(queues);
  });
  // Runs for longer than an answer, so the first answers do not know it yet.
  const compare = cached(COMPARISON_TTL, comparison);

  return async () => {
    const [queue, open, senders] = [pingQueue(), findOpen(), readSenders()];
    const recent = within(failing);
    // A reading from before the queue went away is no longer true.
    const read = Promise.all([queue, readState()]).then(([, state]) => state);
    const onRedis = queues.backend === "redis";
    return {
      checked_at: new Date().toISOString(),
      items: await Promise.all([
        judge("failing", "Failed share not known", recent, (found) => {
          const { text, fix } = failingText(found);
          return fix === undefined ? ["ok", text] : ["bad", text, fix];
        }),
        judge("errors", "Open errors not known", open, openErrors),
        judge("alerts", "Alerts not known", open, failedAlerts),
        ...(onRedis ? [answers("redis", "Redis", queue)] : []),
        answers("postgres", "Postgres", pingLedger()),
        ...(onRedis ? [eventStore(queue, read)] : []),
        judge("leader", "Leader not known", findLeader(), leads),
        judge(
          "disagreements",
          "Ledger and queues not compared yet",
          within(compare),
          disagreements,
        ),
        judge("oldest_waiting", "Oldest waiting event not known", read, oldestWaiting),
        judge("paused", "Paused sources not known", read, pausedSources),
        judge("open_runs", "Open bulk runs not known", open, openRuns),
        judge("refused", "Refused deliveries not known", findRefusals(), refused),
        judge("signatures", "Signatures not known", senders, ({ signatures: { text, fix } }) => {
          const only = listOf(". Authenticated only, not verified", authenticatedOnly) ?? "";
          return [fix ? "warn" : "ok", text + only, fix];
        }),
        judge("silent", "Silent sources not known", senders, ({ silent }) => verdictOf(silent)),
        judge("ids", "IDs of senders not known", senders, ({ ids }) => verdictOf(ids)),
        judge("copies", "Copies not known", senders, ({ copies }) => verdictOf(copies)),
        judge("sizes", "Sizes not known", senders, ({ sizes }) => verdictOf(sizes)),
        ...(onRedis ? [judge("signing", "Signing not known", readIdentity(), signing)] : []),
      ]),
      recent_events: await orNull(recent.then(({ events }) => events)),
      recent_failed: await orNull(recent.then(({ failed }) => failed)),
      open_errors: await orNull(open.then(({ errors }) => errors)),
      open_runs: await orNull(open.then(({ runs }) => runs.length)),
      oldest_waiting_ms: await orNull(
        read.then(({ unknown, oldestMs }) => (unknown === undefined ? oldestMs : null)),
      ),
    };
  };
}

const orNull = <T>(reading: Promise<T>): Promise<T | null> => reading.catch(() => null);

class Late extends Error {
  override readonly message = `No answer within ${PART_MS} ms.`;
}

/** Only our own messages reach the page; another one may name an address or a user. */
function reasonOf(error: unknown): string {
  if (isMillraceError(error) || error instanceof Late) return error.message;
  return "The connection fails.";
}

type Verdict = readonly [level: HealthItem["level"], text: string, detail?: string | undefined];

const item = (id: HealthItem["id"], [level, text, detail]: Verdict): HealthItem => ({
  id,
  level,
  text,
  detail: detail ?? null,
});

async function judge<T>(
  id: HealthItem["id"],
  unknown: string,
  reading: Promise<T>,
  verdictOn: (value: T) => Verdict,
): Promise<HealthItem> {
  const failed = (error: unknown): Verdict => ["unknown", unknown, reasonOf(error)];
  return item(id, await reading.then(verdictOn, failed));
}

async function answers(id: "redis" | "postgres", name: string, ping: Promise<void>) {
  try {
    await ping;
    return item(id, ["ok", `${name} answers`]);
  } catch (error) {
    const isReadOnly = hasCode(error, "database_read_only");
    const text = isReadOnly ? `${name} takes no writes` : `${name} does not answer`;
    return item(id, ["bad", text, reasonOf(error)]);
  }
}

/** Each ingress decides for itself; while Redis is away none of them has a choice. */
async function eventStore(queue: Promise<void>, read: Promise<QueueState>) {
  const id = "event_store";
  try {
    await queue;
  } catch {
    return item(id, ["warn", "New events go to the ledger, not to Redis"]);
  }
  return await judge(id, "Event store not known", read, ({ risk }) =>
    risk === undefined
      ? ["ok", "Redis takes new events"]
      : ["warn", "Redis may lose events that it confirms", risk],
  );
}

type QueueState = Awaited<ReturnType<typeof readQueues>>;

async function readQueues(queues: Queues) {
  const [counts, pressure] = await Promise.all([queues.counts(), queues.measurePressure()]);
  const sources = [...queues.queues.keys()];
  const paused = sources.filter((source) => counts.get(source)?.paused);
  const running = sources.filter((source) => !paused.includes(source));
  const uncounted = sources.filter((source) => !counts.has(source));
  return {
    risk: pressure.risk,
    paused,
    oldestMs: Math.max(0, ...running.map((source) => pressure.of(source).oldestAgeMs ?? 0)),
    behind: behindOf(sources, pressure, counts),
    unknown: listOf("not known", uncounted),
  };
}

type Found<Name extends "findLeader" | "findOpen" | "findRefusals"> = Awaited<
  ReturnType<Ledger["reads"][Name]>
>;

function leads(leader: Found<"findLeader">): Verdict {
  if (leader !== undefined) {
    return ["ok", `A worker on ${leader.host ?? "an unnamed machine"} leads`];
  }
  const detail = "Nothing is repaired until one leads. Start a worker: `millrace worker`.";
  return ["bad", "No worker leads", detail];
}

function disagreements({ diagnosis }: { readonly diagnosis: Diagnosis }): Verdict {
  const count = [...diagnosis.found.values()].reduce((sum, kind) => sum + kind.count, 0);
  const unknown = listOf("Not compared", [...diagnosis.notCompared.keys()]);
  if (count > 0) {
    const text = `${countOf(count, "disagreement")} between ledger and queues`;
    return ["bad", text, joined(" ", "A worker repairs what it can.", unknown)];
  }
  if (unknown !== undefined) return ["unknown", "Some queues not compared", unknown];
  return ["ok", "No disagreement found"];
}

function oldestWaiting({ behind, unknown }: QueueState): Verdict {
  if (behind.length > 0 || unknown === undefined) return verdictOf(behindText(behind));
  return ["unknown", "Oldest waiting event not known", unknown];
}

function pausedSources({ paused, unknown }: QueueState): Verdict {
  if (paused.length > 0) {
    const detail = joined("; ", paused.join(", "), unknown);
    return ["warn", `${countOf(paused.length, "source")} paused`, detail];
  }
  if (unknown !== undefined) return ["unknown", "Paused sources not known", unknown];
  return ["ok", "No source is paused"];
}

const listOf = (what: string, names: readonly string[]): string | undefined =>
  names.length === 0 ? undefined : `${what}: ${names.join(", ")}`;

const joined = (by: string, ...texts: readonly (string | undefined)[]): string =>
  texts.filter((text) => text !== undefined).join(by);

function openRuns({ runs }: Found<"findOpen">): Verdict {
  if (runs.length === 0) return ["ok", "No bulk run is open"];
  const text = runs.length === 1 ? "1 bulk run is open" : `${runs.length} bulk runs are open`;
  const details = runs.map(({ id, verb, state, error }) => {
    return `run ${id}: ${verb.replace("_", " ")}, ${error === null ? state : "waits"}`;
  });
  return ["warn", text, details.join("; ")];
}

function openErrors({ errors, newErrors, newErrorsSince }: Found<"findOpen">): Verdict {
  if (errors === 0) return ["ok", "No error is open"];
  const at = newErrorsSince?.toISOString().slice(11, 16);
  const news =
    newErrors === 0 ? "none is new in the last hour" : `${newErrors} new since ${at} UTC`;
  const count = errors < OPEN_ERRORS_MAX ? countOf(errors, "error") : `${errors} errors or more`;
  return ["warn", `${count} open, ${news}`, "Resolve or ignore each once it is looked after."];
}

function failedAlerts({ failedAlerts: failed }: Found<"findOpen">): Verdict {
  if (failed === 0) return ["ok", "No alert has failed"];
  const text = `Alerts are failing: ${failed} not sent`;
  return ["bad", text, "See the events of the source millrace."];
}

function refused(refusals: Found<"findRefusals">): Verdict {
  const span = `refused in the last ${REFUSED_MINUTES} min`;
  const total = refusals.reduce((sum, { deliveries }) => sum + deliveries, 0);
  if (total === 0) return ["ok", `No delivery ${span}`];
  const noun = total === 1 ? "delivery" : "deliveries";
  const reasons = refusals.slice(0, REASONS_MAX).map(({ source, code, deliveries }) => {
    const from = source === undefined ? "" : `${source}: `;
    return `${from}${deliveries.toLocaleString("en-US")} ${code}`;
  });
  const more = refusals.length - reasons.length;
  if (more > 0) reasons.push(`${more} more reasons`);
  return ["warn", `${total.toLocaleString("en-US")} ${noun} ${span}`, reasons.join("; ")];
}

const verdictOf = ({ text, fix }: SenderFinding): Verdict => [fix ? "warn" : "ok", text, fix];

const signing = (jobs: LedgerIdentity): Verdict => ["ok", `Jobs: ${signingText(jobs)}`];
