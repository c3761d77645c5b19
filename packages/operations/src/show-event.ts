import { MillraceError, type EventLookup } from "@millrace/core";
import type { Deliveries } from "@millrace/api-contract";
import type { BodyPart, EventRecord, Ledger } from "@millrace/ledger";
import type { FoundJob, Queues } from "@millrace/queue";

export type ShownEvent =
  | { readonly stage: "recorded"; readonly detail: EventRecord }
  | { readonly stage: "queued"; readonly job: FoundJob; readonly deliveries: Deliveries };

export interface ShowDeps {
  readonly ledger: Pick<Ledger, "reads">;
  readonly queues: Pick<Queues, "queues" | "findJob" | "ping">;
}

/** Looks in the ledger, else in the queue. @throws `database_unavailable`; the queue's error */
export async function showEvent(
  deps: ShowDeps,
  lookup: EventLookup,
  options: { readonly bodyBytesMax?: number } = {},
): Promise<ShownEvent | undefined> {
  const detail = await deps.ledger.reads.findEvent(lookup, options);
  if (detail !== undefined) return { stage: "recorded", detail };
  const job = await findQueued(deps, lookup);
  if (job === undefined) return undefined;
  const { acceptedAtMs } = job.event ?? { acceptedAtMs: job.enqueuedAtMs };
  const deliveries = await deps.ledger.reads.findDeliveries(lookup, acceptedAtMs);
  return { stage: "queued", job, deliveries };
}

async function findQueued(
  { queues }: ShowDeps,
  lookup: EventLookup,
): Promise<FoundJob | undefined> {
  if (!queues.queues.has(lookup.source)) return undefined;
  await queues.ping();
  return await queues.findJob({ ...lookup, generation: lookup.generation ?? 0 });
}

export interface BodyRange {
  readonly offset?: number | undefined;
  readonly length?: number | undefined;
  /** Of the other body of a conflict. Default: the event's own body. */
  readonly bodyHash?: string | undefined;
}

export interface OpenBody {
  readonly generation: number;
  readonly length: number;
  /** Parts of at most 1 MB, each read when it is asked for. They throw as `openBody`. */
  readonly parts: AsyncIterable<Uint8Array>;
}

const PART_BYTES = 1024 * 1024;

/** From the ledger, else from its job. @throws `body_missing`, and as `showEvent` */
export async function openBody(
  deps: ShowDeps,
  lookup: EventLookup,
  { offset = 0, length = Infinity, bodyHash }: BodyRange = {},
): Promise<OpenBody | undefined> {
  const read = (generation: number | undefined, from: number, bytes: number) => {
    const range = { offset: from, length: Math.min(bytes, PART_BYTES), bodyHash };
    return deps.ledger.reads.readBody({ ...lookup, generation }, range);
  };
  const found =
    (await read(lookup.generation, offset, length)) ??
    (bodyHash === undefined ? await queuedBody(deps, lookup, { offset, length }) : undefined);
  if (found === undefined) return undefined;
  const { generation, bodyBytes } = found;
  const first = requirePart(found);
  const end = Math.min(offset + length, bodyBytes ?? 0);

  async function* parts() {
    yield first;
    for (let at = offset + first.byteLength; at < end;) {
      const part = requirePart(await read(generation, at, end - at));
      yield part;
      at += part.byteLength;
    }
  }
  return { generation, length: Math.max(0, end - offset), parts: parts() };
}

async function queuedBody(
  deps: ShowDeps,
  lookup: EventLookup,
  { offset, length }: { offset: number; length: number },
): Promise<BodyPart | undefined> {
  const job = await findQueued(deps, lookup);
  if (job === undefined) return undefined;
  // A job without a valid MAC is not shown as an event.
  const event = job.mac === undefined ? job.event : undefined;
  const body = event?.body;
  return {
    generation: event?.generation ?? lookup.generation ?? 0,
    bodyBytes: body?.byteLength ?? null,
    part: body?.subarray(offset, offset + length) ?? null,
  };
}

function requirePart(found: BodyPart | undefined): Uint8Array {
  if (found?.part !== null && found?.part !== undefined) return found.part;
  throw new MillraceError(
    "body_missing",
    "Cannot read the event's body: it is no longer kept, or no worker has recorded the event yet",
  );
}
