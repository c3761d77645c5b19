import type { ByteBudget } from "./byte-budget.ts";
import type { BodyRead } from "./read-body.ts";

/**
 * Reads a fetch request's body as the bytes that came, as `readBody` does one of node:http. After a
 * refusal the stream is cancelled, and nothing of it is kept.
 */
export async function readStream(
  stream: ReadableStream<Uint8Array> | null,
  limits: { bytesMax: number; timeoutMs: number; budget: ByteBudget },
): Promise<BodyRead> {
  if (stream === null) return { ok: true, body: Buffer.alloc(0) };
  const { bytesMax, budget } = limits;
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const deadline = createDeadline(limits.timeoutMs);
  const reader = stream.getReader();
  const refuse = (code: (BodyRead & { ok: false })["code"]): BodyRead => {
    budget.release(bytes);
    // The sender may be gone already.
    reader.cancel().catch(() => {});
    return { ok: false, code };
  };
  try {
    for (;;) {
      const read = await Promise.race([reader.read(), deadline.late]);
      if (read === "late") return refuse("body_timeout");
      if (read.done) return { ok: true, body: Buffer.concat(chunks, bytes) };
      if (bytes + read.value.length > bytesMax) return refuse("body_too_large");
      if (!budget.take(read.value.length)) return refuse("overloaded");
      bytes += read.value.length;
      chunks.push(read.value);
    }
  } catch {
    return refuse("body_incomplete");
  } finally {
    deadline.clear();
  }
}

function createDeadline(timeoutMs: number): { late: Promise<"late">; clear(): void } {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<"late">((resolve) => {
    timer = setTimeout(resolve, timeoutMs, "late");
  });
  return { late, clear: () => clearTimeout(timer) };
}
