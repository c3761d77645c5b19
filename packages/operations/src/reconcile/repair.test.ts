import { DISAGREEMENT_KINDS } from "@millrace/api-contract";
import type { LedgerStatus } from "@millrace/ledger";
import type { JobStatus } from "@millrace/queue";
import { expect, test } from "vitest";
import { disagreementOf } from "./repair.ts";

const SINCE_MS = 1_000_000;

const row = (
  status: LedgerStatus["status"],
  enqueued = false,
  errorCode: LedgerStatus["errorCode"] = null,
) => ({ status, errorCode, enqueued, pendingSinceMs: SINCE_MS });
const ended = (state: "failed" | "completed", finishedAtMs = SINCE_MS + 1): JobStatus => ({
  ...{ state, finishedAtMs, run: "1.0", failedReason: undefined },
});
const LIVE: JobStatus = { state: "live" };

test("Every pair of event and job has its answer", () => {
  const none = undefined;
  const table = [
    [row("pending"), LIVE, undefined],
    [row("pending", true), LIVE, undefined],
    [row("pending"), none, "pending_without_job"],
    [row("pending", true), none, "pending_without_job"],
    [row("pending"), ended("failed"), "pending_job_failed"],
    [row("pending"), ended("failed", SINCE_MS - 1), "pending_retry_unfinished"],
    [row("pending"), ended("completed"), "pending_job_completed"],
    [row("failed"), LIVE, undefined],
    [row("failed"), none, undefined],
    [row("failed"), ended("failed"), undefined],
    [row("failed"), ended("completed"), "failed_job_completed"],
    [row("failed", false, "body_lost"), ended("completed"), undefined],
    [row("completed"), LIVE, undefined],
    [row("completed"), none, undefined],
    [row("completed"), ended("failed"), "completed_job_failed"],
    [row("completed"), ended("completed"), undefined],
    [none, LIVE, undefined],
    [none, none, undefined],
    [none, ended("failed"), "unrecorded_job_failed"],
    [none, ended("completed"), "unrecorded_job_completed"],
  ] as const;
  for (const [event, job, kind] of table) expect(disagreementOf(event, job)).toBe(kind);
  const kinds = new Set(table.map(([, , kind]) => kind).filter((kind) => kind !== undefined));
  // These are no pairs: the job's event is unknown, the job is not believed, or Postgres has
  // changed.
  const others = ["unreadable_job", "unrecorded_job_unsigned", "unrecorded_job_undone"];
  expect([...kinds, ...others].toSorted()).toEqual(DISAGREEMENT_KINDS.toSorted());
});

test("A job that was seen on the queue has failed since, though its worker's clock is slow", () => {
  const job = ended("failed", SINCE_MS - 600_000);
  expect(disagreementOf(row("pending", true), job)).toBe("pending_job_failed");
  expect(disagreementOf(row("pending", false), job)).toBe("pending_retry_unfinished");
});
