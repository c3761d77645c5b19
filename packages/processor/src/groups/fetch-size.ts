import type { EnvelopedEvent } from "@millrace/core";

/** Bytes of bodies that are fetched at once, most of them to wait for their transaction. */
const BYTES_MAX = 16 * 1024 * 1024;
/** What the latest event counts for in what is usual for its source. */
const LATEST_WEIGHT = 1 / 64;
/** With groups that are usually larger than this, an event waits for its handlers a few milliseconds only. */
const SIZE_MIN = 12;

/** Moving averages of a source. */
interface Usual {
  /** Events that may share a transaction. */
  groupSize: number;
  /** Bytes of a body. */
  bytes: number;
}

/** How many events of a source are worth fetching at once, judged by those that came before. */
export class FetchSize {
  private readonly usual = new Map<string, Usual>();

  /** Takes note of an event, and of how many of its type may share a transaction. */
  note({ source, body }: EnvelopedEvent, groupSize: number): void {
    let usual = this.usual.get(source);
    if (usual === undefined) this.usual.set(source, (usual = { groupSize: 0, bytes: 0 }));
    usual.groupSize += (groupSize - usual.groupSize) * LATEST_WEIGHT;
    usual.bytes += ((body?.byteLength ?? 0) - usual.bytes) * LATEST_WEIGHT;
  }

  /** Events that fill so many transactions; 0 as long as the source's events mostly go alone. */
  eventsMax(source: string, transactions: number): number {
    const usual = this.usual.get(source);
    if (usual === undefined || usual.groupSize < SIZE_MIN) return 0;
    const eventsMax = transactions * Math.round(usual.groupSize);
    return Math.min(eventsMax, Math.floor(BYTES_MAX / Math.max(usual.bytes, 1)));
  }
}
