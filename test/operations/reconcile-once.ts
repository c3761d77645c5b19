import { Leader } from "@millrace/ledger";
import { Reconciler, type ReconcilerNotice } from "@millrace/operations";
import { checkJob } from "@millrace/processor";
import type { TestStores } from "../support/stores-fixture.ts";

type Options = Partial<ConstructorParameters<typeof Reconciler>[1]>;

export type TestReconciler = ReturnType<typeof startReconciler>;

/** Over test stores. Two that lead under different names work at the same time. */
export function startReconciler(
  { pool, ledger, queues }: TestStores,
  { leads = "reconciler", ...over }: Options & { leads?: string } = {},
  hear: (notice: ReconcilerNotice) => void = () => {},
) {
  const notices: ReconcilerNotice[] = [];
  const leader = new Leader({ pool }, leads);
  const notify = (notice: ReconcilerNotice) => {
    notices.push(notice);
    hear(notice);
  };
  const reconciler = new Reconciler(
    { ledger, queues, leader, notify, isSound: (event) => checkJob({ event }) === undefined },
    {
      ...{ sources: [...queues.queues.keys()], graceMs: 0, keysDays: 90, intervalMs: 100 },
      ...{ sweepIntervalMs: 86_400_000, queueDepthMax: () => 100_000 },
      ...over,
    },
  );
  return {
    notices,
    close: async () => {
      await reconciler.close();
      await leader.close();
    },
  };
}

export async function reconcileOnce(stores: TestStores, over: Options = {}) {
  let closed: Promise<void> | undefined;
  // The reconciler before may still be giving up its lead, so that this one may have to ask again.
  const notice = await new Promise<ReconcilerNotice>((resolve) => {
    const reconciler = startReconciler(stores, { intervalMs: 20, ...over }, (heard) => {
      if (heard.kind !== "passed" && heard.kind !== "pass_failed") return;
      closed ??= reconciler.close();
      resolve(heard);
    });
  });
  await closed;
  if (notice.kind !== "passed") throw notice.kind === "pass_failed" ? notice.error : notice;
  const found = Object.fromEntries([...notice.found].map(([kind, { count }]) => [kind, count]));
  const repairs = [...notice.found].map(([kind, { repaired }]) => [kind, repaired] as const);
  const repaired = Object.fromEntries(repairs.filter(([, count]) => count > 0));
  return { found, repaired, passed: notice };
}
