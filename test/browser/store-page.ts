import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll } from "vitest";
import { onPostgres, type TestServers } from "../support/backends.ts";
import { openBrowser, openTab, type Tab } from "../support/browser.ts";
import type { RoleOptions } from "../support/in-process.ts";
import { startStore, type RunningStore } from "../support/running-store.ts";

type Held = { store: RunningStore; browser: Browser; tab: Tab; page: Page };

export function useStorePage(
  prepare: () => Promise<TestServers> = onPostgres,
  options: RoleOptions = {},
) {
  const held: Partial<Held> = {};
  const open = (how?: BrowserContextOptions) => {
    if (held.browser === undefined || held.store === undefined) throw new Error("No page is open");
    return openTab(held.browser, held.store.dashboardUrl, how);
  };
  beforeAll(async () => {
    held.store = await startStore(await prepare(), options);
    held.browser = await openBrowser();
    held.tab = await open();
    held.page = held.tab.page;
  });
  afterAll(async () => {
    await held.browser?.close();
    await held.store?.stop();
  });
  return Object.assign(held as Readonly<Held>, {
    open,
    inTab: async (use: (page: Page) => Promise<void>, how?: BrowserContextOptions) => {
      const { page, expectQuiet, close } = await open(how);
      await use(page);
      expectQuiet();
      await close();
    },
    shipByPigeon: async (...args: readonly string[]) =>
      (await held.store?.command(
        ...["send", "hookmesh", "order.shipped", "--set", "payload.carrier=pigeon", ...args],
      )) ?? "",
    countOf: async (where: string) => {
      const text = `select count(*)::int as n from webhook_events where ${where}`;
      return (await held.store?.database.query<{ n: number }>(text))?.rows[0]?.n ?? -1;
    },
  });
}
