import { newEventId, type Delivery, type Provider } from "@millrace/core";
import { composeBody, type Payload } from "./compose-body.ts";
import { keyName } from "./key-name.ts";

/** The request of a sender. */
export interface Posted {
  readonly source: string;
  readonly type: string;
  readonly payload: Payload | undefined;
  readonly id: string | undefined;
  readonly tenant: string | undefined;
}

/** Signs events as their senders do, with the secret of each source. */
export function createSigner(
  secretOf: (source: string) => string,
): (provider: Provider, posted: Posted) => Delivery {
  const firstSent = createFirstSent();
  return (provider, { source, type, payload, id }) => {
    const nowMs = Date.now();
    const eventId = id ?? newEventId(provider);
    const sampleMs = firstSent(source, eventId, nowMs);
    const body = composeBody(provider, { eventId, type, nowMs: sampleMs }, payload);
    const signed = provider.sign({ eventId, type, body, secret: secretOf(source), nowMs });
    const headers = Object.fromEntries(
      Object.entries(signed).map(([name, value]) => [name.toLowerCase(), value]),
    );
    return { method: "POST", url: `/webhooks/${source}`, headers, body, receivedAtMs: nowMs };
  };
}

/** A sender that delivers an event again sends the same bytes, its times among them. */
function createFirstSent(): (source: string, id: string, nowMs: number) => number {
  const times = new Map<string, number>();
  return (source, eventId, nowMs) => {
    const name = keyName({ source, eventId, generation: 0 });
    const firstMs = times.get(name) ?? nowMs;
    times.set(name, firstMs);
    return firstMs;
  };
}
