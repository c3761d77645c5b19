export { createFetchAdapter } from "./adapters/fetch.ts";
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
export { createLedgerStore } from "./ledger-store.ts";
export type { IntakeNotice, Notify } from "./notice.ts";
export { createQueueStore } from "./queue-store.ts";
export { earlyRejection, type Received, type ReceiveRequest } from "./received.ts";
export { Receiver, type Readiness, type ReceiverDeps } from "./receiver.ts";
