import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { expectAccessible } from "../support/accessibility.ts";
import { describeInBrowser, openBrowser, openTab } from "../support/browser.ts";
import { PICTURES, takePictures } from "./pictures.ts";
import { startStore, type RunningStore } from "../support/running-store.ts";
import { onPostgres } from "../support/backends.ts";

describeInBrowser("the ledger's page", () => {
  let store: RunningStore;
  let browser: Browser;
  beforeAll(async () => {
    store = await startStore(await onPostgres());
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await store?.stop();
  });

  test("an empty ledger says what to send", async () => {
    const { page, expectQuiet, close } = await openTab(browser, store.dashboardUrl);
    await page.goto("/");
    await page.getByText("No events yet").waitFor();
    await page.getByText("npx millrace send github").waitFor();
    await expectAccessible(page, "an empty ledger");
    expectQuiet();
    await close();
  });

  test("an event that failed is found, its cause read, fixed, and retried with a reason", async () => {
    const { page, expectQuiet, close } = await openTab(browser, store.dashboardUrl);
    await page.goto("/");
    await page.getByText("No events yet").waitFor();
    // It comes by itself: nobody reloads.
    const sent = ["--id", "evt_order_1", "--set", "payload.carrier=pigeon"];
    await store.command("send", "hookmesh", "order.shipped", ...sent);
    const link = page.getByRole("link", { name: "evt_order_1" });
    await link.waitFor();
    await page.getByLabel("Status").selectOption("failed");
    await link.click();

    await page.getByRole("heading", { name: "evt_order_1" }).waitFor();
    await page.getByText('Unknown carrier "pigeon"').waitFor();
    await page.getByRole("heading", { name: "Payload" }).waitFor();

    await store.command("send", "hookmesh", "carrier.added", "--set", "payload.name=pigeon");
    await page.getByRole("button", { name: "Retry…" }).click();
    await page.getByLabel("Reason").fill("pigeon is a carrier now");
    await page.getByRole("dialog").getByRole("button", { name: "Retry", exact: true }).click();
    await page.getByText("Retried: the event is pending again.").waitFor();
    await page.getByText("Completed by attempt 2").waitFor();
    expect(await page.getByText('Unknown carrier "pigeon"').count()).toBe(1);
    // Who did it, and why, stands with the event and in the audit.
    const audit = page.getByRole("region", { name: "Audit" });
    await audit.getByText("pigeon is a carrier now").waitFor();
    await page.getByRole("link", { name: "Audit", exact: true }).click();
    await page.getByRole("cell", { name: "pigeon is a carrier now" }).waitFor();
    await page.getByRole("link", { name: "hookmesh / evt_order_1" }).first().click();
    await page.getByText("Completed by attempt 2").waitFor();
    expectQuiet();
    await close();
  });

  if (PICTURES !== undefined) {
    test("the README's pictures are taken", () => takePictures(browser));
  }
});
