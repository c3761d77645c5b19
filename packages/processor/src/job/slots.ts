import type { StopSignal } from "@millrace/core";

export type Release = () => void;

export type Slots = ReturnType<typeof createSlots>;

/** The next slot goes to the waiting source with the fewest running events. */
export function createSlots(max: number) {
  const running = new Map<string, number>();
  const waiting: Waiting[] = [];
  let taken = 0;

  function take(source: string): Release {
    taken += 1;
    running.set(source, (running.get(source) ?? 0) + 1);
    let released = false;
    return () => {
      if (released) return;
      released = true;
      taken -= 1;
      const left = (running.get(source) ?? 1) - 1;
      if (left === 0) running.delete(source);
      else running.set(source, left);
      next();
    };
  }

  function next(): void {
    while (taken < max && waiting.length > 0) {
      let chosen = 0;
      waiting.forEach((candidate, index) => {
        const best = waiting[chosen];
        if (best && load(candidate) < load(best)) chosen = index;
      });
      const [winner] = waiting.splice(chosen, 1);
      winner?.resolve(take(winner.source));
    }
  }

  const load = (candidate: Waiting) => running.get(candidate.source) ?? 0;

  return {
    acquire(source: string, signal: StopSignal): Promise<Release | undefined> {
      if (signal.aborted) return Promise.resolve(undefined);
      if (taken < max) return Promise.resolve(take(source));
      return new Promise((resolve) => {
        const entry: Waiting = {
          source,
          resolve: (release) => {
            signal.removeEventListener("abort", leave);
            resolve(release);
          },
        };
        const leave = () => {
          waiting.splice(waiting.indexOf(entry), 1);
          resolve(undefined);
        };
        signal.addEventListener("abort", leave);
        waiting.push(entry);
      });
    },
    get taken() {
      return taken;
    },
    takenBy: (source: string) => running.get(source) ?? 0,
  };
}

interface Waiting {
  readonly source: string;
  resolve(release: Release): void;
}
