import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { expectAccessible } from "../support/accessibility.ts";
import { describeInBrowser, openBrowser, openTab } from "../support/browser.ts";
import { startStore, type RunningStore } from "../support/running-store.ts";
import { onPostgres } from "../support/backends.ts";

const FAILED = "/event?source=hookmesh&id=evt_order_1";

describeInBrowser("an event on the ledger's page", () => {
  let store: RunningStore;
  let browser: Browser;
  beforeAll(async () => {
    store = await startStore(await onPostgres());
    browser = await openBrowser();
    await store.command("send", "hookmesh", "user.created", "--id", "evt_user_1");
    const pigeon = ["--set", "payload.carrier=pigeon"];
    await store.command("send", "hookmesh", "order.shipped", "--id", "evt_order_1", ...pigeon);
  });
  afterAll(async () => {
    await browser?.close();
    await store?.stop();
  });

  test("its payload is set out, searched and copied", async () => {
    const permissions = ["clipboard-read", "clipboard-write"];
    const { page, expectQuiet, close } = await openTab(browser, store.dashboardUrl, {
      permissions,
    });
    await page.goto(FAILED);
    const payload = page.getByRole("region", { name: "Payload" });
    const search = payload.getByLabel("Search the payload");
    await search.fill("ORDER_");
    await payload.getByText(/^1 of \d+$/).waitFor();
    await search.press("Enter");
    await payload.getByText(/^2 of \d+$/).waitFor();
    await search.fill("no such text");
    await payload.getByText("No matches").waitFor();
    await payload.getByRole("button", { name: "Copy the payload" }).click();
    await page.getByText("Copied the payload.").waitFor();
    const copied: unknown = JSON.parse(await page.evaluate("navigator.clipboard.readText()"));
    expect(copied).toMatchObject({ event_id: "evt_order_1", payload: { carrier: "pigeon" } });
    expectQuiet();
    await close();
  });

  test("a replay of it is a generation of its own, and the first stays to be seen", async () => {
    const { page, expectQuiet, close } = await openTab(browser, store.dashboardUrl);
    await page.goto("/event?source=hookmesh&id=evt_user_1");
    await page.getByText("Completed by attempt 1").waitFor();
    await page.getByRole("button", { name: "Replay…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Replay", exact: true }).click();
    await page.getByText("Replayed as generation 1.").waitFor();
    await page.waitForURL(/generation=1$/);
    const generations = page.getByRole("region", { name: "Generations" });
    await generations.getByText("completed").nth(1).waitFor();
    await generations.getByRole("link", { name: "0 (as received)" }).click();
    await page.getByText("Generation 1 is the latest").waitFor();
    expectQuiet();
    await close();
  });

  test("is reached, and run again, with nothing but a keyboard", async () => {
    const { page, expectQuiet, close } = await openTab(browser, store.dashboardUrl);
    await page.goto("/?status=failed");
    await page.getByRole("link", { name: "evt_order_1" }).waitFor();
    await page.keyboard.press("Tab");
    expect(await focused(page)).toBe("Skip to the content");
    await page.keyboard.press("Enter");
    await tabTo(page, "evt_order_1");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Retry…" }).waitFor();
    await tabTo(page, "Retry…");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect(await focused(page)).toBe("Retry…");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.type("by hand");
    expect(await page.getByLabel("Reason").inputValue()).toBe("by hand");
    await tabTo(page, "Retry");
    await page.keyboard.press("Enter");
    await page.getByText("Retried: the event is pending again.").waitFor();
    // Nothing was mended: it fails once more, for the same cause.
    await page.getByText("Attempt 2 failed").waitFor();
    expectQuiet();
    await close();
  });

  test.each(["light", "dark"] as const)("axe finds nothing serious in the %s", async (scheme) => {
    const options = { colorScheme: scheme };
    const { page, expectQuiet, close } = await openTab(browser, store.dashboardUrl, options);
    await page.goto("/");
    await page.getByRole("link", { name: "evt_user_1" }).first().waitFor();
    await page.locator(".recharts-surface").nth(1).waitFor();
    await expectAccessible(page, "the list");
    await page.getByRole("button", { name: "Replay…" }).click();
    await page.getByText("would be replayed").waitFor();
    await expectAccessible(page, "a dialog");
    await page.goto(FAILED);
    await page.getByText('Unknown carrier "pigeon"').first().waitFor();
    await page.getByLabel("Search the payload").fill("order");
    await expectAccessible(page, "an event");
    await page.goto("/audit");
    await page.getByRole("heading", { name: "Audit" }).waitFor();
    await expectAccessible(page, "the audit");
    expectQuiet();
    await close();
  });

  test("a window of 400 px scrolls downwards alone", async () => {
    const options = { viewport: { width: 400, height: 800 } };
    const { page, expectQuiet, close } = await openTab(browser, store.dashboardUrl, options);
    for (const [path, text] of [
      ["/", "evt_user_1"],
      [FAILED, 'Unknown carrier "pigeon"'],
      ["/audit", "Audit"],
      ["/?last=1h&status=pending&q=none", "No matching events"],
    ] as const) {
      await page.goto(path);
      await page.getByText(text).first().waitFor();
      await page.getByRole("navigation", { name: "Main" }).waitFor();
      const width = await page.evaluate("document.documentElement.scrollWidth");
      expect([path, width]).toEqual([path, 400]);
    }
    expectQuiet();
    await close();
  });
});

const focused = (page: Page): Promise<string> =>
  page.evaluate("document.activeElement.textContent.trim()");

/** Presses Tab until what has the text has the focus. */
async function tabTo(page: Page, text: string): Promise<void> {
  const passed: string[] = [];
  while (passed.length < 100) {
    await page.keyboard.press("Tab");
    const here = await focused(page);
    if (here === text) return;
    passed.push(here.slice(0, 40));
  }
  throw new Error(`Cannot reach "${text}" by Tab: ${passed.join(" > ")}`);
}
