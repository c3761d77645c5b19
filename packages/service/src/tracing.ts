import type { EventJob, JobResult, JobTrace, TracedAnswer, Tracing } from "@millrace/core";
import type * as OpenTelemetryApi from "@opentelemetry/api";
import type { Context, Link, Span, SpanContext, Tracer } from "@opentelemetry/api";
import { reasonOf } from "./error-log.ts";

type Api = typeof OpenTelemetryApi;

/** Where every copy of version 1 of the API finds what the SDK has registered. */
const REGISTERED = Symbol.for("opentelemetry.js.api.1");

/**
 * Spans by the OpenTelemetry SDK that this process has registered, such as by
 * `node --import ./telemetry.mjs`. Without one nothing is loaded, and no span is made.
 */
export async function openTracing(warn: (message: string) => void): Promise<Tracing | undefined> {
  const { [REGISTERED]: registered } = globalThis as {
    [REGISTERED]?: { readonly version: string; readonly trace?: unknown };
  };
  if (registered?.trace === undefined) return undefined;
  let api: Api;
  try {
    api = await import("@opentelemetry/api");
  } catch (error) {
    warn(`No spans are made: run "npm install @opentelemetry/api" (${reasonOf(error)})`);
    return undefined;
  }
  // A copy of a later version than the SDK's gets no spans from it, and does not say so.
  if (api.trace.getTracerProvider() === registered.trace) return createTracing(api);
  warn(`No spans are made: run "npm install @opentelemetry/api@${registered.version}"`);
  return undefined;
}

function createTracing(api: Api): Tracing {
  const { context, ROOT_CONTEXT, SpanKind, trace } = api;
  const tracer = trace.getTracer("millrace");
  return {
    async receive<Result extends TracedAnswer>(
      { source, traceparent }: Parameters<Tracing["receive"]>[0],
      run: () => Promise<Result>,
    ): Promise<Result> {
      const links = linksTo(parseTraceparent(traceparent));
      const attributes = { "millrace.source": source };
      const options = { kind: SpanKind.PRODUCER, attributes, links };
      return await tracer.startActiveSpan(nameOf("receive", source), options, async (span) => {
        const received = await run();
        span.setAttributes({
          "millrace.outcome": received.outcome,
          "http.response.status_code": received.status,
        });
        endSpan(api, span, received.outcome === "rejected" ? (received.code ?? "internal") : "");
        return received;
      });
    },
    traceparent: () => formatTraceparent(trace.getActiveSpan()),
    async process(job: EventJob, run: (job: EventJob) => Promise<JobResult>): Promise<JobResult> {
      const { event, mac, startedBefore } = job;
      const origin = mac === undefined ? parseTraceparent(event.headers["traceparent"]) : undefined;
      // A retry can be days later, so it is a trace of its own.
      const isFirst = event.generation === 0 && startedBefore === false && origin !== undefined;
      const parent = isFirst ? trace.setSpanContext(ROOT_CONTEXT, origin) : ROOT_CONTEXT;
      const attributes = {
        "millrace.source": event.source,
        "millrace.event_id": event.eventId,
        "millrace.event_type": event.type,
        "millrace.generation": event.generation,
      };
      const links = isFirst ? [] : linksTo(origin);
      const options = { kind: SpanKind.CONSUMER, attributes, links };
      const span = tracer.startSpan(nameOf("process", event.source), options, parent);
      const own = trace.setSpan(parent, span);
      const traced = new JobSpans(api, tracer, { span, own, isLinked: origin !== undefined });
      return await context.with(own, async () => {
        const result = await run({ ...job, trace: traced });
        traced.end(result);
        return result;
      });
    },
  };
}

class JobSpans implements JobTrace {
  readonly #api: Api;
  readonly #tracer: Tracer;
  readonly #span: Span;
  readonly #own: Context;
  #isLinked: boolean;
  #handledAt: number | undefined;

  constructor(
    api: Api,
    tracer: Tracer,
    { span, own, isLinked }: { span: Span; own: Context; isLinked: boolean },
  ) {
    this.#api = api;
    this.#tracer = tracer;
    this.#span = span;
    this.#own = own;
    this.#isLinked = isLinked;
  }

  claimed(attempt: number): void {
    this.#span.setAttribute("millrace.attempt", attempt);
  }

  readonly part: JobTrace["part"] = async (name, run, { step, headers } = {}) => {
    const [link] = this.#isLinked ? [] : linksTo(parseTraceparent(headers?.["traceparent"]));
    if (link !== undefined) this.#span.addLink(link);
    this.#isLinked ||= link !== undefined;
    const { context, trace } = this.#api;
    // Events of a group share the context of the one that began it, so only a step looks at it.
    const parent = name === "step" ? context.active() : this.#own;
    const attributes = step === undefined ? {} : { "millrace.step": step };
    const span = this.#tracer.startSpan(name, { attributes }, parent);
    let code = "";
    try {
      return await context.with(trace.setSpan(parent, span), run);
    } catch (error) {
      code = error instanceof Error ? error.name : "Error";
      throw error;
    } finally {
      endSpan(this.#api, span, code);
      this.#handledAt = performance.timeOrigin + performance.now();
    }
  };

  emit(source: string, type: string): string | undefined {
    const attributes = { "millrace.source": source, "millrace.event_type": type };
    const kind = this.#api.SpanKind.PRODUCER;
    const span = this.#tracer.startSpan(nameOf("emit", source), { kind, attributes });
    span.end();
    return formatTraceparent(span);
  }

  end(result: JobResult): void {
    const isCompleted = result.kind === "completed";
    if (isCompleted && this.#handledAt !== undefined) {
      this.#tracer.startSpan("commit", { startTime: this.#handledAt }, this.#own).end();
    }
    this.#span.setAttribute("millrace.result", isCompleted ? result.outcome : result.kind);
    endSpan(this.#api, this.#span, "code" in result ? result.code : "");
  }
}

/** An error's message can hold what a sender sent, so a span has its code or name alone. */
function endSpan({ SpanStatusCode }: Api, span: Span, errorType: string): void {
  if (errorType !== "") {
    span.setAttribute("error.type", errorType);
    span.setStatus({ code: SpanStatusCode.ERROR });
  }
  span.end();
}

const nameOf = (operation: string, source: string | undefined): string =>
  source === undefined ? operation : `${operation} ${source}`;

function linksTo(context: SpanContext | undefined): Link[] {
  return context === undefined ? [] : [{ context }];
}

/** https://www.w3.org/TR/trace-context/#traceparent-header */
const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;

function parseTraceparent(text: string | undefined): SpanContext | undefined {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(text ?? "") ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
}

function formatTraceparent(span: Span | undefined): string | undefined {
  if (span === undefined) return undefined;
  const { traceId, spanId, traceFlags } = span.spanContext();
  const text = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`;
  return TRACEPARENT.test(text) ? text : undefined;
}
