import type { ErrorCode } from "@millrace/core";
import { z } from "zod";
import { auditPage, principal, sessionList } from "./audit.ts";
import { errorDetail, errorGroup, errorGroupPage } from "./error-groups.ts";
import * as bulk from "./bulk-runs.ts";
import { eventDetail, eventPage } from "./events.ts";
import { activity, disagreements, health, stats } from "./overviews.ts";
import * as requests from "./requests.ts";
import { count, text, type Wire } from "./values.ts";

/** One call of the API. Its name is its method and its path below `/api`, as a router has them. */
export interface Operation {
  readonly summary: string;
  /** Who may; `anyone` needs no session and no token. */
  readonly who: "anyone" | "viewer" | "operator";
  readonly query?: z.ZodObject;
  readonly body?: z.ZodObject;
  /** Bytes that the body of a call may have. Default: 16 kB. */
  readonly bodyBytesMax?: number;
  /** Without an answer the status is 204. */
  readonly answer?: readonly [name: string, schema: z.ZodType];
  /** True when the answer is bytes, which its handler sends. */
  readonly download?: true;
  /** True if the call may start work that goes on after the answer, which then has status 202. */
  readonly starts?: true;
  /** The codes that refuse it, in addition to those of every such call. */
  readonly errors?: readonly ErrorCode[];
}

const retried = z.strictObject({ retried: z.literal(1), skipped: bulk.skippedCounts });
const givenUp = z.strictObject({ given_up: z.literal(1) });
const replayed = z.strictObject({
  replayed: z.literal(1),
  skipped: bulk.skippedCounts,
  generation: count("The new one."),
});
const edited = z.strictObject({ event_id: text("Of the new event."), type: text() });
const paused = z.strictObject({ source: text(), paused: z.boolean() });
const ended = z.strictObject({ id: text(), ended: z.literal(true) });
const document = z.looseObject({ openapi: z.literal("3.1.0") });

export const OPERATIONS = {
  "get /session": {
    summary: "Who asks.",
    who: "anyone",
    answer: ["Principal", principal],
    errors: ["unauthorized", "too_many_failures"],
  },
  "post /session": {
    summary: "Signs in: the answer sets a cookie, which is good for twelve hours.",
    who: "anyone",
    body: requests.signInBody,
    answer: ["Principal", principal],
    errors: ["unauthorized", "too_many_failures"],
  },
  "delete /session": {
    summary: "Signs out: the session ends, and the browser forgets its cookie.",
    who: "anyone",
  },
  "get /openapi.json": {
    summary: "This document.",
    who: "anyone",
    answer: ["OpenApi", document],
  },
  "get /events": {
    summary: "Events of a filter, newest first, or with `order=asc` oldest first.",
    who: "viewer",
    query: requests.eventQuery,
    answer: ["EventPage", eventPage],
    errors: ["error_not_found"],
  },
  "get /event-count": {
    summary: "How many events match a filter, up to `max`.",
    who: "viewer",
    query: requests.eventCountQuery,
    answer: ["EventCount", bulk.eventCount],
    errors: ["error_not_found"],
  },
  "get /events/:source/:eventId": {
    summary:
      "One event with the first 256 kB of its body, failed attempts and generations; the id is URL-encoded.",
    who: "viewer",
    query: requests.detailQuery,
    answer: ["EventDetail", eventDetail],
    errors: ["event_not_found"],
  },
  "get /events/:source/:eventId/body": {
    summary: "The exact bytes of an event's body, or of a range of it, as a download.",
    who: "viewer",
    query: requests.bodyQuery,
    download: true,
    errors: ["event_not_found", "body_missing"],
  },
  "get /events/:source/:eventId/forward": {
    summary: "The bytes of an event's body, for `millrace forward` where its source allows that.",
    who: "viewer",
    query: requests.generationQuery,
    download: true,
    errors: ["event_not_found", "body_missing", "forbidden"],
  },
  "post /events/:source/:eventId/retry": {
    summary:
      "Runs a failed event again, with all its attempts; or now, if it waits for its next attempt.",
    who: "operator",
    query: requests.generationQuery,
    body: requests.reasonBody,
    answer: ["Retried", retried],
    errors: ["event_not_found", "unknown_source", "not_failed", "body_missing"],
  },
  "post /events/:source/:eventId/replay": {
    summary:
      "Runs a settled event once more, as a further generation; with `body_hash` with the other body of a conflict.",
    who: "operator",
    query: requests.replayQuery,
    body: requests.reasonBody,
    answer: ["Replayed", replayed],
    errors: ["event_not_found", "unknown_source", "not_settled", "superseded", "body_missing"],
  },
  "post /events/:source/:eventId/edit": {
    summary:
      "Sends an event with another body: a new event `<id>.edited-<n>` of the same source, marked as not from the sender.",
    who: "operator",
    query: requests.generationQuery,
    body: requests.editBody,
    bodyBytesMax: 4 * 1024 * 1024,
    answer: ["Edited", edited],
    errors: ["event_not_found", "unknown_source"],
  },
  "post /events/:source/:eventId/give-up": {
    summary: "Gives a pending event up: it fails with `given_up`, and only a retry runs it again.",
    who: "operator",
    query: requests.generationQuery,
    body: requests.reasonBody,
    answer: ["GivenUp", givenUp],
    errors: ["event_not_found", "not_pending", "event_running"],
  },
  "post /retry": {
    summary:
      "Starts a run that retries the failed events of a filter, or with `status` pending those that wait for their next attempt; or retries up to 500 that are named; a dry run counts.",
    who: "operator",
    body: requests.retryBody,
    bodyBytesMax: 1024 * 1024,
    answer: ["RetriedMany", bulk.retriedMany],
    starts: true,
    errors: ["unknown_source", "count_mismatch", "error_not_found"],
  },
  "post /replay": {
    summary: "Starts a run that replays the settled events of a filter; a dry run counts them.",
    who: "operator",
    body: requests.replayBody,
    answer: ["ReplayedMany", bulk.replayedMany],
    starts: true,
    errors: ["unknown_source", "count_mismatch", "error_not_found"],
  },
  "post /give-up": {
    summary: "Starts a run that gives the pending events of a filter up; a dry run counts them.",
    who: "operator",
    body: requests.giveUpBody,
    answer: ["GivenUpMany", bulk.givenUpMany],
    starts: true,
    errors: ["count_mismatch", "error_not_found"],
  },
  "get /errors": {
    summary: "Groups of equal errors, last seen first, or by `sort`.",
    who: "viewer",
    query: requests.errorQuery,
    answer: ["ErrorGroupPage", errorGroupPage],
  },
  "get /errors/:fingerprint": {
    summary: "One group of equal errors; the beginning of its fingerprint is enough.",
    who: "viewer",
    answer: ["ErrorDetail", errorDetail],
    errors: ["invalid_request", "error_not_found"],
  },
  "post /errors/:fingerprint": {
    summary: "Resolves, ignores or reopens a group of equal errors, or says who is on it.",
    who: "operator",
    body: requests.errorBody,
    answer: ["ErrorGroup", errorGroup],
    errors: ["invalid_request", "error_not_found", "error_not_open"],
  },
  "get /runs": {
    summary: "Bulk runs, newest first.",
    who: "viewer",
    query: requests.runsQuery,
    answer: ["BulkRuns", bulk.bulkRuns],
  },
  "get /runs/:id": {
    summary: "One bulk run and what became of its events.",
    who: "viewer",
    answer: ["BulkRunFound", bulk.startedRun],
    errors: ["run_not_found"],
  },
  "post /runs/:id": {
    summary: "Pauses, resumes, or stops a bulk run, or changes its rate.",
    who: "operator",
    body: requests.runBody,
    answer: ["BulkRunFound", bulk.startedRun],
    errors: ["run_not_found", "run_ended"],
  },
  "post /sources/:source/pause": {
    summary: "Makes every worker leave a source's events alone.",
    who: "operator",
    body: requests.reasonBody,
    answer: ["Paused", paused],
    errors: ["unknown_source"],
  },
  "post /sources/:source/resume": {
    summary: "Makes the workers run a source's events again.",
    who: "operator",
    body: requests.reasonBody,
    answer: ["Paused", paused],
    errors: ["unknown_source"],
  },
  "get /sessions": {
    summary: "Who is signed in, the newest first.",
    who: "viewer",
    answer: ["Sessions", sessionList],
  },
  "post /sessions/:id/end": {
    summary: "Ends a session, at every dashboard within ten seconds.",
    who: "operator",
    body: requests.reasonBody,
    answer: ["Ended", ended],
    errors: ["session_not_found"],
  },
  "get /health": {
    summary:
      "What needs attention: Redis, Postgres, leader, disagreements, waiting and paused events.",
    who: "viewer",
    answer: ["Health", health],
  },
  "get /stats": {
    summary: "Events by source and status, and jobs by source and state.",
    who: "viewer",
    answer: ["Stats", stats],
  },
  "get /activity": {
    summary: "What was recorded and ended in the last hour, day, week, or 30 days.",
    who: "viewer",
    query: requests.activityQuery,
    answer: ["Activity", activity],
  },
  "get /disagreements": {
    summary: "What ledger and queues disagree on, as `millrace doctor` has it.",
    who: "viewer",
    answer: ["Disagreements", disagreements],
  },
  "get /audit": {
    summary: "Who did what, when and why; newest first.",
    who: "viewer",
    query: requests.auditQuery,
    answer: ["AuditPage", auditPage],
  },
} as const satisfies Readonly<Record<`${Method} /${string}`, Operation>>;

type Method = "get" | "post" | "delete";
type Operations = typeof OPERATIONS;

export type OperationName = keyof Operations;

export function splitName(name: string): { method: Method; path: string } {
  const [method = "", path = ""] = name.split(" ");
  return { method: method as Method, path };
}

export type AnswerOf<Name extends OperationName> = Operations[Name] extends {
  answer: readonly [string, infer Schema extends z.ZodType];
}
  ? Wire<Schema>
  : void;

type Part<Name extends OperationName, Key extends "query" | "body"> =
  Operations[Name] extends Readonly<Record<Key, infer Schema extends z.ZodType>>
    ? Schema
    : z.ZodUndefined;

export type QueryOf<Name extends OperationName> = z.input<Part<Name, "query">>;
export type ReadQueryOf<Name extends OperationName> = Wire<Part<Name, "query">>;
export type BodyOf<Name extends OperationName> = z.input<Part<Name, "body">>;
export type ReadBodyOf<Name extends OperationName> = Wire<Part<Name, "body">>;

/** The parameters in the path of a call: `source` and `eventId` of `/events/:source/:eventId`. */
export type ParameterOf<Name extends string> =
  Name extends `${string}:${infer Parameter}/${infer Rest}`
    ? Parameter | ParameterOf<`/${Rest}`>
    : Name extends `${string}:${infer Parameter}`
      ? Parameter
      : never;
