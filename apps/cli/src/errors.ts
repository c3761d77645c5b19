import type { ErrorGroup, ErrorState } from "@millrace/api-contract";
import { setErrorState } from "@millrace/operations";
import type { CliContext } from "./context.ts";
import { age } from "./events/format-events.ts";
import { readSettings } from "./settings.ts";
import { findStores, withLedger } from "./stores.ts";
import { cut, formatTable, printable, widthOf } from "./terminal-text.ts";

export interface ErrorsOptions {
  /** How the fingerprint of one error begins; without it they are listed. */
  readonly fingerprint?: string | undefined;
  /** What to set its state to. */
  readonly set?: ErrorState | undefined;
  readonly note?: string | undefined;
  readonly reason?: string | undefined;
  readonly state?: ErrorState | undefined;
  readonly source?: string | undefined;
  readonly type?: string | undefined;
  readonly q?: string | undefined;
  readonly limit: number;
  readonly json: boolean;
}

/**
 * Lists groups of equal errors, shows one, or sets the state of one.
 *
 * @throws `error_not_found`, `invalid_request`; `database_unreachable`, `database_unavailable`, `migration_needed`.
 */
export async function runErrors(context: CliContext, options: ErrorsOptions): Promise<void> {
  const { fingerprint, set, note, reason, json, limit, ...filter } = options;
  const { databaseUrl } = await findStores(readSettings(context));
  const print = (text: string) => context.stdout.write(`${text}\n`);
  await withLedger(databaseUrl, async (ledger) => {
    if (fingerprint === undefined) {
      const { errors, total } = await ledger.errors.find({ ...filter, limit });
      if (json) for (const error of errors) print(JSON.stringify(error));
      else print(listText(errors, total, context.stdout));
      return;
    }
    const actor = { user: context.user, role: "operator", via: "cli", reason } as const;
    const error =
      set === undefined
        ? await ledger.errors.get(fingerprint)
        : await setErrorState({ ledger, actor }, fingerprint, { state: set, note });
    if (json) print(JSON.stringify(error));
    else print(set === undefined ? errorText(error, new Date()) : `${set} ${error.fingerprint}`);
  });
}

/** Two lines for each: an error's text is too long to stand beside its numbers. */
function listText(errors: readonly ErrorGroup[], total: number, to: CliContext["stdout"]): string {
  if (errors.length === 0) return "No error matches.";
  const now = new Date();
  const columns = widthOf(to);
  const blocks = errors.map((error) => {
    const { fingerprint, state, attempts, failed, pending, last_seen_at } = error;
    const seen = `last seen ${age(new Date(last_seen_at), now)} ago`;
    const numbers = `${attempts} attempts, ${failed} failed, ${pending} pending, ${seen}`;
    const lines = [`${fingerprint}  ${state}  ${numbers}`, `  ${printable(error.title)}`];
    return lines.map((line) => cut(line, columns)).join("\n");
  });
  const more = total > errors.length ? [`${total - errors.length} more: see --limit`] : [];
  return [...blocks, ...more].join("\n");
}

function errorText(error: ErrorGroup, now: Date): string {
  const { fingerprint, sources, sample, title, ...rest } = error;
  const fields = Object.entries(rest).filter(([, value]) => value !== null);
  const rows = fields.map(([name, value]) => [
    name,
    printable(String(value)) +
      (name.endsWith("_at") ? ` (${age(new Date(String(value)), now)} ago)` : ""),
  ]);
  const where = sources.map(({ source, type, attempts }) => [
    `  ${source}`,
    printable(type),
    `${attempts} attempts`,
  ]);
  const id = printable(sample.event_id);
  return [
    printable(title),
    formatTable([["fingerprint", fingerprint], ...rows]),
    `seen in\n${formatTable(where)}`,
    [
      `look at one    millrace events ${sample.source} ${id}`,
      `list them      millrace events --status failed --error ${fingerprint}`,
      `retry them     millrace retry --error ${fingerprint}`,
    ].join("\n"),
  ].join("\n\n");
}
