import { expect, test } from "vitest";
import { findJobOwner } from "./queue-owner.ts";

const OWN = {
  ...{ ledger: "a", systemId: "1", oid: "1", startedAtMs: 0 },
  ...{ ranOn: undefined, signedSinceMs: undefined },
};

/** A queue's mark of another ledger, whose workers run or are gone. */
const foreign = (isLive: boolean) => ({
  ...{ ledger: "b", systemId: "2", oid: "2", startedAtMs: 0, sinceMs: 0, untilMs: 0, isLive },
});

test.each([
  [[false, true], "queue_in_use"],
  [[true, false], "queue_in_use"],
  [[false, false], "queue_unclaimed"],
])("of marks of another ledger that are live (%j) a live one decides", async (live, code) => {
  const marks = new Map(live.map((isLive, index) => [String(index), foreign(isLive)]));
  const queues = {
    ping: () => Promise.resolve(),
    readMark: (source: string) => Promise.resolve(marks.get(source)),
    takeMark: () => Promise.resolve(undefined),
  };
  await expect(findJobOwner(queues, [...marks.keys()], OWN)).rejects.toMatchObject({ code });
});
