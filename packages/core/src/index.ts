export type { AttemptFailure, AttemptLimits, Claim, LockedEvent, StoreResult } from "./claim.ts";
export { createBatcher, type Batcher } from "./batcher.ts";
export {
  configSchema,
  SOURCE_NAME,
  type Config,
  type IngressConfig,
  type ReconcilerConfig,
  type RetentionConfig,
  type WorkerConfig,
} from "./config-schema.ts";
export { defineConfig, parseConfig } from "./define-config.ts";
export {
  environmentSchema,
  readEnvironment,
  secretVariable,
  type Environment,
} from "./environment.ts";
export { ERROR_CODES, statusOf, type ErrorCode } from "./error-codes.ts";
export { asError, errorBody, isMillraceError, MillraceError } from "./errors.ts";
export {
  bodyHash,
  ENVELOPE_VERSION,
  EVENT_ID_BYTES_MAX,
  EVENT_STATUSES,
  EVENT_TYPE_BYTES_MAX,
  fromEnvelope,
  isStorable,
  isStorableWithin,
  OUTCOMES,
  toEnvelope,
  toEnvelopeText,
  type Envelope,
  type EnvelopedEvent,
  type EventKey,
  type EventLookup,
  type EventStatus,
  type IncomingEvent,
  type Outcome,
} from "./event.ts";
export { failpoint, type Failpoint } from "./failpoint.ts";
export { LazySignal, type StopSignal } from "./lazy-signal.ts";
export { createCircuitBreaker, type CircuitBreaker } from "./circuit-breaker.ts";
export {
  on,
  type Handler,
  type HandlerContext,
  type HandlerFunction,
  type HandlerOptions,
  type HandlerTransaction,
  type JsonPayload,
  type SetHandlerFunction,
  type WebhookEvent,
} from "./handler.ts";
export { readForm, type FormField } from "./form.ts";
export { isPermanentError, isRetryLater, PermanentError, RetryLater } from "./handler.ts";
export type {
  Answer,
  Delivery,
  Identification,
  IdentifiedEvent,
  Provider,
  Refusal,
  SampleRequest,
  SignRequest,
  Verification,
  Verifier,
} from "./provider.ts";
export type { EventJob, JobResult } from "./event-job.ts";
export { sourceOptionsSchema, type Source, type SourcePolicy } from "./source-schema.ts";
export type {
  BackoffOptions,
  ConfigInput,
  FailedEvent,
  HandlersModule,
  HandlersOption,
  IngressOptions,
  OnFailed,
  RateOptions,
  ReconcilerOptions,
  RetentionOptions,
  SourceDefinition,
  SourceOptions,
  WorkerOptions,
} from "./settings.ts";
export { Deadlines, settlesWithin, wait, withDeadline } from "./deadline.ts";
export { parsePayload } from "./payload.ts";
