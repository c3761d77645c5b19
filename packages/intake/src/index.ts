/**
 * The ingress' part: from the head of a delivery to its answer (receiver.ts). Head and size are
 * checked first, then the signature (verifications.ts), then the events are named
 * (incoming-events.ts) and stored: in the queue, or in the ledger (event-stores.ts).
 * - Dedup: the store's. A delivery is acknowledged once all of its events are stored.
 * - Deadlines: a body's (incoming-body.ts), a verification's, and a write's (store-writer.ts).
 *   One circuit breaker a store.
 * - Nothing is retried here but the next store: senders repeat what is not acknowledged.
 */
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
