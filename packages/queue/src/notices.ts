import { asError, type ErrorCode } from "@millrace/core";

type OfJob = Readonly<{ source: string; jobId: string }>;

export type QueueNotice =
  /** An error that no caller waits for: a connection, a renewal, a job that could not be moved. */
  | {
      readonly kind: "background_error";
      /** A short name of the cause, the same each time, to count and to rate-limit logs by. */
      readonly cause: string;
      readonly error: Error;
      readonly source?: string | undefined;
    }
  /** A worker died or lost contact while it ran this job; the job waits for another worker. */
  | (OfJob & { readonly kind: "stalled" })
  /** The lock on a running job could not be renewed; the signal of its run was aborted. */
  | (OfJob & { readonly kind: "lock_lost" })
  | (OfJob & { readonly kind: "job_abandoned"; readonly reason: string })
  /** Millrace, or this version, did not write the job: it fails, or waits for a later version. */
  | (OfJob & { readonly kind: "refused"; readonly code: ErrorCode })
  | { readonly kind: "backed_off"; readonly source: string; readonly forMs: number };

export type Notify = (notice: QueueNotice) => void;

export type ReportError = (error: unknown, source?: string) => void;

/** Reports each error object once: sixty queues on one connection emit the same one. */
export function createErrorReporter(notify: Notify): ReportError {
  const reported = new WeakSet<Error>();
  return (thrown, source) => {
    const error = asError(thrown);
    if (reported.has(error)) return;
    reported.add(error);
    notify({ kind: "background_error", cause: causeOf(error), error, source });
  };
}

/** A code (ECONNREFUSED, 57P01), else the first word of Redis' answer (OOM). @internal */
export function causeOf(error: Error): string {
  if ("code" in error && typeof error.code === "string") return error.code;
  const prefix = /^[A-Z]{3,}\b/.exec(error.message)?.[0];
  return prefix ?? error.message.replace(/\bjob \S+/i, "job").slice(0, 80);
}
