import type { EventDetail, EventRow, QueuedPage } from "@millrace/api-contract";
import {
  EVENT_STATUSES,
  OUTCOMES,
  MillraceError,
  type Config,
  type EventLookup,
  stringifyJson,
} from "@millrace/core";
import type { EventSearch, EventRecord, Ledger } from "@millrace/ledger";
import { listQueued, readFilter, showEvent, type ShowDeps } from "@millrace/operations";
import { loadConfig, reasonOf } from "@millrace/service";
import type { Command } from "commander";
import { type CliContext, readSettings } from "../context.ts";
import { formatDetail, formatList, formatQueued } from "../events/format-events.ts";
import { listEvents } from "../events/list-events.ts";
import { writeBody } from "../events/write-body.ts";
import {
  EVENT_FILTER,
  type EventFilterOptions,
  outcomeOption,
  choice,
  wholeNumber,
} from "../parse-option.ts";
import { requireSource } from "../find-source.ts";
import { findStores, withLedger, withQueues } from "../stores.ts";
import { printable } from "../terminal-text.ts";

/** The column STATUS shows a status, or the outcome of an event that no handler completed. */
const STATUSES = [...EVENT_STATUSES, ...OUTCOMES.filter((outcome) => outcome !== "handled")];

interface Options extends EventFilterOptions {
  readonly status?: (typeof STATUSES)[number];
  readonly limit: number;
  readonly json?: true;
  /** A file to write the body of the event to; true for standard output. */
  readonly body?: string | true | undefined;
}

const HELP = `
Reads the ledger in DATABASE_URL, or of the running \`millrace start\`, newest events first. Events
that no worker has recorded yet are read from the queue on Redis, and listed as queued.

Examples:
  $ millrace events
  $ millrace events --status failed --since 1h
  $ millrace events --q evt_12 --json
  $ millrace events --find 'customer:cus_1 type:invoice.* body:"refund"'
  $ millrace events hookmesh evt_123            shows one event with its payload and attempts
  $ millrace events hookmesh evt_123 --body > event.json`;

export function addCommands(program: Command, context: CliContext): void {
  const command = program.command("events");
  command
    .description("list events, or show one event")
    .argument("[source]", "the events' source")
    .argument("[id]", "the id of one event, to show it in full")
    .addOption(EVENT_FILTER.source)
    .addOption(EVENT_FILTER.tenant)
    .addOption(EVENT_FILTER.type)
    .addOption(choice("--status <status>", "events with this status", STATUSES))
    .addOption(outcomeOption)
    .addOption(EVENT_FILTER.error)
    .addOption(EVENT_FILTER.q)
    .addOption(EVENT_FILTER.run)
    .addOption(EVENT_FILTER.find)
    .addOption(EVENT_FILTER.since)
    .addOption(EVENT_FILTER.until)
    .option("--limit <n>", "maximum number of rows", wholeNumber({ min: 1, max: 1_000_000 }), 50)
    .option("--json", "print JSON lines instead of a table")
    .option(
      "--body [file]",
      "of one event: write the exact bytes of its body to a file, or to standard output",
    )
    .addHelpText("after", HELP)
    .action(async (source: string | undefined, eventId: string | undefined, flags: Options) => {
      const { status, limit, json, body, ...options } = flags;
      const outcome = OUTCOMES.find((one) => one === status);
      if (outcome !== undefined && options.outcome !== undefined) {
        command.error(`error: give --status ${outcome} or --outcome ${options.outcome}`);
      }
      if (body !== undefined && eventId === undefined) {
        command.error("error: --body needs one event: a source and an id");
      }
      const filter = {
        ...options,
        ...(outcome === undefined
          ? { status: EVENT_STATUSES.find((one) => one === status) }
          : { outcome }),
        source: source ?? options.source,
      };
      const how = { limit, json: json === true };
      if (source !== undefined && eventId !== undefined) {
        await show(context, { source, eventId }, { json: how.json, body });
      } else await list(context, filter, how);
    });
}

type Filter = Omit<EventSearch, "limit" | "cursor">;

interface ListOptions {
  readonly limit: number;
  readonly json: boolean;
}

async function list(
  context: CliContext,
  filter: Filter,
  { limit, json }: ListOptions,
): Promise<void> {
  const rows: EventRow[] = [];
  let queued: QueuedPage | null = null;
  const onSearched = (to: string) => {
    const until = new Date(Date.parse(to) + 1).toISOString();
    context.stderr.write(`note: bodies were read back to ${to}; go on with --until ${until}\n`);
  };
  await withLedger(context, async (ledger) => {
    const whole = await readSearch(context, ledger, filter);
    queued = await readQueued(context, ledger, { ...whole, limit });
    if (json)
      for (const row of queued?.events ?? []) context.stdout.write(`${JSON.stringify(row)}\n`);
    for await (const event of listEvents(ledger, whole, limit, onSearched)) {
      if (json) context.stdout.write(`${JSON.stringify(event)}\n`);
      else rows.push(event);
    }
  });
  const waiting = formatQueued(queued, new Date());
  if (rows.length === 0 && waiting === "" && !json && filter.source !== undefined) {
    const config = await findConfig(context);
    if (config !== undefined) requireSource(config, filter.source, "list events of");
  }
  if (json) return;
  const isFiltered = Object.values(filter).some((value) => value !== undefined);
  const none = isFiltered ? "No event matches." : "No events yet. `millrace send` makes some.";
  const text = rows.length === 0 ? none : formatList(rows, new Date(), context.stdout);
  context.stdout.write(`${waiting}${waiting !== "" && rows.length === 0 ? "" : `${text}\n`}`);
}

/** Events that only Redis has. Null without Redis, or while it is not at hand. */
async function readQueued(
  context: CliContext,
  ledger: Ledger,
  filter: EventSearch,
): Promise<QueuedPage | null> {
  const settings = readSettings(context);
  const stores = await findStores(settings);
  if (stores.REDIS_URL === undefined) return null;
  try {
    const { config } = await loadConfig(settings.configPath);
    const sources = Object.keys(config.sources);
    return await withQueues(stores, sources, (queues) => listQueued({ ledger, queues }, filter));
  } catch (error) {
    context.stderr.write(
      `note: events that only the queue has are not listed: ${reasonOf(error)}\n`,
    );
    return null;
  }
}

async function readSearch(context: CliContext, ledger: Ledger, filter: Filter) {
  const config = filter.find === undefined ? undefined : await findConfig(context);
  return await readFilter(ledger, filter, config?.sources);
}

/** The project's config. Without one any source can be right. */
async function findConfig(context: CliContext): Promise<Config | undefined> {
  const loaded = await loadConfig(readSettings(context).configPath).catch(() => undefined);
  return loaded?.config;
}

async function show(
  context: CliContext,
  lookup: EventLookup,
  { json, body }: Pick<Options, "body"> & { readonly json: boolean },
): Promise<void> {
  const { source, eventId } = lookup;
  if (body !== undefined) {
    const written = await ask(context, (deps) => writeBody(context, deps, lookup, body));
    if (written === undefined) throw notFound(lookup);
    return;
  }
  const found = await ask(context, (deps) => showEvent(deps, lookup));
  if (found === undefined) throw notFound(lookup);
  const provider = (await findConfig(context))?.sources[source]?.provider;
  const about = { authenticated_only: provider?.authenticatedOnly === true };
  const note = about.authenticated_only ? " (authenticated only, not verified)" : "";
  if (found.stage === "queued") {
    const { stage, job } = found;
    const queued = { stage, source, event_id: eventId, job: job.state, ...about };
    const line = `${source}${note} ${printable(eventId)} waits on its queue (${job.state})`;
    context.stdout.write(`${json ? JSON.stringify(queued) : line}\n`);
    return;
  }
  const { detail } = found;
  const text = json
    ? stringifyJson({ ...asJson(detail), ...about })
    : formatDetail(detail, new Date(), note);
  context.stdout.write(`${text}\n`);
}

function notFound({ source, eventId }: EventLookup): MillraceError {
  return new MillraceError(
    "event_not_found",
    `Cannot show "${printable(eventId)}" of "${source}": neither the ledger nor its queue knows it`,
  );
}

/** Asks the ledger first, which needs no config, and then the queues. */
async function ask<Found>(
  context: CliContext,
  work: (deps: ShowDeps) => Promise<Found | undefined>,
): Promise<Found | undefined> {
  return await withLedger(context, async (ledger) => {
    const found = await work({ ledger, queues: NO_QUEUES });
    if (found !== undefined) return found;
    const settings = readSettings(context);
    const { config } = await loadConfig(settings.configPath);
    return await withQueues(await findStores(settings), Object.keys(config.sources), (queues) =>
      work({ ledger, queues }),
    );
  });
}

const NO_QUEUES: ShowDeps["queues"] = {
  queues: new Map(),
  findJob: async () => undefined,
  ping: async () => {},
};

/** As the API has it, but for the bytes, and with the generations oldest first. */
function asJson({ event, body, bodyBytes, ...about }: EventRecord): Partial<EventDetail> {
  return { ...event, ...about, body_kept: body !== undefined, body_bytes: bodyBytes ?? null };
}
