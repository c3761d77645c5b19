import type { EventDetail, EventRow } from "@millrace/api-contract";
import { MillraceError, type EventLookup, type EventStatus, type Outcome } from "@millrace/core";
import type { EventRecord } from "@millrace/ledger";
import { showEvent, type ShownEvent } from "@millrace/operations";
import { loadConfig } from "@millrace/service";
import type { CliContext } from "../context.ts";
import { findStores, withLedger, withQueues } from "../stores.ts";
import { printable } from "../terminal-text.ts";
import { readSettings, type Settings } from "../settings.ts";
import { followEvents, listEvents } from "./list-events.ts";
import { formatDetail, formatLine, formatList } from "./format-events.ts";

/** What `millrace events` was asked for. */
export interface EventsOptions {
  readonly source?: string | undefined;
  readonly type?: string;
  readonly status?: EventStatus;
  readonly outcome?: Outcome;
  readonly q?: string;
  readonly id?: string | undefined;
  readonly since?: Date;
  readonly until?: Date;
  readonly limit: number;
  readonly json: boolean;
  readonly follow: boolean;
}

/** Lists events, or shows the one that is named. */
export async function runEvents(context: CliContext, options: EventsOptions): Promise<void> {
  const { id, follow: goesOn, ...rest } = options;
  if (id !== undefined) return await show(context, options);
  await (goesOn ? follow(context, rest) : list(context, rest));
}

type ListOptions = Omit<EventsOptions, "id" | "follow">;

/** Lists events as they come and change, until Ctrl-C. */
async function follow(context: CliContext, { limit, json, ...filter }: ListOptions): Promise<void> {
  const { databaseUrl } = await findStores(readSettings(context));
  const stop = new AbortController();
  const dispose = context.onStopSignal(() => stop.abort());
  try {
    await withLedger(databaseUrl, async (ledger) => {
      for await (const event of followEvents(ledger, filter, { limit, signal: stop.signal })) {
        context.stdout.write(`${json ? JSON.stringify(event) : formatLine(event)}\n`);
      }
    });
  } finally {
    dispose();
  }
}

async function list(context: CliContext, { limit, json, ...filter }: ListOptions): Promise<void> {
  const { databaseUrl } = await findStores(readSettings(context));
  const rows: EventRow[] = [];
  await withLedger(databaseUrl, async (ledger) => {
    for await (const event of listEvents(ledger, filter, limit)) {
      if (json) context.stdout.write(`${JSON.stringify(event)}\n`);
      else rows.push(event);
    }
  });
  if (json) return;
  const isFiltered = Object.values(filter).some((value) => value !== undefined);
  const none = isFiltered ? "No event matches." : "No events yet. `millrace send` makes some.";
  const text = rows.length === 0 ? none : formatList(rows, new Date(), context.stdout);
  context.stdout.write(`${text}\n`);
}

async function show(context: CliContext, { source, id = "", json }: EventsOptions): Promise<void> {
  if (source === undefined) {
    throw new MillraceError("invalid_request", "Cannot show an event: --id needs --source");
  }
  const found = await findOne(readSettings(context), { source, eventId: id });
  if (found === undefined) {
    throw new MillraceError(
      "event_not_found",
      `Cannot show "${printable(id)}" of "${source}": neither the ledger nor its queue knows it`,
    );
  }
  if (found.stage === "queued") {
    const queued = { stage: found.stage, source, event_id: id, job: found.job.state };
    const line = `${source} ${printable(id)} waits on its queue (${found.job.state})`;
    context.stdout.write(`${json ? JSON.stringify(queued) : line}\n`);
    return;
  }
  const { detail } = found;
  context.stdout.write(`${json ? JSON.stringify(asJson(detail)) : formatDetail(detail)}\n`);
}

async function findOne(settings: Settings, lookup: EventLookup): Promise<ShownEvent | undefined> {
  const stores = await findStores(settings);
  return await withLedger(stores.databaseUrl, async (ledger) => {
    const detail = await ledger.reads.findEvent(lookup);
    if (detail !== undefined) return { stage: "recorded", detail };
    const { config } = await loadConfig(settings.configPath);
    return await withQueues(stores, Object.keys(config.sources), (queues) =>
      showEvent({ ledger, queues }, lookup),
    );
  });
}

/** As the API has it, but for the bytes, and with the generations oldest first. */
function asJson(detail: EventRecord): unknown {
  const { event, headers, payload, body, attemptLog, conflicts, generations } = detail;
  return {
    ...event,
    headers,
    payload,
    body_kept: body !== undefined,
    attempt_log: attemptLog,
    conflicts,
    generations,
  } satisfies Partial<EventDetail>;
}
