import {
  boundBy,
  matchesType,
  parsePayload,
  PermanentError,
  EDITED_HEADER,
  tenantOf,
  textAt,
  withDeadline,
  type EnvelopedEvent,
  type Handler,
  type HandlerContext,
  type HandlerTransaction,
  type IncomingEvent,
  type JsonPayload,
  type LazySignal,
  type LockedEvent,
  type Outcome,
  type WebhookEvent,
} from "@millrace/core";
import type { EmitTarget } from "@millrace/ledger";
import {
  createEmit,
  emitNothing,
  type EmitParent,
  type EmitSource,
  type InternalSources,
} from "./emit.ts";
import type { AttemptLog } from "./handler-log.ts";
import { eventIdempotencyKey } from "./idempotency-key.ts";
import { withOtherPart } from "./other-part.ts";
import { readBySchema, type EventPayload } from "./read-by-schema.ts";

export interface PlannedHandler {
  readonly handler: Handler;
  readonly payload: EventPayload;
}

/** The handlers that run for an event: those whose schema it matches, and whose `when` takes it. */
export type Plan = readonly PlannedHandler[];

export class Handlers {
  readonly #handlers: readonly Handler[];
  readonly #sources: Sources;
  readonly #bySource = new Map<string, HandlersOfSource>();

  constructor(handlers: readonly Handler[], sources: Sources) {
    this.#handlers = handlers;
    this.#sources = sources;
  }

  haveCalls(event: EnvelopedEvent): boolean {
    return !this.#ofSource(event.source).onlyWrite && this.#matching(event).some(hasCall);
  }

  haveChecks(event: EnvelopedEvent): boolean {
    return !this.#ofSource(event.source).onlyWrite && this.#matching(event).some(hasCheck);
  }

  /** @throws `payload_mismatch`; the errors of a schema or a `when` */
  async plan(event: EnvelopedEvent, attempt: number, stored: StoredContent): Promise<Plan> {
    const parsed = bodyPayload(stored.body);
    const plan: PlannedHandler[] = [];
    for (const handler of this.#matching(event)) {
      const { schema, when } = handler;
      const payload = schema === undefined ? parsed : await readBySchema(schema, stored.body);
      const planned = { handler, payload };
      if (when === undefined || when(this.eventOf(event, attempt, stored, payload))) {
        plan.push(planned);
      }
    }
    return plan;
  }

  /** Checks an event that is not recorded; undefined if no handler has checks. Never rejects. */
  async planFirst(event: EnvelopedEvent, timeoutMs: number): Promise<Plan | "failed" | undefined> {
    const { headers, body } = event;
    if (body === undefined || !this.haveChecks(event)) return undefined;
    try {
      const late = () => new Error("Its schema takes too long");
      return await withDeadline(this.plan(event, 1, { headers, body }), timeoutMs, late);
    } catch {
      return "failed";
    }
  }

  async run(event: EnvelopedEvent, attempt: number, input: HandlerInput): Promise<Outcome> {
    const { locked, context, called } = input;
    if (input.plan !== undefined || this.haveChecks(event)) {
      const plan = input.plan ?? (await this.plan(event, attempt, locked));
      for (const { handler, payload } of plan) {
        context.signal.throwIfAborted();
        const webhookEvent = this.eventOf(event, attempt, locked, payload);
        refuseReturned(await handler.write?.(webhookEvent, context, called?.get(handler)));
      }
      return plan.length === 0 ? "ignored" : "handled";
    }
    const matching = this.#matching(event);
    if (matching.length === 0) return "ignored";
    const webhookEvent = this.eventOf(event, attempt, locked);
    for (const [index, handler] of matching.entries()) {
      if (index > 0) context.signal.throwIfAborted();
      const handlerContext = handler.set === undefined ? context : withoutEmit(context);
      refuseReturned(await handler.write?.(webhookEvent, handlerContext, undefined));
    }
    return "handled";
  }

  async runSet(
    handler: SetHandler,
    events: readonly IncomingEvent[],
    context: HandlerContext,
  ): Promise<Outcome> {
    const webhookEvents = events.map((event) => this.eventOf(event, 1, event));
    refuseReturned(await handler.set.run(webhookEvents, context));
    return "handled";
  }

  setHandlerOf(event: EnvelopedEvent): SetHandler | undefined {
    return this.#matching(event).find(isSetHandler);
  }

  /** The call of `on` of the event's handler; undefined where several could be meant. */
  boundBy(event: EnvelopedEvent): Error | undefined {
    const [only, ...others] = this.#matching(event);
    return only === undefined || others.length > 0 ? undefined : boundBy(only);
  }

  /** The ledger's bytes and headers under the identity of the job. */
  eventOf(
    event: EnvelopedEvent,
    attempt: number,
    { headers, body }: StoredContent,
    payload: EventPayload = bodyPayload(body),
  ): WebhookEvent {
    const { provider, options } = this.#sources[event.source] ?? {};
    return Object.freeze({
      source: event.source,
      id: event.eventId,
      tenant: options?.secrets === undefined ? undefined : tenantOf(event.eventId),
      edited: headers[EDITED_HEADER] !== undefined,
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
      text: textReader(body),
      get payload() {
        return payload.value;
      },
      get data(): JsonPayload {
        return dataOf(this.payload, provider?.dataField);
      },
    });
  }

  #matching({ source, type }: EnvelopedEvent): readonly Handler[] {
    const { handlers } = this.#ofSource(source);
    return handlers.filter(({ types }) => types.some((pattern) => matchesType(type, pattern)));
  }

  #ofSource(source: string): HandlersOfSource {
    let known = this.#bySource.get(source);
    if (known === undefined) {
      // An internal source is never meant by `*`.
      const isInternal = this.#sources[source]?.provider?.isInternal === true;
      const handlers = this.#handlers.filter(({ sources }) =>
        sources.some((name) => name === source || (name === "*" && !isInternal)),
      );
      const onlyWrite = !handlers.some((handler) => hasCall(handler) || hasCheck(handler));
      this.#bySource.set(source, (known = { handlers, onlyWrite }));
    }
    return known;
  }
}

/** @throws for an error that a handler returns: the event would complete. */
export function refuseReturned(returned: unknown): void {
  if (!(returned instanceof Error)) return;
  throw new TypeError(
    `Cannot complete the event: its handler returned a ${returned.name}. Write throw in place of return`,
  );
}

type Sources = Readonly<Record<string, Partial<EmitSource>>>;

interface HandlersOfSource {
  readonly handlers: readonly Handler[];
  /** True when no handler makes calls or checks, so that no event is searched for them. */
  readonly onlyWrite: boolean;
}

export type SetHandler = Handler & { readonly set: NonNullable<Handler["set"]> };

const isSetHandler = (handler: Handler): handler is SetHandler => handler.set !== undefined;
const hasCall = ({ call }: Handler) => call !== undefined;
const hasCheck = ({ schema, when }: Handler) => schema !== undefined || when !== undefined;

type StoredContent = Pick<LockedEvent, "headers" | "body">;

interface HandlerInput {
  readonly locked: LockedEvent;
  readonly context: HandlerContext;
  readonly plan?: Plan | undefined;
  readonly called?: ReadonlyMap<Handler, unknown> | undefined;
}

function dataOf(payload: JsonPayload, field: string | undefined): JsonPayload {
  const isWrapped =
    field !== undefined && typeof payload === "object" && payload !== null && field in payload;
  return isWrapped ? payload[field] : payload;
}

interface ContextParts {
  readonly parent: EmitParent | undefined;
  readonly target: EmitTarget;
  readonly sources: InternalSources;
  readonly log: AttemptLog;
}

/** Creates the context of handlers, its parts on first use. A set has no parent and cannot emit. */
export function createHandlerContext(
  tx: HandlerTransaction,
  signal: LazySignal,
  { parent, target, sources, log }: ContextParts,
): HandlerContext {
  const context = {
    tx,
    get signal() {
      return signal.signal;
    },
    get emit() {
      return parent === undefined ? emitNothing : createEmit(parent, target, sources);
    },
    get log() {
      return log.lines;
    },
  };
  return withOtherPart(context, "write");
}

function withoutEmit(context: HandlerContext): HandlerContext {
  const { emit: _, ...parts } = Object.getOwnPropertyDescriptors(context);
  return Object.defineProperties({ emit: emitNothing }, parts) as HandlerContext;
}

/** The payload of a handler without a schema: the body, parsed once, on first use. */
function bodyPayload(body: Uint8Array): EventPayload {
  let parsed: ReturnType<typeof parse> | undefined;
  return {
    get value() {
      return (parsed ??= parse(body)).value;
    },
  };
}

/** Reads values' texts as they were sent. @throws PermanentError for a body that is no JSON */
function textReader(body: Uint8Array): (path: string) => string | undefined {
  let parsed: ReturnType<typeof parse> | undefined;
  return (path) => textAt((parsed ??= parse(body)).text, path);
}

// The parser's message quotes the body, and the dashboard shows messages.
function parse(body: Uint8Array) {
  const parsed = parsePayload(body);
  if (parsed !== undefined) return parsed;
  throw new PermanentError(
    `Cannot read event.payload: the body (${body.byteLength} bytes) is not JSON in UTF-8; read event.body instead`,
  );
}
