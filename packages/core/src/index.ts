export {
  DELIVERY_OUTCOMES,
  type AttemptFailure,
  type AttemptLimits,
  type Claim,
  type DeliveryOutcome,
  type ErrorDetails,
  type LockedEvent,
  type LoggedLine,
  type OnEmitted,
  type StackFrame,
  type StoreResult,
} from "./claim.ts";
export { identifyError, type ErrorIdentity } from "./fingerprint.ts";
export { cutWithoutSecrets, hideSecrets, secretsOf } from "./hide-secrets.ts";
export { createBacklog, type Backlog } from "./backlog.ts";
export { createBatcher, type Batcher } from "./batcher.ts";
export {
  configSchema,
  SOURCE_NAME,
  type Config,
  type IngressConfig,
  type ReconcilerConfig,
  type WorkerConfig,
} from "./config-schema.ts";
export { defineConfig, parseConfig } from "./define-config.ts";
export {
  environmentSchema,
  readEnvironment,
  secretVariable,
  withFirstHost,
  type Environment,
} from "./environment.ts";
export { ERROR_CODES, LEFT_TO_A_PERSON, statusOf, type ErrorCode } from "./error-codes.ts";
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
  keyOf,
  messageDigest,
  OUTCOMES,
  placeDigest,
  readEnvelope,
  signedDigest,
  toEnvelope,
  toEnvelopeText,
  type EmittedEvent,
  type Envelope,
  type EnvelopedEvent,
  type EventKey,
  type EventLookup,
  type EventStatus,
  type IncomingEvent,
  type MacProblem,
  type Outcome,
  type ReadEnvelope,
} from "./event.ts";
export { createEnqueueLater, type EnqueueLater } from "./enqueue-later.ts";
export { connectionHint, withHint, type DatabaseVariable } from "./connection-hint.ts";
export { poolName, readPoolName } from "./pool-name.ts";
export { isQueueKey, makeQueueKey, QueueKeys } from "./queue-keys.ts";
export { failpoint, type Failpoint } from "./failpoint.ts";
export { LazySignal, type StopSignal } from "./lazy-signal.ts";
export { isLoopback } from "./loopback.ts";
export { createCircuitBreaker, type CircuitBreaker } from "./circuit-breaker.ts";
export { defineHandlers, type TablesOf, type TypedOn } from "./define-handlers.ts";
export {
  matchesType,
  on,
  type CallContext,
  type Emit,
  type EmitOptions,
  type Handler,
  type HandlerContext,
  type HandlerFunction,
  type HandlerLog,
  type HandlerOptions,
  type HandlerParts,
  type HandlerTransaction,
  type SetHandlerContext,
  type LogLine,
  type Once,
  type JsonPayload,
  type SetHandlerFunction,
  type TableSchema,
  type WebhookEvent,
} from "./handler.ts";
export { readForm, type FormField } from "./form.ts";
export {
  isPermanentError,
  isRetryLater,
  PermanentError,
  RetryLater,
  waitOf,
  type RetryLaterOptions,
} from "./handler-errors.ts";
export type {
  Answer,
  Delivery,
  DeliveryHead,
  Identification,
  IdentifiedEvent,
  Provider,
  Refusal,
  SampleRequest,
  SignedMessage,
  SignRequest,
  Verification,
  Verifier,
} from "./provider.ts";
export type { EventJob, JobResult } from "./event-job.ts";
export {
  isInternal,
  sourceOptionsSchema,
  withUrl,
  type Source,
  type SourcePolicy,
} from "./source-schema.ts";
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
export {
  Deadlines,
  settlesWithin,
  unlessAborted,
  wait,
  withDeadline,
  type Deadline,
} from "./deadline.ts";
export { parsePayload, shownPayload, shownText } from "./payload.ts";
