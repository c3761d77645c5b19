import { countOf } from "@millrace/api-contract/run-text";
import type { Config } from "@millrace/core";
import type { Ledger, LedgerIdentity, RefusedSource } from "@millrace/ledger";
import type { Pressure, Queues } from "@millrace/queue";

export interface SenderFinding {
  readonly text: string;
  /** Undefined where nothing is wrong. */
  readonly fix?: string;
}

/** Copies of a signed message that are refused in number may be what the sender means. */
const COPIES_MIN = 3;
const DAY_MINUTES = 24 * 60;
const REFUSED_MIN = 20;

interface Deps {
  readonly ledger: Pick<Ledger, "reads">;
  readonly queues: Pick<Queues, "ping" | "waitingJobs">;
}

/** Fewer failed events are no share of anything. */
const FAILED_MIN = 5;
const FAILED_SHARE_MIN = 0.02;
/** A source is failing at this many times its usual share. */
const FAILED_FACTOR = 3;

export type Failing = Awaited<ReturnType<typeof findFailingSources>>;

export async function findFailingSources({
  ledger: { reads },
  sources,
}: Pick<Deps, "ledger"> & Pick<Config, "sources">) {
  const shares = await reads.findFailedShares();
  const failing = shares.flatMap(({ source, events, failed, usual }) => {
    const share = failed / events;
    const own = Object.hasOwn(sources, source) ? sources[source]?.options.health : undefined;
    const limit = own?.failedShareMax ?? Math.max(FAILED_SHARE_MIN, FAILED_FACTOR * (usual ?? 0));
    if (failed < FAILED_MIN || share <= limit) return [];
    const of = `${percent(share)} of ${countOf(events, "event")} of ${source}`;
    return [{ source, text: `${of} failed (usual ${percent(usual ?? 0)})` }];
  });
  const sum = (of: "events" | "failed") => shares.reduce((total, one) => total + one[of], 0);
  return { sources: failing, events: sum("events"), failed: sum("failed") };
}

export function failingText({ sources }: Failing): SenderFinding {
  if (sources.length === 0) return { text: "No source fails more than usual" };
  return {
    text: `In the last 10 minutes ${sources.map(({ text }) => text).join(", ")}`,
    fix: "`millrace errors` shows the causes",
  };
}

/** A first attempt should start sooner. */
const WAIT_MS_MAX = 5 * 60_000;

type Counts = Awaited<ReturnType<Queues["counts"]>>;

/** Sources whose oldest event without an attempt waits for too long, unless they are paused. */
export function behindOf(sources: Iterable<string>, pressure: Pressure, counts?: Counts) {
  return [...sources].flatMap((source) => {
    const { depth, oldestAgeMs: ageMs = 0 } = pressure.of(source);
    const { paused = false, waiting = depth } = counts?.get(source) ?? {};
    if (paused || ageMs <= WAIT_MS_MAX) return [];
    const age = `the oldest for ${Math.floor(ageMs / 60_000)} min`;
    return [{ source, text: `${source} (${waiting.toLocaleString("en-US")} waiting, ${age})` }];
  });
}

/** Counts jobs only where an event waits for too long. @throws when the queue does not answer */
export async function findBehind(queues: Queues, except?: string) {
  await queues.ping();
  const pressure = await queues.measurePressure();
  const sources = [...queues.queues.keys()].filter((source) => source !== except);
  const behind = behindOf(sources, pressure);
  return behind.length === 0 ? [] : behindOf(sources, pressure, await queues.counts());
}

export const behindText = (behind: ReturnType<typeof behindOf>): SenderFinding =>
  finding(
    behind.map(({ text }) => text),
    "No event waits longer than 5 min",
    "Events had no attempt yet",
    "Add workers, or look at their log",
  );

const percent = (share: number): string =>
  `${(share * 100).toLocaleString("en-US", { maximumFractionDigits: share < 0.1 ? 1 : 0 })} %`;

export async function findRefusing({ ledger, queues }: Deps): Promise<readonly RefusedSource[]> {
  const refused = await ledger.reads.findRefusedSources(REFUSED_MIN);
  // A worker may not have recorded the last deliveries that were taken.
  const taken = await Promise.all(
    refused.map(async ({ source, sinceMs }) => {
      const newest = await newestJobs(queues, source);
      return newest.some(({ enqueuedAtMs }) => enqueuedAtMs >= sinceMs);
    }),
  );
  return refused.filter((_, index) => !taken[index]);
}

async function newestJobs(queues: Deps["queues"], source: string) {
  try {
    await queues.ping();
    // Several, since a job that was retried is in front with its old time.
    return (await queues.waitingJobs(source, { limit: REFUSED_MIN })).jobs;
  } catch {
    return [];
  }
}

export async function findSenders(deps: Deps) {
  const { reads } = deps.ledger;
  const [refusing, quiet, conflicts, refused, tooLarge] = await Promise.all([
    findRefusing(deps),
    reads.findSilent(),
    reads.countConflicts(),
    reads.countRefused(),
    reads.findRefusals(DAY_MINUTES, "body_too_large"),
  ]);
  const shared = conflicts.map(({ source, count, examples }) => {
    return `${source} (${count}, such as ${examples.join(" and ")})`;
  });
  const repeating = refused.filter(({ count }) => count >= COPIES_MIN);
  const limited = tooLarge.filter(({ source }) => source !== undefined);
  return {
    // Every delivery is refused for a wrong secret, a clock, or what a proxy rewrites.
    signatures: finding(
      refusing.map(({ source, code, deliveries }) => `${source} (${deliveries} ${code})`),
      "No source refuses all signatures",
      `All of the last ${REFUSED_MIN} deliveries or more were refused`,
      "Save one of its requests, and `millrace verify` says what is wrong with it",
    ),
    silent: finding(
      quiet,
      "No source went silent that had events in each hour of the day before",
      "Sent nothing for an hour, after events in each hour of the day before",
      "See at the sender whether its webhook is still on, and what its last delivery got",
    ),
    // An ID that is a time or a status is no ID.
    ids: finding(
      shared,
      "No ID came with two bodies in the last 7 days",
      "IDs came with two bodies in the last 7 days",
      "See the table millrace.conflicts. If a source takes its ID from a field that is not unique, choose another",
    ),
    copies: finding(
      repeating.map(({ source, count }) => `${source} (${count})`),
      "No source repeats its signed messages",
      "Signed messages came again under another ID and were refused",
      "If the sender repeats equal messages, set bodyDedup: false for the source. Then nothing refuses a captured message",
    ),
    // A sender gives up after a few answers of 413.
    sizes: finding(
      limited.map(({ source, deliveries }) => `${source} (${deliveries})`),
      "No source answered 413 in the last day",
      "Bodies were too large in the last day, and got 413",
      "Set bodyBytesMax of the source to the largest body that its sender documents",
    ),
  };
}

const finding = (
  sources: readonly string[],
  none: string,
  some: string,
  fix: string,
): SenderFinding =>
  sources.length === 0 ? { text: none } : { text: `${some}: ${sources.join(", ")}`, fix };

export function signingText({ signedSinceMs }: LedgerIdentity): string {
  if (signedSinceMs === undefined) return "not signed";
  return `signed since ${new Date(signedSinceMs).toISOString()}`;
}
