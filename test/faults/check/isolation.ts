import { keyOf } from "../load/client-log.ts";
import type { PlannedEvent, SourceName } from "../load/plan.ts";
import type { FaultEnvironment } from "../environment/environment.ts";
import type { Evidence, Finding, Stretch } from "./evidence.ts";

/** The source that may fare badly. */
export const POISONED: SourceName = "frail";
/** No bound is below that: a worker that dies is missed after 4 s, and the next one may die too. */
const FLOOR_MS = 20_000;
/** How many times later than the latest of the quiet stretch an event may be. */
const FACTOR = 10;
/** Fewer events on either side say nothing. */
const EVENTS_LEAST = 15;

interface Settled {
  readonly source: string;
  readonly id: string;
  readonly receivedMs: number;
  readonly tookMs: number;
}

/**
 * I9: what is not poison itself, and not of a poisoned source, is completed about as soon as when nothing
 * was broken: within a bound that the run takes from its own quiet stretch.
 */
export async function checkIsolation(evidence: Evidence): Promise<Finding[]> {
  const { environment, stretches } = evidence;
  if (stretches === undefined) return [];
  const events = await readOthers(evidence);
  const quiet = withDeadline(events, stretches.quiet);
  const struck = withDeadline(events, stretches.struck);
  if (quiet.length < EVENTS_LEAST || struck.length < EVENTS_LEAST) {
    const text = `${quiet.length} events before and ${struck.length} during are too few to measure isolation`;
    return [{ invariant: "HARNESS", text }];
  }
  const boundMs = Math.max(FLOOR_MS, FACTOR * quantile(quiet, 1));
  environment.say(
    `others took ${summary(quiet)}; meanwhile ${summary(struck)}; bound ${ms(boundMs)}`,
  );
  return struck
    .filter(({ tookMs }) => tookMs > boundMs)
    .map((row) => ({
      invariant: "I9 ISOLATION",
      text: `${keyOf(row)} took ${ms(row.tookMs)} where ${ms(boundMs)} are allowed`,
    }));
}

/** Completed events that {@link checkIsolation} measures by, of those that were received since then. */
export async function countOthers(
  { environment, log }: Pick<Evidence, "environment" | "log">,
  sinceMs: number,
): Promise<number> {
  const others = await readOthers({ environment, log });
  return others.filter(({ receivedMs }) => receivedMs >= sinceMs).length;
}

async function readOthers({
  environment,
  log,
}: Pick<Evidence, "environment" | "log">): Promise<readonly Settled[]> {
  const events = await readCompleted(environment);
  return events.filter((row) => isOrdinary(log.accounts.get(keyOf(row))?.event));
}

async function readCompleted({ database }: FaultEnvironment): Promise<readonly Settled[]> {
  const { rows } = await database.query<Settled>(
    `select source, event_id as id, extract(epoch from received_at)::float8 * 1000 as "receivedMs",
       extract(epoch from processed_at - received_at)::float8 * 1000 as "tookMs"
     from millrace.events where status = 'completed' and generation = 0`,
  );
  return rows;
}

function isOrdinary(event: PlannedEvent | undefined): boolean {
  if (event === undefined || event.source === POISONED) return false;
  const { sleepMs: _, ...special } = event.plan;
  return Object.keys(special).length === 0;
}

function withDeadline(events: readonly Settled[], { fromMs, toMs }: Stretch): readonly Settled[] {
  return events.filter(({ receivedMs }) => receivedMs >= fromMs && receivedMs < toMs);
}

function summary(events: readonly Settled[]): string {
  const [p50, p99, worst] = [0.5, 0.99, 1].map((share) => ms(quantile(events, share)));
  return `p50 ${p50}, p99 ${p99}, at most ${worst} (${events.length})`;
}

function quantile(events: readonly Settled[], share: number): number {
  const sorted = events.map(({ tookMs }) => tookMs).toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
}

function ms(value: number): string {
  return `${Math.round(value)} ms`;
}
