import { jobIdOf } from "./job-id-of.ts";
import { generationOf, type Evidence } from "./evidence.ts";
import type { Finding } from "./finding.ts";

const INVARIANT = "I6 AGREEMENT";

/** I6, at rest: nothing is pending, and the queue's failed jobs are those of failed events. */
export function checkAgreement({ rows, queues, stage }: Evidence): Finding[] {
  const failed = new Set(rows.filter((row) => row.status === "failed").map(jobIdOf));
  const pending = rows.filter(({ status }) => status === "pending");
  const alone = [...queues.failed].filter((job) => !failed.has(job) && !stage.strangers.has(job));
  return [
    ...pending.map((row) => ({
      invariant: INVARIANT,
      text: `${generationOf(row)} is pending after ${row.attempts} attempts, and nothing goes on`,
    })),
    ...alone.map((job) => ({
      invariant: INVARIANT,
      text: `job ${job} is failed and its event is ${statusOf(job, rows)}`,
    })),
  ];
}

function statusOf(job: string, rows: Evidence["rows"]): string {
  return rows.find((row) => jobIdOf(row) === job)?.status ?? "not in the ledger";
}
