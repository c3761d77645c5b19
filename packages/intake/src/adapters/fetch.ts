import { rejectEarly } from "../head-checks.ts";
import { BodyClock, refused } from "../incoming-body.ts";
import { earlyRejection, type Received } from "../received.ts";
import type { Receiver } from "../receiver.ts";
import { readStream } from "../request-body.ts";

/** Answers one request whose URL named a source. Never rejects. */
export type FetchHandler = (request: Request, source: string) => Promise<Response>;

/** For fetch's Request and Response (Hono, Next.js). Nothing may have read the body before. */
export function createFetchAdapter(receiver: Receiver): FetchHandler {
  const clock = new BodyClock(receiver.limits.bodyTimeoutMs);
  const { refuseHead, reportRefused: refuse } = receiver.headChecks;

  async function serve(request: Request, name: string): Promise<Received> {
    const source = receiver.source(name);
    const { method } = request;
    const headers = Object.fromEntries(request.headers);
    const rejection = receiver.closing
      ? earlyRejection("shutting_down")
      : rejectEarly({ method, headers }, source);
    if (rejection !== undefined) return refuse({ rejection, source });
    const isRead = request.bodyUsed || request.body?.locked === true;
    if (isRead) return refuse({ ...refused("body_already_read"), source });
    const { pathname, search } = new URL(request.url);
    const head = { method, url: `${pathname}${search}`, headers };
    if (request.body === null)
      return await receiver.receive({ ...head, source: name, body: EMPTY });
    const read =
      refuseHead(source, head) ??
      (await readStream(request.body, source, { clock, length: announcedIn(headers) }));
    if (!read.ok) return refuse({ ...read, source });
    try {
      return await receiver.receive({ ...head, source: name, body: read.body });
    } finally {
      read.pool.release(read.bytes);
    }
  }

  return async (request, source) => toResponse(await serve(request, source));
}

const EMPTY = new Uint8Array();

/** The length in the head, which no server may have checked; HTTP/2 may leave it out. */
function announcedIn(headers: Readonly<Record<string, string>>): number | undefined {
  const announced = headers["content-length"] ?? "";
  return /^\d{1,15}$/.test(announced) ? Number(announced) : undefined;
}

// A Response with one of these may not have a body, not even an empty one.
const BODILESS: ReadonlySet<number> = new Set([101, 204, 205, 304]);

function toResponse({ status, headers, body }: Received): Response {
  return new Response(BODILESS.has(status) ? null : body, { status, headers });
}
