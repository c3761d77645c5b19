import { parseConfig, type ConfigInput, type EventKey } from "@millrace/core";
import { loadHandlers } from "@millrace/service";
import { drizzle, type NodePgDatabase } from "drizzle-orm/node-postgres";
import type { Payload } from "./compose-body.ts";
import type { Delivered, DeliverOptions, DeliveredEvent } from "./delivered.ts";
import { openLedger } from "./open-ledger.ts";
import { createTestIntake, type TakenIn } from "./test-intake.ts";
import { createTestWorker } from "./test-worker.ts";

/** A config's handlers on a scratch database. */
export interface TestEnvironment {
  /**
   * Delivers an event as its sender would, and runs it: sign, verify, identify, record, handle, settle.
   * What a handler throws is no exception of this call; it is the `error` of what it gives.
   *
   * @throws `unknown_source`; `invalid_event_type` when the body is of another type; what else the
   * ingress would refuse the delivery with; what `onFailed` throws.
   */
  deliver(
    source: string,
    type: string,
    payload?: Payload,
    options?: DeliverOptions,
  ): Promise<Delivered>;
  /**
   * Attempts a pending event again, as a worker does after its wait: once, or up to `attempts` times.
   *
   * @throws `event_not_found`
   */
  attempt(source: string, id: string, options?: { attempts?: number }): Promise<DeliveredEvent>;
  /** The scratch database, to look at what handlers wrote and to put there what they need. */
  readonly db: NodePgDatabase;
  /** Its URL, for other clients; they are cut off by `close`. */
  readonly databaseUrl: string;
  /** Drops the database. */
  close(): Promise<void>;
}

/** Opens a test environment on a server. */
export async function openTestEnvironment(
  input: ConfigInput,
  serverUrl: string,
  directory: string,
): Promise<TestEnvironment> {
  const config = parseConfig(input);
  const handlers = await loadHandlers(config);
  const scratch = await openLedger(serverUrl, config, directory);
  const { ledger, pool } = scratch;
  const intake = createTestIntake(config, ledger);
  const worker = createTestWorker(config, ledger, handlers);

  async function settle(source: string, taken: TakenIn, attempts: number): Promise<Delivered> {
    const events: DeliveredEvent[] = [];
    for (const { eventId } of taken.events) {
      const key: EventKey = { source, eventId, generation: 0 };
      const isToRun = taken.toRun.some((other) => other.eventId === eventId);
      events.push(isToRun ? await worker.run(key, attempts) : await worker.show(key));
    }
    const [first] = events;
    if (first === undefined) throw new RangeError("Cannot deliver: no event");
    const { status, body } = taken.received;
    return { ...first, answer: { status, body }, events };
  }

  return {
    deliver: async (source, type, payload, { id, attempts = 1 } = {}) => {
      const taken = await intake.post({ source, type, payload, id });
      return await settle(source, taken, attempts);
    },
    attempt: (source, eventId, { attempts = 1 } = {}) =>
      worker.run({ source, eventId, generation: 0 }, attempts),
    db: drizzle(pool),
    databaseUrl: scratch.url,
    close: async () => {
      await intake.close();
      await worker.close();
      await scratch.close();
    },
  };
}
