import { keyOf } from "../load/client-log.ts";
import { RELAY, withEmitted } from "./events.ts";
import {
  generationOf,
  type Evidence,
  type Finding,
  type Generation,
  type LedgerRow,
  type StepRow,
} from "./evidence.ts";

type Step = Generation & { readonly step: string };

const stepOf = (row: Step): string => `${generationOf(row)}, ${row.step}`;
const found = (text: string): Finding => ({ invariant: "I14 STEPS", text });

/** I14: the calls of a step have one key in a generation, and no other step has that key. */
export function checkSteps(evidence: Evidence): Finding[] {
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
