import type { EventJob, JobResult } from "./envelope.ts";

/** Spans of OpenTelemetry. There is none where the process has registered no SDK. */
export interface Tracing {
  /** Receives a delivery in a span that links to the sender's, which its `traceparent` names. */
  receive<Result extends TracedAnswer>(
    delivery: { readonly source: string | undefined; readonly traceparent: string | undefined },
    run: () => Promise<Result>,
  ): Promise<Result>;
  /** The `traceparent` of the span that is active, which is kept with an event. */
  traceparent(): string | undefined;
  /** Runs a job in a span that follows, or links to, the one that the event has come from. */
  process(job: EventJob, run: (job: EventJob) => Promise<JobResult>): Promise<JobResult>;
}

export interface TracedAnswer {
  readonly status: number;
  readonly outcome: string;
  readonly code?: string;
}
