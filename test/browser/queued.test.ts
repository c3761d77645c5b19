import type { Browser } from "playwright-core";
import { afterAll, beforeAll, test } from "vitest";
import { expectAccessible } from "../support/accessibility.ts";
import { describeInBrowser, openBrowser, openTab } from "../support/browser.ts";
import { describeOnRedis, startRedis, type TestRedis } from "../support/redis.ts";
import { startStore, type RunningStore } from "./running-store.ts";

describeOnRedis("the ledger's page over a queue on Redis", () => {
  describeInBrowser("in a browser", () => {
    let redis: TestRedis;
    let store: RunningStore;
    let browser: Browser;
    beforeAll(async () => {
      redis = await startRedis();
      store = await startStore({ REDIS_URL: redis.url });
      browser = await openBrowser();
    });
    afterAll(async () => {
      await browser?.close();
      await store?.stop();
      await redis?.stop();
    });

    test("an event that only its queue knows is shown from there, until it is recorded", async () => {
      await store.command("pause", "standard");
      await store.command("send", "standard", "invoice.paid", "--id", "evt_queued_1");
      const { page, expectQuiet, close } = await openTab(browser, store.dashboardUrl);
      await page.goto("/?q=evt_queued_1");
      await page.getByRole("link", { name: "Look in the queue of standard" }).click();
      await page.getByText("This event is still only in its queue").waitFor();
      await page.getByText('"invoice.paid"').waitFor();
      await expectAccessible(page, "a queued event");
      await store.command("resume", "standard");
      await page.getByText("Completed by attempt 1").waitFor();
      expectQuiet();
      await close();
    });
  });
});
