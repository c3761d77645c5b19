import type { ErrorCode } from "@millrace/core";

/** What the queue tells whoever logs and counts. It logs nothing itself. */
export type QueueNotice =
  /** Something failed that nobody waits for: a connection, a renewal, a job that could not be moved. */
  | {
      readonly kind: "trouble";
      /** A short name of what went wrong, the same each time, to count and to limit logs by. */
      readonly cause: string;
      readonly error: Error;
      readonly source?: string;
    }
  /** A worker died or lost touch with this job; it waits for another. */
  | { readonly kind: "stalled"; readonly source: string; readonly jobId: string }
  /** Our lock on a job that is being run could not be renewed; its signal was aborted. */
  | { readonly kind: "lock_lost"; readonly source: string; readonly jobId: string }
  /** BullMQ failed a job without running it. */
  | {
      readonly kind: "gave_up";
      readonly source: string;
      readonly jobId: string;
      readonly reason: string;
    }
  /** A job was not written by us, or not by this version; it was failed, or waits for a later one. */
  | {
      readonly kind: "refused";
      readonly source: string;
      readonly jobId: string;
      readonly code: ErrorCode;
    }
  /** Errors came too fast, so this source's worker rests a moment. */
  | { readonly kind: "rested"; readonly source: string; readonly forMs: number };

export type Notify = (notice: QueueNotice) => void;
