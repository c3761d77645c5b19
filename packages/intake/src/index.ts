/**
 * The way in: receive → verify → identify → store → acknowledge, free of any HTTP framework.
 *
 * An adapter (node:http, Express, fetch) reads a request's bytes and passes them to
 * `Receiver.receive`, which is the whole way in one file. Accepted events wait in a batch and go to
 * the first event store that takes them, the queue or the ledger; the rest goes, in time, to
 * the second. A store is up or down. The response is sent when every event of the delivery
 * is stored.
 *
 * Owned here: what is refused by its head (`head-checks.ts`), the bytes in flight
 * (`byte-budget.ts`), the deadline and the pace of a body (`incoming-body.ts`), the deadline of a
 * delivery's write, and the rest of a store that failed (`store-writer.ts`). The deadline of one
 * call and the circuit breaker are the queue client's; the ledger has none, and gets them in
 * `store-writer.ts`.
 */
export type { SourceLimits } from "./head-checks.ts";
export {
  createExpressAdapter,
  type ConnectHandler,
  type ConnectRequest,
} from "./adapters/express.ts";
export { createFetchAdapter, type FetchHandler } from "./adapters/fetch.ts";
export { createNodeAdapter, type NodeAdapter } from "./adapters/node.ts";
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
