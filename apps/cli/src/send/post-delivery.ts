import { jsonOf } from "@millrace/core";

export type Reply =
  | { readonly kind: "answer"; readonly status: number; readonly body: string; readonly ms: number }
  | { readonly kind: "no_answer"; readonly reason: string; readonly refused: boolean };

const TIMEOUT_MS = 15_000;

export async function postDelivery(
  url: URL,
  headers: Readonly<Record<string, string>>,
  bytes: Uint8Array,
): Promise<Reply> {
  const startedAt = performance.now();
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const body = bytes as Uint8Array<ArrayBuffer>;
    const answer = await fetch(url, { method: "POST", headers, body, signal, redirect: "manual" });
    const text = await answer.text();
    const ms = performance.now() - startedAt;
    return { kind: "answer", status: answer.status, body: text, ms };
  } catch (error) {
    return noAnswer(error as Error);
  }
}

function noAnswer(error: Error): Reply {
  // Every address of a host refused: the reason stands in the first of the errors within.
  const { cause = error } = error;
  const first: unknown = cause instanceof AggregateError ? cause.errors[0] : cause;
  const { code, message }: NodeJS.ErrnoException = first instanceof Error ? first : error;
  const refused = code === "ECONNREFUSED" || code === "ENOTFOUND";
  return { kind: "no_answer", reason: message, refused };
}

type Verdict = "accepted" | "duplicate" | { readonly rejected: string };

export function readVerdict(reply: Reply): Verdict {
  if (reply.kind === "no_answer") return { rejected: "no_answer" };
  const body = (jsonOf(reply.body) ?? {}) as { status?: string; error?: { code?: string } };
  if (reply.status >= 200 && reply.status < 300) {
    return body.status === "duplicate" ? "duplicate" : "accepted";
  }
  return { rejected: body.error?.code ?? `http_${reply.status}` };
}
