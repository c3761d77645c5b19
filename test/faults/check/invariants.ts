import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import {
  checkEmitted,
  checkLost,
  checkMonotone,
  checkOnce,
  checkOutcome,
  checkStarts,
  checkUnexpected,
  countReruns,
  RELAY,
  withEmitted,
} from "./events.ts";
import {
  type Check,
  type Evidence,
  type Finding,
  type Generation,
  generationOf,
  type LedgerRow,
  type StepRow,
} from "./evidence.ts";
import { checkAlive, checkFootprints, checkLeaks } from "./processes.ts";
import { checkAnswered, checkIsolation } from "./timing.ts";
import { CANARIES } from "../load/post.ts";
import { keyOf } from "../load/client-log.ts";

const CHECKS: readonly Check[] = [
  checkLost,
  checkOutcome,
  checkUnexpected,
  checkOnce,
  checkMonotone,
  checkEmitted,
  checkSteps,
  checkAgreement,
  checkAnswered,
  checkAlive,
  checkIsolation,
  checkLeaks,
  checkFootprints,
  checkSecrets,
  checkStarts,
];

export async function check(evidence: Evidence): Promise<readonly Finding[]> {
  const found = await Promise.all(CHECKS.map(async (one) => await one(evidence)));
  return found.flat();
}

export function totalsOf(evidence: Evidence, findings: readonly Finding[]) {
  const { log, rows, effects, emitted, steps, calls, environment } = evidence;
  const accounts = [...log.accounts.values()];
  const known = new Set(rows.map(({ source, id }) => `${source}/${id}`));
  const count = (invariant: string) =>
    findings.filter((finding) => finding.invariant === invariant).length;
  return {
    events: accounts.filter(({ event }) => event.forged !== true).length,
    attempts: log.attempts,
    acknowledged: accounts.filter(({ acknowledged }) => acknowledged > 0).length,
    completed: rows.filter(({ status }) => status === "completed").length,
    failed: rows.filter(({ status }) => status === "failed").length,
    effects: effects.length,
    emitted: emitted.length,
    steps: steps.length,
    calls: calls.length,
    lost: count("I1 LOST"),
    doubled: count("I3 ONCE"),
    invented: count("I2 UNEXPECTED"),
    unanswered: count("I7 FAIL-FAST"),
    excused: [...environment.excused].filter((key) => !known.has(key) && isOwed(evidence, key))
      .length,
    withoutBody: rows.filter(({ status, code }) => status === "failed" && code === "body_lost")
      .length,
    recovered: accounts.filter(
      ({ event, acknowledged }) => acknowledged === 0 && known.has(`${event.source}/${event.id}`),
    ).length,
    reruns: countReruns(evidence),
    slowestMs: Math.round(log.slowestMs),
  };
}

function isOwed({ log }: Evidence, key: string): boolean {
  return (log.accounts.get(key)?.acknowledged ?? 0) > 0;
}

const INVARIANT = "I6 AGREEMENT";

/** I6, at rest: nothing is pending, and the queue's failed jobs are those of failed events. */
function checkAgreement({ rows, queues, environment }: Evidence): Finding[] {
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
async function checkSecrets({ environment, queues }: Evidence): Promise<Finding[]> {
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

type Step = Generation & { readonly step: string };

const stepOf = (row: Step): string => `${generationOf(row)}, ${row.step}`;
const found = (text: string): Finding => ({ invariant: "I14 STEPS", text });

/** I14: the calls of a step have one key in a generation, and no other step has that key. */
function checkSteps(evidence: Evidence): Finding[] {
  return [...checkKeys(evidence), ...checkRecords(evidence), ...checkAnswers(evidence)];
}

function checkKeys({ calls }: Evidence): Finding[] {
  const keys = new Map<string, string>();
  const owners = new Map<string, string>();
  return calls.flatMap((call) => {
    const step = stepOf(call);
    const key = keys.get(step) ?? call.key;
    const owner = owners.get(call.key) ?? step;
    keys.set(step, key);
    owners.set(call.key, owner);
    if (key !== call.key) return [found(`${step} was made under ${key} and ${call.key}`)];
    return owner === step ? [] : [found(`${step} was made under the key of ${owner}`)];
  });
}

function checkRecords(evidence: Evidence): Finding[] {
  const { calls, steps } = evidence;
  const undone = withEmitted(evidence);
  const records = new Map(steps.map((row) => [stepOf(row), row]));
  const made = new Set(calls.map((call) => `${stepOf(call)}, attempt ${call.attempt}`));
  const again = calls
    .filter((call) => call.attempt > (records.get(stepOf(call))?.attempt ?? Infinity))
    .filter((call) => !undone.has(keyOf(call)))
    .map((call) => found(`${stepOf(call)} was made in attempt ${call.attempt}, after its record`));
  const invented = steps
    .filter((row) => !made.has(`${stepOf(row)}, attempt ${row.attempt}`) || !isByAttempt(row))
    .map((row) =>
      found(`${stepOf(row)} was not made by attempt ${row.attempt}, which recorded it`),
    );
  return [...again, ...invented];
}

function isByAttempt({ attempt, result }: StepRow): boolean {
  return result.startsWith(`"${attempt} `);
}

function checkAnswers(evidence: Evidence): Finding[] {
  const { rows, effects, steps } = evidence;
  const records = new Map(steps.map(({ result, ...row }) => [stepOf(row), result]));
  const written = new Map(effects.map((effect) => [generationOf(effect), effect.answers]));
  const ledger = new Set(rows.map(generationOf));
  const orphans = steps.filter((row) => !ledger.has(generationOf(row)));
  const wrong = rows
    .filter(({ status, outcome }) => status === "completed" && outcome === "handled")
    .filter((row) => {
      const names = stepsOf(row, evidence);
      const results = names.map((step) => records.get(stepOf({ ...row, step })));
      const answers = names.length === 0 ? null : `[${results.join()}]`;
      return answers !== written.get(generationOf(row));
    });
  return [
    ...orphans.map((row) =>
      found(`${stepOf(row)} is recorded, and its event is not in the ledger`),
    ),
    ...wrong.map((row) =>
      found(`${generationOf(row)} was written with other answers than recorded`),
    ),
  ];
}

function stepsOf(row: LedgerRow, { log }: Evidence): string[] {
  const { call } = log.accounts.get(keyOf(row))?.event.plan ?? {};
  const count = row.source === RELAY ? 1 : (call?.steps ?? 0);
  return Array.from({ length: count }, (_, index) => `step ${index + 1}`);
}
