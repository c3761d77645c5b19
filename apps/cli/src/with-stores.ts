import type { Ledger } from "@millrace/ledger";
import type { Queues } from "@millrace/queue";
import { loadConfig } from "@millrace/service";
import type { CliContext } from "./context.ts";
import { findStores } from "./find-stores.ts";
import { readSettings } from "./settings.ts";
import { withLedger } from "./with-ledger.ts";
import { withQueues } from "./with-queues.ts";

/**
 * Opens the ledger and the queues of every source for the time of one command.
 *
 * @throws `invalid_config`, `config_not_found`, `database_unreachable`, `database_unavailable`,
 * `migration_needed`, `redis_unreachable`.
 */
export async function withStores<Result>(
  context: CliContext,
  work: (stores: { ledger: Ledger; queues: Queues }) => Promise<Result>,
): Promise<Result> {
  const settings = readSettings(context);
  const { config } = await loadConfig(settings.configPath);
  const stores = await findStores(settings);
  return await withLedger(stores.databaseUrl, (ledger) =>
    withQueues(stores, Object.keys(config.sources), (queues) => work({ ledger, queues })),
  );
}
