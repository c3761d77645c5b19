import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { poolFor, type SourceBytes } from "./byte-budget.ts";
import { earlyRejection, rejection, type Received } from "./received.ts";

const inflateGzip = promisify(gunzip);
/** DEFLATE makes at most about 1,032 bytes of one. */
const RATIO_MAX = 1_032;

export interface Inflated {
  readonly bytes: Uint8Array;
  /** Returns the bytes to the budget, when the delivery is answered. */
  release(): void;
}

/** By the bytes: the header that says so is never signed. No JSON and no form begins like it. */
export function isGzip(body: Uint8Array): boolean {
  return body[0] === 0x1f && body[1] === 0x8b;
}

export async function inflate(
  body: Uint8Array,
  source: { readonly bytes: SourceBytes; readonly bodyBytesMax: number },
): Promise<Inflated | Received> {
  const bytesMax = Math.min(source.bodyBytesMax, body.byteLength * RATIO_MAX);
  const pool = poolFor(source.bytes, bytesMax);
  if (pool.take(bytesMax) !== undefined) return earlyRejection("overloaded");
  try {
    const bytes = await inflateGzip(body, { maxOutputLength: bytesMax });
    return { bytes, release: () => pool.release(bytesMax) };
  } catch (error) {
    pool.release(bytesMax);
    const isTooLarge = error instanceof RangeError;
    return isTooLarge
      ? earlyRejection("body_too_large")
      : rejection("invalid_body", "Cannot read the body: it is no valid gzip");
  }
}
