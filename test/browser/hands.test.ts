import type { Page } from "playwright-core";
import { beforeAll, expect } from "vitest";
import { useDashboard } from "../dashboard/dashboard-fixture.ts";
import { expectAccessible } from "../support/accessibility.ts";
import { onRedis } from "../support/backends.ts";
import { describeInBrowser, useBrowser } from "../support/browser.ts";

const MINUTE_MS = 60_000;

const paletteOf = (page: Page) => page.getByRole("dialog", { name: "Go to" });
const chosenOf = (page: Page) => paletteOf(page).getByRole("option", { selected: true });

describeInBrowser("the page under a person's hands", () => {
  const dashboard = useDashboard(onRedis);
  const { test } = useBrowser(() => `http://127.0.0.1:${dashboard.port}`);

  beforeAll(async () => {
    for (const id of ["evt_bad_1", "evt_bad_2"]) {
      await dashboard.fail(id, { body: Buffer.from(`{"id":"${id}"}`) });
    }
    await dashboard.take("evt_waits_1");
  });

  async function openPalette(page: Page): Promise<void> {
    await page.goto("/events");
    await page.getByRole("heading", { name: "Events", exact: true }).waitFor();
    await page.keyboard.press("ControlOrMeta+k");
    await paletteOf(page).getByRole("option", { name: "Source acme" }).waitFor();
  }

  async function showErrors(page: Page, ...titles: readonly string[]): Promise<void> {
    const [sample] = (await dashboard.ledger.errors.find({ limit: 1 })).errors;
    const errors = titles.map((title) => ({ ...sample, title, fingerprint: `1-${title}` }));
    await page.unrouteAll();
    await page.route("**/api/errors?*", (route) =>
      route.fulfill({ json: { errors, total: errors.length } }),
    );
  }

  test("the chosen entry of ⌘K stays chosen when a new error comes in above it", async ({
    page,
  }) => {
    await showErrors(page, "pump-a", "pump-b");
    await openPalette(page);
    await page.keyboard.type("pump");
    await paletteOf(page).getByRole("option", { name: "Error pump-b" }).waitFor();
    await page.keyboard.press("ArrowDown");
    expect(await chosenOf(page).textContent()).toBe("Errorpump-b");
    await showErrors(page, "pump-c", "pump-a", "pump-b");
    await paletteOf(page).getByRole("option", { name: "Error pump-c" }).waitFor();
    expect(await chosenOf(page).textContent()).toBe("Errorpump-b");
    await page.keyboard.press("Enter");
    await page.waitForURL("/errors/1-pump-b");
    await page.getByRole("alert").getByText("error_not_found").waitFor();
  });

  test("the chosen entry of ⌘K is in sight in a low window", async ({ page }) => {
    await page.setViewportSize({ width: 640, height: 260 });
    await openPalette(page);
    await page.keyboard.press("ArrowUp");
    const box = await chosenOf(page).boundingBox();
    expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(260);
  });

  test("⌘K leaves the keys of an input method and of the browser alone", async ({ page }) => {
    await openPalette(page);
    await page.keyboard.type("acme");
    const field = paletteOf(page).getByRole("combobox");
    await field.dispatchEvent("keydown", { key: "Enter", isComposing: true });
    expect(await field.inputValue()).toBe("acme");
    await page.keyboard.press("Escape");
    await paletteOf(page).waitFor({ state: "detached" });
    await page.keyboard.press("Control+Shift+K");
    expect(await paletteOf(page).count()).toBe(0);
  });

  test("one Escape closes ⌘K, also after typing, and gives the focus back", async ({ page }) => {
    await openPalette(page);
    await page.keyboard.press("Escape");
    const search = page.getByRole("searchbox", { name: "Search" });
    await search.focus();
    await page.keyboard.press("ControlOrMeta+k");
    await page.keyboard.type("acme");
    await page.keyboard.press("Escape");
    await paletteOf(page).waitFor({ state: "detached" });
    expect(await search.evaluate((it) => it.matches(":focus"))).toBe(true);
  });

  test("r retries the event that has the focus, also below events that only a queue has", async ({
    page,
  }) => {
    await page.goto("/events");
    const link = page.getByRole("link", { name: "evt_bad_2" });
    await page.getByRole("link", { name: "evt_waits_1" }).waitFor();
    await link.focus();
    await page.route("**/api/retry", (route) => route.fulfill({ json: { retried: 1 } }));
    await page.keyboard.press("r");
    const asked = page.waitForRequest("**/api/retry");
    await page.getByRole("button", { name: "Retry 1 failed event" }).click();
    expect((await asked).postDataJSON()).toEqual({
      events: [{ source: "acme", event_id: "evt_bad_2", generation: 0 }],
    });
  });

  test("the next event begins as each does, also when it was read before", async ({ page }) => {
    await page.goto("/events?status=failed");
    await page.getByRole("link", { name: "evt_bad_2" }).click();
    const asReceived = page.getByRole("button", { name: "As received" });
    await asReceived.waitFor();
    await page.keyboard.press("j");
    await page.getByRole("heading", { name: "evt_bad_1" }).waitFor();
    await asReceived.click();
    expect(await asReceived.getAttribute("aria-pressed")).toBe("true");
    await page.keyboard.press("k");
    await page.getByRole("heading", { name: "evt_bad_2" }).waitFor();
    expect(await asReceived.getAttribute("aria-pressed")).toBe("false");
  });

  test("the charts go by the server's clock, and only the main button selects a time", async ({
    page,
  }) => {
    const now = Date.now();
    const at = new Date(now - MINUTE_MS).toISOString();
    const counts = { recorded: 1, completed: 1, failed: 0 };
    const bucket = { at, ...counts, p50_ms: 1, p95_ms: 1, waited_p95_ms: null };
    const json = { bucket_seconds: 60, buckets: [bucket], counted_until: at };
    await page.route("**/api/activity?*", (route) => route.fulfill({ json }));
    await page.clock.setFixedTime(now + 10 * MINUTE_MS);
    await page.goto("/");
    await page.getByRole("img", { name: "Events over time" }).waitFor();
    expect(await page.getByText("Counted until").count()).toBe(0);
    await page.locator(".plots").click({ button: "right" });
    expect(new URL(page.url()).pathname).toBe("/");
    await page.locator(".plots").click();
    await page.waitForURL(/\/events\?since=/);
  });

  test("a page of errors past the last one does not say that none is open", async ({ page }) => {
    await page.goto("/errors?offset=50");
    await page.getByRole("heading", { name: "No more open errors" }).waitFor();
    await page.getByRole("button", { name: "← Previous" }).click();
    await page.getByText("1 error", { exact: true }).waitFor();
  });

  test("what bull-board moves up is found in the audit", async ({ page }) => {
    await page.goto("/audit");
    await page.getByLabel("Action").selectOption("promote_many");
    await page.waitForURL("/audit?action=promote_many");
    await page.goto("/audit");
    await page.getByRole("cell", { name: "Read body" }).first().waitFor();
    await page.getByLabel("Search").fill("action:read_body by:nobody");
    await page.getByText("No matching entries").waitFor();
    await page.route("**/api/audit?*", (route) =>
      route.fulfill({ json: { entries: [], next: "7" } }),
    );
    await page.getByLabel("Search").fill("rare");
    await page.getByText("No entry matches so far. Search on: Older →").waitFor();
    await page.unrouteAll();
    await page.getByLabel("Search").fill("kind:read");
    await page.getByRole("alert").getByText("`kind` is not among").waitFor();
  });

  test("an empty page whose search can go on is read on, and does not say that nothing matches", async ({
    page,
  }) => {
    const json = { events: [], next: "further", queued: null, searched_to: "2026-11-21T12:03:00Z" };
    const asked: string[] = [];
    await page.route("**/api/events?*rare*", async (route) => {
      if (asked.push(route.request().url()) === 1) {
        await page.locator("[aria-busy=true]:has(td.id)").getByText("Searching…").waitFor();
      }
      await route.fulfill({ json });
    });
    await page.goto("/events?status=failed");
    await page.getByText("2 events on this page of 2").waitFor();
    await page.getByLabel("Search").fill("type:rare");
    await page.getByText("No event matches so far. Searching…").waitFor();
    await page.getByText("No event matches so far. Search on: Older →").waitFor();
    await page.getByText(/Searched to .*2026/).waitFor();
    expect(await page.getByRole("button", { name: "Older →" }).isEnabled()).toBe(true);
    expect(await page.getByText("No matching events").count()).toBe(0);
    expect(asked.filter((url) => url.includes("cursor=further")).length).toBeGreaterThan(1);
    await page.unrouteAll();
  });

  test("an event is shown beside the list, and j goes on to the next one", async ({ page }) => {
    await page.goto("/events?status=failed");
    const side = page.getByRole("complementary", { name: "Event" });
    const linkTo = (id: string) => side.getByRole("link", { name: id });
    await page.locator("td.status").first().click();
    await linkTo("evt_bad_2").waitFor();
    await expectAccessible(page, "an event beside the list");
    for (const key of ["j", "j"]) await page.keyboard.press(key);
    await linkTo("evt_bad_1").waitFor();
    await page.reload();
    await linkTo("evt_bad_1").waitFor();
    await page.keyboard.press("Escape");
    await side.waitFor({ state: "detached" });
    expect(new URL(page.url()).search).toBe("?status=failed");
  });
});
