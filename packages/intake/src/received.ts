import { errorBody, statusOf, type Answer, type ErrorCode } from "@millrace/core";

/** One HTTP request, whole, in terms that every framework has. */
export interface ReceiveRequest {
  /** The name in the URL. */
  readonly source: string;
  readonly method: string;
  /** Path and query as they stood on the request line. */
  readonly url: string;
  /** Lower-case names; a header that came twice is its values joined with ", ". */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** The bytes as they came, neither parsed nor decompressed. */
  readonly body: Uint8Array;
}

/** What to answer the sender, and what became of the delivery. */
export interface Received {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly outcome: "accepted" | "duplicate" | "handshake" | "rejected";
  /** Why it was rejected. */
  readonly code?: ErrorCode;
}

const JSON_HEADERS = { "content-type": "application/json; charset=utf-8" };

/** An answer in our own words. */
export function ownAnswer(outcome: "accepted" | "duplicate"): Received {
  return {
    status: outcome === "accepted" ? 202 : 200,
    headers: JSON_HEADERS,
    body: JSON.stringify({ status: outcome }),
    outcome,
  };
}

/** An answer in the provider's words. */
export function providerAnswer(outcome: Received["outcome"], answer: Answer): Received {
  const headers = Object.fromEntries(
    Object.entries(answer.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
  );
  // What a handshake echoes came from outside: no browser may take it for a page.
  if (answer.body !== "") headers["content-type"] ??= "text/plain; charset=utf-8";
  return { status: answer.status, headers, body: answer.body, outcome };
}

/**
 * The answer to a delivery that is not taken in. Whatever failed of a signature, the sender reads
 * the same sentence: the provider's own, which may say which part, goes nowhere.
 */
export function rejection(
  code: ErrorCode,
  message: string,
  headers?: Readonly<Record<string, string>>,
): Received {
  const status = statusOf(code);
  const text =
    status === 401 ? "Cannot accept the delivery: it is not signed as it must be" : message;
  return {
    status,
    headers: { ...JSON_HEADERS, ...(status === 503 ? retryAfter() : {}), ...headers },
    body: JSON.stringify(errorBody(code, text)),
    outcome: "rejected",
    code,
  };
}

// Spread, so that senders that were refused together do not come back together.
function retryAfter(): Record<string, string> {
  return { "retry-after": String(1 + Math.floor(Math.random() * 5)) };
}
