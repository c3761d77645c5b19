import { randomUUID } from "node:crypto";
import { bodyHash, type EventJob, type EventKey, type IncomingEvent } from "@millrace/core";

export function anEvent(over: Partial<IncomingEvent> = {}): IncomingEvent {
  const eventId = over.eventId ?? `evt_${randomUUID()}`;
  const body = over.body ?? Buffer.from(JSON.stringify({ id: eventId, amount: 4200 }));
  return {
    source: "shop",
    eventId,
    generation: 0,
    type: "order.paid",
    acceptedAtMs: Date.now(),
    bodyHash: bodyHash(body),
    headers: { "content-type": "application/json" },
    unsigned: false,
    body,
    ...over,
  };
}

export function aJob(event: EventJob["event"], run = "run-1"): EventJob {
  return { event, run, enqueuedAtMs: Date.now(), signal: new AbortController().signal };
}

export function withoutBody(event: IncomingEvent): EventJob["event"] {
  return { ...event, headers: {}, body: undefined };
}

export function keyOf({ source, eventId, generation }: EventKey): EventKey {
  return { source, eventId, generation };
}
