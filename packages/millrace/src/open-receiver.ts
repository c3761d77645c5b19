import type { IncomingMessage, ServerResponse } from "node:http";
import { openIngress } from "@millrace/connect";
import { parseConfig, readEnvironment, type ConfigInput } from "@millrace/core";
import {
  createExpressAdapter,
  createFetchAdapter,
  createNodeAdapter,
  Receiver as IntakeReceiver,
  type ConnectHandler,
  type IntakeNotice,
  type Readiness,
  type Received,
  type ReceiveRequest,
} from "@millrace/intake";
import { openTracing, refuseExampleSecrets, resolveSecrets } from "@millrace/service";

export interface OpenReceiverOptions {
  /** Gets every notice of a delivery, for logs and metrics. Its errors are dropped. */
  readonly notify?: (notice: IntakeNotice) => void;
  /**
   * Called repeatedly while a server is unavailable, and when a connection dies. Default: a
   * warning of the process for each cause.
   */
  readonly onBackgroundError?: (cause: string, error: unknown) => void;
}

/** The ingress for an app of your own. Its adapters share one byte budget. */
export interface Receiver {
  /**
   * Verifies, identifies and stores one delivery, and returns the answer to send, for a framework
   * without an adapter here. Never rejects, and takes at most `ingress.answerTimeoutMs`.
   */
  receive(request: ReceiveRequest): Promise<Received>;
  /**
   * A handler for Express and Connect. Mount it before any body parser: `app.use("/webhooks",
   * receiver.express())` takes `POST /webhooks/<source>`; other paths go to the next handler.
   */
  express(): ConnectHandler;
  /**
   * Answers a request of a framework with fetch's Request and Response (Hono, Next.js, Bun).
   * Nothing may have read its body. Never rejects.
   */
  fetch(request: Request, source: string): Promise<Response>;
  node(request: IncomingMessage, response: ServerResponse, source: string): void;
  /** Asks every store whether it takes events now. */
  ready(): Promise<Readiness>;
  /** Refuses new requests, answers the received ones, and disconnects. */
  close(): Promise<void>;
}

/**
 * Opens a receiver on the stores of the variables, as `millrace ingress` does, for an app of your
 * own: `await openReceiver(config, process.env)`. It reads `REDIS_URL`, `DATABASE_URL`,
 * `MILLRACE_QUEUE_KEY` and `<SOURCE>_WEBHOOK_SECRET`. It also resolves while a server is
 * unavailable: events go to the other store, and are answered with 503 without one.
 *
 * @throws `invalid_config`, `missing_secret`, `example_secret`; `queue_key_missing`,
 * `redis_evicts`, `redis_volatile`, `migration_needed`.
 */
export async function openReceiver(
  input: ConfigInput,
  env: Readonly<Record<string, string | undefined>>,
  options: OpenReceiverOptions = {},
): Promise<Receiver> {
  const config = parseConfig(input);
  const environment = readEnvironment(env);
  const onError = options.onBackgroundError ?? createWarnings();
  const stores = openIngress(environment, config, {
    onError,
    onFinding: ({ detail, fix }) => onError("postgres: setting", new Error(`${detail}. ${fix}`)),
    onIntakeNotice: (notice) => receiver.notify(notice),
  });
  let receiver: IntakeReceiver;
  try {
    const secrets = resolveSecrets(config, env);
    // The app's own address is unknown: NODE_ENV and the stores' addresses decide.
    refuseExampleSecrets({ env, host: environment.HOST ?? "127.0.0.1", secrets });
    receiver = new IntakeReceiver({
      config,
      stores: stores.eventStores,
      redelivery: stores.redelivery,
      refusals: stores.refusals,
      secrets,
      tracing: await openTracing((message) => onError("tracing", new Error(message))),
      ...(options.notify && { notify: options.notify }),
    });
    await stores.tried;
  } catch (error) {
    await stores.close();
    throw error;
  }
  // A server that came late and cannot be used: its store stays down, and the app is notified.
  stores.opened.catch((error: unknown) => onError("storage: cannot be used", error));
  const node = createNodeAdapter(receiver);
  return {
    receive: (request) => receiver.receive(request),
    express: () => createExpressAdapter(receiver),
    fetch: createFetchAdapter(receiver),
    node: node.handle,
    ready: () => receiver.ready(),
    close: async () => {
      await receiver.close();
      await stores.close();
    },
  };
}

function createWarnings(): (cause: string, error: unknown) => void {
  const warned = new Set<string>();
  return (cause, error) => {
    if (warned.has(cause)) return;
    warned.add(cause);
    const reason = error instanceof Error ? error.message : String(error);
    process.emitWarning(`${cause}: ${reason}`, { type: "MillraceWarning" });
  };
}
