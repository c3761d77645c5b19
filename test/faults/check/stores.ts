import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { CANARIES } from "../load/post.ts";
import { type Evidence, type Finding, type Generation, generationOf } from "./evidence.ts";

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

function jobIdOf({ source, id, generation }: Generation): string {
  const isReadable =
    /^[A-Za-z0-9_.-]{1,128}$/.test(id) &&
    /[0-9_]/.test(id) &&
    !/^-?\d+$/.test(id) &&
    !/^(h-|g\d+-)/.test(id);
  const first = isReadable ? id : `h-${createHash("sha256").update(id).digest("base64url")}`;
  return `${source}/${generation === 0 ? "" : `g${generation}-`}${first}`;
}

/** I11: no key, credential or body stands in a log, an error, a metric, or where it has no business. */
export async function checkSecrets({ environment, queues }: Evidence): Promise<Finding[]> {
  const { body, ...never } = CANARIES;
  const names = (await readdir(environment.folder)).filter((name) =>
    /^[a-z]+-\d+\.log$/.test(name),
  );
  const logs = await Promise.all(
    names.map((name) => readFile(join(environment.folder, name), "utf8")),
  );
  const { rows } = await environment.database.query(
    `select coalesce(string_agg(last_error, e'\\n'), '') || e'\\n' ||
       (select coalesce(string_agg(message, e'\\n'), '') from millrace.attempts) as text
     from millrace.events`,
  );
  const metrics = await Promise.all(
    environment.roles
      .filter(({ up }) => up)
      .map(async ({ url }) => (await fetch(`${url}/metrics`)).text()),
  );
  const everywhere = { logs: logs.join("\n"), errors: rows[0].text, metrics: metrics.join("\n") };
  return [
    ...search(everywhere, Object.values(CANARIES)),
    ...search({ queue: queues.text }, Object.values(never)),
    ...(mayHoldBodies(environment) ? [] : search({ queue: queues.text }, [body])),
  ];
}

// A source that puts events on the queue first has their bodies there; so has one that fell back to it.
function mayHoldBodies({ ack, backend, struck }: Evidence["environment"]): boolean {
  return backend === "redis" && (ack === "queue" || struck.size > 0);
}

function search(texts: Readonly<Record<string, string>>, canaries: readonly string[]): Finding[] {
  return Object.entries(texts).flatMap(([where, text]) =>
    canaries
      .filter((canary) => text.includes(canary))
      .map((canary) => ({
        invariant: "I11 SECRETS",
        text: `${where}: holds the canary ${canary.slice(0, 16)}...`,
      })),
  );
}
