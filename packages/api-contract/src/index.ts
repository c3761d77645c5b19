// What goes over the wire, once: the dashboard's API as zod schemas.
//
// `OPERATIONS` names every call (`get /events`): who may make it, its query and body, its answer, its
// errors. Everything else is made from it. The OpenAPI document is the table, written out. The
// dashboard's handlers are typed by it, and their requests are read by it. The page asks by it. The
// ledger's rows, the counts of operations and the command's `--json` have the types of its answers.
//
// To add a column to an event: a migration, the ledger's `schema.ts` and `event-row.ts`, and
// `eventRow` in `events.ts`. Whichever is missing, the build or a test says so.
//
// No I/O. The page imports types alone, so that a browser loads none of this; where it needs a value,
// such as the outcomes to choose from, the value has the type of the one here.
export { OUTCOMES } from "@millrace/core";
export type { AuditEntry, AuditPage, Principal, Role } from "./audit.ts";
export { createDocument } from "./document.ts";
export type { Attempt, Conflict, EventDetail, EventPage, EventRow, Generation } from "./events.ts";
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
export { REASON_LENGTH_MAX } from "./requests.ts";
export {
  type Activity,
  type ActivityBucket,
  type Disagreement,
  type DisagreementKind,
  type Disagreements,
  type SourceStats,
  type Stats,
} from "./overviews.ts";
