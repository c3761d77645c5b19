import type { BulkRun } from "@millrace/api-contract";
import { REASON_WORDS, runResult } from "@millrace/api-contract/run-text";
import { wait } from "@millrace/core";
import type { Ledger } from "@millrace/ledger";
import type { CliContext } from "../context.ts";
import { createProgress } from "../progress.ts";
import { onStopRequest } from "../stop-request.ts";
import { createPrinter, printable } from "../terminal-text.ts";

const POLL_MS = 1_000;
/** Milliseconds without a worker, or without a result, after which it says so. */
const PATIENCE_MS = 10_000;

/** Gives up after ten seconds in which no event ends. Ctrl-C stops watching, not the run. */
export async function watchRun(
  context: CliContext,
  ledger: Pick<Ledger, "bulkRuns">,
  started: BulkRun,
  json: true | undefined,
): Promise<number> {
  const { stderr } = context;
  const stop = onStopRequest(context, () => context.exit(1));
  const progress = createProgress(started.total ?? 0, stderr);
  const said = new Set<string>();
  let run = started;
  try {
    let changedAt = performance.now();
    let pollMs = POLL_MS;
    while (!stop.signal.aborted && !isOver(run, performance.now() - changedAt)) {
      await wait(pollMs, stop.signal);
      const before = run;
      const askedAt = performance.now();
      run = await ledger.bulkRuns.get(run.id);
      // The members of a large run take a while to count, which must not keep Postgres busy.
      pollMs = Math.max(POLL_MS, 5 * (performance.now() - askedAt));
      if (progressOf(run) !== progressOf(before)) changedAt = performance.now();
      progress.reach(run.listed);
      const note = noteOn(run, performance.now() - changedAt);
      // A run that is held says so once, and not with each number.
      const kind = note?.replaceAll(/\d+/g, "");
      if (kind === undefined || said.has(kind)) continue;
      said.add(kind);
      stderr.write(`run ${run.id}: ${note}\n`);
    }
  } finally {
    progress.stop();
    stop.dispose();
  }
  if (run.finished_at === null) {
    const [is, verb, act] =
      run.state === "paused" ? ["is paused", "Resume", "resume"] : ["continues", "Stop", "stop"];
    stderr.write(
      `Stopped watching; the run ${is}. ${verb} it with: millrace runs ${act} ${run.id}\n`,
    );
    return 1;
  }
  createPrinter(context, json)({ json: run, text: resultText(run) });
  return run.state === "finished" ? 0 : 1;
}

function isOver({ finished_at: finishedAt, results }: BulkRun, unchangedMs: number): boolean {
  return finishedAt !== null && (results.pending === 0 || unchangedMs > PATIENCE_MS);
}

const progressOf = ({ listed, state, results: { completed, failed } }: BulkRun): string =>
  [listed, state, completed, failed].join();

/** The reason why a run waits. */
function noteOn(run: BulkRun, unchangedMs: number): string | undefined {
  const { state, error, taken_at: takenAt, finished_at: finishedAt } = run;
  // Its result says why it ended.
  if (finishedAt !== null) return undefined;
  if (error !== null) return printable(error);
  if (state === "paused") return "paused";
  if (state === "running" && takenAt === null && unchangedMs > PATIENCE_MS) {
    return "no worker has taken it yet; it starts when one does";
  }
  return undefined;
}

export function resultText(run: BulkRun): string {
  const { skipped, state } = run;
  const lines = [
    runResult(run),
    ...Object.entries(skipped).map(([reason, count]) => skippedText(reason, number(count))),
  ];
  if (state === "stopped") {
    lines.push(printable(run.error ?? "The run was stopped before its end."));
  }
  if (state === "failed") lines.push(`The run failed: ${printable(run.error ?? "")}`);
  return lines.join("\n");
}

const WORDS: Readonly<Record<string, string>> = REASON_WORDS;

export const skippedText = (reason: string, count: string): string =>
  `skipped: ${count}, ${WORDS[reason] ?? reason} (${reason})`;

export const number = (value: number): string => value.toLocaleString("en-US");
