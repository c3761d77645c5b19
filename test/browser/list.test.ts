import type { Page } from "playwright-core";
import { afterEach, beforeAll, expect, test } from "vitest";
import { expectAccessible } from "../support/accessibility.ts";
import { describeInBrowser } from "../support/browser.ts";
import { openForAll } from "../support/open-for.ts";
import { until } from "../support/until.ts";
import { useStorePage } from "./store-page.ts";

const USERS = 115;
const LOST = 6;

describeInBrowser("the list of the ledger's page", () => {
  const on = useStorePage();
  const tab = openForAll(on.open);
  let page: Page;
  const ids = () => page.locator("td.id a").allTextContents();
  const failed = () => on.countOf("status = 'failed'");

  beforeAll(async () => {
    ({ page } = tab);
    await on.store.command("send", "hookmesh", "user.created", "--count", String(USERS));
    await on.shipByPigeon("--count", String(LOST));
    await until(async () => (await on.countOf("status = 'completed'")) === USERS);
    await until(async () => (await failed()) === LOST);
  });
  afterEach(() => tab.expectQuiet());

  test("a filter lives in the URL: a reload keeps it, and Back takes it off", async () => {
    await page.goto("/events");
    await page.getByRole("status").getByText("50 events on this page").waitFor();
    await page.getByLabel("Status").selectOption("failed");
    await page.getByText(`${LOST} events on this page`).waitFor();
    await page.getByLabel("Search").fill("type:order.shipped");
    await page.waitForURL("/events?status=failed&find=type%3Aorder.shipped");
    await page.reload();
    await page.getByText(`${LOST} events on this page`).waitFor();
    expect(await page.getByLabel("Search").inputValue()).toBe("type:order.shipped");
    expect(await page.getByLabel("Status").inputValue()).toBe("failed");
    await page.goBack();
    await page.waitForURL("/events?status=failed");
    await expect.poll(() => page.getByLabel("Search").inputValue()).toBe("");
    await page.goBack();
    await page.waitForURL("/events");
    await page.getByText("50 events on this page").waitFor();
  });

  test("times, outcomes and ids narrow it too, and an answer of nothing says what to do", async () => {
    await page.goto("/events?last=1h&outcome=handled");
    await page.getByText("50 events on this page").waitFor();
    await page.getByLabel("Search").fill("outcome:ignored");
    await page.getByText("No matching events").waitFor();
    await page.getByRole("button", { name: "Clear" }).click();
    await page.waitForURL("/events");
    await page.getByText("50 events on this page").waitFor();
    const [id = ""] = await ids();
    await page.getByLabel("Search").fill(id.slice(4, -1));
    await page.getByText("1 event on this page").waitFor();
    await page.getByLabel("Search").fill(`${id}-none`);
    await page.getByText("and no queue has one with this ID").waitFor();
    await page.goto("/events?status=lost");
    await page.getByRole("alert").getByText("invalid_request").waitFor();
  });

  test("an answer that is no list of events is an error, and the ledger is not called empty", async () => {
    const list = (events: unknown) => ({ events, next: null });
    const lists = [list({ 0: "evt_1" }), list([null]), list([{ source: "hookmesh" }])];
    for (const json of [{}, "events", ...lists]) {
      await page.unrouteAll();
      await page.route(/api\/events\?/, (route) => route.fulfill({ json }));
      await page.goto("/events");
      await page.getByRole("alert").getByText("malformed_answer").waitFor();
      expect(await page.getByText("No events yet").count()).toBe(0);
    }
    await page.unrouteAll();
    await page.getByText("50 events on this page").waitFor();
    await page.getByText("malformed_answer").waitFor({ state: "detached" });
  });

  test("pages show every event once, and lead back", async () => {
    await page.goto("/events");
    const older = page.getByRole("button", { name: "Older" });
    const seen: string[] = [];
    for (const [at, size] of [50, 50, USERS + LOST - 100].entries()) {
      await page.getByText(`${size} events on this page`).waitFor();
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
  });

  test("what comes in moves no row that is pointed at", async () => {
    await page.goto("/events?source=standard");
    await page.getByText("No matching events").waitFor();
    await on.store.command("send", "standard", "note", "--id", "evt_first_1");
    await page.getByRole("link", { name: "evt_first_1" }).hover();
    await on.store.command("send", "standard", "note", "--id", "evt_second_1");
    const letIn = page.getByRole("button", { name: "Show 1 new" });
    await letIn.waitFor();
    expect(await ids()).toEqual(["evt_first_1"]);
    // By keyboard: a pointer on its way to the button leaves the row, and lets them in by that.
    await letIn.press("Enter");
    await until(async () => (await ids())[0] === "evt_second_1");
    expect(await ids()).toEqual(["evt_second_1", "evt_first_1"]);
  });

  test("a source is paused and resumed, and says so", async () => {
    await page.goto("/");
    const actions = page.getByRole("button", { name: "Actions of github" });
    await actions.click();
    await page.getByRole("button", { name: "Pause github…" }).click();
    await page.getByLabel("Reason").fill("its database moves");
    await page.getByRole("dialog").getByRole("button", { name: "Pause github" }).click();
    await page.getByText("Paused github.").waitFor();
    await page.getByRole("row", { name: /github paused/ }).waitFor();
    await actions.click();
    await page.getByRole("button", { name: "Resume github…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Resume github" }).click();
    await page.getByText("Resumed github.").waitFor();
    await page.getByText("github paused").waitFor({ state: "detached" });
  });

  test("failures with one error are one row, with its events, its stack, and its state", async () => {
    await page.goto("/errors");
    const row = page.getByRole("row").filter({ hasText: "order.shipped" });
    await row.getByRole("link", { name: `${LOST} events failed` }).waitFor();
    expect(await row.count()).toBe(1);
    await expectAccessible(page, "the errors");
    await row.getByRole("link", { name: `${LOST} events failed` }).click();
    await page.getByText(`${LOST} events on this page`).waitFor();
    await page.locator("td.id a").first().click();
    const stack = page.getByText("Stack ·").first();
    await stack.click();
    await page.locator(".stack .own").first().waitFor();
    await page.goto("/errors");
    expect((await row.boundingBox())?.height).toBeLessThan(40);
    await row.getByRole("link").first().click();
    await page.getByRole("heading", { name: "Unknown carrier <text>" }).waitFor();
    await page.getByRole("img", { name: `${LOST} events in the last 24 hours` }).waitFor();
    await page.getByRole("region", { name: "By source and type" }).getByText("100%").waitFor();
    await page.locator(".stack .own").first().waitFor();
    await expectAccessible(page, "an error");
    await page.getByRole("button", { name: "Resolve…" }).waitFor();
    await page.getByRole("link", { name: "Errors", exact: true }).first().click();
    await row.getByRole("button", { name: /^Actions of/ }).press("Enter");
    await row.getByRole("button", { name: "Resolve…" }).press("Enter");
    await page.getByLabel("Note").fill("The carrier has a van now");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByText("Resolved.").waitFor();
    await page.getByRole("heading", { name: "No open errors" }).waitFor();
    await page.getByLabel("State").selectOption("resolved");
    await row.getByRole("link").first().click();
    await page.getByText("The carrier has a van now").waitFor();
  });

  test("the total is told, and the oldest can come first", async () => {
    await page.goto("/events?source=hookmesh");
    await page.getByText(`50 events on this page of ${USERS + LOST}`).waitFor();
    const [newest = ""] = await ids();
    await page.getByRole("button", { name: "Oldest first" }).click();
    await page.waitForURL("/events?source=hookmesh&order=asc");
    await until(async () => (await ids())[0] !== newest);
    await page.getByRole("button", { name: "Newer →" }).click();
    await until(async () => !(await ids()).includes(newest));
    await page.getByRole("button", { name: "Newer →" }).click();
    await until(async () => (await ids()).at(-1) === newest);
  });

  test("rows are selected and retried together", async () => {
    await page.goto("/events?status=failed&type=order.shipped");
    await page.getByText(`${LOST} events on this page`).waitFor();
    const ticks = page.getByRole("cell").getByRole("checkbox");
    await ticks.nth(0).check();
    await ticks.nth(2).click({ modifiers: ["Shift"] });
    await page.getByRole("button", { name: "Retry 3 selected…" }).click();
    await page.getByLabel("Reason").fill("the carrier is back");
    await page.getByRole("button", { name: "Retry 3 failed events" }).click();
    await page.getByText("Retried 3 events.").waitFor();
    await until(async () => (await failed()) === LOST);
    expect(await on.countOf("type = 'order.shipped' and attempts = 2")).toBe(3);
    // A list of the moment in which three of them were pending has other rows to select.
    await page.reload();
    await page.getByText(`${LOST} events on this page`).waitFor();
    await page.getByRole("checkbox", { name: "Select all events on this page" }).check();
    await page.getByRole("button", { name: `Retry ${LOST} selected…` }).waitFor();
  });

  test("keys go through the list, are explained, and can be turned off", async () => {
    await page.goto("/events?status=failed");
    await page.getByText(`${LOST} events on this page`).waitFor();
    const [first = "", second = ""] = await ids();
    const focused = () => page.evaluate("document.activeElement.textContent");
    for (const [at, id] of [first, second, first].entries()) {
      await page.keyboard.press(at < 2 ? "j" : "k");
      expect(await focused()).toBe(id);
    }
    await page.keyboard.press("r");
    await page.getByRole("heading", { name: "Retry 1 failed event" }).waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("/");
    // Typed, and not acted upon.
    await page.keyboard.type("jkr?");
    expect(await page.getByLabel("Search").inputValue()).toBe("jkr?");
    await page.getByLabel("Search").fill("");
    await page.getByText(`${LOST} events on this page`).waitFor();
    await page.getByRole("heading", { name: "Events" }).click();
    await page.keyboard.press("?");
    const help = page.getByRole("dialog", { name: "Keyboard shortcuts" });
    await help.getByText("Next event of the list").waitFor();
    await expectAccessible(page, "the keys");
    await help.getByLabel("Use these keys in this browser").uncheck();
    await help.getByRole("button", { name: "Close" }).click();
    await page.keyboard.press("?");
    await page.keyboard.press("j");
    expect(await help.count()).toBe(0);
    expect(await focused()).not.toBe(first);
    await page.getByRole("button", { name: "Keyboard shortcuts" }).click();
    await help.getByLabel("Use these keys in this browser").check();
    await page.keyboard.press("Escape");
    await page.keyboard.press("j");
    expect(await focused()).toBe(first);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: first }).waitFor();
    await page.getByText(`1 of ${LOST}`).waitFor();
    await page.keyboard.press("j");
    await page.getByRole("heading", { name: second }).waitFor();
    await page.getByRole("button", { name: "Previous event" }).click();
    await page.getByRole("heading", { name: first }).waitFor();
    await page.getByRole("link", { name: "Events", exact: true }).click();
    await page.waitForURL("/events?status=failed");
  });

  test("⌘K goes to a page, a source, an error, and a search, from a field too", async () => {
    const palette = page.getByRole("dialog", { name: "Go to" });
    const options = palette.getByRole("option");
    const search = async (keys: string, text: string) => {
      await page.keyboard.press(keys);
      await palette.getByRole("option", { name: "Source hookmesh" }).waitFor();
      await page.keyboard.type(text);
    };
    await page.goto("/events");
    await page.getByLabel("Search").focus();
    await search("ControlOrMeta+k", "carrier unknown");
    await expectAccessible(page, "the palette");
    await expect.poll(() => options.allTextContents()).toHaveLength(2);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: /Unknown carrier/ }).waitFor();
    await page.getByRole("button", { name: "Assign to me" }).click();
    await page.getByText("Assigned to", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Unassign me" }).click();
    await page.getByText("Assigned to", { exact: true }).waitFor({ state: "detached" });
    await search("Meta+k", "hookmesh");
    await page.keyboard.press("Enter");
    await page.waitForURL("/events?source=hookmesh");
    await search("Control+k", "status:failed evt_none");
    for (const key of ["ArrowUp", "Enter"]) await page.keyboard.press(key);
    await page.waitForURL("/events?find=status%3Afailed+evt_none");
    await page.getByRole("button", { name: "evt_none" }).click();
    await page.waitForURL("/events?find=status%3Afailed");
    await page.getByText(`${LOST} events on this page`).waitFor();
    await search("Control+k", "");
    await page.keyboard.press("Escape");
    await palette.waitFor({ state: "detached" });
  });

  test("at 1,440 px no type is broken inside a word", async () => {
    await page.setViewportSize({ width: 1_440, height: 900 });
    await page.goto("/events");
    await page.getByText("50 events on this page").waitFor();
    const lines = await page.evaluate<number[]>(LINES_OF_TYPES);
    expect(new Set(lines)).toEqual(new Set([1]));
    await page.setViewportSize({ width: 1_280, height: 900 });
  });
});

const LINES_OF_TYPES = `[...document.querySelectorAll("td.type")].map((cell) => {
  const range = document.createRange();
  range.selectNodeContents(cell);
  return range.getClientRects().length;
})`;
