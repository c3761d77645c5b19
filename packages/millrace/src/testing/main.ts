import type { ConfigInput } from "@millrace/core";
import type { Payload } from "./compose-body.ts";
import type { Delivered, DeliverOptions } from "./delivered.ts";
import { findServer, startServer, urlOf } from "./find-server.ts";
import { openStage, type Stage } from "./open-stage.ts";
import type { StageOptions } from "./stage-options.ts";

/**
 * Opens a stage for a config: its handlers, its own tables, and a scratch database of its own, so that
 * test files that run side by side do not see one another. Close it when the tests are over.
 *
 * @throws `invalid_config`, `handlers_not_loaded`; `database_unreachable` when no scratch database can
 * be made; `postgres_not_started` when none was named and none of our own starts.
 */
export async function createStage(config: ConfigInput, options: StageOptions = {}): Promise<Stage> {
  const server = await findServer(options.databaseUrl, process.env);
  try {
    const stage = await openStage(config, server.url, options.directory ?? process.cwd());
    const close = async () => {
      await stage.close();
      await server.stop();
    };
    return { ...stage, close };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

/** One delivery, its stage, and what is looked at before that is gone. */
export interface DeliverOnceOptions extends StageOptions, DeliverOptions {
  /** Sees the stage, and its database, after the event was run. What it throws is thrown on. */
  readonly check?: (stage: Stage, delivered: Delivered) => Promise<void> | void;
}

/**
 * Delivers one event on a stage of its own: `createStage`, `deliver` and `close` in one call. Several
 * deliveries are quicker on one stage.
 */
export async function deliver(
  config: ConfigInput,
  source: string,
  type: string,
  ...[payload, options = {}]: [payload?: Payload, options?: DeliverOnceOptions]
): Promise<Delivered> {
  const stage = await createStage(config, options);
  try {
    const delivered = await stage.deliver(source, type, payload, options);
    await options.check?.(stage, delivered);
    return delivered;
  } finally {
    await stage.close();
  }
}

/**
 * Starts one Postgres for a whole run of tests, unless the environment names one: for a test runner's
 * global setup. Gives what ends it.
 */
export async function setup(): Promise<() => Promise<void>> {
  if (urlOf(process.env) !== undefined) return async () => {};
  const server = await startServer();
  process.env["TEST_DATABASE_URL"] = server.url;
  return async () => {
    delete process.env["TEST_DATABASE_URL"];
    await server.stop();
  };
}
