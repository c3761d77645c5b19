import {
  createGate,
  failpoint,
  isMillraceError,
  within,
  type ErrorCode,
  type IncomingEvent,
  type Placement,
} from "@millrace/core";
import type { Notify } from "./notice.ts";
import type { DurablePlace } from "./ports.ts";
import { createStrayBytes } from "./stray-bytes.ts";

export interface GuardOptions {
  /** Milliseconds after which a place that has not answered is shut. */
  readonly timeoutMs: number;
  /** Bytes of bodies in calls that timed out and have not ended; above it the place is left alone. */
  readonly strayBytesMax: number;
  /** Milliseconds that a place is left alone after it failed, where there is another one. */
  readonly restMs: number;
}

/** A durable place behind a breaker: one that is sick costs few deliveries their time. */
export interface GuardedPlace {
  readonly name: DurablePlace["name"];
  /** Whether it takes events of a source just now: it answers, and is not full. */
  takes(source: string): boolean;
  /** Puts events in one call, within `timeoutMs`; one answer an event, in order. Never rejects. */
  put(events: readonly IncomingEvent[]): Promise<readonly Placement[]>;
  /** Asks the place whether it answers; one that does not is shut, and thrown is why. */
  check(): Promise<void>;
  /** Ends the probing of a place that is shut. */
  close(): void;
}

/** What an error of one event says when its place is at fault, and not the event. */
const OUTAGES: ReadonlySet<ErrorCode> = new Set([
  "unavailable",
  "database_unavailable",
  "database_unreachable",
  "redis_unreachable",
] as const);

/** Guards a place: one that fails or is late is shut, and probed until it answers. */
export function guardPlace(
  place: DurablePlace,
  notify: Notify,
  options: GuardOptions,
): GuardedPlace {
  const { name } = place;
  const { timeoutMs, strayBytesMax, restMs } = options;
  const gate = createGate(() => place.ping(), { restMs });
  const stray = createStrayBytes();

  async function put(events: readonly IncomingEvent[]): Promise<readonly Placement[]> {
    // What waited behind the call that shut the place does not wait for another one.
    if (gate.shut) return refuseAll(events, new Error(`Cannot reach the ${name}: it is shut`));
    const startedMs = performance.now();
    try {
      failpoint("ingress.before_put");
      const placements = await inTime(events);
      failpoint("ingress.placed");
      if (placements.some(isError)) hearErrors(placements.filter(isError));
      return placements;
    } catch (error) {
      gate.trip();
      return refuseAll(events, error instanceof Error ? error : new Error(String(error)));
    } finally {
      const durationMs = performance.now() - startedMs;
      notify({ kind: "batch", place: name, size: events.length, durationMs });
    }
  }

  function hearErrors(errors: readonly Error[]): void {
    tell(errors.length, errors[0]);
    if (errors.some(isOutage)) gate.trip();
  }

  function inTime(events: readonly IncomingEvent[]): Promise<readonly Placement[]> {
    const call = place.put(events);
    return within(call, timeoutMs, () => {
      stray.add(call, events);
      return late();
    });
  }

  function refuseAll(events: readonly IncomingEvent[], error: Error): readonly Error[] {
    tell(events.length, error);
    return events.map(() => error);
  }

  function tell(events: number, error: unknown): void {
    notify({ kind: "place_failed", place: name, events, error });
  }

  const late = () => new Error(`Cannot reach the ${name}: no answer within ${timeoutMs} ms`);

  return {
    name,
    takes: (source) => !gate.shut && stray.held <= strayBytesMax && !place.isFull(source),
    put,
    check: async () => {
      try {
        await within(place.ping(), timeoutMs, late);
      } catch (error) {
        gate.trip();
        throw error;
      }
    },
    close: () => gate.close(),
  };
}

const isError = (placement: Placement): placement is Error => placement instanceof Error;

function isOutage(error: unknown): boolean {
  return isMillraceError(error) && OUTAGES.has(error.code);
}
