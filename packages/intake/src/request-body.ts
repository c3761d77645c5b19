import type { IncomingMessage } from "node:http";
import type { Deadlines } from "@millrace/core";
import { earlyRejection, methodNotAllowed, unknownSource, type Received } from "./received.ts";

/** Bytes held at once, over all requests of a receiver. What does not fit is refused, never queued. */
export interface ByteBudget {
  /** Takes bytes, or refuses and takes none. */
  take(bytes: number): boolean;
  /** Whether this many would fit now. */
  fits(bytes: number): boolean;
  release(bytes: number): void;
  readonly taken: number;
}

/** Makes a budget of `bytesMax` bytes. */
export function createByteBudget(bytesMax: number): ByteBudget {
  let taken = 0;
  const fits = (bytes: number) => taken + bytes <= bytesMax;
  return {
    fits,
    take: (bytes) => {
      if (!fits(bytes)) return false;
      taken += bytes;
      return true;
    },
    release: (bytes) => {
      taken -= bytes;
    },
    get taken() {
      return taken;
    },
  };
}

/** What an adapter needs to know of a source before it reads a body. */
export interface SourceLimits {
  readonly methods: readonly string[];
  readonly bodyBytesMax: number;
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

/** A body that came whole, or why it did not. Its bytes stay taken until the caller releases them. */
export type BodyRead = { readonly ok: true; readonly body: Buffer } | BodyRefused;

interface BodyRefused {
  readonly ok: false;
  readonly code: "body_too_large" | "body_timeout" | "body_incomplete" | "overloaded";
}

interface BodyLimits {
  readonly bytesMax: number;
  /** Bytes are taken from it as they arrive and not as they are announced: a sender that announces
   * much and sends nothing takes no capacity from the others. */
  readonly budget: ByteBudget;
}

/**
 * Reads the body of a node:http request as the bytes that came, under a limit, a deadline and the
 * budget of all requests. After a refusal the request is paused, and nothing of it is kept.
 */
export function readBody(
  request: IncomingMessage,
  limits: BodyLimits & { deadlines: Deadlines<() => void> },
): Promise<BodyRead> {
  return new Promise((resolve) => {
    const collected = new CollectedBody(limits);
    let isOver = false;

    function onData(chunk: Buffer): void {
      const problem = collected.add(chunk);
      if (problem !== undefined) refuse(problem);
    }

    function onEnd(): void {
      isOver = true;
      limits.deadlines.delete(onLate);
      resolve({ ok: true, body: collected.join() });
    }

    function onCut(): void {
      // A request that has ended is closed later.
      if (!isOver) refuse("body_incomplete");
    }

    function onLate(): void {
      refuse("body_timeout");
    }

    function refuse(code: BodyRefused["code"]): void {
      isOver = true;
      limits.deadlines.delete(onLate);
      request.pause();
      request.off("data", onData).off("end", onEnd).off("close", onCut).off("error", onCut);
      resolve(collected.discard(code));
    }

    limits.deadlines.add(onLate);
    request.on("data", onData).on("end", onEnd).on("close", onCut).on("error", onCut);
  });
}

/**
 * Reads the body of a fetch request, as `readBody` does for node:http. After a refusal the stream is
 * cancelled, and nothing of it is kept.
 */
export async function readStream(
  stream: ReadableStream<Uint8Array> | null,
  limits: BodyLimits & { timeoutMs: number },
): Promise<BodyRead> {
  const collected = new CollectedBody(limits);
  if (stream === null) return { ok: true, body: collected.join() };
  const reader = stream.getReader();
  const refuse = (code: BodyRefused["code"]): BodyRead => {
    // The sender may be gone already.
    reader.cancel().catch(() => {});
    return collected.discard(code);
  };
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<"late">((resolve) => {
    timer = setTimeout(resolve, limits.timeoutMs, "late");
  });
  try {
    for (;;) {
      const read = await Promise.race([reader.read(), late]);
      if (read === "late") return refuse("body_timeout");
      if (read.done) return { ok: true, body: collected.join() };
      const problem = collected.add(read.value);
      if (problem !== undefined) return refuse(problem);
    }
  } catch {
    return refuse("body_incomplete");
  } finally {
    clearTimeout(timer);
  }
}

/** The chunks of one body, as far as limit and budget let them in. */
class CollectedBody {
  readonly #limits: BodyLimits;
  readonly #chunks: Uint8Array[] = [];
  #bytes = 0;

  constructor(limits: BodyLimits) {
    this.#limits = limits;
  }

  add(chunk: Uint8Array): "body_too_large" | "overloaded" | undefined {
    if (this.#bytes + chunk.length > this.#limits.bytesMax) return "body_too_large";
    if (!this.#limits.budget.take(chunk.length)) return "overloaded";
    this.#bytes += chunk.length;
    this.#chunks.push(chunk);
    return undefined;
  }

  /** Nearly every webhook comes in one piece, and is not copied. */
  join(): Buffer {
    const [first] = this.#chunks;
    if (first === undefined || this.#chunks.length > 1) {
      return Buffer.concat(this.#chunks, this.#bytes);
    }
    if (Buffer.isBuffer(first)) return first;
    return Buffer.from(first.buffer, first.byteOffset, first.byteLength);
  }

  discard(code: BodyRefused["code"]): BodyRefused {
    this.#limits.budget.release(this.#bytes);
    return { ok: false, code };
  }
}
