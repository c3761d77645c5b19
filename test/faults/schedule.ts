import { setTimeout as sleep } from "node:timers/promises";
import type { FaultEnvironment } from "./environment/environment.ts";
import type { Fault, FaultContext, Resource } from "./faults/fault.ts";
import type { Random } from "./random.ts";

export interface Entry {
  readonly atMs: number;
  readonly fault: Fault;
  readonly way: string;
  readonly random: Random;
}

const GAP_MS = { least: 300, most: 3_000 };

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

export async function strikeSchedule(
  environment: FaultEnvironment,
  schedule: readonly Entry[],
  context: Pick<FaultContext, "send" | "burst" | "log">,
  { forMs, signal }: { readonly forMs: number; readonly signal: AbortSignal },
): Promise<readonly string[]> {
  const busy = new Map<Resource, Promise<unknown>>();
  const troubles: string[] = [];
  const beganMs = performance.now();
  const strikes: Promise<void>[] = [];
  const strikeOne = async ({ fault, way, random }: Entry) => {
    try {
      const strikeIt = fault.ways[way] ?? fault.longWays?.[way];
      // Poison of another strike may have ended a worker since.
      if (fault.uses.includes("worker")) await environment.startAgain("worker");
      if (!signal.aborted) await strikeIt?.({ ...context, environment, random });
    } catch (error) {
      const trouble = `${fault.id} ${way}: ${error instanceof Error ? error.message : String(error)}`;
      environment.say(trouble);
      troubles.push(trouble);
    }
  };
  for (const entry of schedule) {
    const { atMs, fault } = entry;
    await sleep(Math.max(0, beganMs + atMs - performance.now()));
    if (signal.aborted) break;
    const before = fault.uses.map((resource) => busy.get(resource) ?? Promise.resolve());
    const strike = strikeAfter(before, async () => {
      const isLate = performance.now() > beganMs + forMs;
      if (!isLate || !environment.struck.has(fault.id)) await strikeOne(entry);
    });
    for (const resource of fault.uses) busy.set(resource, strike);
    strikes.push(strike);
  }
  await Promise.all(strikes);
  // On a busy machine the other faults can keep a role from the step at which one would strike.
  for (const entry of schedule) {
    if (signal.aborted || environment.struck.has(entry.fault.id)) continue;
    await environment.heal();
    await strikeOne(entry);
  }
  return troubles;
}

async function strikeAfter(
  before: readonly Promise<unknown>[],
  strike: () => Promise<void>,
): Promise<void> {
  await Promise.all(before);
  await strike();
}
