import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A Postgres that scratch databases are made on. */
export interface TestServer {
  readonly url: string;
  /** Ends it, where it is our own. */
  stop(): Promise<void>;
}

type Variables = Readonly<Record<string, string | undefined>>;

/**
 * The Postgres that the options or the environment name, else one of our own in a temporary folder.
 *
 * @throws `postgres_not_started` when it cannot be started; the message says what to do.
 */
export async function findServer(named: string | undefined, env: Variables): Promise<TestServer> {
  const url = named ?? urlOf(env);
  return url === undefined ? await startServer() : { url, stop: async () => {} };
}

/** The URL that the environment names. An empty variable counts as unset. */
export function urlOf(env: Variables): string | undefined {
  return [env["TEST_DATABASE_URL"], env["DATABASE_URL"]].find(
    (url) => url !== undefined && url !== "",
  );
}

/** Starts a Postgres that keeps nothing: what tests write need not outlive a power failure. */
export async function startServer(): Promise<TestServer> {
  const { startEmbeddedPostgres } = await import("@millrace/embedded-postgres");
  const folder = await mkdtemp(join(tmpdir(), "millrace-testing-"));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    const settings = { fsync: "off", synchronous_commit: "off", full_page_writes: "off" };
    const postgres = await startEmbeddedPostgres({ dataDir: join(folder, "postgres"), settings });
    return {
      url: postgres.url,
      stop: async () => {
        await postgres.stop("immediate");
        await remove();
      },
    };
  } catch (error) {
    await remove();
    throw error;
  }
}
