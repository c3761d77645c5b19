import { afterEach, expect, test } from "vitest";
import { openForAll } from "../support/open-for.ts";
import { until } from "../support/until.ts";
import type { LedgerRow, Stretches } from "./check/evidence.ts";
import { check } from "./check/invariants.ts";
import { type EnvironmentOptions, openEnvironment } from "./environment/environment.ts";
import { FAULTS } from "./faults/catalogue.ts";
import { canStrike } from "./faults/fault.ts";
import { startLoad } from "./load/load.ts";
import { plainEvent } from "./load/plan.ts";
import { createRandom } from "./random.ts";

export type FaultTest = Awaited<ReturnType<typeof startFaultTest>>;

export function useFaultTests(): typeof startFaultTest {
  const started: FaultTest[] = [];
  afterEach(async () => {
    await Promise.all(started.splice(0).map((each) => each.close()));
  });
  return async (...options) => {
    const faultTest = await startFaultTest(...options);
    started.push(faultTest);
    return faultTest;
  };
}

export async function startFaultTest(
  options: EnvironmentOptions,
  { rate = 40 }: { rate?: number } = {},
) {
  const environment = await openEnvironment(options);
  const random = createRandom(1);
  const load = startLoad(environment, { random: random.fork(), rate });
  const { log, senders } = load;
  return {
    environment,
    random,
    log,
    senders,
    send: senders.send,
    burst: senders.burst,
    settled: (id: string, status: LedgerRow["status"]) =>
      until(
        async () => {
          const { rows } = await environment.database.query<LedgerRow>(
            `select source, event_id as id, generation, type, status, outcome, attempts
             from millrace.events where event_id = $1 and status = $2`,
            [id, status],
          );
          return rows[0];
        },
        { withinMs: 60_000, what: `${id} ${status}` },
      ),
    expectInvariants: async ({ stretches }: { stretches?: Stretches } = {}) => {
      await environment.heal();
      const found = await check(await load.settle({ withinMs: 180_000, stretches }));
      expect(found.map(({ invariant, text }) => `${invariant}: ${text}`).join("; ")).toBe("");
    },
    close: async () => {
      await load.close();
      await environment.end();
    },
  };
}

export const ALL = process.env["FAULTS"] === "all";
export const QUICK = [
  ...["F1/ingress.before_answer", "F2/sigterm", "F3/worker.commit_sent"],
  ...["F7/kill", "F10/obliterate"],
  ...[
    "F11/full",
    "F14/terminate",
    "F15/after",
    "F17/serialisation",
    "F17/idle in transaction",
    "F20/500",
    "F21/fails",
  ],
  ...["F24/another's hash", "F27/killed at worker.group_ran"],
  ...[
    "F31/synchronous",
    "F32/behind",
    "F33/killed",
    "F34/behind",
    "F35/seen",
    "F35/unseen",
    "F36/starts after FLUSHALL",
  ],
];
const isWanted = (way: string) => ALL || QUICK.includes(way);

export function strikeEach(
  where: Pick<EnvironmentOptions, "backend" | "ack" | "setUp">,
  named?: readonly string[],
): void {
  const faultTest = openForAll(() => startFaultTest(where));
  const { setUp = "direct" } = where;
  for (const fault of FAULTS) {
    const { id, title, ways, byName = false } = fault;
    if (named === undefined ? byName : !named.includes(id)) continue;
    if (!canStrike(fault, { ...where, setUp, groups: true })) continue;
    for (const [way, strike] of Object.entries(ways)) {
      if (!isWanted(`${id}/${way}`)) continue;
      test(`${id} ${title}: ${way}`, { timeout: 180_000 }, async () => {
        const before = faultTest.environment.struck.get(id) ?? 0;
        await strike(faultTest);
        expect(faultTest.environment.struck.get(id) ?? 0).toBeGreaterThan(before);
        await faultTest.environment.heal();
        const probe = `msg_probe_${id}_${faultTest.random.between(0, 2 ** 31)}`;
        faultTest.send(plainEvent(probe, { copies: 3 }));
        await faultTest.settled(probe, "completed");
      });
    }
  }

  test("after all of them every invariant holds", { timeout: 300_000 }, async () => {
    await faultTest.expectInvariants();
  });
}
