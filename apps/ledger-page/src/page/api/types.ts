// What the dashboard's API answers; its own document is /api/openapi.json.

export type Status = "pending" | "completed" | "failed";
export const STATUSES: readonly Status[] = ["pending", "failed", "completed"];

export type Outcome = string;

export interface Session {
  readonly user: string | null;
  readonly role: "operator" | "viewer";
  readonly via: "session" | "token" | "local";
}

export interface EventRow {
  readonly source: string;
  readonly event_id: string;
  readonly generation: number;
  readonly type: string;
  readonly status: Status;
  readonly outcome: Outcome | null;
  readonly attempts: number;
  readonly unsigned: boolean;
  readonly received_at: string;
  readonly recorded_at: string;
  readonly started_at: string | null;
  readonly processed_at: string | null;
  readonly last_error: string | null;
  readonly last_error_code: string | null;
}

export interface EventPage {
  readonly events: readonly EventRow[];
  readonly next: string | null;
}

export interface Attempt {
  readonly attempt: number;
  readonly started_at: string | null;
  readonly finished_at: string;
  readonly code: string;
  readonly message: string;
  /** False when the database was at fault and the attempt was given back. */
  readonly counted: boolean;
}

export interface Generation {
  readonly generation: number;
  readonly status: Status;
  readonly outcome: Outcome | null;
  readonly attempts: number;
  readonly recorded_at: string;
  readonly processed_at: string | null;
}

interface Body {
  /** Text, or base64 of what is none; null when it is not at hand. */
  readonly body: string | null;
  readonly body_encoding: "utf8" | "base64" | null;
  readonly body_kept: boolean;
  readonly headers: Readonly<Record<string, string>>;
  readonly attempt_log: readonly Attempt[];
  readonly conflicts: readonly Conflict[];
  readonly generations: readonly Generation[];
}

export interface Conflict {
  readonly body_hash: string;
  readonly deliveries: number;
  readonly first_seen_at: string;
  readonly last_seen_at: string;
}

export interface RecordedEvent extends EventRow, Body {
  readonly stage: "recorded";
}

/** An event that only its queue knows: no worker has recorded it yet. */
export interface QueuedEvent extends Body {
  readonly stage: "queued";
  readonly source: string;
  readonly event_id: string;
  readonly generation: number;
  readonly type: string | null;
  readonly status: null;
  readonly outcome: null;
  readonly attempts: number;
  readonly received_at: string | null;
  readonly processed_at: string | null;
  readonly last_error: string | null;
  readonly job_id: string;
  readonly job_state: string;
}

export type EventDetail = RecordedEvent | QueuedEvent;

interface JobCounts {
  readonly waiting: number;
  readonly active: number;
  readonly delayed: number;
  readonly completed: number;
  readonly failed: number;
  readonly paused: boolean;
}

export interface SourceStats {
  readonly pending: number;
  readonly completed: number;
  readonly failed: number;
  /** Null when the queue does not answer, or the source is no longer configured. */
  readonly queued: number | null;
  readonly jobs: JobCounts | null;
}

export interface Stats {
  readonly sources: Readonly<Record<string, SourceStats>>;
}

export interface ActivityBucket {
  readonly at: string;
  readonly recorded: number;
  readonly completed: number;
  readonly failed: number;
  readonly p50_ms: number | null;
  readonly p95_ms: number | null;
}

export interface Activity {
  readonly bucket_seconds: number;
  readonly buckets: readonly ActivityBucket[];
}

export interface Disagreement {
  readonly kind: string;
  readonly count: number;
  readonly meaning: string;
  readonly mend: string;
  readonly examples: readonly EventKey[];
}

export interface EventKey {
  readonly source: string;
  readonly event_id: string;
  readonly generation: number;
}

export interface Disagreements {
  readonly checked_at: string;
  readonly pending_checked: number;
  readonly kinds: readonly Disagreement[];
}

export interface AuditEntry {
  readonly id: string;
  readonly at: string;
  readonly actor: string | null;
  readonly role: string;
  readonly via: string;
  readonly action: string;
  readonly source: string | null;
  readonly event_id: string | null;
  readonly generation: number | null;
  readonly filter: Readonly<Record<string, unknown>> | null;
  readonly reason: string | null;
  readonly result: Readonly<Record<string, unknown>> | null;
}

export interface AuditPage {
  readonly entries: readonly AuditEntry[];
  readonly next: string | null;
}

/** How a retry or replay went: `retried` or `replayed` events, and why the others were not. */
export interface RunAgainResult {
  readonly retried?: number;
  readonly replayed?: number;
  readonly generation?: number;
  readonly skipped: Readonly<Record<string, number>>;
}
