import { BODY_CANARY, github, plain, standard, stripe } from "../bad-input/senders.ts";
import { toDraft, type Draft, type WireRequest } from "../bad-input/wire.ts";
import type { Random } from "../faults/random.ts";

/** An event that was rightly signed; no other may ever be accepted. */
export interface SignedEvent {
  readonly source: string;
  readonly eventId: string;
  readonly body: Buffer;
}

export interface Seed {
  readonly draft: Draft;
  readonly event: SignedEvent;
}

/** A rightly signed request of a source drawn at random, for an event of its own. */
export function drawSeed(random: Random, eventId: string, atMs = Date.now()): Seed {
  const type = "fuzz.thing";
  const filling = random.pick(["", "é\u0000🦄", "x".repeat(random.between(0, 20_000)), "\\ud800"]);
  const json = JSON.stringify({ id: eventId, event_id: eventId, type, card: BODY_CANARY, filling });
  const request = random.pick<() => WireRequest>([
    () => stripe(json, { atMs }),
    () => standard(eventId, json, { atMs }),
    () => standard(eventId, json, { atMs, source: "hookmesh" }),
    () => plain("a", json),
    () => plain("a-b", json),
    () => github(eventId, json, { type }),
  ])();
  const draft = toDraft(request);
  return { draft, event: { source: request.source, eventId, body: draft.body } };
}
