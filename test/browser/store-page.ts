import { onPostgres, type TestServers } from "../support/backends.ts";
import { useBrowser } from "../support/browser.ts";
import type { RoleOptions } from "../support/in-process.ts";
import { openForAll } from "../support/open-for.ts";
import { startStore } from "../support/running-store.ts";

export function useStorePage(
  prepare: () => Promise<TestServers> = onPostgres,
  options: RoleOptions = {},
) {
  const store = openForAll(async () => startStore(await prepare(), options));
  return Object.assign(
    useBrowser(() => store.dashboardUrl),
    {
      store,
      shipByPigeon: (...args: readonly string[]) =>
        store.command(
          ...["send", "hookmesh", "order.shipped", "--set", "payload.carrier=pigeon", ...args],
        ),
      countOf: async (where: string) => {
        const text = `select count(*)::int as n from webhook_events where ${where}`;
        return (await store.database.query<{ n: number }>(text)).rows[0]?.n ?? -1;
      },
    },
  );
}
