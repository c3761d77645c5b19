import type { ConfigInput, TableSchema, TablesOf } from "@millrace/core";
import type { Payload } from "./compose-body.ts";
import type { Delivered, DeliverOptions } from "./delivered.ts";
import { findServer, startServer, urlOf } from "./find-server.ts";
import { openTestEnvironment, type TestEnvironment } from "./open-test-environment.ts";

/** Where a test environment finds its files and its Postgres. */
export interface TestEnvironmentOptions {
  /** The folder that relative paths of the config are relative to; `import.meta.dirname` where the
   * config lies beside the test. Default: the current folder. */
  readonly directory?: string;
  /** A Postgres whose user may create databases; nothing is written to the database that it names.
   * Default: `TEST_DATABASE_URL`, else `DATABASE_URL`, else a Postgres that the test environment starts. */
  readonly databaseUrl?: string;
}

/**
 * Opens a test environment for a config: its handlers, its tables, and a scratch database, so that
 * test files that run at the same time do not see one another. Close it when the tests are over.
 *
 * @throws `invalid_config`, `handlers_not_loaded`; `database_unreachable` when no scratch database can
 * be made; `postgres_not_started` when none was named and none of our own starts.
 */
export async function createTestEnvironment<Config extends ConfigInput>(
  config: Config,
  options: TestEnvironmentOptions = {},
): Promise<TestEnvironment<TablesOf<Config>>> {
  const server = await findServer(options.databaseUrl, process.env);
  try {
    const directory = options.directory ?? process.cwd();
    const environment = await openTestEnvironment(config, server.url, directory);
    const close = async () => {
      await environment.close();
      await server.stop();
    };
    return { ...environment, close };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

/** One delivery, its test environment, and what is checked before that is closed. */
export interface DeliverOnceOptions<Tables extends TableSchema = TableSchema>
  extends TestEnvironmentOptions, DeliverOptions {
  /** Sees the test environment, and its database, after the event was run. What it throws is rethrown. */
  readonly check?: (
    environment: TestEnvironment<Tables>,
    delivered: Delivered,
  ) => Promise<void> | void;
}

/**
 * Delivers one event in a test environment of its own: `createTestEnvironment`, `deliver` and `close` in
 * one call. Several deliveries are faster in one test environment.
 */
export async function deliver<Config extends ConfigInput>(
  config: Config,
  source: string,
  type: string,
  ...[payload, options = {}]: [payload?: Payload, options?: DeliverOnceOptions<TablesOf<Config>>]
): Promise<Delivered> {
  const environment = await createTestEnvironment(config, options);
  try {
    const delivered = await environment.deliver(source, type, payload, options);
    await options.check?.(environment, delivered);
    return delivered;
  } finally {
    await environment.close();
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
