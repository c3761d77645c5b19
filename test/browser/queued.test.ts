import type { Browser } from "playwright-core";
import { afterAll, beforeAll, test } from "vitest";
import { expectAccessible } from "../support/accessibility.ts";
import { describeInBrowser, openBrowser, openTab } from "../support/browser.ts";
import { describeOnRedis } from "../support/redis.ts";
import { startStore, type RunningStore } from "../support/running-store.ts";
import { onRedis } from "../support/backends.ts";

describeOnRedis("the ledger's page over a queue on Redis", () => {
  describeInBrowser("in a browser", () => {
    let store: RunningStore;
    let browser: Browser;
    beforeAll(async () => {
      store = await startStore(await onRedis());
      browser = await openBrowser();
    });
    afterAll(async () => {
      await browser?.close();
      await store?.stop();
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
