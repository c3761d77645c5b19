import { readFile } from "node:fs/promises";
import { parseConfig } from "@millrace/core";
import { createLedger } from "@millrace/ledger";
import { adyen } from "@millrace/providers";
import type { Page } from "playwright-core";
import { beforeAll, expect } from "vitest";
import exported from "../../examples/store/millrace.config.ts";
import { expectAccessible } from "../support/accessibility.ts";
import { onPostgres } from "../support/backends.ts";
import { describeInBrowser } from "../support/browser.ts";
import { aJob, anEvent } from "../support/events.ts";
import { failure } from "../support/ledger-fixture.ts";
import { until } from "../support/until.ts";
import { useStorePage } from "./store-page.ts";

const FAILED = "/event?source=hookmesh&id=evt_order_1";

describeInBrowser("an event on the ledger's page", () => {
  const config = parseConfig({ sources: { ...exported.sources, shop: adyen() } });
  const on = useStorePage(onPostgres, { dashboard: { config } });
  const { test } = on;
  beforeAll(async () => {
    await on.store.command("send", "hookmesh", "user.created", "--id", "evt_user_1");
    await on.shipByPigeon("--id", "evt_order_1");
  });

  test("its payload is set out, and copied", async ({ page }) => {
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.goto(FAILED);
    const payload = page.getByRole("region", { name: "Payload" });
    await payload.getByText('"pigeon"').waitFor();
    await payload.getByRole("button", { name: "Copy the payload" }).click();
    await page.getByText("Copied the payload.").waitFor();
    const copied: unknown = JSON.parse(await page.evaluate("navigator.clipboard.readText()"));
    expect(copied).toMatchObject({ event_id: "evt_order_1", payload: { carrier: "pigeon" } });
  });

  test("a replay of it is a generation of its own, and the first stays to be seen", async ({
    page,
  }) => {
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
  });

  test("it is edited and sent as an event of its own, with a link to it", async ({ page }) => {
    await page.goto(FAILED);
    await page.getByRole("button", { name: "Edit and send…" }).click();
    const dialog = page.getByRole("dialog", { name: "Edit and send" });
    await dialog.getByLabel("Body").fill('{"payload": {');
    await dialog.getByText("This is no longer valid JSON.").waitFor();
    await expectAccessible(page, "the dialog of an edit");
    await dialog.getByLabel("Body").fill('{"payload": {}}');
    await dialog.getByRole("button", { name: "Send", exact: true }).click();
    await page.waitForURL(/evt_order_1\.edited-1/);
    await page.getByText("not from the sender").waitFor();
    await page.getByRole("link", { name: "hookmesh: evt_order_1" }).click();
    await page.getByRole("link", { name: "evt_order_1.edited-1" }).waitFor();
    await page.goto("/events?q=evt_order_1");
    await page.getByText("edited, not from the sender").waitFor();
  });

  test("that waits says until when, and why", async ({ page }) => {
    const ledger = createLedger({ pool: on.store.database });
    const waiting = anEvent({ source: "hookmesh", eventId: "evt_waits_1" });
    await ledger.intake.accept([waiting]);
    await ledger.intake.markEnqueued([waiting]);
    await ledger.claims.record([aJob(waiting)]);
    await ledger.claims.fail(waiting, 1, {
      ...failure,
      ...{ code: "retry_later", message: "RetryLater: The carrier is closed" },
      ...{ counts: false, afterMs: 4_000_000 },
    });
    await page.goto("/events?status=pending");
    await page.getByText("waits, next attempt in 1 h").waitFor();
    const list = "document.querySelector('.list .scroll')";
    expect(await page.evaluate(`${list}.scrollWidth - ${list}.clientWidth`)).toBe(0);
    await page.getByRole("link", { name: "evt_waits_1" }).click();
    const timeline = page.getByRole("region", { name: "Timeline" });
    await timeline.getByText("Attempt 1 asked to wait").waitFor();
    await timeline.getByText("Waits, as its handler asked").waitFor();
    await timeline.getByText("due").getByText("in 1 h").waitFor();
    await expectAccessible(page, "an event that waits");
    await page.getByRole("button", { name: "Give up…" }).click();
    await page.getByLabel("Reason").fill("The carrier is gone");
    await page.getByRole("button", { name: "Give up", exact: true }).click();
    await page.getByText("Given up: the event is failed.").waitFor();
    await timeline.getByText("Failed for good").waitFor();
  });

  test("an event that nothing signed covers says so", async ({ page }) => {
    const ofToken = anEvent({ source: "shop", eventId: "evt_token_1" });
    await createLedger({ pool: on.store.database }).intake.accept([ofToken]);
    await page.goto("/event?source=shop&id=evt_token_1");
    await page.getByText("authenticated only, not verified", { exact: true }).waitFor();
  });

  test("the first part of a large body is read once, however often the event is looked at again", async ({
    page,
  }) => {
    const ledger = createLedger({ pool: on.store.database });
    const body = Buffer.from(
      JSON.stringify({ items: Array.from({ length: 60_000 }, (_, n) => n) }),
    );
    const large = anEvent({ source: "hookmesh", eventId: "evt_large_1", body });
    await ledger.intake.accept([large]);
    await ledger.intake.markEnqueued([large]);
    const asked: string[] = [];
    page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    const countOf = (end: string) => asked.filter((pathname) => pathname.endsWith(end)).length;
    await page.goto("/event?source=hookmesh&id=evt_large_1");
    const payload = page.getByRole("region", { name: "Payload" });
    await payload.getByText("The first 262,144 of").waitFor();
    // It is pending, so the event is asked for every 3 s: without its body.
    const before = countOf("evt_large_1");
    await until(() => countOf("evt_large_1") >= before + 2);
    expect(countOf("/body")).toBe(1);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      payload.getByRole("link", { name: "Download" }).click(),
    ]);
    expect(download.suggestedFilename()).toBe("hookmesh-evt_large_1.bin");
    expect((await readFile(await download.path())).equals(body)).toBe(true);
  });

  test("that came more than once lists its deliveries", async ({ page }) => {
    for (let times = 0; times < 2; times += 1) {
      await on.store.command("send", "hookmesh", "user.created", "--id", "evt_again_1");
    }
    await until(async () => {
      const text = "select from millrace.deliveries where event_id = 'evt_again_1'";
      return (await on.store.database.query(text)).rowCount === 1;
    });
    await page.goto("/event?source=hookmesh&id=evt_again_1");
    const timeline = page.getByRole("region", { name: "Timeline" });
    await timeline.getByText("delivered 2 times").waitFor();
    await timeline.getByText(/Delivered again/).waitFor();
    await expectAccessible(page, "an event with deliveries");
  });

  test("whose answer one panel cannot show keeps the other panels, and can be run again", async () => {
    const { page, close } = await on.open();
    await page.route(/api\/events\/hookmesh\/evt_order_1\?/, async (route) => {
      const answer = await route.fetch();
      await route.fulfill({ json: { ...(await answer.json()), conflicts: 5, headers: null } });
    });
    await page.goto(FAILED);
    const broken = page.getByRole("alert").filter({ hasText: "page_failed" });
    await broken.nth(1).waitFor();
    expect(await broken.count()).toBe(2);
    await page.getByRole("region", { name: "Timeline" }).getByText("pigeon").waitFor();
    await page.getByRole("region", { name: "Payload" }).getByText("order_id").waitFor();
    await page.getByRole("button", { name: "Retry…" }).waitFor();
    await close();
  });

  test("is reached, and run again, with nothing but a keyboard", async ({ page }) => {
    await page.goto("/events?status=failed");
    await page.getByRole("link", { name: "evt_order_1", exact: true }).waitFor();
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
    const steps = page.getByRole("region", { name: "Timeline" }).getByRole("listitem");
    await steps.filter({ hasText: "Attempt 2 failed" }).waitFor();
    const told = (await steps.allTextContents()).join("\n");
    expect(told).toMatch(/Attempt 1 failed[^]*Retry by [^]*by hand[^]*Attempt 2 failed/);
  });

  test.for(["light", "dark"] as const)(
    "axe finds nothing serious in the %s",
    async (colorScheme, { page }) => {
      await page.emulateMedia({ colorScheme });
      await page.goto("/");
      await page.locator(".legend").waitFor();
      await expectAccessible(page, "the overview");
      await page.goto("/sources");
      await page.getByRole("table").waitFor();
      await expectAccessible(page, "the sources");
      await page.goto("/events");
      await page.getByRole("link", { name: "evt_user_1" }).first().waitFor();
      await page.getByRole("button", { name: "Actions of evt_user_1" }).first().click();
      await expectAccessible(page, "the list and a row's menu");
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "Replay…" }).click();
      await page.getByText("would be replayed").waitFor();
      await expectAccessible(page, "a dialog");
      await page.goto(FAILED);
      await page.getByText('Unknown carrier "pigeon"').first().waitFor();
      await expectAccessible(page, "an event");
      await page.goto("/audit");
      await page.getByRole("heading", { name: "Audit" }).waitFor();
      await expectAccessible(page, "the audit");
    },
  );

  test("a window of 400 px scrolls downwards alone", async ({ page }) => {
    await page.setViewportSize({ width: 400, height: 800 });
    for (const [path, text] of [
      ["/", "hookmesh"],
      ["/events", "evt_user_1"],
      ["/errors", "Unknown carrier"],
      ["/sources", "hookmesh"],
      [FAILED, 'Unknown carrier "pigeon"'],
      ["/audit", "What people and programs did"],
      ["/events?last=1h&status=pending&q=none", "No matching events"],
    ] as const) {
      await page.goto(path);
      await page.getByText(text).first().waitFor();
      await page.getByRole("button", { name: "Menu" }).click();
      await page.getByRole("navigation", { name: "Main" }).waitFor();
      await page.getByRole("button", { name: "Menu" }).click();
      const width = await page.evaluate("document.documentElement.scrollWidth");
      expect([path, width]).toEqual([path, 400]);
    }
    await page.goto("/events?status=failed");
    await page.getByText('Unknown carrier "pigeon"').waitFor();
    const lines = await page
      .locator("tr.failed")
      .filter({ has: page.getByRole("link", { name: "evt_order_1", exact: true }) })
      .evaluate((row) => {
        const cells = [...row.querySelectorAll("td, .badge")].map((cell) =>
          cell.getBoundingClientRect(),
        );
        const tall = cells.filter(({ height }) => height > 0);
        return { cells: tall.length, height: row.getBoundingClientRect().height };
      });
    expect(lines.cells).toBeGreaterThan(5);
    expect(lines.height).toBeLessThan(80);
  });
});

const focused = (page: Page): Promise<string> =>
  page.evaluate("document.activeElement.textContent.trim()");

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
