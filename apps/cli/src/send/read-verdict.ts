import type { Reply } from "./post-delivery.ts";

/** What became of a delivery: taken, known already, or refused with a code. */
export type Verdict = "accepted" | "duplicate" | { readonly rejected: string };

/** Reads an answer of the ingress. */
export function readVerdict(reply: Reply): Verdict {
  if (reply.kind === "no_answer") return { rejected: "no_answer" };
  const body = parse(reply.body);
  if (reply.status >= 200 && reply.status < 300) {
    return body?.status === "duplicate" ? "duplicate" : "accepted";
  }
  return { rejected: body?.error?.code ?? `http_${reply.status}` };
}

interface AnswerBody {
  readonly status?: string;
  readonly error?: { readonly code?: string };
}

function parse(text: string): AnswerBody | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
