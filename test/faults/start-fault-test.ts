import { afterEach, expect } from "vitest";
import { until } from "../support/until.ts";
import type { LedgerRow, Stretches } from "./check/evidence.ts";
import { check } from "./check/invariants.ts";
import { openEnvironment, type EnvironmentOptions } from "./environment/environment.ts";
import type { FaultContext } from "./faults/fault.ts";
import { startLoad } from "./load/load.ts";
import type { Senders } from "./load/senders.ts";
import { createRandom } from "./random.ts";

/** A test environment with senders at work, for a test that strikes by itself. */
export interface FaultTest extends FaultContext {
  readonly senders: Senders;
  /** The row of an event once it is settled in a way. */
  settled(id: string, status: LedgerRow["status"]): Promise<LedgerRow>;
  /** Heals, drains, and expects every invariant to hold, isolation among them where it was measured. */
  expectInvariants(options?: { stretches?: Stretches; except?: string }): Promise<void>;
  close(): Promise<void>;
}

/** Gives what starts one in a test; it is closed after that test. */
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
  { rate = 40, seed = 1 }: { rate?: number; seed?: number } = {},
): Promise<FaultTest> {
  const environment = await openEnvironment(options);
  const random = createRandom(seed);
  const load = startLoad(environment, { random: random.fork(), rate });
  const { log, senders } = load;
  return {
    environment,
    random,
    log,
    senders,
    send: senders.send,
    burst: senders.burst,
    settled: (id, status) =>
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
    expectInvariants: async ({ stretches, except } = {}) => {
      await environment.heal();
      const found = await check(await load.settle({ withinMs: 180_000, stretches }));
      const broken = found.filter(({ invariant }) => invariant !== except);
      expect(broken.map(({ invariant, text }) => `${invariant}: ${text}`).join("; ")).toBe("");
    },
    close: async () => {
      await load.close();
      await environment.end();
    },
  };
}
