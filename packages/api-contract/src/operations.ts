import type { ErrorCode } from "@millrace/core";
import { z } from "zod";
import { auditPage, principal } from "./audit.ts";
import { eventDetail, eventPage } from "./events.ts";
import { activity, disagreements, stats } from "./overviews.ts";
import {
  activityQuery,
  auditQuery,
  eventQuery,
  generationQuery,
  reasonBody,
  replayBody,
  retryBody,
  signInBody,
} from "./requests.ts";
import { count, text, type Wire } from "./values.ts";

/** One call of the API. Its name is its method and its path below `/api`, as a router has them. */
export interface Operation {
  readonly summary: string;
  /** Who may; `anyone` needs no session and no token. */
  readonly who: "anyone" | "viewer" | "operator";
  readonly query?: z.ZodObject;
  readonly body?: z.ZodObject;
  /** What a call that went well is answered: a schema with its name, or nothing, with 204. */
  readonly answer?: readonly [name: string, schema: z.ZodType];
  /** What it may be refused with, besides what every call may. */
  readonly errors?: readonly ErrorCode[];
}

const skipped = z
  .record(z.string(), z.int().min(1))
  .describe("How many events were left alone, by reason.");
const retried = z.strictObject({ retried: z.literal(1), skipped });
const replayed = z.strictObject({
  replayed: z.literal(1),
  skipped,
  generation: count("The new one."),
});
const retriedMany = z.strictObject({ retried: count(), skipped, dryRun: z.boolean() });
const replayedMany = z.strictObject({ replayed: count(), skipped, dryRun: z.boolean() });
const paused = z.strictObject({ source: text(), paused: z.boolean() });
const document = z.looseObject({ openapi: z.literal("3.1.0") });

/** Every call of the API. */
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
    body: signInBody,
    answer: ["Principal", principal],
    errors: ["unauthorized", "too_many_failures"],
  },
  "delete /session": {
    summary: "Signs out: the browser forgets its cookie.",
    who: "anyone",
  },
  "get /openapi.json": {
    summary: "This document.",
    who: "anyone",
    answer: ["OpenApi", document],
  },
  "get /events": {
    summary: "Events of a filter, newest first.",
    who: "viewer",
    query: eventQuery,
    answer: ["EventPage", eventPage],
    errors: ["invalid_request"],
  },
  "get /events/:source/:eventId": {
    summary: "One event with its payload, failed attempts and generations; the id is URL-encoded.",
    who: "viewer",
    query: generationQuery,
    answer: ["EventDetail", eventDetail],
    errors: ["invalid_request", "event_not_found"],
  },
  "post /events/:source/:eventId/retry": {
    summary: "Runs a failed event again, with all its attempts.",
    who: "operator",
    query: generationQuery,
    body: reasonBody,
    answer: ["Retried", retried],
    errors: ["event_not_found", "unknown_source", "not_failed", "body_missing"],
  },
  "post /events/:source/:eventId/replay": {
    summary: "Runs a settled event once more, as a further generation.",
    who: "operator",
    query: generationQuery,
    body: reasonBody,
    answer: ["Replayed", replayed],
    errors: ["event_not_found", "unknown_source", "not_settled", "superseded", "body_missing"],
  },
  "post /retry": {
    summary: "Retries the failed events of a filter; an empty one needs `all`.",
    who: "operator",
    body: retryBody,
    answer: ["RetriedMany", retriedMany],
    errors: ["unknown_source"],
  },
  "post /replay": {
    summary: "Replays the settled events of a filter; an empty one needs `all`.",
    who: "operator",
    body: replayBody,
    answer: ["ReplayedMany", replayedMany],
    errors: ["unknown_source"],
  },
  "post /sources/:source/pause": {
    summary: "Makes every worker leave a source's events alone.",
    who: "operator",
    body: reasonBody,
    answer: ["Paused", paused],
    errors: ["unknown_source"],
  },
  "post /sources/:source/resume": {
    summary: "Makes the workers run a source's events again.",
    who: "operator",
    body: reasonBody,
    answer: ["Paused", paused],
    errors: ["unknown_source"],
  },
  "get /stats": {
    summary: "Events by source and status, and jobs by source and state.",
    who: "viewer",
    answer: ["Stats", stats],
  },
  "get /activity": {
    summary: "The last hour by minute.",
    who: "viewer",
    query: activityQuery,
    answer: ["Activity", activity],
    errors: ["invalid_request"],
  },
  "get /disagreements": {
    summary: "What ledger and queues disagree on, as `millrace doctor` has it.",
    who: "viewer",
    answer: ["Disagreements", disagreements],
  },
  "get /audit": {
    summary: "Who did what, when and why; newest first.",
    who: "viewer",
    query: auditQuery,
    answer: ["AuditPage", auditPage],
    errors: ["invalid_request"],
  },
} as const satisfies Readonly<Record<`${Method} /${string}`, Operation>>;

type Method = "get" | "post" | "delete";
type Operations = typeof OPERATIONS;

/** `get /events/:source/:eventId` */
export type OperationName = keyof Operations;

/** The method and the path of an operation's name. */
export function splitName(name: string): { method: Method; path: string } {
  const [method = "", path = ""] = name.split(" ");
  return { method: method as Method, path };
}

/** What a call that went well is answered; nothing for 204. */
export type AnswerOf<Name extends OperationName> = Operations[Name] extends {
  answer: readonly [string, infer Schema extends z.ZodType];
}
  ? Wire<Schema>
  : void;

/** A call's query as it is sent, before defaults and before its texts are read as numbers or times. */
export type QueryOf<Name extends OperationName> = Operations[Name] extends {
  query: infer Schema extends z.ZodType;
}
  ? z.input<Schema>
  : undefined;

/** A call's query as its handler gets it. */
export type ReadQueryOf<Name extends OperationName> = Operations[Name] extends {
  query: infer Schema extends z.ZodType;
}
  ? Wire<Schema>
  : undefined;

/** A call's body as it is sent. */
export type BodyOf<Name extends OperationName> = Operations[Name] extends {
  body: infer Schema extends z.ZodType;
}
  ? z.input<Schema>
  : undefined;

/** A call's body as its handler gets it. */
export type ReadBodyOf<Name extends OperationName> = Operations[Name] extends {
  body: infer Schema extends z.ZodType;
}
  ? Wire<Schema>
  : undefined;

/** What the path of a call names: `source` and `eventId` of `/events/:source/:eventId`. */
export type ParameterOf<Name extends string> =
  Name extends `${string}:${infer Parameter}/${infer Rest}`
    ? Parameter | ParameterOf<`/${Rest}`>
    : Name extends `${string}:${infer Parameter}`
      ? Parameter
      : never;
