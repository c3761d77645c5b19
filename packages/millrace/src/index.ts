/**
 * Millrace: the package that a project installs. It owns the public names and `openReceiver`; all
 * else is exported from the packages below it.
 *
 * A config (`defineConfig`) names sources with their providers, and handlers (`on`). The ingress,
 * or a receiver in your own app (`openReceiver`), verifies a delivery and stores it in a queue or
 * the ledger. A worker runs the handlers in the transaction that settles the event. An event is
 * `pending`, then `completed` or `failed`; a failed one can be retried.
 *
 * A receiver is open until `close`, and has no other state than the stores that it opened.
 * `millrace/testing` runs handlers on a scratch database, without a queue.
 *
 * @packageDocumentation
 */
export {
  defineConfig,
  defineHandlers,
  isMillraceError,
  MillraceError,
  on,
  PermanentError,
  RetryLater,
  type Alert,
  type AlertChannel,
  type CallContext,
  type ConfigInput,
  type Emit,
  type EmitOptions,
  type ErrorCode,
  type FailedEvent,
  type Handler,
  type HandlerContext,
  type HandlerFunction,
  type HandlerLog,
  type HandlerOptions,
  type HandlerParts,
  type HandlerTransaction,
  type JsonPayload,
  type LogLine,
  type Once,
  type Provider,
  type RetryLaterOptions,
  type SetHandlerContext,
  type SetHandlerFunction,
  type SourceDefinition,
  type SourceOptions,
  type TypedOn,
  type WebhookEvent,
} from "@millrace/core";
export type {
  ConnectHandler,
  ConnectRequest,
  IntakeNotice,
  Readiness,
  Received,
  ReceiveRequest,
} from "@millrace/intake";
export { alertTo } from "./alerts.ts";
export { openReceiver, type OpenReceiverOptions, type Receiver } from "./open-receiver.ts";
export * from "@millrace/providers";
