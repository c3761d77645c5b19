import { fileURLToPath } from "node:url";
import { beforeAll, expect, test, vi } from "vitest";
import exported from "../fixtures/on-call/millrace.config.ts";
import { BROKEN } from "../fixtures/on-call/handlers.ts";
import { expectAccessible } from "../support/accessibility.ts";
import { onRedis } from "../support/backends.ts";
import { describeInBrowser, useBrowser } from "../support/browser.ts";
import type { MillraceProcess } from "../support/millrace-process.ts";
import { openForAll } from "../support/open-for.ts";
import { post, startStack, type Stack } from "../support/pipeline.ts";
import { PICTURES, takeAllPages } from "./pictures.ts";
import { until } from "../support/until.ts";

const CONFIG = fileURLToPath(new URL("../fixtures/on-call/millrace.config.ts", import.meta.url));
const FAILED = Number(process.env["ON_CALL_FAILED"] ?? 25);
const COMPLETED = Number(process.env["ON_CALL_COMPLETED"] ?? 1_000);
const RETRIED = "order.by_zero";
const SENDERS = 32;
const HOURS_MS = 4 * 3_600_000;

vi.setConfig({ testTimeout: HOURS_MS, hookTimeout: HOURS_MS });

describeInBrowser("a night on call", () => {
  const env = { MILLRACE_CONFIG: CONFIG };
  const stack = openForAll(() => startStack(onRedis, { env, config: exported, worker: false }));
  let worker: MillraceProcess;

  const one = async (text: string): Promise<number> =>
    (await stack.pipeline.database.query<{ n: number }>(text)).rows[0]?.n ?? -1;

  const others = async () => {
    const { rows } = await stack.pipeline.database.query<{ n: number; attempts: number }>(
      `select count(*)::int as n, sum(attempts)::int as attempts from webhook_events
       where type <> all($1) and status = 'failed' and generation = 0`,
      [["order.paid", RETRIED]],
    );
    expect(rows[0]?.n).toBe(FAILED * (BROKEN.length - 1));
    return rows;
  };

  beforeAll(async () => {
    worker = await stack.pipeline.start("worker");
    await complete(stack, COMPLETED);
    await fail(stack, FAILED);
    await until(
      async () =>
        (await one("select count(*)::int as n from webhook_events where status = 'failed'")) ===
        FAILED * BROKEN.length,
      { withinMs: HOURS_MS, what: "every broken event failed" },
    );
  });
  const on = useBrowser(() => stack.dashboard.url);
  const tab = openForAll(on.open);

  test("failures of twelve causes are twelve rows", async () => {
    const { page } = tab;
    await page.goto("/");
    await page.getByRole("link", { name: `Errors ${BROKEN.length}`, exact: true }).press("Enter");
    await page.getByText(`${BROKEN.length} errors`, { exact: true }).waitFor();
    const rows = page.getByRole("table", { name: "Errors" }).locator("tbody tr");
    expect(await rows.count()).toBe(BROKEN.length);
    for (const row of await rows.all()) {
      expect(await row.getByRole("link", { name: / failed$/ }).textContent()).toBe(
        FAILED.toLocaleString("en-GB"),
      );
    }
    await expectAccessible(page, "twelve errors");
    await tellHowFast(stack.dashboard.url);
    await page.setViewportSize({ width: 400, height: 800 });
    await expectAccessible(page, "twelve errors in a narrow window");
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(400);
    const heights =
      "[...document.querySelectorAll('.data tbody tr')].map((row) => row.offsetHeight)";
    expect(await page.evaluate(`Math.max(...${heights})`)).toBeLessThanOrEqual(120);
    await page.setViewportSize({ width: 1_280, height: 900 });
    tab.expectQuiet();
  });

  test(
    "one cause is retried by keyboard, its worker dies half-way, and each event runs once",
    async () => {
      const { page } = tab;
      const before = await others();
      await stack.pipeline.database.query("insert into switches values ('repaired')");
      const row = page.getByRole("row", { name: /division by zero/ });
      await row.getByRole("button", { name: /^Actions of/ }).press("Enter");
      await row.getByRole("button", { name: "Retry these…" }).press("Enter");
      const dialog = page.getByRole("dialog");
      await dialog
        .getByText(`${FAILED.toLocaleString("en-GB")} events`)
        .first()
        .waitFor();
      // Half of them take 15 s.
      await dialog.getByLabel("Events per second").fill(String(FAILED / 30));
      const number = dialog.getByLabel("Type the number");
      if ((await number.count()) > 0) await number.fill(String(FAILED));
      await dialog.getByRole("button", { name: /^Retry / }).press("Enter");
      await page.getByRole("link", { name: "Watch it" }).press("Enter");
      await page.getByRole("region", { name: "Health" }).getByText("1 bulk run is open").waitFor();
      const effects = "select count(*)::int as n from effects";
      await until(async () => (await one(effects)) >= FAILED / 3);
      await worker.end("SIGKILL");
      expect(await one(effects)).toBeLessThan(FAILED);
      worker = await stack.pipeline.start("worker");
      const result = `${FAILED.toLocaleString("en-GB")} ran: ${FAILED.toLocaleString("en-GB")} completed`;
      await page.getByText(result).waitFor({ timeout: 180_000 });
      await page.getByRole("heading", { name: "Run 1: retry, finished" }).waitFor();

      expect(await one(effects)).toBe(FAILED);
      expect(await one("select count(distinct event_id)::int as n from effects")).toBe(FAILED);
      const completed = `select count(*)::int as n from webhook_events where type = '${RETRIED}' and status = 'completed'`;
      expect(await one(completed)).toBe(FAILED);
      expect(await others()).toEqual(before);
      await page
        .getByRole("link", { name: /^Errors/ })
        .first()
        .press("Enter");
      await page.getByText(`${BROKEN.length} errors`, { exact: true }).waitFor();
      await row.getByRole("button", { name: /^Actions of/ }).press("Enter");
      await row.getByRole("button", { name: "Resolve…" }).press("Enter");
      await page.getByRole("dialog").getByRole("button", { name: "Resolve" }).press("Enter");
      await page.getByRole("link", { name: `Errors ${BROKEN.length - 1}`, exact: true }).waitFor();
      tab.expectQuiet();
    },
    HOURS_MS,
  );

  test("the charts of a day are what the worker has counted", async () => {
    const { page } = tab;
    await page.goto("/");
    await page.getByLabel("Time range of the charts").selectOption("24h");
    // The worker that leads counts every minute.
    const recorded = (COMPLETED + FAILED * BROKEN.length).toLocaleString("en-GB");
    await page.getByText(`${recorded} recorded`).waitFor({ timeout: 180_000 });
    await expectAccessible(page, "the charts");
    await page.locator(".plots").hover({ position: { x: 10, y: 50 } });
    await page.getByText("recorded").nth(1).waitFor();
    await page.mouse.down();
    await page.locator(".plots").hover({ position: { x: 100, y: 50 } });
    await page.mouse.up();
    await page.waitForURL(/\/events\?since=2.*&until=2/);
    tab.expectQuiet();
  });

  if (PICTURES !== undefined) {
    test("every page's picture is taken", () => takeAllPages(on.browser, stack.dashboard.url));
  }
});

async function complete({ pipeline }: Stack, count: number): Promise<void> {
  const client = await pipeline.database.connect();
  // Past the triggers, which take nothing that is not pending.
  await client.query("SET session_replication_role = replica");
  await client.query(
    `INSERT INTO millrace.events (
       recorded_at, received_at, started_at, processed_at, body_id, generation, attempts, unsigned,
       source, event_id, type, status, outcome, body_hash)
     SELECT at, at, at, at, n, 0, 1, false, 'acme', 'msg_done_' || n, 'order.paid', 'completed',
       'handled', md5(n::text)
     FROM (SELECT n, now() - n * interval '80 ms' AS at FROM generate_series(1, $1::int) n) s`,
    [count],
  );
  await client.query("RESET session_replication_role");
  client.release();
}

async function fail({ ingress }: Stack, count: number): Promise<void> {
  const left = BROKEN.flatMap((type) =>
    Array.from({ length: count }, (_, index) => ({
      ...{ id: `msg_${type.replace("order.", "")}_${index}`, type },
      data: { total: `${index}`, order: index },
    })),
  );
  const send = async () => {
    for (let event = left.pop(); event !== undefined; event = left.pop()) {
      const { status } = await post(ingress.url, event);
      if (status !== 202) throw new Error(`Cannot send ${event.id}: answered ${status}`);
    }
  };
  await Promise.all(Array.from({ length: SENDERS }, send));
}

async function tellHowFast(dashboardUrl: string): Promise<void> {
  const times: number[] = [];
  for (let round = 0; round < 5; round += 1) {
    const from = performance.now();
    const answer = await fetch(`${dashboardUrl}/api/errors?state=open&limit=50`);
    expect(((await answer.json()) as { total: number }).total).toBe(BROKEN.length);
    times.push(Math.round(performance.now() - from));
  }
  process.stdout.write(
    `${COMPLETED + FAILED * BROKEN.length} events, ${FAILED * BROKEN.length} failed: errors in ${times.join(", ")} ms\n`,
  );
}
