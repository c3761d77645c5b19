import type { JsonPayload } from "./handler.ts";
import type { Provider } from "./provider.ts";

/**
 * The result of a provider's function (`stripe()`, `hmac({...})`): a provider and the source's
 * options. `Type` are the event types that the compiler allows, `DataField` is the field of a
 * payload that `event.data` is, and `Payloads` are the payloads by event type.
 */
export interface SourceDefinition<
  Type extends string = string,
  DataField extends string = string,
  Payloads extends object = AnyPayloads,
> {
  readonly provider: Provider<DataField>;
  readonly options: SourceOptions<Type>;
  /** For the compiler alone. */
  readonly sent?: Payloads;
}

type AnyPayloads = Readonly<Record<string, JsonPayload>>;

/**
 * The type parameter of a provider's function: names of event types, a union of payloads that
 * `type` distinguishes (`stripe<Stripe.Event>()`), or payloads by event type
 * (`github<EventPayloadMap>()`).
 */
export type Sent = string | object;

/**
 * The source that a provider's function returns. Names of types are added to the `Known` ones;
 * payloads replace them. `Within` is the field of a payload that the payloads of `Of` stand in.
 */
export type SourceOf<
  Of extends Sent,
  DataField extends string,
  Known extends string = never,
  Within extends string = never,
> = [Of] extends [string]
  ? SourceDefinition<Known | NoInfer<Of>, DataField>
  : SourceDefinition<
      keyof PayloadsByType<Of> & string,
      DataField,
      { [Type in keyof PayloadsByType<Of>]: Enclosed<PayloadsByType<Of>[Type], Within> }
    >;

type PayloadsByType<Of> = [Of] extends [{ readonly type: string }]
  ? { [One in Of as One["type"]]: One }
  : Of;

type Enclosed<Payload, Field extends string> = [Field] extends [never]
  ? Payload
  : { readonly [Name in Field]: Payload } & AnyPayloads;

/** The result of `internal()`. `Payloads` are the data of its event types, for `emit`. */
export interface InternalDefinition<
  Type extends string = string,
  Payloads extends object = object,
> extends SourceDefinition<Type, never> {
  readonly provider: Provider<never> & { readonly isInternal: true };
  /** For the compiler alone. */
  readonly payloads?: Payloads;
}

/** Options of one source, as every provider's function takes them. */
export interface SourceOptions<Of extends Sent = string> {
  /**
   * Event types that this sender has, in addition to those that Millrace lists for it. For
   * `defineHandlers` and `millrace doctor` alone: every type is accepted. Default: what Millrace
   * lists; where that is nothing, any text. With payloads as the type parameter there are none.
   */
  types?: readonly (Of & string)[] | undefined;
  /**
   * The sender's secret, or several during a rotation. Prefer the environment variable
   * `<SOURCE>_WEBHOOK_SECRET`, which takes precedence.
   */
  secret?: string | string[] | undefined;
  /**
   * Reads a tenant's secrets, for a source whose tenants each have their own, at
   * `/webhooks/<name>/<tenant>`. Without any, the tenant is unknown. The ingress calls it and
   * caches its results. Default: none, and `secret` counts.
   */
  secrets?: ReadSecrets | undefined;
  /**
   * Milliseconds that a signed timestamp may differ from now, past or future, 1,000 to 86,400,000.
   * A larger value lets an old delivery be replayed for longer. Default: the provider's documented
   * value.
   */
  toleranceMs?: number | undefined;
  /**
   * Maximum size of a request body in bytes, up to 64 MiB. Default: the provider's documented
   * maximum, or 25 MiB, within what `ingress.inFlightBytesMax` leaves to one source.
   */
  bodyBytesMax?: number | undefined;
  /** Runs of the handlers before the event is failed, 1 to 1,000. Default: 12. */
  attempts?: number | undefined;
  /** Delays between attempts: exponential with full jitter. Default: 2 s, times 3, at most 1 h. */
  backoff?: BackoffOptions | undefined;
  /**
   * Milliseconds that the handlers of a pending event may ask to wait (`RetryLater`) before it is
   * failed, 1,000 to 31,536,000,000. It counts from when the event became pending. Default:
   * 259,200,000 (3 days).
   */
  waitMaxMs?: number | undefined;
  /**
   * Jobs of this source that one worker process runs at once, up to 500. Default:
   * `worker.concurrency`.
   */
  concurrency?: number | undefined;
  /** Rate limit over all workers; events above it wait in the queue. Default: no limit. */
  rate?: RateOptions | undefined;
  /**
   * The event store that must have an event before its sender gets an answer. The other store takes
   * over while this one is down, slow, or full. `queue` is faster. `ledger` loses nothing in a
   * power failure, recognizes every duplicate, and keeps bodies out of Redis. Without Redis it is
   * always `ledger`. Default: `queue`.
   */
  ack?: "queue" | "ledger" | undefined;
  /**
   * The effect of a sender's redelivery of a failed event: `retry` runs it again, `ignore` leaves
   * it failed. Default: `retry`.
   */
  redelivery?: "retry" | "ignore" | undefined;
  /**
   * For senders that do not sign the event id (GitHub): treat a second id with the same signed
   * message as a copy, which fails as `suspected_replay` and runs only if a person retries it.
   * Another type of the same resource within 24 hours is no copy. With `false`, anyone who has
   * one delivery can run it again. Default: true.
   */
  bodyDedup?: boolean | undefined;
  /**
   * First attempts of events that wait at the same time share a transaction, each
   * behind a savepoint of its own. `true` allows it on a database with row-level security, or with
   * functions that change settings: then what one handler sets may reach the next one. Default:
   * allowed where the database has neither.
   */
  groups?: boolean | undefined;
  /**
   * Jobs of this source that may wait in the queue. Further events go to the ledger alone, and to
   * the queue once it has capacity; without a ledger they are answered 503. Default: 100,000.
   */
  queueDepthMax?: number | undefined;
  /**
   * Milliseconds that the oldest waiting job may have waited before the queue counts as full, at
   * least 1,000. Default: no limit.
   */
  queueAgeMsMax?: number | undefined;
  /**
   * Up to eight values of a body, of at most 64 bytes, by which its event is found and which are
   * kept as long as it: `json:data.customer`, or `buyer=json:data.customer`. Default: none.
   */
  find?: readonly string[] | undefined;
  /**
   * True lets programs with a named token pull its events to a laptop (`millrace forward`), each
   * body with an entry in the audit. Default: false.
   */
  forward?: boolean | undefined;
  /** When the source counts as failing. */
  health?:
    | {
        /** Share of failed events. Default: three times the usual one, and at least 0.02. */
        failedShareMax?: number | undefined;
      }
    | undefined;
}

/** Returns the live secrets of a tenant, whose name matches `^[A-Za-z0-9_-]{1,64}$`. */
export type ReadSecrets = (tenant: string) => TenantSecrets | Promise<TenantSecrets>;
type TenantSecrets = string | readonly string[] | null | undefined;

/** Delays between attempts: a random value between 0 and `firstMs * factor^n`, at most `maxMs`. */
interface BackoffOptions {
  /** Milliseconds: the longest delay before the second attempt. Default: 2,000. */
  firstMs?: number | undefined;
  /** Factor by which each further delay grows, 1 to 100. Default: 3. */
  factor?: number | undefined;
  /** Milliseconds that no delay exceeds. Default: 3,600,000. */
  maxMs?: number | undefined;
}

/** A rate limit: at most `max` events start within `perMs`. */
interface RateOptions {
  /** Number of events, 1 to 1,000,000. */
  max: number;
  /** Milliseconds of the window, 10 to 86,400,000. Default: 1,000. */
  perMs?: number | undefined;
}
