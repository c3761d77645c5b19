// The API of the dashboard as zod schemas: each shape on the wire stands here once.
// `OPERATIONS` names every call (`get /events`): who may make it, its query and body, its answer,
// its errors. The OpenAPI document, the dashboard's handlers, the page's calls, the ledger's rows,
// and the command's `--json` derive from it.
// To add a column to an event: a migration, and `eventRow` in `events.ts`, which the ledger's reads
// take their columns from. If one is missing, a test says so. No I/O.
export { OUTCOMES } from "@millrace/core";
export type * from "./audit.ts";
export { COUNT_MAX, RATE_DEFAULT, UNCONFIRMED_MAX } from "./bulk-runs.ts";
export type * from "./bulk-runs.ts";
export { createDocument } from "./document.ts";
export { ERROR_ORDERS, ERROR_STATES } from "./error-groups.ts";
export type * from "./error-groups.ts";
export { eventHistory, eventRow } from "./events.ts";
export type * from "./events.ts";
export * from "./operations.ts";
export { parseSearch, readDuration, readMoment, type Search } from "./search.ts";
export { ACTIVITY_RANGES, readRequest, REASON_LENGTH_MAX, searchFilter } from "./requests.ts";
export { DISAGREEMENT_KINDS } from "./overviews.ts";
export type * from "./overviews.ts";
