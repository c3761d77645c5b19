import type { FaultEnvironment } from "../environment/environment.ts";
import type { Role } from "../environment/role.ts";
import { type Attempt, isAcknowledged, keyOf } from "../load/client-log.ts";
import type { PlannedEvent, SourceName } from "../load/plan.ts";
import type { Evidence, Finding, Stretch } from "./evidence.ts";

const DEADLINE_MS = 3_000;
const LAG_FACTOR = 5;
const ORDER_MS = 50;
const INVARIANT = "I7 FAIL-FAST";

/**
 * I7: every request is answered in time, with 2xx, with 503 and a Retry-After, or with 401 when it is
 * forged; or its connection ended because we ended its ingress.
 */
export function checkAnswered({ log, environment, lags }: Evidence): Finding[] {
  return log.unusual.flatMap((attempt) => {
    const { startedMs, tookMs } = attempt;
    const lateMs = lags.worstMs(startedMs, startedMs + tookMs);
    const orderMs = ORDER_MS + lags.worstMs(startedMs, startedMs + tookMs + ORDER_MS);
    const apartMs = fromOutageMs(attempt, environment.roles);
    const deadlineMs = DEADLINE_MS + LAG_FACTOR * lateMs;
    const problem = problemOf(attempt, { deadlineMs, cutByUs: apartMs <= orderMs });
    if (problem === undefined) return [];
    const at = `${keyOf(attempt.event)} at ${attempt.ingress}, ${Math.round(apartMs)} ms from an outage`;
    return [{ invariant: INVARIANT, text: `${at}: ${problem}` }];
  });
}

function problemOf(
  { answer, tookMs, event, retryAfter }: Attempt,
  { deadlineMs, cutByUs }: { deadlineMs: number; cutByUs: boolean },
): string | undefined {
  if (tookMs > deadlineMs) return `${answer} after ${Math.round(tookMs)} ms`;
  if (event.forged === true && isAcknowledged(answer)) return `forged, and answered ${answer}`;
  if (isAcknowledged(answer)) return undefined;
  if (answer === "DOWN") return undefined;
  if (typeof answer === "string") return cutByUs ? undefined : `cut, ${answer}`;
  if (event.forged === true && answer === 401) return undefined;
  if (answer === 503 && retryAfter !== undefined) return undefined;
  return answer === 503 ? "503 without Retry-After" : `answered ${answer}`;
}

function fromOutageMs({ ingress, startedMs, tookMs }: Attempt, roles: readonly Role[]): number {
  const outages = roles.find(({ name }) => name === ingress)?.outages ?? [];
  const gapsMs = outages.map(({ fromMs, toMs }) =>
    Math.max(0, fromMs - (startedMs + tookMs), startedMs - toMs),
  );
  return Math.min(Infinity, ...gapsMs);
}

export const POISONED: SourceName = "frail";
const FLOOR_MS = 20_000;
const FACTOR = 10;
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
