import type { Provider } from "@millrace/core";
import { printable } from "../printable.ts";
import type { OutgoingEvent } from "./create-event.ts";

/**
 * Types and ids that the ingress will read from a delivery, `type id` each. A body that was given
 * may carry others than were asked for, and several.
 */
export function identifiedAs(
  provider: Provider,
  event: OutgoingEvent,
  headers: Readonly<Record<string, string>>,
): string[] {
  const identified = provider.identify({
    method: "POST",
    url: "/",
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
    ),
    body: event.body,
    receivedAtMs: Date.now(),
  });
  const events = identified.ok && identified.kind === "events" ? identified.events : [event];
  return events.map(({ type, eventId }) => printable(`${type} ${eventId}`));
}
