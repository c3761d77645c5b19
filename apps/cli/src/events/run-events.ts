import type { EventDetail, EventRow } from "@millrace/api-contract";
import { MillraceError, type EventLookup, type EventStatus, type Outcome } from "@millrace/core";
import type { EventRecord, Ledger } from "@millrace/ledger";
import { showEvent, type ShowDeps } from "@millrace/operations";
import { loadConfig, reasonOf } from "@millrace/service";
import type { CliContext } from "../context.ts";
import { findStores, withLedger, withQueues } from "../stores.ts";
import { printable } from "../terminal-text.ts";
import { nearest } from "../doctor/nearest.ts";
import { readSettings, type Settings } from "../settings.ts";
import { withWholeError } from "../whole-error.ts";
import { followEvents, listEvents } from "./list-events.ts";
import { formatDetail, formatLine, formatList } from "./format-events.ts";
import { writeBody } from "./write-body.ts";

/** What `millrace events` was asked for. */
export interface EventsOptions {
  readonly source?: string | undefined;
  readonly type?: string;
  readonly status?: EventStatus | undefined;
  readonly outcome?: Outcome | undefined;
  readonly error?: string;
  readonly q?: string;
  readonly id?: string | undefined;
  readonly since?: Date;
  readonly until?: Date;
  readonly limit: number;
  readonly order?: "asc" | undefined;
  readonly json: boolean;
  readonly follow: boolean;
  /** A file to write the body of the event to; true for standard output. */
  readonly body?: string | true | undefined;
}

/** Lists events, or shows the one that is named. */
export async function runEvents(context: CliContext, options: EventsOptions): Promise<void> {
  const { id, follow: goesOn, body: _ofOne, ...rest } = options;
  if (id !== undefined) return await show(context, options);
  await (goesOn ? follow(context, rest) : list(context, rest));
}

type ListOptions = Omit<EventsOptions, "id" | "follow" | "body">;

/** Lists events as they come and change, until Ctrl-C. */
async function follow(context: CliContext, { limit, json, ...given }: ListOptions): Promise<void> {
  const stop = new AbortController();
  const dispose = context.onStopSignal(() => stop.abort());
  try {
    await withEnvironmentLedger(context, async (ledger) => {
      const filter = await withWholeError(ledger, given);
      for await (const event of followEvents(ledger, filter, { limit, signal: stop.signal })) {
        context.stdout.write(`${json ? JSON.stringify(event) : formatLine(event)}\n`);
      }
    });
  } finally {
    dispose();
  }
}

async function list(context: CliContext, { limit, json, ...filter }: ListOptions): Promise<void> {
  const rows: EventRow[] = [];
  await withEnvironmentLedger(context, async (ledger) => {
    for await (const event of listEvents(ledger, await withWholeError(ledger, filter), limit)) {
      if (json) context.stdout.write(`${JSON.stringify(event)}\n`);
      else rows.push(event);
    }
  });
  if (rows.length === 0 && !json && filter.source !== undefined) {
    await requireSource(context, filter.source);
  }
  if (json) return;
  const { order: _which, ...narrowed } = filter;
  const isFiltered = Object.values(narrowed).some((value) => value !== undefined);
  const none = isFiltered ? "No event matches." : "No events yet. `millrace send` makes some.";
  const text = rows.length === 0 ? none : formatList(rows, new Date(), context.stdout);
  context.stdout.write(`${text}\n`);
}

/** Nothing was found of a source: its name may be wrong. Without a config here, nobody can say. */
async function requireSource(context: CliContext, name: string): Promise<void> {
  const loaded = await loadConfig(readSettings(context).configPath).catch(() => undefined);
  if (loaded === undefined || Object.hasOwn(loaded.config.sources, name)) return;
  const names = Object.keys(loaded.config.sources);
  const meant = nearest(name, names);
  const hint = meant === undefined ? `It has ${names.join(", ")}` : `Did you mean "${meant}"?`;
  throw new MillraceError(
    "unknown_source",
    `Cannot list events of "${printable(name)}": there are none, and the config has no such source. ${hint}`,
  );
}

/** Opens the ledger that the environment names for the time of one command. */
async function withEnvironmentLedger(
  context: CliContext,
  work: (ledger: Pick<Ledger, "reads" | "errors">) => Promise<void>,
): Promise<void> {
  const { databaseUrl } = await findStores(readSettings(context));
  await withLedger(databaseUrl, work);
}

async function show(context: CliContext, options: EventsOptions): Promise<void> {
  const { source, id = "", json, body } = options;
  if (source === undefined) {
    throw new MillraceError("invalid_request", "Cannot show an event: --id needs --source");
  }
  const lookup = { source, eventId: id };
  const settings = readSettings(context);
  if (body !== undefined) {
    const written = await ask(settings, (deps) => writeBody(context, deps, lookup, body));
    if (written === undefined) throw notFound(lookup);
    return;
  }
  const found = await ask(settings, (deps) => showEvent(deps, lookup));
  if (found === undefined) throw notFound(lookup);
  if (found.stage === "queued") {
    const queued = { stage: found.stage, source, event_id: id, job: found.job.state };
    const line = `${source} ${printable(id)} waits on its queue (${found.job.state})`;
    context.stdout.write(`${json ? JSON.stringify(queued) : line}\n`);
    return;
  }
  const { detail } = found;
  context.stdout.write(
    `${json ? JSON.stringify(asJson(detail)) : formatDetail(detail, new Date())}\n`,
  );
}

function notFound({ source, eventId }: EventLookup): MillraceError {
  return new MillraceError(
    "event_not_found",
    `Cannot show "${printable(eventId)}" of "${source}": neither the ledger nor its queue knows it`,
  );
}

/** Asks the ledger alone, which needs no config, and then the queues too if it does not have the event. */
async function ask<Found>(
  settings: Settings,
  work: (deps: ShowDeps) => Promise<Found | undefined>,
): Promise<Found | undefined> {
  const stores = await findStores(settings);
  return await withLedger(stores.databaseUrl, async (ledger) => {
    const found = await work({ ledger, queues: NO_QUEUES });
    if (found !== undefined) return found;
    const { config } = await loadConfig(settings.configPath);
    return await withQueues(stores, Object.keys(config.sources), (queues) =>
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
function asJson(detail: EventRecord): unknown {
  const { event, headers, payload, body, bodyBytes, attemptLog, conflicts, generations } = detail;
  return {
    ...event,
    headers,
    payload,
    body_kept: body !== undefined,
    body_bytes: bodyBytes ?? null,
    attempt_log: attemptLog,
    conflicts,
    generations,
    same_message: detail.sameMessage,
    emitted_by: detail.emittedBy,
    emitted: detail.emitted,
    deliveries: detail.deliveries,
    acts: detail.acts,
    steps: detail.steps,
  } satisfies Partial<EventDetail>;
}
