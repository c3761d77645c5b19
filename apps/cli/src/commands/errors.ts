import {
  ERROR_ORDERS,
  ERROR_STATES,
  type Attempt,
  type ErrorGroup,
  type ErrorState,
  type ReadQueryOf,
} from "@millrace/api-contract";
import type { Ledger } from "@millrace/ledger";
import { changeError } from "@millrace/operations";
import type { Command } from "commander";
import type { CliContext, Output } from "../context.ts";
import { age, failureSections } from "../events/format-events.ts";
import { choice, reasonText, wholeNumber } from "../parse-option.ts";
import { actorOf, withLedger } from "../stores.ts";
import { createPrinter, cut, formatTable, printable, widthOf } from "../terminal-text.ts";

interface Options extends Partial<Omit<ReadQueryOf<"get /errors">, "limit">> {
  readonly limit: number;
  readonly resolve?: true;
  readonly ignore?: true;
  readonly reopen?: true;
  readonly note?: string;
  readonly reason?: string;
  readonly json?: true;
}

const HELP = `
Failed attempts with the same error are one line: what varies in their texts, such as ids and numbers,
does not count. The beginning of a fingerprint names an error. A resolved error that comes back is open
again; an ignored one stays ignored.

Examples:
  $ millrace errors                                   open errors, last seen first
  $ millrace errors --state resolved --source stripe
  $ millrace errors 1-4f3a                            shows one, and how to retry its events
  $ millrace errors 1-4f3a --resolve --note "fixed in 2.4.1"
  $ millrace retry --error 1-4f3a9c01d2e47b60`;

export function addCommands(program: Command, context: CliContext): void {
  const command = program
    .command("errors")
    .description("list errors of handlers, grouped, or show or resolve one")
    .argument("[fingerprint]", "the beginning of an error's fingerprint, to show it")
    .addOption(choice("--state <state>", "errors in this state (default: open)", ERROR_STATES))
    .option("--source <source>", "errors seen in this source")
    .option("--type <type>", "errors seen with this event type")
    .option("--q <text>", "errors whose text contains this")
    .addOption(choice("--sort <by>", "by attempts, or when seen (default: last)", ERROR_ORDERS))
    .option("--limit <n>", "maximum number of errors", wholeNumber({ min: 1, max: 10_000 }), 50)
    .option("--resolve", "set the error to resolved")
    .option("--ignore", "set the error to ignored")
    .option("--reopen", "set the error to open")
    .option("--note <text>", "note for the next person who looks at the error", reasonText)
    .option("--reason <text>", "reason, recorded in the audit log", reasonText)
    .option("--json", "print JSON lines instead of text")
    .addHelpText("after", HELP);
  command.action(async (fingerprint: string | undefined, options: Options) => {
    const { resolve, ignore, reopen, note, reason, state, source, type, q, sort } = options;
    const asked = [resolve && "resolved", ignore && "ignored", reopen && "open"] as const;
    const [set, other] = asked.filter((one) => one !== undefined);
    if (other !== undefined) command.error("error: give one of --resolve, --ignore, --reopen");
    if (fingerprint === undefined && set !== undefined) {
      command.error("error: which error? Give its fingerprint, as `millrace errors` prints it");
    }
    const filter = { source, type, q, state, sort };
    if (fingerprint !== undefined && Object.values(filter).some((one) => one !== undefined)) {
      command.error("error: one error takes no filter: remove its fingerprint, or the options");
    }
    if (set === undefined && (note ?? reason) !== undefined) {
      command.error("error: a note or a reason needs --resolve, --ignore or --reopen");
    }
    await runErrors(context, fingerprint, set, options);
  });
}

async function runErrors(
  context: CliContext,
  fingerprint: string | undefined,
  set: ErrorState | undefined,
  { note, reason, json, limit, source, type, q, sort = "last", state = "open" }: Options,
): Promise<void> {
  const print = createPrinter(context, json);
  await withLedger(context, async (ledger) => {
    if (fingerprint === undefined) {
      const { errors, total } = await ledger.errors.find({ source, type, q, sort, state, limit });
      for (const error of errors) print({ json: error });
      print({ text: listText(errors, total, context.stdout) });
      return;
    }
    const deps = { ledger, actor: actorOf(context, reason) };
    const error = await (set === undefined
      ? ledger.errors.get(fingerprint)
      : changeError(deps, fingerprint, { state: set, note }));
    print({ json: error });
    if (set !== undefined) print({ text: `${set} ${error.fingerprint}` });
    else if (json !== true) print({ text: errorText(error, await lastAttempts(ledger, error)) });
  });
}

/** Three lines for each: its numbers, its text, and where it is thrown and seen. */
export function listText(errors: readonly ErrorGroup[], total: number, to: Output): string {
  if (errors.length === 0) return "No error matches.";
  const now = new Date();
  const columns = widthOf(to);
  const blocks = errors.map((error) => {
    const { fingerprint, state, attempts, failed, pending, last_seen_at } = error;
    const seen = `last seen ${age(new Date(last_seen_at), now)} ago`;
    const sources = new Set(error.sources.map(({ source }) => source));
    const thrown = error.line === null ? "" : `at ${printable(error.line)}, `;
    const lines = [
      `${fingerprint}  ${state}  ${attempts} attempts, ${failed} events failed, ${pending} pending`,
      `  ${printable(error.title)}`,
      `  ${thrown}${seen} in ${[...sources].join(", ")}`,
    ];
    return lines.map((line) => cut(line, columns)).join("\n");
  });
  const more = total > errors.length ? [`${total - errors.length} more: see --limit`] : [];
  return [...blocks, ...more].join("\n");
}

/** Of the event that failed with it last. */
async function lastAttempts(ledger: Ledger, error: ErrorGroup): Promise<readonly Attempt[]> {
  const { source, event_id: eventId, generation } = error.sample;
  const lookup = { source, eventId, generation };
  const record = await ledger.reads.findEvent(lookup, { bodyBytesMax: 0 });
  return record?.attempt_log.filter((one) => one.fingerprint === error.fingerprint) ?? [];
}

function errorText(error: ErrorGroup, failed: readonly Attempt[]): string {
  const now = new Date();
  const { fingerprint, sources, sample, title, ...rest } = error;
  const fields = Object.entries(rest).filter(([, value]) => value !== null);
  const rows = fields.map(([name, value]) => {
    const ago = name.endsWith("_at") ? ` (${age(new Date(String(value)), now)} ago)` : "";
    return [name, printable(String(value)) + ago];
  });
  const where = sources.map(({ source, type, attempts }) => {
    return [`  ${source}`, printable(type), `${attempts} attempts`];
  });
  const id = printable(sample.event_id);
  const status = error.failed === 0 && error.pending > 0 ? "pending" : "failed";
  return [
    printable(title),
    formatTable([["fingerprint", fingerprint], ...rows]),
    ...failureSections(failed),
    `seen in\n${formatTable(where)}`,
    [
      `look at one    millrace events ${sample.source} ${id}`,
      `list them      millrace events --status ${status} --error ${fingerprint}`,
      ...(status === "failed" ? [`retry them     millrace retry --error ${fingerprint}`] : []),
      ...(error.pending > 0
        ? [`run pending    millrace retry --status pending --error ${fingerprint}`]
        : []),
    ].join("\n"),
  ].join("\n\n");
}
