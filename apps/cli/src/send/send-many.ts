import { MillraceError, wait, type SignRequest } from "@millrace/core";
import type { Output } from "../context.ts";
import { createProgress } from "../progress.ts";
import { createEvent, type EventRecipe } from "./create-event.ts";
import { type Reply, readVerdict } from "./post-delivery.ts";
import { printable } from "../terminal-text.ts";

/** Returns the exit code, as {@link sendMany} does. */
export async function sendOne(
  deliver: () => Promise<Reply>,
  { heading, stdout }: { heading: string; stdout: Output },
): Promise<number> {
  const replies: Reply[] = [];
  const plan = { total: 1, concurrency: 1, ratePerSecond: undefined };
  await sendAll(plan, deliver, (reply) => replies.push(reply));
  const [reply] = replies;
  if (reply === undefined) return 1;
  stdout.write(`${heading}${words(reply)}\n`);
  return typeof readVerdict(reply) === "string" ? 0 : 1;
}

function words(reply: Reply): string {
  if (reply.kind === "no_answer") return `no answer: ${reply.reason}`;
  return `${reply.status} ${printable(reply.body.trim())} (${reply.ms.toFixed(1)} ms)`;
}

export interface ManyOptions {
  readonly count: number;
  readonly duplicates: number;
  readonly concurrency: number;
  readonly rate?: number;
  readonly stdout: Output;
  readonly stderr: Output;
}

/** Sends many events with a bar, and sums up what was answered. Gives the exit code. */
export async function sendMany(
  recipe: EventRecipe,
  deliver: (event: SignRequest) => Promise<Reply>,
  options: ManyOptions,
): Promise<number> {
  const copies = options.duplicates + 1;
  const total = options.count * copies;
  const eventAt = createEvents(recipe, copies);
  const tally = createCounts();
  const progress = createProgress(total, options.stderr);
  const startedAt = performance.now();
  try {
    await sendAll(
      { total, concurrency: options.concurrency, ratePerSecond: options.rate },
      (index) => deliver(eventAt(index)),
      (reply) => {
        tally.add(reply);
        progress.step();
      },
    );
  } finally {
    progress.stop();
  }
  options.stdout.write(`${tally.summary(performance.now() - startedAt)}\n`);
  return tally.counts.rejected === 0 ? 0 : 1;
}

// The copies of an event follow each other, so that several of them are in flight at once.
function createEvents(recipe: EventRecipe, copies: number): (index: number) => SignRequest {
  let number = -1;
  let event: SignRequest | undefined;
  return (index) => {
    const wanted = Math.floor(index / copies);
    if (event === undefined || wanted !== number) {
      number = wanted;
      event = createEvent(recipe, number);
    }
    return event;
  };
}

interface SendPlan {
  readonly total: number;
  readonly concurrency: number;
  readonly ratePerSecond: number | undefined;
}

/** @throws `ingress_unreachable` when the connection is refused before anything was answered. */
export async function sendAll(
  plan: SendPlan,
  deliver: (index: number) => Promise<Reply>,
  onReply: (reply: Reply) => void,
): Promise<void> {
  const startedAt = performance.now();
  let next = 0;
  let answered = false;

  async function lane(): Promise<void> {
    while (next < plan.total) {
      const index = next;
      next += 1;
      if (plan.ratePerSecond !== undefined) {
        const dueMs = (index / plan.ratePerSecond) * 1_000;
        await wait(Math.max(0, startedAt + dueMs - performance.now()));
      }
      const reply = await deliver(index);
      if (reply.kind === "answer") answered = true;
      else if (reply.refused && !answered) {
        next = plan.total;
        throw unreachable(reply.reason);
      }
      onReply(reply);
    }
  }

  const lanes = Math.min(plan.concurrency, plan.total);
  await Promise.all(Array.from({ length: lanes }, lane));
}

function unreachable(reason: string): MillraceError {
  return new MillraceError(
    "ingress_unreachable",
    `Cannot reach an ingress: ${reason}. Is \`npm start\` (or \`millrace start\`) running?`,
  );
}

function createCounts() {
  const counts = { accepted: 0, duplicate: 0, rejected: 0 };
  const rejections = new Map<string, number>();
  const latenciesMs: number[] = [];
  return {
    counts,
    add(reply: Reply): void {
      if (reply.kind === "answer") latenciesMs.push(reply.ms);
      const verdict = readVerdict(reply);
      if (typeof verdict === "string") {
        counts[verdict] += 1;
        return;
      }
      counts.rejected += 1;
      rejections.set(verdict.rejected, (rejections.get(verdict.rejected) ?? 0) + 1);
    },
    summary(elapsedMs: number): string {
      const { accepted, duplicate, rejected } = counts;
      const total = accepted + duplicate + rejected;
      const seconds = elapsedMs / 1_000;
      const codes = [...rejections].map(([code, count]) => `${code} ${count}`).join(", ");
      return [
        `sent       ${total} in ${seconds.toFixed(2)} s (${Math.round(total / seconds)}/s)`,
        `accepted   ${accepted}`,
        `duplicate  ${duplicate}`,
        `rejected   ${rejected}${codes === "" ? "" : ` (${codes})`}`,
        `latency    p50 ${quantile(latenciesMs, 0.5)} ms, p99 ${quantile(latenciesMs, 0.99)} ms`,
      ].join("\n");
    },
  };
}

function quantile(values: readonly number[], q: number): string {
  const sorted = values.toSorted((a, b) => a - b);
  const value = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))];
  return value === undefined ? "-" : value.toFixed(1);
}
