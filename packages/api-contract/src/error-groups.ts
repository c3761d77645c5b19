import { z } from "zod";
import { count, errorCode, instant, text, type Wire } from "./values.ts";

export const ERROR_STATES = ["open", "resolved", "ignored"] as const;
/** By attempts, or by when it was seen first or last: the greatest and newest first. */
export const ERROR_ORDERS = ["count", "first", "last"] as const;
export type ErrorState = (typeof ERROR_STATES)[number];

export const errorGroup = z.strictObject({
  fingerprint: text("Equal errors have the same one."),
  title: text("The error's text; what varies in it is replaced, such as ids and numbers."),
  code: errorCode("A code of the error registry."),
  state: z.enum(ERROR_STATES).describe("A resolved error that comes back is open again."),
  note: text("By the person who set the state.").nullable(),
  state_by: text().nullable(),
  state_at: instant().nullable(),
  owner: text("Who is on it, until it is resolved or ignored.").nullable(),
  reopened_at: instant(
    "When it came back after it was resolved; null again after a person sets another state.",
  ).nullable(),
  attempts: count("Failed attempts."),
  failed: count("Events that it has failed, and that nobody has retried since."),
  pending: count("Events that are to be attempted again after it."),
  first_seen_at: instant(),
  last_seen_at: instant(),
  sources: z
    .array(z.strictObject({ source: text(), type: text(), attempts: count() }))
    .describe("Where it was seen, most attempts first."),
  sample: z
    .strictObject({ source: text(), event_id: text(), generation: count() })
    .describe("An event that it failed lately."),
  line: text("File and line of your code that threw it; null where they are not known.").nullable(),
});
export type ErrorGroup = Wire<typeof errorGroup>;

export const errorDetail = errorGroup.extend({
  hours: z
    .array(z.strictObject({ at: instant("When it began."), events: count() }))
    .describe("Events of the last 24 hours whose last error it is, by the hour of their record."),
});
export type ErrorDetail = Wire<typeof errorDetail>;

export const errorGroupPage = z.strictObject({
  errors: z.array(errorGroup).describe("Last seen first, or by `sort`."),
  total: count("How many there are of the filter."),
});
export type ErrorGroupPage = Wire<typeof errorGroupPage>;
