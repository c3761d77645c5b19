import type { Locator, Page } from "playwright-core";
import { afterEach, beforeAll, expect, test } from "vitest";
import { expectAccessible } from "../support/accessibility.ts";
import { describeInBrowser } from "../support/browser.ts";
import { openForAll } from "../support/open-for.ts";
import { until } from "../support/until.ts";
import { useStorePage } from "./store-page.ts";

const USERS = 40;
const LOST = 6;

describeInBrowser("bulk runs on the ledger's page", () => {
  const on = useStorePage();
  const tab = openForAll(on.open);
  let page: Page;
  const { countOf } = on;

  beforeAll(async () => {
    ({ page } = tab);
    await on.store.command("send", "hookmesh", "user.created", "--count", String(USERS));
    await on.shipByPigeon("--count", String(LOST));
    await until(async () => (await countOf("status = 'completed'")) === USERS);
    await until(async () => (await countOf("status = 'failed'")) === LOST);
  });
  afterEach(() => tab.expectQuiet());

  async function expectNarrow(what: string): Promise<void> {
    await page.setViewportSize({ width: 400, height: 800 });
    await expectAccessible(page, what);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(400);
    await page.setViewportSize({ width: 1_280, height: 900 });
  }
  const press = async (button: Locator) => {
    await button.focus();
    await page.keyboard.press("Enter");
  };

  test("a retry that fails again says so, and does not claim more", async () => {
    await page.goto("/events?status=failed&type=order.shipped");
    await page.getByRole("button", { name: "Retry failed…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText(`${LOST} events would be retried, in about`).waitFor();
    await expectAccessible(page, "the dialog of a bulk run");
    await dialog.getByRole("button", { name: `Retry ${LOST} events` }).click();
    await page.getByRole("link", { name: "Watch it" }).click();
    await page.getByText(`${LOST} ran: 0 completed, ${LOST} failed again`).waitFor();
    await page.getByRole("heading", { name: "Run 1: retry, finished" }).waitFor();
    await page.getByRole("link", { name: "Show those that failed again" }).click();
    await page.getByText(`${LOST} events on this page`).waitFor();
    expect(await page.getByLabel("Search", { exact: true }).inputValue()).toBe("run:1");
    expect(await countOf("status = 'failed'")).toBe(LOST);
  });

  test("a replay of everything needs its number, and is slowed, paused and stopped by keyboard", async () => {
    await page.goto("/events");
    await press(page.getByRole("button", { name: "Replay…" }));
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
    await press(start);
    await press(page.getByRole("link", { name: "Watch it" }));
    await press(page.getByRole("button", { name: "Pause", exact: true }));
    await page.getByRole("heading", { name: "Run 2: replay, paused" }).waitFor();
    const health = page.getByRole("region", { name: "Health" });
    await health.getByText("1 bulk run is open").waitFor();
    await health.getByText("run 2: replay, paused").waitFor();
    await page.getByRole("link", { name: "Errors 1" }).waitFor();
    const resume = page.getByRole("button", { name: "Resume" });
    expect(await page.evaluate("document.activeElement.textContent")).toBe("Resume");
    await expectNarrow("a run in a narrow window");
    await page.goto("/runs");
    await page.getByRole("cell", { name: "paused" }).waitFor();
    await expectAccessible(page, "the list of runs");
    await page.getByLabel("Search").fill("state:stopped nothing so");
    await page.getByText("No matching runs").waitFor();
    await page.getByLabel("Search").fill("");
    await page.getByText("No matching runs").waitFor({ state: "detached" });
    await expectNarrow("the list of runs in a narrow window");
    await page.getByRole("link", { name: "2 replay" }).click();
    await page.getByLabel("Events per second").fill("0.5");
    await page.keyboard.press("Enter");
    await page.getByText("0.5 a second").waitFor();
    await press(resume);
    await page.getByRole("heading", { name: "Run 2: replay, running" }).waitFor();
    await press(page.getByRole("button", { name: "Stop…" }));
    await press(page.getByRole("dialog").getByRole("button", { name: "Stop run 2" }));
    await page.getByRole("heading", { name: "Run 2: replay, stopped" }).waitFor();
    // Its buttons are gone, and the focus is not: it says what the run is now.
    const focused = "document.activeElement.textContent";
    await expect.poll(() => page.evaluate(focused)).toBe("Run 2: replay, stopped");
    expect(await page.getByRole("button", { name: "Resume" }).count()).toBe(0);
    const done = await on.store.database.query<{ done: number }>(
      "select done::int from millrace.bulk_runs where id = 2",
    );
    expect(done.rows[0]?.done).toBeLessThan(total);
    expect(await countOf("generation = 1")).toBe(done.rows[0]?.done);
    expect(await countOf("generation > 1")).toBe(0);
    await press(page.getByRole("button", { name: /^Continue with the other \d+$/ }));
    await page.getByRole("heading", { name: "Run 2: replay, running" }).waitFor();
    await press(page.getByRole("button", { name: "Pause", exact: true }));
    await page.getByRole("heading", { name: "Run 2: replay, paused" }).waitFor();
  });

  test("pending events are given up together, and their jobs are gone", async () => {
    await on.store.command("pause", "hookmesh");
    await on.store.command("send", "hookmesh", "carrier.added", "--count", "3");
    await page.goto("/events?type=carrier.added");
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
    await on.store.command("resume", "hookmesh");
  });
});
