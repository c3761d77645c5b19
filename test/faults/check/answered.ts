import { isAcknowledged, keyOf, type Attempt } from "../load/client-log.ts";
import type { Role } from "../environment/role.ts";
import type { Evidence, Finding } from "./evidence.ts";

const DEADLINE_MS = 3_000;
/** Where this process is so late, an ingress with as little of the machine is so many times later. */
const LAG_FACTOR = 5;
/** A cut and what our process wrote before it come to us by different ways, in any order. */
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
  // Nobody was there to be asked; a role that ended by itself is found elsewhere.
  if (answer === "DOWN") return undefined;
  if (typeof answer === "string") return cutByUs ? undefined : `cut, ${answer}`;
  if (event.forged === true && answer === 401) return undefined;
  if (answer === 503 && retryAfter !== undefined) return undefined;
  return answer === 503 ? "503 without Retry-After" : `answered ${answer}`;
}

/** Milliseconds between an attempt and the outage of its ingress that is nearest to it; 0 within one. */
function fromOutageMs({ ingress, startedMs, tookMs }: Attempt, roles: readonly Role[]): number {
  const outages = roles.find(({ name }) => name === ingress)?.outages ?? [];
  const gapsMs = outages.map(({ fromMs, toMs }) =>
    Math.max(0, fromMs - (startedMs + tookMs), startedMs - toMs),
  );
  return Math.min(Infinity, ...gapsMs);
}
