import { z } from "zod";
import type { Provider } from "./provider.ts";

/** A source's policy, as its provider's function takes it. */
export const sourceOptionsSchema = z.strictObject({
  /** The sender's secret, or several while it is being changed. Better left to
   * `<SOURCE>_WEBHOOK_SECRET`, which goes before it. */
  secret: z
    .union([z.string(), z.array(z.string())], "must be a string, or a list of strings")
    .optional(),
  /** Milliseconds that a signed timestamp may lie in the past or in the future. Longer lets an old
   * delivery be sent again. Default: what the provider documents. */
  toleranceMs: z.int().min(1_000).max(86_400_000).optional(),
  /** Bytes of the largest body that is taken in. Default: what the provider documents, or 1 MiB. */
  bodyBytesMax: z
    .int()
    .min(1)
    .max(64 * 1024 * 1024)
    .optional(),
  /** Times the handlers are run before the event is failed. */
  attempts: z.int().min(1).max(1_000).default(12),
  /** The wait before the next attempt: `firstMs` times `factor` for each attempt after the first,
   * at most `maxMs`, each drawn at random between 0 and that (full jitter). */
  backoff: z
    .strictObject({
      /** Milliseconds before the second attempt, at the most. */
      firstMs: z.int().min(0).max(86_400_000).default(2_000),
      /** What each further wait is multiplied with. */
      factor: z.number().min(1).max(100).default(3),
      /** Milliseconds that no wait exceeds. */
      maxMs: z.int().min(0).max(86_400_000).default(3_600_000),
    })
    .prefault({}),
  /** Jobs of this source that one worker process takes at once. Default: `worker.concurrency`. */
  concurrency: z.int().min(1).max(500).optional(),
  /** Events of this source that all workers together begin in a time; more wait in the queue.
   * Default: no limit. */
  rate: z
    .strictObject({
      /** Events. */
      max: z.int().min(1).max(1_000_000),
      /** Milliseconds in which no more than `max` are begun. */
      perMs: z.int().min(10).max(86_400_000).default(1_000),
    })
    .optional(),
  /** The durable place that an event is put in before its sender is answered; the other one is for
   * when this one is down, slow or full. `queue` is the faster. `ledger` keeps the last second of
   * events over a power failure, knows every duplicate, and keeps bodies out of Redis. Without Redis
   * it is always the ledger. */
  ack: z.enum(["queue", "ledger"]).default("queue"),
  /** What the sender's own redelivery does to an event that has failed: `retry` runs it again,
   * `ignore` leaves it to people. */
  redelivery: z.enum(["retry", "ignore"]).default("retry"),
  /** Where the event id is not signed (GitHub): whether a second id with the same body within 24 hours
   * is taken for a replay and completed without a run (outcome `suspected_replay`). */
  bodyDedup: z.boolean().default(true),
  /** Jobs of this source that may wait in the queue. What comes above goes to the ledger alone, and
   * from there to the queue when it has room; without a ledger it is answered 503. */
  queueDepthMax: z.int().min(1).default(100_000),
  /** Milliseconds that the oldest waiting job may have waited before what comes is treated as above.
   * Default: no limit. */
  queueAgeMsMax: z.int().min(1_000).optional(),
});

const providerSchema = z.custom<Provider>(
  (value) => typeof value === "object" && value !== null && "createVerifier" in value,
  "must come from a provider's function, such as stripe() or hmac({...})",
);

export const sourceSchema = z.strictObject(
  { provider: providerSchema, options: sourceOptionsSchema.prefault({}) },
  "must come from a provider's function, such as stripe() or hmac({...})",
);

/** A source as the processes read it: every default filled in. */
export type Source = z.infer<typeof sourceSchema>;
/** A source's policy with every default filled in. */
export type SourcePolicy = z.infer<typeof sourceOptionsSchema>;
/** A source's policy as a user writes it. */
export type SourceOptions = z.input<typeof sourceOptionsSchema>;
