import type { Fault, Resource } from "./faults/fault.ts";
import type { Random } from "./random.ts";

/** One fault and its time, from the beginning of the faults. */
export interface Entry {
  readonly atMs: number;
  readonly fault: Fault;
  /** One of the fault's ways. */
  readonly way: string;
  readonly random: Random;
}

const GAP_MS = { least: 300, most: 3_000 };

/** Milliseconds for which a strike is reckoned to keep what it uses. */
const KEPT_MS = 6_000;

/**
 * Draws when what is to be struck: the long ways at once, then each fault once before any comes
 * again, except that none is set down for a time when another has what it uses; then one takes its
 * place that can be struck.
 */
export function drawSchedule(faults: readonly Fault[], forMs: number, random: Random): Entry[] {
  const entries: Entry[] = faults.flatMap((fault) =>
    Object.keys(fault.longWays ?? {}).map((way) => ({
      atMs: 0,
      fault,
      way,
      random: random.fork(),
    })),
  );
  const short = faults.filter(({ ways }) => Object.keys(ways).length > 0);
  // A fault that uses nothing is always free, and would take every other's place.
  const fillers = short.filter(({ uses }) => uses.length > 0);
  const freeAtMs = new Map<Resource, number>();
  let waiting = random.shuffled(short);
  for (let atMs = 0; atMs < forMs; atMs += random.between(GAP_MS.least, GAP_MS.most)) {
    const isFree = ({ uses }: Fault) => uses.every((each) => (freeAtMs.get(each) ?? 0) <= atMs);
    const fault = waiting.find(isFree) ?? random.shuffled(fillers).find(isFree);
    if (fault === undefined) continue;
    for (const each of fault.uses) freeAtMs.set(each, atMs + KEPT_MS);
    const way = random.pick(Object.keys(fault.ways));
    entries.push({ atMs, fault, way, random: random.fork() });
    waiting = waiting.filter((each) => each !== fault);
    if (waiting.length === 0) waiting = random.shuffled(short);
  }
  return entries;
}
