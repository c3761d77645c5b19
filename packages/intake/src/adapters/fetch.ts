import { earlyRejection, type Received } from "../received.ts";
import type { Receiver } from "../receiver.ts";
import { readStream, rejectEarly } from "../request-body.ts";

/** Answers one request whose URL named a source. Never rejects. */
export type FetchHandler = (request: Request, source: string) => Promise<Response>;

/**
 * Makes a handler of fetch's Request and Response, as Hono, Next.js and others have them. It reads the
 * body, which nothing may have read before, under the receiver's limits.
 */
export function createFetchAdapter(receiver: Receiver): FetchHandler {
  const { bodyTimeoutMs: timeoutMs } = receiver.limits;
  const { budget } = receiver;

  async function serve(request: Request, name: string): Promise<Received> {
    const source = receiver.source(name);
    const { method } = request;
    const headers = Object.fromEntries(request.headers);
    const rejection = receiver.closing
      ? earlyRejection("shutting_down")
      : rejectEarly({ method, headers }, source, budget);
    if (rejection !== undefined) return rejected(rejection, source && name);
    if (request.bodyUsed) return rejected(earlyRejection("body_already_read"), name);
    const bytesMax = source?.bodyBytesMax ?? 0;
    const read = await readStream(request.body, { bytesMax, timeoutMs, budget });
    if (!read.ok) return rejected(earlyRejection(read.code), name);
    try {
      const { pathname, search } = new URL(request.url);
      const url = `${pathname}${search}`;
      return await receiver.receive({ source: name, method, url, headers, body: read.body });
    } finally {
      budget.release(read.body.length);
    }
  }

  function rejected(rejection: Received, source: string | undefined): Received {
    const { outcome, code } = rejection;
    receiver.notify({ kind: "answered", source, outcome, code, durationMs: 0 });
    return rejection;
  }

  return async (request, source) => toResponse(await serve(request, source));
}

// A Response with one of these may not have a body, not even an empty one.
const BODILESS: ReadonlySet<number> = new Set([101, 204, 205, 304]);

function toResponse({ status, headers, body }: Received): Response {
  return new Response(BODILESS.has(status) ? null : body, { status, headers });
}
