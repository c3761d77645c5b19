import { createHash } from "node:crypto";
import { TIME_MAX_MS, type EventKey } from "@millrace/core";
import type { Job } from "bullmq";
import type { JobOwner } from "./queue-owner.ts";

const QUEUE_PREFIX = "millrace-";

export function queueName(source: string): string {
  return `${QUEUE_PREFIX}${source}`;
}

/**
 * BullMQ keeps a job under `<prefix>:<queue>:<job id>`, the namespace of its own keys, and gives
 * `""`, integers and colons a meaning of its own. None of its names has a digit or an underscore,
 * so an id that has one is safe, and readable in the dashboard.
 */
const SAFE = /^[A-Za-z0-9_.-]{1,128}$/;
const UNLIKE_A_KEY = /[0-9_]/;
const INTEGER = /^-?[0-9]+$/;
/** Prefixes of `jobId`: a raw id that begins with one could equal another event's job id. */
const OURS = /^(?:h|g[0-9]+)-/;

/** The event id where that is safe, else `h-` and its SHA-256; a later generation has `g<n>-`. */
export function jobId(eventId: string, generation: number): string {
  const first = isSafe(eventId) ? eventId : `h-${sha256(eventId)}`;
  return generation === 0 ? first : `g${generation}-${first}`;
}

/** True for a job of this event: job data with its MAC can be copied into another job. */
export function isJobOf(event: EventKey, source: string, id: string | undefined): boolean {
  return event.source === source && jobId(event.eventId, event.generation) === id;
}

/** True for a job that another ledger's ingress added. A job without a ledger is anyone's. */
export function isForeign(ledger: string | undefined, owner: JobOwner): boolean {
  return ledger !== undefined && owner.ledger !== undefined && ledger !== owner.ledger;
}

function isSafe(eventId: string): boolean {
  return (
    SAFE.test(eventId) &&
    UNLIKE_A_KEY.test(eventId) &&
    !INTEGER.test(eventId) &&
    !OURS.test(eventId)
  );
}

function sha256(eventId: string): string {
  return createHash("sha256").update(eventId).digest("base64url");
}

/**
 * The name of a job's run: when the job was added, and how many ended runs BullMQ had counted. A
 * worker that dies reports nothing, so the next run has the same name. So has the next run of a
 * job that Millrace retries: its name is part of the reason that BullMQ stores, and drops when a
 * person retries a failed job. The name changes after such a retry, or in a job that was added
 * anew, and only then.
 */
export function runName(job: Pick<Job, "timestamp" | "attemptsMade" | "failedReason">): string {
  const kept = KEPT.exec(job.failedReason ?? "")?.[1];
  return kept ?? `${job.timestamp}.${job.attemptsMade}`;
}

export function endedRunName(job: Parameters<typeof runName>[0]): string {
  const { timestamp, attemptsMade, failedReason } = job;
  return runName({ timestamp, attemptsMade: Math.max(0, attemptsMade - 1), failedReason });
}

/** When a job was added; now where somebody has edited that into no time at all. */
export function addedAt({ timestamp }: Pick<Job, "timestamp">): number {
  return timestamp >= 0 && timestamp <= TIME_MAX_MS ? timestamp : Date.now();
}

export function keepingName(reason: string, run: string): string {
  return `${reason} [run ${run}]`;
}

const KEPT = / \[run (\d{1,16}\.\d{1,16})\]$/;
