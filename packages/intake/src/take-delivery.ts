import { failpoint, type Delivery, type IncomingEvent } from "@millrace/core";
import { refuseIdentity, toIncomingEvents } from "./incoming-events.ts";
import type { Kept } from "./keep-delivery.ts";
import type { ReadySource } from "./ready-sources.ts";
import { providerAnswer, rejection, type Received, type ReceiveRequest } from "./received.ts";

/** Verifies, identifies and places one delivery: the way in, in the order of the design. */
export async function takeDelivery(
  source: ReadySource | undefined,
  request: ReceiveRequest,
  deps: {
    keep(source: ReadySource, events: readonly IncomingEvent[]): Promise<Kept>;
    nowMs: () => number;
  },
): Promise<Received> {
  if (source === undefined) return unknownSource();
  const { provider, verifier } = source;
  if (!provider.methods.includes(request.method)) return methodNotAllowed(provider.methods);
  if (request.body.byteLength === 0 && !BODILESS.has(request.method)) {
    return rejection("invalid_body", "Cannot verify the delivery: its body is empty");
  }
  const { method, url, headers, body } = request;
  const delivery: Delivery = { method, url, headers, body, receivedAtMs: deps.nowMs() };
  const verification = verifier.verify(delivery);
  if (!verification.ok) return rejection(verification.code, verification.message);

  if (verification.handshake !== undefined) {
    return providerAnswer("handshake", verification.handshake);
  }

  failpoint("ingress.verified");
  const identified = provider.identify(delivery);
  if (!identified.ok) return rejection(identified.code, identified.message);
  if (identified.kind === "handshake") return providerAnswer("handshake", identified.answer);
  for (const event of identified.events) {
    const refusal = refuseIdentity(event);
    if (refusal !== undefined) return rejection(refusal.code, refusal.message);
  }
  const kept = await deps.keep(source, toIncomingEvents(source, delivery, identified.events));
  if (kept === "unavailable") {
    return rejection("unavailable", "Cannot keep the event: no durable place takes it in time");
  }
  return identified.answer === undefined ? source[kept] : providerAnswer(kept, identified.answer);
}

// Handshakes that some providers make by these carry everything in the query.
const BODILESS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

/** The answer to a name that is not configured. */
export function unknownSource(): Received {
  return rejection("unknown_source", "Cannot receive webhooks here: no such source is configured");
}

/** The answer to a method that the provider does not deliver by. */
export function methodNotAllowed(methods: readonly string[]): Received {
  const allow = methods.join(", ");
  return rejection("method_not_allowed", `Cannot receive webhooks by this method: use ${allow}`, {
    allow,
  });
}
