import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { expectAccessible } from "../support/accessibility.ts";
import { describeInBrowser, openBrowser, openTab, type Tab } from "../support/browser.ts";
import { until } from "../support/until.ts";
import { startStore, type RunningStore } from "../support/running-store.ts";
import { onPostgres } from "../support/backends.ts";

const USERS = 40;
const LOST = 6;

describeInBrowser("bulk runs on the ledger's page", () => {
  let store: RunningStore;
  let browser: Browser;
  let tab: Tab;
  let page: Page;

  const countOf = async (where: string): Promise<number> => {
    const text = `select count(*)::int as n from webhook_events where ${where}`;
    return (await store.database.query<{ n: number }>(text)).rows[0]?.n ?? -1;
  };
  const runState = () => page.getByRole("heading", { level: 1 }).textContent();

  beforeAll(async () => {
    store = await startStore(await onPostgres());
    browser = await openBrowser();
    await store.command("send", "hookmesh", "user.created", "--count", String(USERS));
    const pigeon = ["--set", "payload.carrier=pigeon"];
    await store.command("send", "hookmesh", "order.shipped", "--count", String(LOST), ...pigeon);
    await until(async () => (await countOf("status = 'completed'")) === USERS);
    await until(async () => (await countOf("status = 'failed'")) === LOST);
    tab = await openTab(browser, store.dashboardUrl);
    page = tab.page;
  });
  afterAll(async () => {
    await browser?.close();
    await store?.stop();
  });

  test("a retry that fails again says so, and does not claim more", async () => {
    await page.goto("/?status=failed&type=order.shipped");
    await page.getByRole("button", { name: "Retry failed…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText(`${LOST} events would be retried, in about`).waitFor();
    await expectAccessible(page, "the dialog of a bulk run");
    await dialog.getByRole("button", { name: `Retry ${LOST} events` }).click();
    await page.getByRole("link", { name: "Watch it" }).click();
    await page.getByText(`${LOST} ran: 0 completed, ${LOST} failed again`).waitFor();
    expect(await runState()).toBe("Run 1: retry, finished");
    expect(await countOf("status = 'failed'")).toBe(LOST);
    tab.expectQuiet();
  });

  test("a replay of everything needs its number, and is slowed, paused and stopped by keyboard", async () => {
    await page.goto("/");
    await page.getByRole("button", { name: "Replay…" }).focus();
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog");
    const total = USERS + LOST;
    const start = dialog.getByRole("button", { name: `Replay ${total} events` });
    await start.waitFor();
    expect(await start.isDisabled()).toBe(true);
    await dialog.getByLabel("Events per second").fill("1");
    await dialog.getByText(`in about ${total} s`).waitFor();
    await dialog.getByLabel("Type the number").fill(String(total - 1));
    expect(await start.isDisabled()).toBe(true);
    await dialog.getByLabel("Type the number").fill(String(total));
    await start.focus();
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "Watch it" }).focus();
    await page.keyboard.press("Enter");

    const pause = page.getByRole("button", { name: "Pause", exact: true });
    await pause.focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Run 2: replay, paused" }).waitFor();
    const health = page.getByRole("region", { name: "Health" });
    await health.getByText("1 bulk run is open").waitFor();
    await health.getByText("run 2: replay, paused").waitFor();
    await page.getByRole("link", { name: "Errors (1)" }).waitFor();
    const resume = page.getByRole("button", { name: "Resume" });
    expect(await page.evaluate("document.activeElement.textContent")).toBe("Resume");
    await page.setViewportSize({ width: 400, height: 800 });
    await expectAccessible(page, "a run in a narrow window");
    const wide = await page.evaluate("document.documentElement.scrollWidth");
    expect(wide).toBeLessThanOrEqual(400);
    await page.setViewportSize({ width: 1_280, height: 900 });
    // What a run does is not the tab's: another one sees the same.
    await page.goto("/runs");
    await page.getByRole("cell", { name: "paused" }).waitFor();
    await expectAccessible(page, "the list of runs");
    await page.setViewportSize({ width: 400, height: 800 });
    await expectAccessible(page, "the list of runs in a narrow window");
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(400);
    await page.setViewportSize({ width: 1_280, height: 900 });
    await page.getByRole("link", { name: "2 replay" }).click();
    await page.getByLabel("Events per second").fill("0.5");
    await page.keyboard.press("Enter");
    await page.getByText("0.5 a second").waitFor();
    await resume.focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Run 2: replay, running" }).waitFor();
    await page.getByRole("button", { name: "Stop…" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").getByRole("button", { name: "Stop run 2" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Run 2: replay, stopped" }).waitFor();
    // Its buttons are gone, and the focus is not: it says what the run is now.
    const focused = "document.activeElement.textContent";
    await expect.poll(() => page.evaluate(focused)).toBe("Run 2: replay, stopped");
    expect(await page.getByRole("button", { name: "Resume" }).count()).toBe(0);
    // Each event that it reached has one new generation, and the others have none.
    const done = await store.database.query<{ done: number }>(
      "select done::int from millrace.bulk_runs where id = 2",
    );
    expect(done.rows[0]?.done).toBeLessThan(total);
    expect(await countOf("generation = 1")).toBe(done.rows[0]?.done);
    expect(await countOf("generation > 1")).toBe(0);
    tab.expectQuiet();
  });

  test("pending events are given up together, and their jobs are gone", async () => {
    await store.command("pause", "hookmesh");
    await store.command("send", "hookmesh", "carrier.added", "--count", "3");
    await page.goto("/?type=carrier.added");
    await page.getByText("3 events on this page").waitFor();
    expect(await page.getByRole("button", { name: "Give up…" }).count()).toBe(0);
    await page.getByLabel("Status").selectOption("pending");
    await page.getByRole("button", { name: "Give up…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("3 events would be given up").waitFor();
    await expectAccessible(page, "the dialog of a give-up");
    await dialog.getByRole("button", { name: "Give up 3 events" }).click();
    await page.getByRole("link", { name: "Watch it" }).click();
    await page.getByText("3 given up", { exact: true }).waitFor();
    await page.getByRole("heading", { name: "Run 3: give up, finished" }).waitFor();
    expect(await countOf("type = 'carrier.added' and last_error_code = 'given_up'")).toBe(3);
    await store.command("resume", "hookmesh");
    tab.expectQuiet();
  });
});
