import type { BulkRun } from "@millrace/api-contract";
import type { BulkRunChange } from "@millrace/ledger";
import { changeBulkRun, readRunSearch } from "@millrace/operations";
import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { positiveNumber, reasonText, wholeNumber } from "../parse-option.ts";
import { number, resultText, watchRun } from "../runs/watch-run.ts";
import { actorOf, withLedger } from "../stores.ts";
import { createPrinter, printable, writeList } from "../terminal-text.ts";

const RUNS_HELP = `
\`millrace retry\`, \`replay\`, and \`give-up\` with a filter start a bulk run. A worker works it off, also after
another one that has died. A change takes effect within a second. What is done stays done.

Examples:
  $ millrace runs
  $ millrace runs 12                            watch a run
  $ millrace runs pause 12 --reason "the shop is slow"
  $ millrace runs rate 12 5                     5 events per second
  $ millrace runs stop 12
  $ millrace runs resume 12                     go on, also after a stop`;

export function addCommands(program: Command, context: CliContext): void {
  const runs = program
    .command("runs")
    .description("list bulk runs, watch one, or pause, resume, slow down, or stop it")
    .argument("[id]", "watch this run", runId)
    .option(
      "--limit <n>",
      "maximum number of runs, newest first",
      wholeNumber({ min: 1, max: 200 }),
      20,
    )
    .option("--find <search>", "list those that match, such as 'state:stopped since:7d carrier'")
    .option("--json", "print JSON lines instead of a table")
    .addHelpText("after", RUNS_HELP)
    .action(async (id: number | undefined, options: ListOptions) => {
      if (id === undefined) return await listRuns(context, options);
      await withLedger(context, async (ledger) => {
        const run = await ledger.bulkRuns.get(id);
        context.setExitCode(await watchRun(context, ledger, run, options.json));
      });
    });
  const changing = (verb: string, does: string) =>
    runs
      .command(verb)
      .description(does)
      .argument("<id>", "the run", runId)
      .option("--reason <text>", "reason, recorded in the audit log", reasonText)
      .option("--json", "print the run as JSON");
  for (const [verb, state] of Object.entries({
    pause: "paused",
    resume: "running",
    stop: "stopped",
  } as const)) {
    changing(verb, `${verb} a bulk run`).action(
      (id: number, _own: ChangeOptions, command: Command) =>
        changeRun(context, id, { state }, command.optsWithGlobals<ChangeOptions>()),
    );
  }
  changing("rate", "change how many events per second a bulk run reaches")
    .argument("<n>", "events per second", positiveNumber)
    .action((id: number, rate: number, _own: ChangeOptions, command: Command) =>
      changeRun(context, id, { rate }, command.optsWithGlobals<ChangeOptions>()),
    );
}

// `runs --json` takes the flag from those that follow it.
interface ChangeOptions {
  readonly reason?: string;
  readonly json?: true;
}

interface ListOptions {
  readonly limit: number;
  readonly find?: string;
  readonly json?: true;
}

const runId = wholeNumber({ min: 1, max: 999_999_999_999 });

async function listRuns(context: CliContext, { limit, find, json }: ListOptions): Promise<void> {
  const search = readRunSearch({ limit, find });
  await withLedger(context, async (ledger) => {
    writeList(context, await ledger.bulkRuns.find(search), {
      json,
      none: find === undefined ? "No bulk run yet." : "No bulk run matches.",
      heads: ["RUN", "VERB", "STATE", "REACHED", "COMPLETED", "FAILED", "PENDING", "RATE", "BY"],
      rowOf: (run) => [
        ...[String(run.id), run.verb, run.state],
        run.total === null ? `${number(run.listed)} of many` : `${run.listed}/${run.total}`,
        ...[run.results.completed, run.results.failed, run.results.pending].map(number),
        ...[`${run.rate}/s`, printable(run.started_by ?? "")],
      ],
    });
  });
}

async function changeRun(
  context: CliContext,
  id: number,
  change: BulkRunChange,
  { reason, json }: ChangeOptions,
): Promise<void> {
  await withLedger(context, async (ledger) => {
    const actor = actorOf(context, reason);
    const run = await changeBulkRun({ ledger, actor }, id, change);
    createPrinter(context, json)({ json: run, text: changeText(run) });
  });
}

const changeText = (run: BulkRun): string =>
  run.state === "stopped"
    ? `stopped run ${run.id}\n${resultText(run)}`
    : `run ${run.id} is ${run.state}, ${number(run.rate)} events per second`;
