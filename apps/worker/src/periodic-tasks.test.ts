import { INTERNAL_PROVIDER, parseConfig } from "@millrace/core";
import { afterEach, expect, test, vi } from "vitest";
import { startPeriodicTasks } from "./periodic-tasks.ts";

afterEach(() => void vi.useRealTimers());

test("disagreements that could not be told of are told of by the next run", async () => {
  vi.useFakeTimers();
  const emitted: string[] = [];
  const taken = [new Map([["unreadable_job", 2]]), new Map([["unreadable_job", 1]])];
  let runs = 0;
  const none = async () => [];
  const reads = {
    ...{ findSilent: none, findFailedShares: none, findRefusedSources: none },
    findIncidents: async () => {
      if ((runs += 1) === 1) throw new Error("Postgres is away");
      return { errors: [], runs: [] };
    },
  };
  const emitAlerts = async (events: readonly { body: Uint8Array }[]) =>
    void emitted.push(...events.map(({ body }) => Buffer.from(body).toString()));
  const acme = { provider: { createVerifier: () => undefined } as never };
  const config = parseConfig({ sources: { acme, millrace: { provider: INTERNAL_PROVIDER } } });
  const failed: string[] = [];
  const deps = {
    ...{ ledger: { reads, repair: { emitAlerts } }, pool: {}, retentionPool: {}, queues: {} },
    takeDisagreements: () => taken.shift() ?? new Map(),
    leading: () => runs >= 0,
    observer: { onError: (name: string) => failed.push(name), onNotice() {}, onResult() {} },
  };
  const tasks = startPeriodicTasks(deps as never, config);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(failed).toContain("alerts");
  expect(emitted).toEqual([expect.stringContaining("disagreed about 3 events")]);
  await tasks.close();
});
