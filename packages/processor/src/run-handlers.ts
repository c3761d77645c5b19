import {
  parsePayload,
  PermanentError,
  type EnvelopedEvent,
  type Handler,
  type HandlerContext,
  type IncomingEvent,
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
    const matching = this.matching(event);
    if (matching.length === 0) return "ignored";
    const webhookEvent = createWebhookEvent(event, attempt, locked);
    for (const [index, handler] of matching.entries()) {
      // The first handler begins at once; a signal that nobody asks for need not exist.
      if (index > 0) context.signal.throwIfAborted();
      await handler.run(webhookEvent, context);
    }
    return "handled";
  }

  /** Runs a set-based handler for some events, in their first attempt. */
  async runSet(
    handler: SetHandler,
    events: readonly IncomingEvent[],
    context: HandlerContext,
  ): Promise<Outcome> {
    const webhookEvents = events.map((event) =>
      createWebhookEvent(event, 1, { ...event, suspectedReplay: false }),
    );
    await handler.set.run(webhookEvents, context);
    return "handled";
  }

  /** The set-based handler of an event, if it has one. */
  setHandlerOf(event: EnvelopedEvent): SetHandler | undefined {
    return this.matching(event).find(isSetHandler);
  }

  private matching({ source, type }: EnvelopedEvent): readonly Handler[] {
    const registered = this.bySource.get(source) ?? [];
    return registered.filter(({ types }) => types.includes(type) || types.includes("*"));
  }
}

/** A handler that gets several events at once. */
export type SetHandler = Handler & { readonly set: NonNullable<Handler["set"]> };

function isSetHandler(handler: Handler): handler is SetHandler {
  return handler.set !== undefined;
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
