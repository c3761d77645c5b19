import {
  matchesType,
  type EnvelopedEvent,
  type Handler,
  type HandlerContext,
  type IncomingEvent,
  type JsonPayload,
  type LockedEvent,
  type Outcome,
  type Provider,
  type WebhookEvent,
} from "@millrace/core";
import { ParsedBody, readBySchema, type EventPayload } from "./event-payload.ts";
import { withoutEmit } from "./handler-context.ts";
import { eventIdempotencyKey } from "./idempotency-key.ts";

/** A handler that runs for an event, with the payload that it gets. */
export interface PlannedHandler {
  readonly handler: Handler;
  readonly payload: EventPayload;
}

/** The handlers that run for an event: those whose schema it matches, and whose `when` takes it. */
export type Plan = readonly PlannedHandler[];

/** Runs the handlers that are registered for an event. */
export class Handlers {
  private readonly handlers: readonly Handler[];
  private readonly sources: Sources;
  private readonly bySource = new Map<string, HandlersOfSource>();

  constructor(handlers: readonly Handler[], sources: Sources) {
    this.handlers = handlers;
    this.sources = sources;
  }

  /** Whether a handler of the event makes calls before its transaction. */
  haveCalls(event: EnvelopedEvent): boolean {
    return !this.ofSource(event.source).onlyWrite && this.matching(event).some(hasCall);
  }

  /** Whether a handler of the event has a schema, or a `when`. */
  haveChecks(event: EnvelopedEvent): boolean {
    return !this.ofSource(event.source).onlyWrite && this.matching(event).some(hasCheck);
  }

  /**
   * Checks an event by the schema and the `when` of each of its handlers.
   *
   * @throws `payload_mismatch`; what a schema or a `when` throws
   */
  async plan(event: EnvelopedEvent, attempt: number, stored: StoredContent): Promise<Plan> {
    const parsed = new ParsedBody(stored.body);
    const plan: PlannedHandler[] = [];
    for (const handler of this.matching(event)) {
      const { schema, when } = handler;
      const payload = schema === undefined ? parsed : await readBySchema(schema, stored.body);
      const planned = { handler, payload };
      if (when === undefined || when(this.eventOf(event, attempt, stored, payload))) {
        plan.push(planned);
      }
    }
    return plan;
  }

  /**
   * Runs the writes of every handler of the event, one after the other in the one transaction, in the order in which
   * they were registered. `ignored` when there is none, `suspected_replay` when none may run. What a handler returns is
   * not used.
   */
  async run(event: EnvelopedEvent, attempt: number, input: HandlerInput): Promise<Outcome> {
    const { locked, context, called } = input;
    if (locked.suspectedReplay) return "suspected_replay";
    if (input.plan !== undefined || this.haveChecks(event)) {
      const plan = input.plan ?? (await this.plan(event, attempt, locked));
      for (const { handler, payload } of plan) {
        context.signal.throwIfAborted();
        const webhookEvent = this.eventOf(event, attempt, locked, payload);
        await handler.write?.(webhookEvent, context, called?.get(handler));
      }
      return plan.length === 0 ? "ignored" : "handled";
    }
    const matching = this.matching(event);
    if (matching.length === 0) return "ignored";
    const webhookEvent = this.eventOf(event, attempt, locked);
    for (const [index, handler] of matching.entries()) {
      // The first handler begins at once; a signal that nobody asks for need not exist.
      if (index > 0) context.signal.throwIfAborted();
      const given = handler.set === undefined ? context : withoutEmit(context);
      await handler.write?.(webhookEvent, given, undefined);
    }
    return "handled";
  }

  /** Runs a set-based handler for some events, in their first attempt. */
  async runSet(
    handler: SetHandler,
    events: readonly IncomingEvent[],
    context: HandlerContext,
  ): Promise<Outcome> {
    const webhookEvents = events.map((event) => this.eventOf(event, 1, event));
    await handler.set.run(webhookEvents, context);
    return "handled";
  }

  /** The set-based handler of an event, if it has one. */
  setHandlerOf(event: EnvelopedEvent): SetHandler | undefined {
    return this.matching(event).find(isSetHandler);
  }

  /** The event as its handlers see it; with a payload that a schema made of its body, if there is one. */
  eventOf(
    event: EnvelopedEvent,
    attempt: number,
    stored: StoredContent,
    payload?: EventPayload,
  ): WebhookEvent {
    const dataField = this.sources[event.source]?.provider?.dataField;
    return createWebhookEvent(event, attempt, stored, { dataField, payload });
  }

  private matching({ source, type }: EnvelopedEvent): readonly Handler[] {
    const { handlers } = this.ofSource(source);
    return handlers.filter(({ types }) => types.some((pattern) => matchesType(type, pattern)));
  }

  private ofSource(source: string): HandlersOfSource {
    let known = this.bySource.get(source);
    if (known === undefined) {
      // What handlers emit goes to those alone that name its source.
      const isInternal = this.sources[source]?.provider?.isInternal === true;
      const handlers = this.handlers.filter(({ sources }) =>
        sources.some((name) => name === source || (name === "*" && !isInternal)),
      );
      const onlyWrite = !handlers.some((handler) => hasCall(handler) || hasCheck(handler));
      this.bySource.set(source, (known = { handlers, onlyWrite }));
    }
    return known;
  }
}

/** What is known of the sources, by name. */
type Sources = Readonly<
  Record<string, { readonly provider?: Pick<Provider, "dataField" | "isInternal"> }>
>;

interface HandlersOfSource {
  readonly handlers: readonly Handler[];
  /** True when they do nothing but write, so that no event of the source need be looked at for more. */
  readonly onlyWrite: boolean;
}

/** A handler that gets several events at once. */
export type SetHandler = Handler & { readonly set: NonNullable<Handler["set"]> };

const isSetHandler = (handler: Handler): handler is SetHandler => handler.set !== undefined;
const hasCall = ({ call }: Handler) => call !== undefined;
const hasCheck = ({ schema, when }: Handler) => schema !== undefined || when !== undefined;

type StoredContent = Pick<LockedEvent, "headers" | "body">;

interface HandlerInput {
  readonly locked: LockedEvent;
  readonly context: HandlerContext;
  /** The handlers that run, if the event was checked before. */
  readonly plan?: Plan | undefined;
  /** What the handlers' calls returned. */
  readonly called?: ReadonlyMap<Handler, unknown> | undefined;
}

/** How a body is read. */
interface Reading {
  /** The field of the payload that has the event's data; undefined for the payload itself. */
  readonly dataField: string | undefined;
  /** What a schema made of the body. */
  readonly payload?: EventPayload | undefined;
}

/**
 * The event as handlers see it: the ledger's bytes and headers under the identity of the job. All
 * handlers of an attempt share it, unless they have a schema, and its payload is parsed once, on first use.
 */
export function createWebhookEvent(
  event: EnvelopedEvent,
  attempt: number,
  { headers, body }: StoredContent,
  { dataField, payload = new ParsedBody(body) }: Reading,
): WebhookEvent {
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
    get idempotencyKey() {
      return eventIdempotencyKey(event);
    },
    get payload() {
      return payload.value;
    },
    get data(): JsonPayload {
      return dataOf(this.payload, dataField);
    },
  });
}

/** A payload without the sender's wrapper; as it is where it has no such field. */
function dataOf(payload: JsonPayload, field: string | undefined): JsonPayload {
  const isWrapped =
    field !== undefined && typeof payload === "object" && payload !== null && field in payload;
  return isWrapped ? payload[field] : payload;
}
