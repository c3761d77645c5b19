import { isMillraceError, type ErrorCode, type JobResult } from "@millrace/core";
import type { JobRefusal } from "./trust-job.ts";

const RESTART_DELAY_MS_MAX = 1_000;
const LOST_DELAY_MS = { min: 1_000, max: 5_000 };

export function refused({ code, message }: JobRefusal): JobResult {
  return { kind: "failed", code, message };
}

export function failed({ code, message }: JobRefusal): JobResult & { kind: "failed" } {
  return { kind: "failed", code, message, recorded: true };
}

export function retry(
  code: ErrorCode,
  message: string,
  afterMs: number,
): JobResult & { kind: "retry" } {
  return { kind: "retry", afterMs, code, message, recorded: false };
}

/** Runs the job again when the current owner of its event has had time to settle it. */
export function lost(random: () => number): JobResult {
  const { min, max } = LOST_DELAY_MS;
  return { kind: "lost", afterMs: Math.round(min + (max - min) * random()) };
}

export function handedBack(reason: unknown, random: () => number): JobResult {
  const afterMs = Math.round(RESTART_DELAY_MS_MAX * random());
  return isMillraceError(reason) && reason.code === "shutting_down"
    ? retry(reason.code, reason.message, afterMs)
    : { kind: "lost", afterMs };
}

export function isDecided(result: JobResult): boolean {
  return result.kind === "retry" ? result.recorded : result.kind !== "lost";
}
