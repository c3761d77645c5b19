import type { ConfigInput, TableSchema, TablesOf } from "@millrace/core";
import type { Payload } from "./compose-body.ts";
import type { Delivered, DeliverOptions } from "./delivered.ts";
import { findServer, startServer, urlOf } from "./find-server.ts";
import { openTestEnvironment, type TestEnvironment } from "./open-test-environment.ts";

/** The files and the Postgres of a test environment. */
export interface TestEnvironmentOptions {
  /**
   * The base of the config's relative paths: `import.meta.dirname` if the config is next to the
   * test. Default: the current folder.
   */
  readonly directory?: string;
  /**
   * A Postgres whose user may create databases. The named database itself stays unchanged. Default:
   * `TEST_DATABASE_URL`, else `DATABASE_URL`, else a Postgres that the test environment starts.
   */
  readonly databaseUrl?: string;
}

/**
 * Opens a test environment for a config: its handlers, its tables, and a scratch database, so that
 * test files that run at the same time do not see one another. Close it after the tests.
 *
 * @throws `invalid_config`, `handlers_not_loaded`; `database_unreachable` when no scratch database
 * can be created; `postgres_not_started` when no server is named and our own does not start.
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
  /** Called with the test environment after the event was run. Its errors are rethrown. */
  readonly check?: (
    environment: TestEnvironment<Tables>,
    delivered: Delivered,
  ) => Promise<void> | void;
}

/**
 * Delivers one event in a test environment of its own: `createTestEnvironment`, `deliver` and
 * `close` in one call. Several deliveries are faster in one test environment.
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
 * Starts one Postgres for a whole run of tests, unless the environment names one: for the global
 * setup of a test runner. Returns the function that stops it.
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
