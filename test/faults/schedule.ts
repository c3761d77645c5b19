import type { Fault } from "./faults/fault.ts";
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

/**
 * Draws when what is to be struck: the long ways at once, then each fault once, as far as there is time,
 * then any.
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
  let waiting = random.shuffled(short);
  for (let atMs = 0; atMs < forMs; atMs += random.between(GAP_MS.least, GAP_MS.most)) {
    const [fault, ...rest] = waiting;
    if (fault === undefined) break;
    const way = random.pick(Object.keys(fault.ways));
    entries.push({ atMs, fault, way, random: random.fork() });
    waiting = rest.length === 0 ? random.shuffled(short) : rest;
  }
  return entries;
}
