export type { SourceLimits } from "./head-checks.ts";
export { createFetchAdapter, type FetchHandler } from "./adapters/fetch.ts";
export {
  createExpressAdapter,
  createNodeAdapter,
  type ConnectHandler,
  type ConnectRequest,
  type NodeAdapter,
} from "./adapters/node.ts";
export {
  createDeliveryCounter,
  createRefusalCounter,
  type DeliveryCounter,
  type RefusalCounter,
} from "./counts.ts";
export type {
  ClosableEventStore,
  EventStore,
  LedgerClient,
  QueueClient,
  RedeliveryPort,
} from "./event-store.ts";
export { storeTimeoutMs, type ActiveStore } from "./event-stores.ts";
export { createLedgerStore, type LedgerStoreDeps } from "./ledger-store.ts";
export type { AdmissionReason, IntakeNotice, Notify } from "./notice.ts";
export { createQueueStore, type QueueStoreDeps } from "./queue-store.ts";
export { earlyRejection, type Received, type ReceiveRequest } from "./received.ts";
export { Receiver, type Readiness, type ReceiverDeps, type ReceiverOptions } from "./receiver.ts";
