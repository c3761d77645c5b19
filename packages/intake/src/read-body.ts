import type { IncomingMessage } from "node:http";
import type { ByteBudget } from "./byte-budget.ts";

/** A body that came whole, or why it did not. Its bytes stay taken until the caller releases them. */
export type BodyRead =
  | { readonly ok: true; readonly body: Buffer }
  | {
      readonly ok: false;
      readonly code: "body_too_large" | "body_timeout" | "body_incomplete" | "overloaded";
    };

const EMPTY = Buffer.alloc(0);

/**
 * Reads a request's body as the bytes that came, under a limit, a deadline and the budget of all
 * requests together. Bytes are taken from the budget as they come and not as they are announced:
 * a sender that announces much and sends nothing takes no room from the others. After a refusal
 * the request is paused, and nothing of it is kept.
 */
export function readBody(
  request: IncomingMessage,
  limits: { bytesMax: number; timeoutMs: number; budget: ByteBudget },
): Promise<BodyRead> {
  const { bytesMax, timeoutMs, budget } = limits;
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const timer = setTimeout(() => refuse("body_timeout"), timeoutMs);

    function onData(chunk: Buffer): void {
      if (bytes + chunk.length > bytesMax) return refuse("body_too_large");
      if (!budget.take(chunk.length)) return refuse("overloaded");
      bytes += chunk.length;
      chunks.push(chunk);
    }

    function onEnd(): void {
      settle({ ok: true, body: joined(chunks, bytes) });
    }

    function onCut(): void {
      refuse("body_incomplete");
    }

    function refuse(code: (BodyRead & { ok: false })["code"]): void {
      budget.release(bytes);
      request.pause();
      settle({ ok: false, code });
    }

    function settle(result: BodyRead): void {
      clearTimeout(timer);
      request.off("data", onData).off("end", onEnd).off("close", onCut).off("error", onCut);
      resolve(result);
    }

    request.on("data", onData).on("end", onEnd).on("close", onCut).on("error", onCut);
  });
}

// Nearly every webhook comes in one piece, and is not copied.
function joined(chunks: readonly Buffer[], bytes: number): Buffer {
  const [first] = chunks;
  if (first === undefined) return EMPTY;
  return chunks.length === 1 ? first : Buffer.concat(chunks, bytes);
}
