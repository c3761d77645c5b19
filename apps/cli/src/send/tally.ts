import type { Reply } from "./post-delivery.ts";
import { readVerdict } from "./read-verdict.ts";

/** Counts what became of many deliveries, and how long the answers took. */
export interface Tally {
  add(reply: Reply): void;
  /** Deliveries that were neither accepted nor known already. */
  readonly rejected: number;
  /** The counts in words, for people. */
  summary(elapsedMs: number): string;
}

export function createTally(): Tally {
  const rejections = new Map<string, number>();
  const latenciesMs: number[] = [];
  let accepted = 0;
  let duplicate = 0;
  let rejected = 0;

  return {
    add(reply) {
      if (reply.kind === "answer") latenciesMs.push(reply.ms);
      const verdict = readVerdict(reply);
      if (verdict === "accepted") accepted += 1;
      else if (verdict === "duplicate") duplicate += 1;
      else {
        rejected += 1;
        rejections.set(verdict.rejected, (rejections.get(verdict.rejected) ?? 0) + 1);
      }
    },
    get rejected() {
      return rejected;
    },
    summary(elapsedMs) {
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
