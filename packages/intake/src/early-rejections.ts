import type { ErrorCode } from "@millrace/core";
import { methodNotAllowed, rejection, unknownSource, type Received } from "./received.ts";
import type { SourceLimits } from "./receiver.ts";
import type { ByteBudget } from "./request-body.ts";

const MESSAGES = {
  malformed_request: "Cannot read the request: it has no Host",
  expectation_failed: "Cannot meet the request's Expect: only 100-continue is known",
  body_too_large: "Cannot take the body: it is larger than this source accepts",
  body_timeout: "Cannot take the body: it did not arrive in time",
  body_incomplete: "Cannot take the body: the connection ended before it did",
  body_already_read:
    "Cannot verify the delivery: its body was read before. Mount receiver.express() before express.json() and any other body parser, and give receiver.fetch() the raw request",
  unsupported_encoding: "Cannot take the body: it is compressed. Send the bytes that were signed",
  overloaded: "Cannot take the body: too many bytes are in flight",
  shutting_down: "Cannot take the delivery: this process is closing",
} as const satisfies Partial<Record<ErrorCode, string>>;

/** A rejection by an adapter, before the receiver has seen the delivery. */
export function earlyRejection(code: keyof typeof MESSAGES): Received {
  return rejection(code, MESSAGES[code]);
}

/** The head of a request, of any framework. Header names are lower-case. */
export interface RequestHead {
  readonly method?: string | undefined;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

/** Rejects what can be rejected by the request's head alone; undefined lets the body be read. */
export function rejectEarly(
  request: RequestHead,
  source: SourceLimits | undefined,
  budget: ByteBudget,
): Received | undefined {
  if (source === undefined) return unknownSource();
  if (!source.methods.includes(request.method ?? "")) return methodNotAllowed(source.methods);
  const encoding = String(request.headers["content-encoding"] ?? "identity");
  if (encoding.trim().toLowerCase() !== "identity") return earlyRejection("unsupported_encoding");
  // Node has refused what is not a number, and two that differ.
  const announced = Number(request.headers["content-length"] ?? 0);
  if (announced > source.bodyBytesMax) return earlyRejection("body_too_large");
  if (!budget.fits(announced)) return earlyRejection("overloaded");
  return undefined;
}

/** Whether the connection ends with this rejection: the rest of its body is not worth reading. */
export function endsConnection({ code }: Received): boolean {
  return code !== undefined && ENDING.has(code);
}

const ENDING: ReadonlySet<ErrorCode> = new Set([
  "malformed_request",
  "expectation_failed",
  "body_too_large",
  "body_timeout",
  "body_incomplete",
  "unsupported_encoding",
  "overloaded",
  "shutting_down",
] as const);
