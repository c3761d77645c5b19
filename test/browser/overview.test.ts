import type { AnswerOf, SourceStats } from "@millrace/api-contract";
import type { Browser, Locator } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestDashboard, type TestDashboard } from "../dashboard/dashboard-fixture.ts";
import { expectAccessible } from "../support/accessibility.ts";
import { onPostgres } from "../support/backends.ts";
import { describeInBrowser, openBrowser, openTab, type Tab } from "../support/browser.ts";

const SIX = ["github", "hookmesh", "shopify", "slack", "standard", "stripe"];

/** The table of the sources is as high as its panel; what comes below it is the API's to say. */
describeInBrowser("the overview of six sources", () => {
  let dashboard: TestDashboard;
  let browser: Browser;
  let tab: Tab;
  beforeAll(async () => {
    dashboard = await startTestDashboard(await onPostgres());
    browser = await openBrowser();
    tab = await openTab(browser, `http://127.0.0.1:${dashboard.port}`);
  });
  afterAll(async () => {
    await browser?.close();
    await dashboard?.close();
  });

  const SHOWN: Stats = {
    sources: Object.fromEntries(SIX.map((name) => [name, QUIET])),
  };

  async function open(answers: { stats: Stats; disagreements: Disagreements | ErrorBody }) {
    const { page } = tab;
    await page.unrouteAll();
    await page.route("**/api/stats", (route) => route.fulfill({ json: answers.stats }));
    await page.route("**/api/disagreements", (route) =>
      route.fulfill({
        status: "error" in answers.disagreements ? 503 : 200,
        json: answers.disagreements,
      }),
    );
    await page.goto("/");
    await page.getByRole("link", { name: "stripe", exact: true }).waitFor();
    return page;
  }

  test("shows that ledger and queues agree", async () => {
    const page = await open({ stats: SHOWN, disagreements: { ...COMPARED, kinds: [] } });
    await expectSeen(page.getByText("Ledger and queues agree"));
    tab.expectQuiet();
  });

  test("shows on what ledger and queues disagree", async () => {
    const page = await open({
      stats: SHOWN,
      disagreements: { ...COMPARED, kinds: [disagreement("evt_lost_1")] },
    });
    await expectSeen(page.getByText("Ledger and queues disagree"));
    await expectSeen(page.getByText("pending_without_job"));
    await expectSeen(page.getByRole("link", { name: "evt_lost_1" }));
    tab.expectQuiet();
  });

  test("charts a day, a week, and a month, of a source and a type, and says until when events are counted", async () => {
    const page = await open({ stats: SHOWN, disagreements: { ...COMPARED, kinds: [] } });
    const asked: string[] = [];
    let counted: string | null = null;
    await page.route("**/api/activity?**", (route) => {
      const url = new URL(route.request().url());
      asked.push(url.search);
      const at = new Date(Date.now() - 3_600_000).toISOString();
      const bucket = { at, recorded: 1_000, completed: 996, failed: 4 };
      const latencies = { p50_ms: 30, p95_ms: 90, waited_p95_ms: null };
      const buckets = counted === null ? [] : [{ ...bucket, ...latencies }];
      return route.fulfill({
        json: { bucket_seconds: 3_600, buckets, counted_until: counted },
      });
    });
    const range = page.getByLabel("Time range of the charts");
    await range.selectOption("24h");
    await page.getByText("Not counted yet.").waitFor();
    counted = new Date(Date.now() - 3_600_000).toISOString();
    await range.focus();
    await range.selectOption("7d");
    await page.getByText("Events per hour").waitFor();
    await page.getByText("Counted until").waitFor();
    await page.getByText("4 failed (0.4%)").waitFor();
    counted = new Date().toISOString();
    await range.selectOption("30d");
    await page.getByText("Events per 4 hours").waitFor();
    expect(await page.getByText("Counted until").count()).toBe(0);
    await page.getByRole("link", { name: "stripe", exact: true }).click();
    await page.getByText("Events per 4 hours for stripe").waitFor();
    // The page may still have asked for its first hour, and may ask again by the clock.
    const chosen = new Set(asked.filter((query) => query !== "?range=1h"));
    expect([...chosen]).toEqual([
      ...["?range=24h", "?range=7d", "?range=30d", "?source=stripe&range=30d"],
    ]);
    await expectAccessible(page, "the charts of a month");
    tab.expectQuiet();
  });

  test("shows that the queues cannot be reached", async () => {
    const unknown = { ...QUIET, queued: null, jobs: null };
    const page = await open({
      stats: { ...SHOWN, sources: Object.fromEntries(SIX.map((name) => [name, unknown])) },
      disagreements: { error: { code: "unavailable", message: "Redis is down" } },
    });
    await expectSeen(page.getByText("Redis is down"));
    tab.expectQuiet();
  });

  test("shows the jobs of one queue that cannot be asked, and their sum, as unknown", async () => {
    const unknown = { ...QUIET, queued: null, jobs: null };
    const page = await open({
      stats: { ...SHOWN, sources: { ...SHOWN.sources, slack: unknown } },
      disagreements: { ...COMPARED, not_compared: ["slack"], kinds: [] },
    });
    await page.getByText("Not compared: slack.").waitFor();
    const rowOf = (name: string) =>
      page.getByRole("row").filter({ has: page.getByRole("rowheader", { name }) });
    expect(await rowOf("slack").locator("td").first().textContent()).toBe("–");
    expect(await rowOf("stripe").locator("td").first().textContent()).toBe("0");
    expect(await rowOf("All").locator("td").first().textContent()).toBe("–");
    tab.expectQuiet();
  });
});

type Stats = AnswerOf<"get /stats">;
type Disagreements = AnswerOf<"get /disagreements">;
interface ErrorBody {
  readonly error: { readonly code: string; readonly message: string };
}

const QUIET: SourceStats = {
  pending: 0,
  completed: 12,
  failed: 0,
  queued: 0,
  jobs: { waiting: 0, active: 0, delayed: 0, completed: 12, failed: 0, paused: false },
};
const COMPARED = {
  checked_at: new Date().toISOString(),
  pending_checked: 0,
  not_compared: [] as readonly string[],
};

const disagreement = (event_id: string): Disagreements["kinds"][number] => ({
  kind: "pending_without_job",
  count: 1,
  meaning: "In the ledger: pending; its job: none.",
  fix: "The job is added when its queue has capacity.",
  examples: [{ source: "stripe", event_id, generation: 0, job_id: null, detail: null }],
});

/** It lies within the panel as that is shown, so nobody has to scroll for it. */
async function expectSeen(locator: Locator): Promise<void> {
  await locator.waitFor();
  const panel = await locator.page().locator(".panel.sources").boundingBox();
  const box = await locator.boundingBox();
  if (panel === null || box === null) throw new Error(`Cannot find ${String(locator)} on the page`);
  expect(box.y, String(locator)).toBeGreaterThanOrEqual(panel.y);
  expect(box.y + box.height, String(locator)).toBeLessThanOrEqual(panel.y + panel.height);
}
