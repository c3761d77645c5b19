/**
 * The words that all packages share: events and jobs, errors, settings. No I/O, no state.
 * An event is `IncomingEvent` at the ingress, an `Envelope` in its job, `EnvelopedEvent` in a
 * worker and `WebhookEvent` in a handler (event.ts, envelope.ts, handler.ts). Its key is source,
 * event id and generation: `keyOf`.
 * - Trust: an envelope's MAC covers the identity and the hashes of body and headers (envelope.ts,
 *   queue-keys.ts). SHA-256 identifies bodies and signed messages (event.ts).
 * - Errors: one class, and one registry of codes (error-codes.ts), which chooses the HTTP status.
 * - Settings: zod checks config and environment; settings.ts and source-settings.ts have the
 *   sentences of an editor.
 */
export * from "./alerts.ts";
export * from "./claim.ts";
export { identifyError } from "./fingerprint.ts";
export { cutWithoutSecrets, hideSecrets, secretsOf } from "./hide-secrets.ts";
export { createBacklog } from "./backlog.ts";
export * from "./connection-urls.ts";
export { createBatcher, type Batcher } from "./batcher.ts";
export { AwaitedCalls, notAwaited } from "./awaited-calls.ts";
export * from "./config-schema.ts";
export { defineConfig, parseConfig, plainWords } from "./define-config.ts";
export * from "./environment.ts";
export * from "./error-codes.ts";
export * from "./errors.ts";
export * from "./envelope.ts";
export * from "./event.ts";
export { createEnqueueLater } from "./enqueue-later.ts";
export * from "./connections.ts";
export { isQueueKey, makeQueueKey, QueueKeys } from "./queue-keys.ts";
export { failpoint, type Failpoint } from "./failpoint.ts";
export { createCircuitBreaker, type CircuitBreaker } from "./circuit-breaker.ts";
export { defineHandlers, type TablesOf, type TypedOn } from "./define-handlers.ts";
export type * from "./handler.ts";
export { boundBy, on } from "./on.ts";
export * from "./handler-errors.ts";
export * from "./provider.ts";
export * from "./source-schema.ts";
export type * from "./settings.ts";
export type * from "./source-settings.ts";
export * from "./deadline.ts";
export { nearest, unknownKey } from "./nearest.ts";
export * from "./payload.ts";
export * from "./find-values.ts";
export type * from "./tracing.ts";
export { wordsOf } from "./words-of.ts";
