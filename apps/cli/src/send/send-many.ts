import { jsonOf, MillraceError, type SignRequest } from "@millrace/core";
import type { Output } from "../context.ts";
import { createProgress } from "../progress.ts";
import { createEvent, type EventRecipe } from "./create-event.ts";
import { type Printer, printable } from "../terminal-text.ts";

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

/** @internal */
export const IN_FLIGHT = 20;

export const answerText = (reply: Reply): string =>
  reply.kind === "no_answer"
    ? `no answer: ${reply.reason}`
    : `${reply.status} ${printable(reply.body.trim())} (${reply.ms.toFixed(1)} ms)`;

/** The answer as `--json` has it. */
export function resultOf(reply: Reply) {
  const verdict = readVerdict(reply);
  const isTaken = typeof verdict === "string";
  return {
    status: reply.kind === "answer" ? reply.status : null,
    outcome: isTaken ? verdict : ("rejected" as const),
    code: isTaken ? null : verdict.rejected,
  };
}

/** Sends many events with a bar, and sums up what was answered. Gives the exit code. */
export async function sendMany(
  recipe: EventRecipe,
  deliver: (event: SignRequest) => Promise<Reply>,
  { count, print, stderr }: { count: number; print: Printer; stderr: Output },
): Promise<number> {
  const counts = { accepted: 0, duplicate: 0, rejected: 0 };
  const rejections = new Map<string, number>();
  let answered = 0;
  const progress = createProgress(count, stderr);
  try {
    await sendAll(
      count,
      (index) => deliver(createEvent(recipe, index)),
      (reply) => {
        progress.reach((answered += 1));
        const { outcome, code } = resultOf(reply);
        counts[outcome] += 1;
        if (code !== null) rejections.set(code, (rejections.get(code) ?? 0) + 1);
      },
    );
  } finally {
    progress.stop();
  }
  const codes = [...rejections].map(([code, times]) => `${code} ${times}`).join(", ");
  const lines = [
    `sent       ${count}`,
    `accepted   ${counts.accepted}`,
    `duplicate  ${counts.duplicate}`,
    `rejected   ${counts.rejected}${codes === "" ? "" : ` (${codes})`}`,
  ];
  print({ text: lines.join("\n") });
  return counts.rejected === 0 ? 0 : 1;
}

/** @throws `ingress_unreachable` when the connection is refused before anything was answered. */
export async function sendAll(
  total: number,
  deliver: (index: number) => Promise<Reply>,
  onReply: (reply: Reply) => void,
): Promise<void> {
  let next = 0;
  let answered = false;

  async function lane(): Promise<void> {
    while (next < total) {
      next += 1;
      const reply = await deliver(next - 1);
      if (reply.kind === "answer") answered = true;
      else if (reply.refused && !answered) {
        next = total;
        throw unreachable(reply.reason);
      }
      onReply(reply);
    }
  }

  await Promise.all(Array.from({ length: Math.min(IN_FLIGHT, total) }, lane));
}

export function unreachable(reason: string): MillraceError {
  return new MillraceError(
    "ingress_unreachable",
    `Cannot reach an ingress: ${reason}. Is \`npm start\` (or \`millrace start\`) running?`,
  );
}
