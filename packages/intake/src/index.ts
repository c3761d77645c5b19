export {
  createReceiver,
  type Receiver,
  type ReceiverDeps,
  type ReceiverOptions,
  type SourceLimits,
} from "./create-receiver.ts";
export { doorRefusal } from "./door-refusals.ts";
export { createLedgerPlace, type LedgerPlaceDeps } from "./ledger-place.ts";
export { millraceRouter, type ConnectHandler, type ConnectRequest } from "./millrace-router.ts";
export { millraceFetch, type FetchHandler } from "./millrace-fetch.ts";
export { createNodeDoor, type NodeDoor } from "./node-door.ts";
export type { IntakeNotice, Notify } from "./notice.ts";
export type * from "./ports.ts";
export { placeTimeoutMs } from "./place-timeout.ts";
export type { Placing } from "./places.ts";
export { createQueuePlace, type QueuePlaceDeps } from "./queue-place.ts";
export type { Received, ReceiveRequest } from "./received.ts";
