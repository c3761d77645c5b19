import {
  parseConfig,
  type ConfigInput,
  type EventKey,
  type TablesOf,
  type TableSchema,
} from "@millrace/core";
import { loadHandlers } from "@millrace/service";
import { drizzle, type NodePgDatabase } from "drizzle-orm/node-postgres";
import type { Payload } from "./compose-body.ts";
import type { Delivered, DeliverOptions, DeliveredEvent } from "./delivered.ts";
import { openLedger } from "./open-ledger.ts";
import { advance, keyOf, settleEmitted } from "./run-due.ts";
import { createTestIntake, type TakenIn } from "./test-intake.ts";
import { createTestWorker } from "./test-worker.ts";

/** A config's handlers on a scratch database. `Tables` is the `schema` of the config. */
export interface TestEnvironment<Tables extends TableSchema = TableSchema> {
  /**
   * Delivers an event as its sender would, and runs it: sign, verify, identify, record, handle,
   * settle. The error of a handler is not thrown; it is the `error` of the result.
   *
   * @throws `unknown_source`; `invalid_event_type` when the body is of another type; the other
   * refusals of the ingress; the errors of `onFailed`.
   */
  deliver(
    source: string,
    type: string,
    payload?: Payload,
    options?: DeliverOptions,
  ): Promise<Delivered>;
  /**
   * Attempts a pending event again, like a worker after its wait: once, or up to `attempts` times.
   *
   * @throws `event_not_found`
   */
  attempt(source: string, id: string, options?: { attempts?: number }): Promise<DeliveredEvent>;
  /**
   * The events that an event's handlers emitted, in that order, in their current state. An emitted
   * event runs by a delivery with `settle`, or by `advance` or `attempt`.
   */
  emitted(delivered: Pick<DeliveredEvent, "event">): Promise<readonly DeliveredEvent[]>;
  /**
   * Lets time pass for the pending events, and makes each attempt that becomes due, in order:
   * events emitted with `afterMs`, waits by RetryLater, and retries after a failure. `advance(0)`
   * runs the events that are due now. Handlers see the real time.
   *
   * @returns the events after each attempt, in the order of the attempts.
   * @throws `endless_chain` after 1,000 attempts, when more are due.
   */
  advance(ms: number): Promise<readonly DeliveredEvent[]>;
  /** The scratch database, to read the handlers' effects and to prepare their tables. */
  readonly db: NodePgDatabase<Tables>;
  /** Its URL, for other clients; they are cut off by `close`. */
  readonly databaseUrl: string;
  /** Drops the database. */
  close(): Promise<void>;
}

/** Opens a test environment on a server. */
export async function openTestEnvironment<Input extends ConfigInput>(
  input: Input,
  serverUrl: string,
  directory: string,
): Promise<TestEnvironment<TablesOf<Input>>> {
  const config = parseConfig(input);
  const handlers = await loadHandlers(config);
  const scratch = await openLedger(serverUrl, config, directory);
  const { ledger, pool, tests } = scratch;
  const intake = createTestIntake(config, ledger);
  const worker = createTestWorker(config, scratch, handlers);
  const running = { tests, worker };

  async function run(source: string, taken: TakenIn, attempts: number): Promise<Delivered> {
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
    deliver: async (source, type, payload, options = {}) => {
      const { id, tenant, settle: isToSettle = false } = options;
      const { attempts = isToSettle ? Infinity : 1 } = options;
      const taken = await intake.post({ source, type, payload, id, tenant });
      const delivered = await run(source, taken, attempts);
      if (isToSettle) await settleEmitted(delivered.events, attempts, running);
      return delivered;
    },
    emitted: async ({ event }) => {
      const events: DeliveredEvent[] = [];
      for (const { isDue: _, ...key } of await tests.emitted(keyOf(event))) {
        events.push(await worker.show(key));
      }
      return events;
    },
    advance: (ms) => advance(ms, running),
    attempt: (source, eventId, { attempts = 1 } = {}) =>
      worker.run({ source, eventId, generation: 0 }, attempts),
    db: drizzle(pool, { schema: config.schema as TablesOf<Input> }),
    databaseUrl: scratch.url,
    close: async () => {
      await intake.close();
      await worker.close();
      await scratch.close();
    },
  };
}
