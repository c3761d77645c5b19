import {
  PermanentError,
  type EnvelopedEvent,
  type JsonPayload,
  type LockedEvent,
  type WebhookEvent,
} from "@millrace/core";

/**
 * Makes the event that handlers are given: the ledger's bytes and headers under the identity of
 * the job. All handlers of an attempt share it, and its payload is parsed once, on first use.
 */
export function createWebhookEvent(
  event: EnvelopedEvent,
  attempt: number,
  locked: LockedEvent,
): WebhookEvent {
  const { headers, body } = locked;
  let payload: { value: JsonPayload } | undefined;
  return Object.freeze({
    source: event.source,
    id: event.eventId,
    type: event.type,
    generation: event.generation,
    attempt,
    receivedAt: new Date(event.acceptedAtMs),
    headers: Object.freeze({ ...headers }),
    unsigned: event.unsigned,
    body,
    get payload(): JsonPayload {
      payload ??= { value: parsePayload(body) };
      return payload.value;
    },
  });
}

// The parser's own words quote the body, and the ledger shows an error's words to people.
function parsePayload(body: Uint8Array): JsonPayload {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    throw new PermanentError(
      `Cannot read event.payload: the body (${body.byteLength} bytes) is not JSON in UTF-8; read event.body instead`,
    );
  }
}
