import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeInBrowser, openBrowser, openTab, type Tab } from "../support/browser.ts";
import { until } from "../support/until.ts";
import { startStore, type RunningStore } from "../support/running-store.ts";
import { onPostgres } from "../support/backends.ts";

const USERS = 115;
const LOST = 6;

describeInBrowser("the list of the ledger's page", () => {
  let store: RunningStore;
  let browser: Browser;
  let tab: Tab;
  let page: Page;

  const countOf = async (status: string): Promise<number> => {
    const text = "select count(*)::int as n from webhook_events where status = $1";
    return (await store.database.query<{ n: number }>(text, [status])).rows[0]?.n ?? -1;
  };
  const ids = () => page.locator("td.id a").allTextContents();

  beforeAll(async () => {
    store = await startStore(await onPostgres());
    browser = await openBrowser();
    await store.command("send", "hookmesh", "user.created", "--count", String(USERS));
    const pigeon = ["--set", "payload.carrier=pigeon"];
    await store.command("send", "hookmesh", "order.shipped", "--count", String(LOST), ...pigeon);
    await until(async () => (await countOf("completed")) === USERS);
    await until(async () => (await countOf("failed")) === LOST);
    tab = await openTab(browser, store.dashboardUrl);
    page = tab.page;
  });
  afterAll(async () => {
    await browser?.close();
    await store?.stop();
  });

  test("a filter lives in the URL: a reload keeps it, and Back takes it off", async () => {
    await page.goto("/");
    await page.getByRole("status").getByText("50 events on this page").waitFor();
    await page.getByLabel("Status").selectOption("failed");
    await page.getByText(`${LOST} events on this page`).waitFor();
    await page.getByLabel("Type").fill("order.shipped");
    await page.waitForURL("/?status=failed&type=order.shipped");
    await page.reload();
    await page.getByText(`${LOST} events on this page`).waitFor();
    expect(await page.getByLabel("Type").inputValue()).toBe("order.shipped");
    expect(await page.getByLabel("Status").inputValue()).toBe("failed");
    // However many keys it took, typing is one step.
    await page.goBack();
    await page.waitForURL("/?status=failed");
    await expect.poll(() => page.getByLabel("Type").inputValue()).toBe("");
    await page.goBack();
    await page.waitForURL("/");
    await page.getByText("50 events on this page").waitFor();
    tab.expectQuiet();
  });

  test("times, outcomes and ids narrow it too, and an answer of nothing says what to do", async () => {
    await page.goto("/?last=1h&outcome=handled");
    await page.getByText("50 events on this page").waitFor();
    await page.getByLabel("Outcome").selectOption("ignored");
    await page.getByText("No matching events").waitFor();
    await page.getByRole("button", { name: "Clear" }).click();
    await page.waitForURL("/");
    await page.getByText("50 events on this page").waitFor();
    const [id = ""] = await ids();
    await page.getByLabel("ID starts with").fill(id.slice(0, -1));
    await page.getByText("1 event on this page").waitFor();
    await page.getByLabel("ID starts with").fill(`${id}-none`);
    await page.getByRole("link", { name: "Look in the queue of hookmesh" }).click();
    await page.getByRole("heading", { name: "Event not found" }).waitFor();
    await page.goto("/?status=lost");
    await page.getByRole("alert").getByText("invalid_request").waitFor();
    tab.expectQuiet();
  });

  test("pages show every event once, and lead back", async () => {
    await page.goto("/");
    const older = page.getByRole("button", { name: "Older" });
    const seen: string[] = [];
    for (const [at, size] of [50, 50, USERS + LOST - 100].entries()) {
      await page.getByText(`${size} events on this page`).waitFor();
      // The page before stays until this one is there.
      await until(async () => !seen.includes((await ids())[0] ?? ""));
      seen.push(...(await ids()));
      if (at < 2) await older.click();
    }
    expect(new Set(seen).size).toBe(USERS + LOST);
    expect(await older.isDisabled()).toBe(true);
    await page.reload();
    await until(async () => (await ids())[0] === seen[100]);
    await page.getByRole("button", { name: "Newer" }).click();
    await until(async () => (await ids())[0] === seen[50]);
    await page.getByRole("button", { name: "Newest" }).click();
    await until(async () => (await ids())[0] === seen[0]);
    tab.expectQuiet();
  });

  test("what comes in moves no row that is pointed at", async () => {
    await page.goto("/?source=standard");
    await page.getByText("No matching events").waitFor();
    await store.command("send", "standard", "note", "--id", "evt_first_1");
    await page.getByRole("link", { name: "evt_first_1" }).hover();
    await store.command("send", "standard", "note", "--id", "evt_second_1");
    const letIn = page.getByRole("button", { name: "Show 1 new" });
    await letIn.waitFor();
    expect(await ids()).toEqual(["evt_first_1"]);
    // By keyboard: a pointer on its way to the button leaves the row, and lets them in by that.
    await letIn.press("Enter");
    await until(async () => (await ids())[0] === "evt_second_1");
    expect(await ids()).toEqual(["evt_second_1", "evt_first_1"]);
    tab.expectQuiet();
  });

  test("a source is paused and resumed, and says so", async () => {
    await page.goto("/");
    await page.getByRole("button", { name: "Pause github" }).click();
    await page.getByLabel("Reason").fill("its database moves");
    await page.getByRole("dialog").getByRole("button", { name: "Pause github" }).click();
    await page.getByText("Paused github.").waitFor();
    await page.getByRole("row", { name: /github paused/ }).waitFor();
    await page.getByRole("button", { name: "Resume github" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Resume github" }).click();
    await page.getByText("Resumed github.").waitFor();
    await page.getByRole("button", { name: "Pause github" }).waitFor();
    tab.expectQuiet();
  });

  test("all that failed is retried, after a dry run that says how many", async () => {
    await store.command("send", "hookmesh", "carrier.added", "--set", "payload.name=pigeon");
    await page.goto("/?status=failed&type=order.shipped");
    await page.getByText(`${LOST} events on this page`).waitFor();
    await page.getByRole("button", { name: "Retry failed…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText(`${LOST} events would be retried`).waitFor();
    expect(await countOf("failed")).toBe(LOST);
    await dialog.getByLabel("Reason").fill("pigeon is a carrier now");
    await dialog.getByRole("button", { name: `Retry ${LOST} events` }).click();
    await page.getByText(`Retried ${LOST} events.`).waitFor();
    await until(async () => (await countOf("failed")) === 0);
    await page.getByText("No matching events").waitFor();
    tab.expectQuiet();
  });
});
