// The API of the dashboard as zod schemas: each shape on the wire stands here once.
//
// `OPERATIONS` names every call (`get /events`): who may make it, its query and body, its answer,
// its errors. Everything else derives from it. The OpenAPI document is the table, written out. The
// dashboard's handlers are typed by it, and their requests are read by it. The page asks by it. The
// ledger's rows, the counts of operations and the command's `--json` have the types of its answers.
//
// To add a column to an event: a migration, the ledger's `schema.ts` and `event-row.ts`, and
// `eventRow` in `events.ts`. If one is missing, the build or a test says so.
//
// No I/O. The page imports types, and values that it shows, such as the words for reasons.
export { OUTCOMES } from "@millrace/core";
export type { AuditEntry, AuditPage, Principal, Role, SessionEntry } from "./audit.ts";
export {
  BULK_STATES,
  COUNT_MAX,
  RATE_DEFAULT,
  UNCONFIRMED_MAX,
  type BulkRun,
  type BulkState,
  type BulkVerb,
  type EventCount,
} from "./bulk-runs.ts";
export { createDocument } from "./document.ts";
export {
  ERROR_STATES,
  type ErrorGroup,
  type ErrorGroupPage,
  type ErrorState,
} from "./error-groups.ts";
export type {
  Attempt,
  Conflict,
  Deliveries,
  Delivery,
  EmittedBy,
  EmittedEvents,
  EventAct,
  EventDetail,
  EventPage,
  EventRow,
  EventStep,
  Generation,
  SameMessage,
} from "./events.ts";
export type { Health, HealthItem } from "./health.ts";
export {
  OPERATIONS,
  splitName,
  type AnswerOf,
  type BodyOf,
  type Operation,
  type OperationName,
  type ParameterOf,
  type QueryOf,
  type ReadBodyOf,
  type ReadQueryOf,
} from "./operations.ts";
export { readRequest } from "./read-request.ts";
export { ACTIVITY_RANGES, REASON_LENGTH_MAX } from "./requests.ts";
export {
  type Activity,
  type ActivityBucket,
  type Disagreement,
  type DisagreementKind,
  type Disagreements,
  type SourceStats,
  type Stats,
} from "./overviews.ts";
