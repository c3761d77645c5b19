import { randomUUID } from "node:crypto";
import { jsonOf } from "@millrace/core";
import type { KeptChange, ServerEpoch } from "@millrace/ledger";
import { queueName } from "@millrace/queue";
import type { Stores } from "./disagreement.ts";

/** The ledger was never compared with the queue, or the queue has changed since. */
export type QueueChange = "new" | "changed";

/** Queues that are new, flushed, restored, replaced, or on a server that may have lost writes. */
export async function changedQueues(
  { ledger, queues }: Stores,
  sources: readonly string[],
): Promise<ReadonlyMap<string, QueueChange>> {
  const [current, kept] = await Promise.all([queues.epochs(sources), ledger.repair.readEpochs()]);
  const changes = new Map<string, QueueChange>();
  for (const [source, epoch] of current) {
    const known = kept.get(queueName(source));
    if (known === undefined) changes.set(source, "new");
    else if (epoch !== known.epoch) changes.set(source, "changed");
  }
  return changes;
}

/** Writes a new epoch into queues before they are compared, and returns their epochs. */
export async function beginEpochs(
  { queues }: Stores,
  sources: readonly string[],
): Promise<ReadonlyMap<string, string | undefined>> {
  await Promise.all(sources.map((source) => queues.writeEpoch(source, randomUUID())));
  return await queues.epochs(sources);
}

/** Keeps the epochs from before a comparison: a queue that was lost since has another one. */
export async function keepEpochs(
  { ledger }: Stores,
  begun: ReadonlyMap<string, string | undefined>,
): Promise<void> {
  const known = [...begun].flatMap(([source, epoch]) =>
    epoch === undefined ? [] : [[queueName(source), epoch] as const],
  );
  await ledger.repair.writeEpochs(new Map(known));
}

/** `restarted`: the server may have lost the last commits (`synchronous_commit`). */
export const LEDGER_CHANGES = ["other_server", "failed_over", "taken_back", "restarted"] as const;

export interface LedgerChange extends KeptChange {
  readonly kind: (typeof LEDGER_CHANGES)[number];
}

export interface LedgerView {
  readonly server: ServerEpoch;
  readonly marks: ReadonlyMap<string, Mark>;
  readonly changes: Map<string, LedgerChange>;
  readonly lately: ReadonlyMap<string, KeptChange>;
}

interface Mark extends ServerEpoch {
  readonly pass: number;
}

const WEEK_MS = 7 * 86_400_000;

/**
 * Only the number of the pass shows a dump that was restored into the same server.
 * @throws `database_unavailable`, and the queue's error
 */
export async function findLedgerChanges(
  { ledger, queues }: Stores,
  sources: readonly string[],
): Promise<LedgerView> {
  // The queue first: Postgres is always written before it, so that a pass in between is no change.
  const texts = await queues.ledgerMarks(sources);
  const [server, kept] = await Promise.all([
    ledger.repair.serverEpoch(),
    ledger.repair.readEpochs(),
  ]);
  const marks = new Map<string, Mark>();
  const changes = new Map<string, LedgerChange>();
  const lately = new Map<string, KeptChange>();
  for (const [source, text] of texts) {
    const mark = readMark(text);
    if (mark === undefined) continue;
    marks.set(source, mark);
    const { pass = 0, passedAtMs, change } = kept.get(queueName(source)) ?? {};
    const atMs = Date.now();
    if (change && atMs - change.atMs < WEEK_MS) lately.set(source, change);
    const kind = changeOf(mark, { ...server, pass });
    if (kind === undefined) continue;
    const fromMs = passedAtMs ?? atMs - WEEK_MS;
    // Before any of them runs again, which takes it out of those that have completed.
    const { count, tillMs } = await queues.forgotten(source, fromMs);
    changes.set(source, { kind, atMs, unnamed: count, fromMs, tillMs });
  }
  return { server, marks, changes, lately };
}

function changeOf(mark: Mark, now: Mark): LedgerChange["kind"] | undefined {
  // A login may see less than the one before: a value that either does not know shows nothing.
  const differs = (one: string, other: string) => one !== "" && other !== "" && one !== other;
  if (differs(mark.systemId, now.systemId)) return "other_server";
  if (differs(mark.timeline, now.timeline)) return "failed_over";
  const isBehind = now.position > 0 && now.position < mark.position;
  if (isBehind || now.pass < mark.pass) return "taken_back";
  return now.startedAtMs === mark.startedAtMs ? undefined : "restarted";
}

/** Turns a restart into a loss: a job had completed whose event had not. */
export function takenBack({ changes }: LedgerView, source: string): LedgerChange | undefined {
  const change = changes.get(source);
  if (change?.kind !== "restarted") return undefined;
  const found: LedgerChange = { ...change, kind: "taken_back" };
  changes.set(source, found);
  return found;
}

/**
 * Marks queues with the ledger from before the comparison, so that the next pass finds a failover.
 * @throws `database_unavailable`, and the queue's error
 */
export async function keepLedgerEpoch(
  { ledger, queues }: Stores,
  sources: readonly string[],
  { server, marks, changes }: LedgerView,
): Promise<void> {
  const passes = sources.map((source) => {
    const pass = marks.get(source)?.pass ?? 0;
    const change = changes.get(source);
    // A restart that lost nothing says nothing to people, and must not cover an earlier loss.
    return [
      queueName(source),
      { pass, change: change?.kind === "restarted" ? undefined : change },
    ] as const;
  });
  const counted = await ledger.repair.countPass(new Map(passes));
  const writes = sources.map(async (source) => {
    const pass = counted.get(queueName(source));
    if (pass === undefined) return;
    await queues.writeLedgerMark(source, JSON.stringify({ ...server, pass }));
  });
  await Promise.all(writes);
}

/** More passes than there can be: Postgres counts on from the number that a queue has. */
const PASS_MAX = 1_000_000_000_000;

function readMark(text: string): Mark | undefined {
  const mark = jsonOf(text) as Partial<Mark> | null | undefined;
  const { systemId, timeline, position, startedAtMs, pass } = mark ?? {};
  if (typeof systemId !== "string" || typeof timeline !== "string") return undefined;
  if (![position, startedAtMs].every(Number.isFinite)) return undefined;
  const isPass = Number.isInteger(pass) && pass !== undefined && pass >= 0 && pass <= PASS_MAX;
  return isPass ? (mark as Mark) : undefined;
}
