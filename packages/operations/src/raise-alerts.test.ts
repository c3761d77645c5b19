import { expect, test } from "vitest";
import { raiseAlerts } from "./raise-alerts.ts";

async function titlesOf(get: () => Promise<unknown>): Promise<unknown[]> {
  const emitted: { body: Uint8Array }[] = [];
  const run = { id: 7, verb: "retry", state: "finished", done: 900, error: null };
  const runs = [{ ...run, finishedAt: "2026-11-28T10:00:00Z" }];
  const none = async () => [];
  const deps = {
    ledger: {
      reads: {
        ...{ findSilent: none, findFailedShares: none, findRefusedSources: none },
        findIncidents: async () => ({ errors: [], alerted: 0, gatheredLately: false, runs }),
      },
      repair: {
        emitAlerts: async (events: readonly { body: Uint8Array }[]) => void emitted.push(...events),
      },
      bulkRuns: { get },
    },
    ...{ queues: {}, sources: {}, dashboardUrl: undefined, disagreements: new Map() },
  };
  await raiseAlerts(deps as never);
  return emitted.map(({ body }) => JSON.parse(Buffer.from(body).toString()).title);
}

test("a run that ended is reported by its results", async () => {
  const results = { completed: 12, failed: 888, pending: 0 };
  const get = async () => ({ verb: "retry", done: 900, results, errors: 1 });
  expect(await titlesOf(get)).toEqual([
    "Bulk run 7 (retry) finished. 900 ran: 12 completed, 888 failed again (1 error)",
  ]);
});

test("a run whose results cannot be counted in time is reported without them", async () => {
  const get = () => Promise.reject(new Error("it took too long"));
  expect(await titlesOf(get)).toEqual(["Bulk run 7 (retry) finished. 900 done"]);
});
