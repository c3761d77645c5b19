import { createHash } from "node:crypto";
import { generationOf, type Evidence, type Finding, type Generation } from "./evidence.ts";

const INVARIANT = "I6 AGREEMENT";

/** I6, at rest: nothing is pending, and the queue's failed jobs are those of failed events. */
export function checkAgreement({ rows, queues, environment }: Evidence): Finding[] {
  const failed = new Set(rows.filter((row) => row.status === "failed").map(jobIdOf));
  const pending = rows.filter(({ status }) => status === "pending");
  const alone = [...queues.failed].filter(
    (job) => !failed.has(job) && !environment.strangers.has(job),
  );
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

/** The job of an event as `source/job id`, by the words of the design and not by our code. */
function jobIdOf({ source, id, generation }: Generation): string {
  const isReadable =
    /^[A-Za-z0-9_.-]{1,128}$/.test(id) &&
    /[0-9_]/.test(id) &&
    !/^-?\d+$/.test(id) &&
    !/^(h-|g\d+-)/.test(id);
  const first = isReadable ? id : `h-${createHash("sha256").update(id).digest("base64url")}`;
  return `${source}/${generation === 0 ? "" : `g${generation}-`}${first}`;
}
