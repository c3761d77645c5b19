import type { Output } from "../context.ts";
import { createEvent, type EventRecipe, type OutgoingEvent } from "./create-event.ts";
import type { Reply } from "./post-delivery.ts";
import { createProgress } from "../progress.ts";
import { sendAll } from "./send-all.ts";
import { createTally } from "./tally.ts";

/** How many events, how often each, and how fast. */
export interface ManyOptions {
  readonly count: number;
  /** Further deliveries of each event. */
  readonly duplicates: number;
  readonly concurrency: number;
  readonly rate?: number;
  readonly stdout: Output;
  readonly stderr: Output;
}

/** Sends many events with a bar, and sums up what was answered. Gives the exit code. */
export async function sendMany(
  recipe: EventRecipe,
  deliver: (event: OutgoingEvent) => Promise<Reply>,
  options: ManyOptions,
): Promise<number> {
  const copies = options.duplicates + 1;
  const total = options.count * copies;
  const eventAt = createEvents(recipe, copies);
  const tally = createTally();
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
  return tally.rejected === 0 ? 0 : 1;
}

// The copies of an event follow each other, so that several of them are in flight at once.
function createEvents(recipe: EventRecipe, copies: number): (index: number) => OutgoingEvent {
  let number = -1;
  let event: OutgoingEvent | undefined;
  return (index) => {
    const wanted = Math.floor(index / copies);
    if (event === undefined || wanted !== number) {
      number = wanted;
      event = createEvent(recipe, number);
    }
    return event;
  };
}
