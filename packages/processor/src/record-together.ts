import { createCoalescer, type Claim, type QueuedEvent } from "@millrace/core";
import type { ClaimPort } from "./ports.ts";

/**
 * Records jobs that arrive together in one commit; a lone job is not kept waiting. Two jobs of one
 * event never go in one call: the second is answered `busy`.
 */
export function createRecorder(
  deps: { ledger: Pick<ClaimPort, "record">; isDatabaseTrouble: (error: unknown) => boolean },
  options: { batchMax: number },
): { add(job: QueuedEvent): Promise<Claim> } {
  const coalescer = createCoalescer(recordBatch, { sizeMax: options.batchMax, inFlightMax: 2 });

  async function recordBatch(jobs: readonly QueuedEvent[]): Promise<readonly Recorded[]> {
    const firsts = new Map<string, QueuedEvent>();
    for (const job of jobs) {
      const identity = identityOf(job);
      if (!firsts.has(identity)) firsts.set(identity, job);
    }
    const distinct = [...firsts.values()];
    const recorded = await recordDistinct(distinct);
    const byJob = new Map(distinct.map((job, index) => [job, recorded[index]]));
    return jobs.map((job) => byJob.get(job) ?? { claim: { kind: "busy" } });
  }

  async function recordDistinct(jobs: readonly QueuedEvent[]): Promise<readonly Recorded[]> {
    try {
      const claims = await deps.ledger.record(jobs);
      return claims.map((claim) => ({ claim }));
    } catch (error) {
      if (jobs.length === 1 || deps.isDatabaseTrouble(error)) throw error;
      // One job of them cannot be recorded; its batch-mates must not share its fate.
      return await Promise.all(jobs.map(recordAlone));
    }
  }

  async function recordAlone(job: QueuedEvent): Promise<Recorded> {
    try {
      const [claim] = await deps.ledger.record([job]);
      return claim === undefined
        ? { error: new RangeError("Cannot record job: no claim") }
        : { claim };
    } catch (error) {
      return { error };
    }
  }

  return {
    async add(job) {
      const recorded = await coalescer.add(job);
      if ("claim" in recorded) return recorded.claim;
      throw recorded.error;
    },
  };
}

type Recorded = { readonly claim: Claim } | { readonly error: unknown };

function identityOf({ event }: QueuedEvent): string {
  return JSON.stringify([event.source, event.eventId, event.generation]);
}
