import type { Config, Handler } from "@millrace/core";
import { createLedger } from "@millrace/ledger";
import type { Notice } from "@millrace/processor";
import { createWorker } from "@millrace/worker";
import { testPool } from "./ledger-fixture.ts";
import { openTestQueues } from "./queue-fixture.ts";
import type { ServerUrls } from "./server-urls.ts";

export type StartedWorker = Awaited<ReturnType<typeof startWorker>>;

/**
 * Starts a worker on stores of its own: what the role has without its reconciler and its retention,
 * which would repair and delete what a test looks at.
 * @param beforeReport - Runs between what a job wrote to the ledger and what the queue is told of it.
 */
export async function startWorker(
  servers: ServerUrls,
  config: Config,
  handlers: readonly Handler[],
  beforeReport: () => Promise<void> = async () => {},
) {
  const pool = testPool(servers.databaseUrl, 30);
  const queues = await openTestQueues(servers, "worker", Object.keys(config.sources));
  const notices: Notice[] = [];
  const hookErrors: unknown[] = [];
  const leftBehind: unknown[] = [];
  const worker = createWorker(
    {
      ledger: createLedger({ pool }, config.worker).claims,
      queues: {
        backend: queues.backend,
        signsJobs: queues.signsJobs,
        enqueue: (...given) => queues.enqueue(...given),
        pressure: () => queues.pressure(),
        work: (options) =>
          queues.work({
            ...options,
            run: async (job) => {
              const result = await options.run(job);
              await beforeReport();
              return result;
            },
          }),
      },
      handlers,
      notify: (notice) => notices.push(notice),
      onHookError: (error) => hookErrors.push(error),
      onLeftBehind: (error) => leftBehind.push(error),
    },
    config,
  );
  return {
    worker,
    notices,
    hookErrors,
    leftBehind,
    close: async () => {
      if (worker.open) await worker.close();
      await queues.close();
      await pool.end();
    },
  };
}
