import { createByteBudget } from "./byte-budget.ts";
import type { Receiver } from "./create-receiver.ts";
import { doorRefusal, refuseEarly } from "./door-refusals.ts";
import { readStream } from "./read-stream.ts";
import type { Received } from "./received.ts";

/** Answers one request whose URL named a source. Never rejects. */
export type FetchHandler = (request: Request, source: string) => Promise<Response>;

/**
 * Makes a receiver a handler of fetch's Request and Response, as Hono, Next.js and others have them:
 * `app.all("/webhooks/:source", (c) => handle(c.req.raw, c.req.param("source")))`. The body must not
 * have been read; it is, under the receiver's limits, as the bytes that came.
 */
export function millraceFetch(receiver: Receiver): FetchHandler {
  const { bodyTimeoutMs: timeoutMs, inFlightBytesMax } = receiver.limits;
  const budget = createByteBudget(inFlightBytesMax);

  async function serve(request: Request, name: string): Promise<Received> {
    const source = receiver.source(name);
    const { method } = request;
    const headers = Object.fromEntries(request.headers);
    const refusal = receiver.closing
      ? doorRefusal("shutting_down")
      : refuseEarly({ method, headers }, source, budget);
    if (refusal !== undefined) return refused(refusal, source && name);
    if (request.bodyUsed) return refused(doorRefusal("body_already_read"), name);
    const bytesMax = source?.bodyBytesMax ?? 0;
    const read = await readStream(request.body, { bytesMax, timeoutMs, budget });
    if (!read.ok) return refused(doorRefusal(read.code), name);
    try {
      const { pathname, search } = new URL(request.url);
      const url = `${pathname}${search}`;
      return await receiver.receive({ source: name, method, url, headers, body: read.body });
    } finally {
      budget.release(read.body.length);
    }
  }

  function refused(refusal: Received, source: string | undefined): Received {
    const { outcome, code } = refusal;
    receiver.notify({ kind: "answered", source, outcome, code, durationMs: 0 });
    return refusal;
  }

  return async (request, source) => toResponse(await serve(request, source));
}

// A Response with one of these may not have a body, not even an empty one.
const BODILESS: ReadonlySet<number> = new Set([101, 204, 205, 304]);

function toResponse({ status, headers, body }: Received): Response {
  return new Response(BODILESS.has(status) ? null : body, { status, headers });
}
