import { parseConfig, readEnvironment, type ConfigInput } from "@millrace/core";
import { createReceiver, type IntakeNotice, type Receiver } from "@millrace/intake";
import { resolveSecrets } from "@millrace/service";
import { createStorage } from "@millrace/storage";

export interface OpenReceiverOptions {
  /** Hears what happens; for logs and metrics. What it throws is dropped. */
  readonly notify?: (notice: IntakeNotice) => void;
  /** Hears, again and again, of a server that is away and of connections that die. Default: a warning
   * of the process for each cause. */
  readonly onTrouble?: (cause: string, error: unknown) => void;
}

/**
 * Opens a receiver on the stores that variables name, as `millrace ingress` does, to be mounted in an app of
 * one's own: `await openReceiver(config, process.env)`. It reads `REDIS_URL`, `DATABASE_URL` and
 * `<SOURCE>_WEBHOOK_SECRET`. Resolves also while a server is away: events go to the other one, and are
 * answered 503 while there is none. Its `close` disconnects.
 *
 * @throws `invalid_config`, `missing_secret`; `redis_evicts`, `redis_volatile`, `migration_needed`.
 */
export async function openReceiver(
  input: ConfigInput,
  env: Readonly<Record<string, string | undefined>>,
  options: OpenReceiverOptions = {},
): Promise<Receiver> {
  const config = parseConfig(input);
  const environment = readEnvironment(env);
  const trouble = options.onTrouble ?? createWarnings();
  const storage = createStorage({
    ...{ environment, config, trouble },
    notify: (notice) => receiver.notify(notice),
  });
  const { places, redelivery } = storage;
  const receiver = createReceiver({
    ...{ config, places, redelivery },
    secrets: resolveSecrets(config, env),
    ...(options.notify && { notify: options.notify }),
  });
  const close = async () => {
    await receiver.close();
    await storage.close();
  };
  const { tried, opened } = storage.open();
  try {
    await tried;
  } catch (error) {
    await close();
    throw error;
  }
  // A server that came late, and cannot be used: its place stays shut, and whoever listens is told.
  opened.catch((error: unknown) => trouble("storage: cannot be used", error));
  // Not a copy: whether it is closing is looked up at each delivery.
  return Object.assign(Object.create(receiver) as Receiver, { close });
}

function createWarnings(): (cause: string, error: unknown) => void {
  const told = new Set<string>();
  return (cause, error) => {
    if (told.has(cause)) return;
    told.add(cause);
    const reason = error instanceof Error ? error.message : String(error);
    process.emitWarning(`${cause}: ${reason}`, { type: "MillraceWarning" });
  };
}
