export { bodyHash } from "./body-hash.ts";
export type { AttemptFailure, AttemptLimits, Claim, LockedEvent, Placement } from "./claim.ts";
export { createCoalescer } from "./coalesce.ts";
export {
  configSchema,
  SOURCE_NAME,
  type Config,
  type ConfigInput,
  type FailedEvent,
  type HandlersModule,
  type HandlersOption,
  type IngressConfig,
  type OnFailed,
  type ReconcilerConfig,
  type RetentionConfig,
  type WorkerConfig,
} from "./config-schema.ts";
export { defineConfig, parseConfig } from "./define-config.ts";
export {
  ENVELOPE_VERSION,
  fromEnvelope,
  toEnvelope,
  type Envelope,
  type EnvelopedEvent,
} from "./envelope.ts";
export {
  environmentSchema,
  readEnvironment,
  secretVariable,
  type Environment,
} from "./environment.ts";
export { ERROR_CODES, statusOf, type ErrorCode } from "./error-codes.ts";
export { errorBody, isMillraceError, MillraceError } from "./errors.ts";
export {
  EVENT_STATUSES,
  OUTCOMES,
  type EventKey,
  type EventStatus,
  type IncomingEvent,
  type Outcome,
} from "./event.ts";
export { failpoint, type Failpoint } from "./failpoint.ts";
export { createGate, type Gate } from "./gate.ts";
export {
  on,
  type Handler,
  type HandlerContext,
  type HandlerFunction,
  type HandlerTransaction,
  type JsonPayload,
  type WebhookEvent,
} from "./handler.ts";
export { isPermanentError, isRetryLater, PermanentError, RetryLater } from "./handler-errors.ts";
export type {
  Answer,
  Delivery,
  Identification,
  IdentifiedEvent,
  Provider,
  Refusal,
  SignRequest,
  Verification,
  Verifier,
} from "./provider.ts";
export type { QueuedEvent, Settlement } from "./settlement.ts";
export {
  sourceOptionsSchema,
  type Source,
  type SourceOptions,
  type SourcePolicy,
} from "./source-schema.ts";
export type { SourceDefinition } from "./source.ts";
export {
  EVENT_ID_BYTES_MAX,
  EVENT_TYPE_BYTES_MAX,
  isStorable,
  isStorableWithin,
  REASON_LENGTH_MAX,
} from "./storable-text.ts";
export { wait } from "./wait.ts";
export { settledWithin, within } from "./within.ts";
