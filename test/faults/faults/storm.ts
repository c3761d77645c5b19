import { until } from "../../support/until.ts";
import { POISONED } from "../check/isolation.ts";
import { plainEvent, type PlannedEvent } from "../load/plan.ts";
import type { Fault, FaultContext, Way } from "./fault.ts";

const MANY_EVENTS = 10_000;
const MANY_COPIES = 20;
/** Many events take as long as the machine needs for them. */
const SETTLED_MS = 1_200_000;

/** F20: one event comes over and over, at all ingresses at once; or many events do. */
export const storm: Fault = {
  id: "F20",
  title: "a storm of duplicates, of one event or of many",
  uses: ["senders"],
  sparesOthers: true,
  ways: { "500": stormOf(500), "2000": stormOf(2_000) },
  longWays: { "5000": stormOf(5_000), "10000x20": stormOfMany },
};

function stormOf(copies: number): Way {
  return async (context) => {
    const id = `msg_storm_${context.random.between(0, 2 ** 31)}`;
    await blow(context, [plainEvent(id, { plan: { sleepMs: 200 }, copies })]);
  };
}

async function stormOfMany(context: FaultContext): Promise<void> {
  const run = context.random.between(0, 2 ** 31);
  const events = Array.from({ length: MANY_EVENTS }, (_, n) =>
    plainEvent(`msg_storm_${run}_${n}`, { source: POISONED, copies: MANY_COPIES }),
  );
  await blow(context, events);
  const completed = "millrace.events where status = 'completed' and event_id like $1";
  await until(
    async () =>
      (await context.environment.count(completed, [`msg_storm_${run}_%`])) === MANY_EVENTS,
    { withinMs: SETTLED_MS, what: `${MANY_EVENTS} events of the storm completed` },
  );
}

async function blow(
  { environment, burst, log }: FaultContext,
  events: readonly PlannedEvent[],
): Promise<void> {
  const fromMs = performance.now();
  const answered = await burst(...events);
  const copies = events.reduce((sum, event) => sum + event.copies, 0);
  const own = new Set(events);
  const others = log.times.filter(({ event }) => !own.has(event));
  const before = others.filter(({ startedMs }) => startedMs < fromMs);
  const during = others.filter(({ startedMs }) => startedMs >= fromMs);
  if (answered === 0) return;
  const seconds = Math.round((performance.now() - fromMs) / 1_000);
  environment.strike(
    "F20",
    `${copies} deliveries of ${events.length} events in ${seconds} s, ${answered} taken; ` +
      `others were answered with p99 ${p99(during)} (${during.length}), before it ${p99(before)}`,
  );
}

function p99(times: readonly { readonly tookMs: number }[]): string {
  const sorted = times.map(({ tookMs }) => tookMs).toSorted((a, b) => a - b);
  return `${Math.round(sorted[Math.ceil(sorted.length * 0.99) - 1] ?? 0)} ms`;
}
