import type { AnswerOf, SourceStats } from "@millrace/api-contract";
import type { Locator, Page } from "playwright-core";
import { afterEach, expect } from "vitest";
import { useDashboard } from "../dashboard/dashboard-fixture.ts";
import { onRedis } from "../support/backends.ts";
import { expectAccessible } from "../support/accessibility.ts";
import { describeInBrowser, useBrowser } from "../support/browser.ts";

describeInBrowser("health and forty sources", () => {
  const dashboard = useDashboard(onRedis);
  const { test } = useBrowser(() => `http://127.0.0.1:${dashboard.port}`);
  afterEach(() => dashboard.servers.redis?.thaw());

  for (const width of [1_440, 400]) {
    test(`the first look at health shows a stopped Redis at ${width} px, however far one has scrolled`, async ({
      page,
    }) => {
      await page.setViewportSize({ width, height: 700 });
      await openForty(page);
      const strip = page.getByRole("region", { name: "Health" });
      await strip.getByText("No worker leads").waitFor();
      await expectAccessible(page, `forty sources at ${width} px`);
      expect(await hiddenWidth(page)).toBe(0);
      await page.evaluate("scrollTo(0, document.body.scrollHeight)");
      // The looks, each three seconds after the one before, whose answers can no longer be good.
      let looks = 0;
      await page.waitForResponse("**/api/health");
      dashboard.servers.redis?.freeze();
      page.on("response", (answer) => (looks += answer.url().endsWith("/api/health") ? 1 : 0));
      await strip.getByRole("alert").getByText("Redis does not answer").waitFor();
      expect(looks).toBe(1);
      await expectInSight(strip.getByText("Redis does not answer"), page);
      dashboard.servers.redis?.thaw();
      await strip.getByText("Redis does not answer").waitFor({ state: "detached" });
    });
  }

  test("the strip tells that the dashboard does not answer", async ({ page }) => {
    await page.goto("/");
    await page.getByText("No worker leads").waitFor();
    await page.route("**/api/health", (route) => route.abort());
    await page.getByRole("alert").getByText("The dashboard does not answer").waitFor();
    await page.unrouteAll();
    await page.getByText("No worker leads").waitFor();
  });

  test("an answer about health that cannot be read is no good news", async ({ page }) => {
    await page.route("**/api/health", (route) => route.fulfill({ json: { status: "ok" } }));
    await page.goto("/");
    await page.getByRole("alert").getByText("Health is not known").waitFor();
    await page.unrouteAll();
    await page.getByText("No worker leads").waitFor();
  });

  test("while no queue answers, failures stay in sight at 400 px, and nobody reads that 0 are queued", async ({
    page,
  }) => {
    await page.setViewportSize({ width: 400, height: 800 });
    await openForty(page, AWAY);
    const name = page.getByRole("link", { name: LONG, exact: true });
    const failed = page.getByRole("link", { name: `2 failed events of ${LONG}` });
    for (const seen of [name, failed]) {
      await seen.waitFor();
      const box = await seen.boundingBox();
      expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(400);
    }
    expect(await hiddenWidth(page)).toBe(0);
    expect(await page.locator(".source-list tfoot td.queued").textContent()).toBe("–");
  });

  test("what is being read is told, and no number stands for it", async ({ page }) => {
    let answer = () => {};
    const answered = new Promise<void>((resolve) => (answer = resolve));
    await page.route(/api\/(?!session)/, async (route) => {
      await answered;
      await route.continue();
    });
    await page.goto("/");
    for (const text of [
      "Counting events…",
      "Reading the last hour…",
      "Checking Redis, Postgres and workers…",
    ]) {
      await page.getByText(text).waitFor();
    }
    const text = await page.locator("main").innerText();
    expect(text.replaceAll(/Last (15|24|7|30) \w+|last 10 min|p95/g, "").match(/\d+/g)).toEqual(
      null,
    );
    const range = await page.getByLabel("Time range of the charts").boundingBox();
    expect(range?.height).toBeLessThan(50);
    answer();
    await page.getByText("Not counted yet").waitFor();
  });

  test("of forty sources those with the most failed events come first", async ({ page }) => {
    await openForty(page);
    const rows = page.locator(".source-list tbody tr");
    expect(await rows.count()).toBe(40);
    expect(await rows.first().textContent()).toContain("source-05refuses");
    await page.getByText("source-05 refuses deliveries: 7 too_old in the last 5 min.").waitFor();
  });
});

async function openForty(page: Page, stats = FORTY): Promise<void> {
  await page.route("**/api/stats", (route) => route.fulfill({ json: stats }));
  await page.goto("/");
  await page.getByRole("link", { name: "source-05" }).first().waitFor();
}

async function hiddenWidth(page: Page): Promise<number> {
  return await page.evaluate(
    "(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('.source-list .scroll'))",
  );
}

async function expectInSight(element: Locator, page: Page): Promise<void> {
  const box = await element.boundingBox();
  const { width, height } = page.viewportSize() ?? { width: 0, height: 0 };
  expect(box?.y).toBeGreaterThanOrEqual(0);
  expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(height);
  expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(width);
  const [x, y] = [(box?.x ?? 0) + (box?.width ?? 0) / 2, (box?.y ?? 0) + (box?.height ?? 0) / 2];
  const isOnTop = await page.evaluate(
    `document.elementFromPoint(${x}, ${y}).closest(".health") !== null`,
  );
  expect(isOnTop).toBe(true);
}

const JOBS = {
  waiting: 0,
  active: 0,
  delayed: 0,
  completed: 0,
  failed: 0,
  removed: 0,
  paused: false,
};
const ENDED = { pending: 0, completed: 9, failed: 0 };
const QUIET: SourceStats = { ...ENDED, queued: 0, jobs: JOBS, refused: [] };
const LOUD: Readonly<Record<number, Partial<SourceStats>>> = {
  5: { failed: 2, refused: [{ reason: "too_old", deliveries: 7 }] },
  7: { queued: null, jobs: null },
  9: { jobs: { ...JOBS, paused: true } },
};
const FORTY: AnswerOf<"get /stats"> = {
  sources: Object.fromEntries(
    Array.from({ length: 40 }, (_, index) => [
      `source-${String(index).padStart(2, "0")}`,
      { ...QUIET, ...LOUD[index] },
    ]),
  ),
};

const LONG = "orders-of-the-northern-region-and-its-islands";
const AWAY: AnswerOf<"get /stats"> = {
  ...FORTY,
  sources: Object.fromEntries(
    Object.keys(FORTY.sources).map((name, index) => [
      index === 0 ? LONG : name,
      { ...QUIET, queued: null, jobs: null, failed: index === 0 ? 2 : 0 },
    ]),
  ),
};
