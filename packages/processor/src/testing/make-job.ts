import { bodyHash, type EnvelopedEvent, type EventJob } from "@millrace/core";

let count = 0;

export function makeJob(
  event: Partial<Omit<EnvelopedEvent, "body">> & { body?: string | Uint8Array | undefined } = {},
  job: Partial<Omit<EventJob, "event">> = {},
): EventJob {
  count += 1;
  const content = "body" in event ? event.body : '{"n":1}';
  const body = typeof content === "string" ? Buffer.from(content) : content;
  return {
    event: {
      source: "shop",
      eventId: `evt_${count}`,
      type: "order.created",
      generation: 0,
      acceptedAtMs: Date.now(),
      bodyHash: bodyHash(body ?? new Uint8Array()),
      headers: {},
      unsigned: false,
      ...event,
      body,
    },
    run: "run-1",
    enqueuedAtMs: Date.now(),
    signal: new AbortController().signal,
    ...job,
  };
}
