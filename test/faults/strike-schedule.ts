import { setTimeout as sleep } from "node:timers/promises";
import type { Resource, FaultContext } from "./faults/fault.ts";
import type { Entry } from "./schedule.ts";
import type { FaultEnvironment } from "./environment/environment.ts";

/**
 * Strikes at the times of the schedule. Faults of different resources overlap; those of one come one
 * after the other, as nobody can kill what is dead. Returns what went wrong with the striking itself.
 */
export async function strikeSchedule(
  environment: FaultEnvironment,
  schedule: readonly Entry[],
  context: Pick<FaultContext, "send" | "burst" | "log">,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const busy = new Map<Resource, Promise<unknown>>();
  const troubles: string[] = [];
  const beganMs = performance.now();
  const strikes: Promise<void>[] = [];
  for (const { atMs, fault, way, random } of schedule) {
    await sleep(Math.max(0, beganMs + atMs - performance.now()));
    if (signal.aborted) break;
    const before = fault.uses.map((resource) => busy.get(resource) ?? Promise.resolve());
    const strike = strikeAfter(before, async () => {
      const strikeIt = fault.ways[way] ?? fault.longWays?.[way];
      // Poison of another strike may have ended a worker since.
      if (fault.uses.includes("worker")) await environment.startAgain("worker");
      if (!signal.aborted) await strikeIt?.({ ...context, environment, random });
    }).catch((error: unknown) => {
      troubles.push(
        `${fault.id} ${way}: ${error instanceof Error ? error.message : String(error)}`,
      );
    });
    for (const resource of fault.uses) busy.set(resource, strike);
    strikes.push(strike);
  }
  await Promise.all(strikes);
  return troubles;
}

async function strikeAfter(
  before: readonly Promise<unknown>[],
  strike: () => Promise<void>,
): Promise<void> {
  await Promise.all(before);
  await strike();
}
