import {
  parsePayload,
  PermanentError,
  type EnvelopedEvent,
  type Handler,
  type HandlerContext,
  type JsonPayload,
  type LockedEvent,
  type Outcome,
  type WebhookEvent,
} from "@millrace/core";

/** Runs the handlers that are registered for an event. */
export class Handlers {
  private readonly bySource = new Map<string, Handler[]>();

  constructor(handlers: readonly Handler[]) {
    for (const handler of handlers) {
      const known = this.bySource.get(handler.source) ?? [];
      known.push(handler);
      this.bySource.set(handler.source, known);
    }
  }

  /**
   * Runs every handler of the event's type or of `*`, one after the other in the one transaction, in
   * the order in which they were registered. `ignored` when there is none, `suspected_replay` when
   * none may run. What a handler returns is not used.
   */
  async run(
    event: EnvelopedEvent,
    attempt: number,
    { locked, context }: HandlerInput,
  ): Promise<Outcome> {
    if (locked.suspectedReplay) return "suspected_replay";
    const registered = this.bySource.get(event.source) ?? [];
    const matching = registered.filter(
      ({ types }) => types.includes(event.type) || types.includes("*"),
    );
    if (matching.length === 0) return "ignored";
    const webhookEvent = createWebhookEvent(event, attempt, locked);
    for (const [index, handler] of matching.entries()) {
      // The first handler begins at once; a signal that nobody asks for need not exist.
      if (index > 0) context.signal.throwIfAborted();
      await handler.run(webhookEvent, context);
    }
    return "handled";
  }
}

interface HandlerInput {
  readonly locked: LockedEvent;
  readonly context: HandlerContext;
}

/**
 * The event as handlers see it: the ledger's bytes and headers under the identity of the job. All
 * handlers of an attempt share it, and its payload is parsed once, on first use.
 *
 * @internal
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
      payload ??= { value: requirePayload(body) };
      return payload.value;
    },
  });
}

// The parser's own message quotes the body, and people are shown an error's message by the ledger.
function requirePayload(body: Uint8Array): JsonPayload {
  const payload = parsePayload(body);
  if (payload !== undefined) return payload.value;
  throw new PermanentError(
    `Cannot read event.payload: the body (${body.byteLength} bytes) is not JSON in UTF-8; read event.body instead`,
  );
}
