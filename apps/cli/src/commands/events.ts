import { EventEmitter, once } from "node:events";
import { createWriteStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import type { EventDetail, EventRow } from "@millrace/api-contract";
import {
  EVENT_STATUSES,
  OUTCOMES,
  isMillraceError,
  MillraceError,
  type Config,
  type EventLookup,
  stringifyJson,
} from "@millrace/core";
import type { EventFilter, EventRecord, EventSearch, Ledger } from "@millrace/ledger";
import { listQueued, openBody, readFilter, showEvent, type ShowDeps } from "@millrace/operations";
import { reasonOf } from "@millrace/service";
import type { Command } from "commander";
import { type CliContext, loadProject, readSettings } from "../context.ts";
import { formatDetail, formatList, formatQueued } from "../events/format-events.ts";
import { EVENT_FILTER, outcomeOption, choice, wholeNumber } from "../parse-option.ts";
import { requireSource } from "../find-source.ts";
import { findProject, findStores, withLedger, withQueues } from "../stores.ts";
import { createPrinter, printable } from "../terminal-text.ts";

/** The column STATUS shows a status, or the outcome of an event that no handler completed. */
const STATUSES = [...EVENT_STATUSES, ...OUTCOMES.filter((outcome) => outcome !== "handled")];

interface Options extends Omit<EventFilter, "status"> {
  readonly status?: (typeof STATUSES)[number];
  readonly limit: number;
  readonly json?: true | undefined;
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
      if (source !== undefined && eventId !== undefined) {
        return await show(context, { source, eventId }, { json, body });
      }
      const found = EVENT_STATUSES.find((one) => one === status);
      const byStatus = outcome === undefined ? { status: found } : { outcome };
      const filter = { ...options, ...byStatus, source: source ?? options.source };
      await list(context, filter, { limit, json });
    });
}

type Filter = Omit<EventSearch, "limit" | "cursor">;

async function list(
  context: CliContext,
  filter: Filter,
  { limit, json }: Pick<Options, "limit" | "json">,
): Promise<void> {
  const rows: EventRow[] = [];
  const print = createPrinter(context, json);
  const queued = await withLedger(context, async (ledger) => {
    const config = filter.find === undefined ? undefined : await findConfig(context);
    const search = await readFilter(ledger, filter, config?.sources);
    const waiting = await readQueued(context, ledger, { ...search, limit });
    for (const row of waiting?.events ?? []) print({ json: row });
    const find: Ledger["reads"]["findEvents"] = (asked) =>
      ledger.reads.findEvents({ ...search, ...asked });
    const note = (text: string) => void context.stderr.write(`note: ${text}\n`);
    for await (const event of readPages(find, limit, note)) {
      print({ json: event });
      if (json !== true) rows.push(event);
    }
    return waiting;
  });
  if (json === true) return;
  const now = new Date();
  const waiting = formatQueued(queued, now);
  if (rows.length > 0) print({ text: `${waiting}${formatList(rows, now, context.stdout)}` });
  else if (waiting !== "") context.stdout.write(waiting);
  else print({ text: await noneText(context, filter) });
}

/** The ledger's own maximum. */
const PAGE = 500;
const NOTE_EVERY_MS = 2_000;

/** Reads until `limit` events are found, or to the end of the ledger. */
export async function* readPages(
  find: Ledger["reads"]["findEvents"],
  limit: number,
  note: (text: string) => void,
): AsyncGenerator<EventRow> {
  let left = limit;
  let cursor: string | undefined;
  let notedMs = performance.now();
  for (;;) {
    const { events, next, searched_to: to } = await find({ limit: Math.min(left, PAGE), cursor });
    yield* events;
    left -= events.length;
    const last = events.at(-1);
    if (next === null) return;
    if (left === 0 && last !== undefined) {
      // Events of the same millisecond are listed again.
      const until = new Date(Date.parse(last.recorded_at) + 1).toISOString();
      note(`only the newest ${limit} are listed: give a higher --limit, or --until ${until}`);
      return;
    }
    if (to !== null && performance.now() > notedMs + NOTE_EVERY_MS) {
      note(`searched back to ${to}`);
      notedMs = performance.now();
    }
    cursor = next;
  }
}

/** @throws `unknown_source` where no event was found because the config has no such source */
async function noneText(context: CliContext, filter: Filter): Promise<string> {
  const config = await findConfig(context);
  const { source } = filter;
  if (config !== undefined && source !== undefined) requireSource(config, source, "list events of");
  const isFiltered = Object.values(filter).some((value) => value !== undefined);
  return isFiltered ? "No event matches." : "No events yet. `millrace send` makes some.";
}

/** Events that only Redis has. Null without Redis, or while it is not at hand. */
async function readQueued(context: CliContext, ledger: Ledger, filter: EventSearch) {
  const { REDIS_URL } = await findStores(readSettings(context));
  if (REDIS_URL === undefined) return null;
  try {
    const project = await findProject(context);
    return await withQueues(project, (queues) => listQueued({ ledger, queues }, filter));
  } catch (error) {
    context.stderr.write(
      `note: events that only the queue has are not listed: ${reasonOf(error)}\n`,
    );
    return null;
  }
}

/** The project's config. Without one any source can be right. */
async function findConfig(context: CliContext): Promise<Config | undefined> {
  const project = await loadProject(context).catch(() => undefined);
  return project?.config;
}

async function show(
  context: CliContext,
  lookup: EventLookup,
  { json, body }: Pick<Options, "json" | "body">,
): Promise<void> {
  const { source, eventId } = lookup;
  if (body !== undefined) {
    await ask(context, lookup, (deps) => writeBody(context, deps, lookup, body));
    return;
  }
  const found = await ask(context, lookup, (deps) => showEvent(deps, lookup));
  const provider = (await findConfig(context))?.sources[source]?.provider;
  const about = { authenticated_only: provider?.authenticatedOnly === true };
  const note = about.authenticated_only ? " (authenticated only, not verified)" : "";
  const print = createPrinter(context, json, stringifyJson);
  if (found.stage === "queued") {
    const { stage, job } = found;
    print({
      json: { stage, source, event_id: eventId, job: job.state, ...about },
      text: `${source}${note} ${printable(eventId)} waits on its queue (${job.state})`,
    });
    return;
  }
  const text = formatDetail(found.detail, new Date(), note);
  print({ json: { ...asJson(found.detail), ...about }, text });
}

/** Asks the ledger first, which needs no config, and then the queues. @throws `event_not_found` */
async function ask<Found>(
  context: CliContext,
  { source, eventId }: EventLookup,
  work: (deps: ShowDeps) => Promise<Found | undefined>,
): Promise<Found> {
  const found = await withLedger(
    context,
    async (ledger) =>
      (await work({ ledger, queues: NO_QUEUES })) ??
      (await withQueues(await findProject(context), (queues) => work({ ledger, queues }))),
  );
  if (found !== undefined) return found;
  throw new MillraceError(
    "event_not_found",
    `Cannot show "${printable(eventId)}" of "${source}": neither the ledger nor its queue knows it`,
  );
}

const NO_QUEUES: ShowDeps["queues"] = {
  queues: new Map(),
  findJob: async () => undefined,
  ping: async () => {},
};

async function writeBody(
  { stdout }: CliContext,
  deps: ShowDeps,
  lookup: EventLookup,
  to: string | true,
): Promise<true | undefined> {
  if (to === true && stdout.isTTY === true) {
    throw new MillraceError(
      "invalid_request",
      "Cannot write the body to a terminal: name a file (--body event.json), or redirect the output",
    );
  }
  const body = await openBody(deps, lookup);
  if (body === undefined) return undefined;
  if (to === true) {
    for await (const part of body.parts) {
      // A reader can be slower than Postgres.
      const isFull = stdout.write(part) === false;
      if (isFull && stdout instanceof EventEmitter) await once(stdout, "drain");
    }
    return true;
  }
  await pipeline(body.parts, createWriteStream(to)).catch((error: unknown) => {
    if (isMillraceError(error)) throw error;
    const why = `Cannot write the body: ${reasonOf(error)}`;
    throw new MillraceError("invalid_request", why, { cause: error });
  });
  return true;
}

/** As the API has it, but for the bytes, and with the generations oldest first. */
function asJson({ event, body, bodyBytes, ...about }: EventRecord): Partial<EventDetail> {
  return { ...event, ...about, body_kept: body !== undefined, body_bytes: bodyBytes ?? null };
}
