import { join } from "node:path";
import { expect } from "vitest";
import { until } from "../../support/until.ts";
import { check } from "../check/account.ts";
import { gatherEvidence, type LedgerRow, type Stretches } from "../check/evidence.ts";
import { drain } from "../drain.ts";
import type { Scene } from "../faults/fault.ts";
import { createClientLog, type ClientLog } from "../load/client-log.ts";
import { startSenders, type Senders } from "../load/senders.ts";
import { watchLags } from "../lags.ts";
import { createRandom } from "../random.ts";
import { openStage, type StageOptions } from "../stage/stage.ts";

/** A stage with senders at work, for a test that strikes by itself. */
export interface OpenScene extends Scene {
  readonly log: ClientLog;
  readonly senders: Senders;
  /** The row of an event once it is settled in a way. */
  settled(id: string, status: LedgerRow["status"]): Promise<LedgerRow>;
  /** Heals, drains, and expects that the account comes out even, isolation in it where it was measured. */
  expectEven(stretches?: Stretches): Promise<void>;
  close(): Promise<void>;
}

export async function openScene(
  options: StageOptions,
  { rate = 40, seed = 1 } = {},
): Promise<OpenScene> {
  const stage = await openStage(options);
  const random = createRandom(seed);
  const log = createClientLog(join(stage.folder, "client.jsonl"));
  const lags = watchLags();
  const senders = startSenders({
    ...{ log, rate },
    random: random.fork(),
    ingresses: () => stage.ingresses,
  });
  return {
    ...{ stage, random, log, senders },
    send: senders.send,
    burst: senders.burst,
    settled: (id, status) =>
      until(
        async () => {
          const { rows } = await stage.database.query<LedgerRow>(
            `select source, event_id as id, generation, type, status, outcome, attempts
             from millrace.events where event_id = $1 and status = $2`,
            [id, status],
          );
          return rows[0];
        },
        { withinMs: 60_000, what: `${id} ${status}` },
      ),
    expectEven: async (stretches) => {
      await stage.heal();
      senders.finish();
      const notDrained = await drain(stage, senders, 180_000);
      const evidence = await gatherEvidence({ stage, log, notDrained, lags, stretches });
      expect(await check(evidence)).toEqual([]);
    },
    close: async () => {
      lags.close();
      await senders.close();
      await log.close();
      await stage.end();
    },
  };
}
