import type { LedgerIdentity } from "@millrace/ledger";
import type { QueueMark, TakenMark } from "@millrace/queue";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { QueueClaim } from "./queue-owner.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const identity: LedgerIdentity = {
  ...{ ledger: "a", systemId: "1", oid: "5", startedAtMs: 2_000 },
  ...{ ranOn: undefined, signedSinceMs: undefined },
};

/** A claim on a queue whose mark has our names, and is renewed every five seconds or never. */
function claim(startedAtMs: number, { renews }: { renews: boolean }) {
  const firstMs = Date.now();
  const mark = (): QueueMark => ({
    ...{ ledger: "a", systemId: "1", oid: "5", startedAtMs, sinceMs: 0, isLive: true },
    untilMs: 1 + (renews ? Math.floor((Date.now() - firstMs) / 5_000) : 0),
  });
  const taken = vi.fn<() => Promise<TakenMark>>(async () => ({
    ...{ kind: "taken", mark: mark(), was: undefined },
  }));
  const controller = new AbortController();
  const queues = { ping: async () => {}, readMark: async () => mark(), takeMark: taken };
  const created = new QueueClaim({
    ...{ queues, identity, sources: ["shop"], signs: false, signal: controller.signal },
    repair: { readIdentity: async () => identity },
    onTakenOver: () => {},
    onLost: () => {},
  });
  return { take: () => created.take().finally(() => controller.abort()), taken };
}

test("a copy of the server's folder, whose workers run, has the queue", async () => {
  const { take, taken } = claim(1_000, { renews: true });
  const refused = take().catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(20_000);
  expect(await refused).toMatchObject({ code: "queue_in_use" });
  expect(taken).not.toHaveBeenCalled();
});

test.each([
  ["our own server", 2_000, true, 0],
  ["a server that is starting", 0, true, 0],
  ["our server before its restart, which nobody renews", 1_000, false, 7_000],
])("the mark of %s holds nobody up for long", async (_, startedAtMs, renews, withinMs) => {
  const { take, taken } = claim(startedAtMs, { renews });
  const done = take();
  await vi.advanceTimersByTimeAsync(withinMs);
  await done;
  expect(taken).toHaveBeenCalledTimes(1);
});
