import {
  errorBody,
  statusOf,
  type Answer,
  type Delivery,
  type ErrorCode,
  type SignatureFailure,
} from "@millrace/core";

export interface ReceiveRequest extends Pick<Delivery, "method" | "url" | "headers" | "body"> {
  readonly source: string;
}

export interface Received {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly outcome: "accepted" | "duplicate" | "handshake" | "rejected";
  readonly code?: ErrorCode;
  readonly failure?: SignatureFailure | undefined;
}

const JSON_HEADERS = { "content-type": "application/json; charset=utf-8" };

export function ownAnswer(outcome: "accepted" | "duplicate"): Received {
  return {
    status: outcome === "accepted" ? 202 : 200,
    headers: JSON_HEADERS,
    body: JSON.stringify({ status: outcome }),
    outcome,
  };
}

export function providerAnswer(outcome: Received["outcome"], answer: Answer): Received {
  const headers = Object.fromEntries(
    Object.entries(answer.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
  );
  // A handshake echoes what a stranger sent: no browser may take it for a page.
  if (answer.body !== "") headers["content-type"] ??= "text/plain; charset=utf-8";
  return { status: answer.status, headers, body: answer.body, outcome };
}

/** Every check of a signature gives the same sentence. */
export function rejection(
  code: ErrorCode,
  message: string,
  headers?: Readonly<Record<string, string>>,
): Received {
  const status = statusOf(code);
  const text =
    status === 401 ? "Cannot accept the delivery: its signature is missing or not valid" : message;
  // Spread out, so that senders that were refused together do not come back together.
  const retryAfterSeconds = 1 + Math.floor(Math.random() * 5);
  const retry = status === 503 && { "retry-after": String(retryAfterSeconds) };
  return {
    status,
    headers: { ...JSON_HEADERS, ...retry, ...headers },
    body: JSON.stringify(errorBody(code, text)),
    outcome: "rejected",
    code,
  };
}

/** The response to an unchecked signature is that of a wrong one: a stranger learns no source. */
export function unverified(code: ErrorCode, failure?: SignatureFailure): Received {
  return { ...rejection("invalid_signature", ""), code, failure };
}

export function methodNotAllowed(methods: readonly string[]): Received {
  const allow = methods.join(", ");
  const message = `Cannot receive webhooks by this method: use ${allow}`;
  return rejection("method_not_allowed", message, { allow });
}

const MESSAGES = {
  malformed_request: "Cannot read the request: it needs one Host header",
  headers_too_large: "Cannot read the request: its headers are larger than 16 kB",
  expectation_failed: "Cannot meet the request's Expect: only 100-continue is supported",
  body_too_large: "Cannot take the body: it is larger than this source accepts",
  body_timeout: "Cannot take the body: it did not arrive in time",
  too_many_chunks: "Cannot take the body: it came in too many tiny chunks",
  body_incomplete: "Cannot take the body: the connection ended before it was complete",
  body_already_read:
    "Cannot verify the delivery: its body was read before. Mount receiver.express() before express.json() and any other body parser, or use express.raw(), and give receiver.node() and receiver.fetch() the unread request, or one with its bytes in rawBody",
  unsupported_encoding: "Cannot take the body: it is compressed. Send the bytes that were signed",
  overloaded: "Cannot take the body: too many bytes are in flight",
  shutting_down: "Cannot take the delivery: this process is closing",
} as const satisfies Partial<Record<ErrorCode, string>>;

export function earlyRejection(code: keyof typeof MESSAGES): Received {
  return rejection(code, MESSAGES[code]);
}

/** True when the connection ends with this rejection: the rest of its body is not worth reading. */
export function endsConnection({ code }: Received): boolean {
  // Of a body that was read before, there is no rest.
  return code !== undefined && code !== "body_already_read" && Object.hasOwn(MESSAGES, code);
}
