import type { IncomingMessage } from "node:http";
import { lengthOf, type SourceLimits } from "./head-checks.ts";
import { poolFor } from "./byte-budget.ts";
import { IncomingBody, refused, type BodyClock, type BodyRead } from "./incoming-body.ts";

/** As nearly every webhook does: the buffer that the parser made. */
export function readArrived(request: IncomingMessage, source: SourceLimits): BodyRead | undefined {
  const bytes = lengthOf(request);
  // A body in chunks is counted by chunks; a stream with a second reader comes in pieces.
  if (bytes === undefined || bytes !== request.readableLength) return undefined;
  if (request.readableFlowing !== null) return undefined;
  const pool = poolFor(source.bytes, bytes);
  const shortage = pool.take(bytes);
  if (shortage !== undefined) return refused("overloaded", shortage);
  const body = (request.read() as Buffer | null) ?? Buffer.alloc(0);
  // Its end has not come: a middleware that waits for it, or for the close behind it, gets both.
  request.resume();
  return { ok: true, body, pool, bytes };
}

/** Refuses a body that those that are held now leave no chance. */
export function refuseUnfit(source: SourceLimits, bytes: number): BodyRead | undefined {
  const shortage = poolFor(source.bytes, bytes).admits(bytes);
  return shortage && refused("overloaded", shortage);
}

export function readBody(
  request: IncomingMessage,
  source: SourceLimits,
  { clock, onBegin }: { clock: BodyClock; onBegin?: (() => void) | undefined },
): Promise<BodyRead> {
  const length = lengthOf(request);
  const unfit = refuseUnfit(source, length ?? 0);
  if (unfit !== undefined) return Promise.resolve(unfit);
  // It was cut off before anyone listened.
  if (request.destroyed) return Promise.resolve(refused("body_incomplete"));
  return new Promise((resolve) => {
    const { bytes, bodyBytesMax: bytesMax } = source;
    const body = new IncomingBody({ bytesMax, bytes, clock, length }, resolve);
    // A request that has ended is closed later, when its body is over.
    const onCut = () => body.refuse("body_incomplete");
    request
      .on("data", (chunk: Buffer) => body.add(chunk))
      .on("end", () => body.end())
      .on("close", onCut)
      .on("error", onCut);
    onBegin?.();
  });
}

export function readStream(
  stream: ReadableStream<Uint8Array>,
  source: SourceLimits,
  { clock, length }: { clock: BodyClock; length: number | undefined },
): Promise<BodyRead> {
  const unfit = refuseUnfit(source, length ?? 0);
  if (unfit !== undefined) return Promise.resolve(unfit);
  return new Promise((resolve) => {
    const { bytes, bodyBytesMax: bytesMax } = source;
    const reader = stream.getReader();
    const body = new IncomingBody({ bytesMax, bytes, clock, length }, (read) => {
      // The sender may be gone already.
      if (!read.ok) reader.cancel().catch(() => {});
      resolve(read);
    });
    void pump(reader, body);
  });
}

async function pump(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  body: IncomingBody,
): Promise<void> {
  try {
    while (!body.isOver) {
      const { done, value } = await reader.read();
      if (done) return body.end();
      body.add(value);
    }
  } catch {
    body.refuse("body_incomplete");
  }
}
