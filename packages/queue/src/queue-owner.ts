import { asError, MillraceError, type LedgerName } from "@millrace/core";
import type { Queue } from "bullmq";
import type { Redis } from "ioredis";
import { createRedisScript, unlessWrongType } from "./bullmq-patches/redis-script.ts";

/** The ledger that a process' jobs are for. `ledger` is set when the process has found it out. */
export interface JobOwner {
  ledger?: string | undefined;
}

/** The mark in a queue: the ledger whose workers run its jobs. Times by the clock of Redis. */
export interface QueueMark extends LedgerName {
  readonly sinceMs: number;
  /** Until when no other ledger may take the queue. */
  readonly untilMs: number;
  readonly isLive: boolean;
}

export interface OwnerClaim extends LedgerName {
  /** The mark that this process wrote last, which another ledger cannot have outlived. */
  readonly held?: Pick<QueueMark, "sinceMs" | "untilMs"> | undefined;
  /** Milliseconds for which the mark holds; 0 lets another ledger take the queue at once. */
  readonly leaseMs?: number;
}

/** `was` is another ledger's mark: it is live, or it was taken over. A full Redis takes no mark. */
export type TakenMark =
  | { readonly kind: "taken"; readonly mark: QueueMark; readonly was: QueueMark | undefined }
  | { readonly kind: "refused"; readonly was: QueueMark }
  | { readonly kind: "full" };

const LEASE_MS = 30_000;

/** The field of a queue's `meta` with its mark: ledger, system id, oid, three times. */
const FIELD = "millrace:owner";
const NOT_SHOWN = "-";

// Takes a queue that has no mark, has ours, or has one whose time is over. A lost mark is written
// again as it was: of two ledgers that then hold the queue, the one that had it first keeps it. A
// mark that ends later than any can was edited, or the clock was set back.
const TAKE = createRedisScript(`
local now = redis.call("TIME")
local nowMs = now[1] * 1000 + math.floor(now[2] / 1000)
local ledger, system, oid, started, heldSince, heldUntil, leaseMs = unpack(ARGV)
local mark = redis.call("HGET", KEYS[1], "${FIELD}")
local theirs = { string.match(mark or "", "^(%S+) (%S+) (%S+) (%d+) (%d+) (%d+)$") }
local function same(one, other)
  return one == other or one == "${NOT_SHOWN}" or other == "${NOT_SHOWN}"
end
local isOurs = theirs[1] == ledger and same(theirs[2], system) and theirs[3] == oid
local untilMs = tonumber(theirs[6]) or 0
local isLive = untilMs > nowMs and untilMs <= nowMs + ${LEASE_MS}
local holds = tonumber(heldUntil) > nowMs
if theirs[1] and not isOurs and isLive and not (holds and tonumber(heldSince) < tonumber(theirs[5])) then
  return { 0, nowMs, mark }
end
local since = isOurs and theirs[5] or holds and heldSince or string.format("%d", nowMs)
local ours = string.format("%s %s %s %s %s %d", ledger, system, oid, started, since, nowMs + leaseMs)
local written = redis.pcall("HSET", KEYS[1], "${FIELD}", ours)
if type(written) == "number" then return { 1, nowMs, ours, not isOurs and mark or "" } end
return string.find(written.err, "OOM", 1, true) and { 2 } or written
`);

/** @throws `redis_unreachable` */
export async function readQueueMark(client: Redis, queue: Queue): Promise<QueueMark | undefined> {
  const [mark, [seconds, microseconds]] = await Promise.all([
    client.hget(queue.toKey("meta"), FIELD).catch(unlessWrongType),
    client.time(),
  ]).catch(unreachable("read the mark of"));
  return parseMark(mark ?? "", Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000));
}

/** @throws `redis_unreachable` */
export async function takeQueueMark(
  client: Redis,
  queue: Queue,
  { ledger, systemId, oid, startedAtMs, held, leaseMs = LEASE_MS }: OwnerClaim,
): Promise<TakenMark> {
  const args = [
    ...[ledger, systemId || NOT_SHOWN, oid, String(startedAtMs)],
    ...[String(held?.sinceMs ?? 0), String(held?.untilMs ?? 0), String(leaseMs)],
  ];
  const answer = await TAKE.run(client, [queue.toKey("meta")], args).catch(unreachable("mark"));
  const [taken, nowMs, text, was = ""] = answer as [0 | 1 | 2, number, string, string?];
  if (taken === 2) return { kind: "full" };
  const mark = parseMark(text, nowMs);
  if (mark === undefined) return unreachable("mark")(new Error("Redis gave no mark"));
  return taken === 0
    ? { kind: "refused", was: mark }
    : { kind: "taken", mark, was: parseMark(was, nowMs) };
}

/** As for a ping: a Redis that is too slow, or ends the connection, is waited for. */
const unreachable = (act: string) => (error: unknown) => {
  const message = `Cannot ${act} the queue: ${asError(error).message}`;
  throw new MillraceError("redis_unreachable", message, { cause: error });
};

/** Undefined for a text that was edited. */
function parseMark(text: string, nowMs: number): QueueMark | undefined {
  const [ledger, systemId, oid, ...times] = text.split(" ");
  const [startedAtMs = 0, sinceMs = 0, untilMs = 0] = times.map(Number);
  if (ledger === undefined || systemId === undefined || oid === undefined) return undefined;
  if (times.length !== 3 || times.some((time) => !/^\d+$/.test(time))) return undefined;
  return {
    ...{ ledger, oid, startedAtMs, sinceMs, untilMs },
    systemId: systemId === NOT_SHOWN ? "" : systemId,
    isLive: untilMs > nowMs && untilMs <= nowMs + LEASE_MS + 1_000,
  };
}
