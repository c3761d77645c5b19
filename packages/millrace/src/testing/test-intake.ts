import {
  hasTenants,
  isInternal,
  MillraceError,
  providerOfTenant,
  tenantEventId,
  withUrl,
  type Config,
  type Delivery,
  type EventKey,
  type IdentifiedEvent,
  type IncomingEvent,
  type Provider,
  type Source,
} from "@millrace/core";
import { Receiver, type EventStore, type Received } from "@millrace/intake";
import type { Ledger } from "@millrace/ledger";
import { keyName } from "./key-name.ts";
import { createSigner, type Posted } from "./sign-delivery.ts";

/** A delivery that was taken in. */
export interface TakenIn {
  readonly received: Received;
  readonly events: readonly IdentifiedEvent[];
  /** The events for a worker: new, or failed and delivered again. */
  readonly toRun: readonly EventKey[];
}

export interface TestIntake {
  /** Signs an event as its sender does, and takes it in as the ingress does. */
  post(posted: Posted): Promise<TakenIn>;
  close(): Promise<void>;
}

/** Time enough for a machine that runs many tests. */
const ANSWER_TIMEOUT_MS = 30_000;

/** Makes the way in, with secrets of its own and the ledger as the one event store. */
export function createTestIntake(config: Config, ledger: Ledger): TestIntake {
  const secrets = Object.fromEntries(
    Object.entries(withUrl(config.sources)).map(([name, { provider }]) => [
      name,
      [provider.generateSecret()],
    ]),
  );
  // As a user's store has them: the same for every tenant.
  const sources = Object.entries(config.sources).map(([name, source]) => {
    const options = {
      ...source.options,
      ...(hasTenants(source) && { secrets: () => secrets[name] }),
    };
    return [name, { ...source, options }];
  });
  const fresh = new Set<string>();
  const sign = createSigner((source) => secrets[source]?.[0] ?? "");
  let lastError: unknown;
  const receiver = new Receiver({
    config: {
      sources: Object.fromEntries(sources),
      ingress: { ...config.ingress, answerTimeoutMs: ANSWER_TIMEOUT_MS },
    },
    secrets,
    stores: [ledgerStore(ledger, (event) => fresh.add(keyName(event)))],
    redelivery: {
      retry: async (event) => {
        const [answer] = await ledger.retries.retryMany([event]);
        if (answer?.kind !== "retried") return "not_needed";
        fresh.add(keyName(event));
        return "retried";
      },
    },
    notify: (notice) => {
      if ("error" in notice) lastError = notice.error;
    },
  });

  async function post(posted: Posted): Promise<TakenIn> {
    const source = sourceOf(config, posted.source);
    const tenant = posted.tenant ?? (hasTenants(source) ? "test" : undefined);
    const provider = providerOfTenant(source.provider, tenant);
    const delivery = sign(provider, posted);
    const path = tenant === undefined ? posted.source : `${posted.source}/${tenant}`;
    const received = await receiver.receive({ source: path, ...delivery });
    requireTaken(posted, received, lastError);
    const events = identify(provider, posted, delivery).map((event) => {
      return { ...event, eventId: tenantEventId(tenant, event.eventId) };
    });
    const keys = events.map(({ eventId }) => ({ source: posted.source, eventId, generation: 0 }));
    return { received, events, toRun: keys.filter((key) => fresh.delete(keyName(key))) };
  }

  return { post, close: () => receiver.close() };
}

function sourceOf({ sources }: Config, name: string): Source {
  const source = Object.hasOwn(sources, name) ? sources[name] : undefined;
  if (source !== undefined && !isInternal(source)) return source;
  const why =
    source === undefined
      ? `the config has ${Object.keys(withUrl(sources)).join(", ")}`
      : "it is an internal source; deliver the event whose handler emits to it, with { settle: true }";
  throw new MillraceError("unknown_source", `Cannot deliver to "${name}": ${why}`);
}

function ledgerStore(ledger: Ledger, onAccepted: (event: IncomingEvent) => void): EventStore {
  return {
    name: "ledger",
    put: async (events) => {
      const results = await ledger.intake.accept(events);
      for (const [index, event] of events.entries()) {
        if (results[index] === "accepted") onAccepted(event);
      }
      return results;
    },
    ping: () => ledger.intake.ping(),
    isFull: () => false,
  };
}

/** @throws the code that the ingress refuses the delivery with: it is the test's fault. */
function requireTaken({ source, type }: Posted, received: Received, cause: unknown): void {
  if (received.outcome !== "rejected") return;
  const { code = "internal", status, body } = received;
  throw new MillraceError(
    code,
    `Cannot deliver "${type}" to "${source}": the ingress answers ${status} ${body}`,
    { cause },
  );
}

/** The events of a delivery, of which at least one has the named type. */
function identify(
  provider: Provider,
  { source, type }: Posted,
  delivery: Delivery,
): readonly IdentifiedEvent[] {
  const identified = provider.identify(delivery);
  const events = identified.ok ? identified.events : [];
  if (events.some((event) => event.type === type)) return events;
  const types = events.map((event) => `"${event.type}"`).join(", ");
  throw new MillraceError(
    "invalid_event_type",
    `Cannot deliver "${type}" to "${source}": the body is ${types === "" ? "no event" : `of type ${types}`}`,
  );
}
