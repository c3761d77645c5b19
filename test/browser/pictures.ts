import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { ErrorGroupPage } from "@millrace/api-contract";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { openTab } from "../support/browser.ts";
import { until } from "../support/until.ts";
import { onPostgres } from "../support/backends.ts";
import { startStore, type RunningStore } from "../support/running-store.ts";

export const PICTURES = process.env["SCREENSHOTS"];

export async function takePictures(browser: Browser): Promise<void> {
  // Of its own: a dashboard that was looked at before keeps the counts of the minutes that are moved here.
  const store = await startStore(await onPostgres());
  try {
    await fill(store);
    await shootAll(browser, store);
  } finally {
    await store.stop();
  }
}

async function shootAll(browser: Browser, store: RunningStore): Promise<void> {
  await mkdir(PICTURES ?? "", { recursive: true });
  const shoot = (name: string, path: string, options: BrowserContextOptions) =>
    takePicture({ browser, url: store.dashboardUrl, name, path, options });
  const wide = { viewport: { width: 1_280, height: 860 } };
  const event = "/event?source=hookmesh&id=evt_order_7781";
  await shoot("ledger", "/", wide);
  await shoot("ledger-dark", "/", { ...wide, colorScheme: "dark" });
  await shoot("errors", "/errors", { viewport: { width: 1_280, height: 620 } });
  await shoot("failed-event", event, { viewport: { width: 1_280, height: 780 } });
  await shoot("narrow-dark", event, {
    viewport: { width: 400, height: 860 },
    colorScheme: "dark",
  });
}

/** Every page in both widths and schemes, in a folder that is not part of the repository. */
export async function takeAllPages(browser: Browser, url: string): Promise<void> {
  await mkdir(join(PICTURES ?? "", "all"), { recursive: true });
  const ask = async (path: string) => (await fetch(`${url}/api/${path}`)).json();
  const { errors } = (await ask("errors")) as ErrorGroupPage;
  const [error] = errors;
  if (error === undefined) throw new Error("Cannot take pictures: no error is open");
  const { source, event_id: id } = error.sample;
  const paths = {
    ...{ overview: "/", events: "/events", failed: "/events?status=failed", errors: "/errors" },
    error: `/errors/${error.fingerprint}`,
    event: `/event?${new URLSearchParams({ source, id })}`,
    ...{ runs: "/runs", run: "/runs/1", sources: "/sources", audit: "/audit" },
  };
  for (const colorScheme of ["light", "dark"] as const) {
    for (const width of [1_280, 400]) {
      const options = { colorScheme, viewport: { width, height: 860 } };
      for (const [page, path] of Object.entries(paths)) {
        const name = `all/${page}-${colorScheme}-${width}`;
        await takePicture({ browser, url, name, path, options });
      }
    }
  }
}

interface Picture {
  readonly browser: Browser;
  readonly url: string;
  readonly name: string;
  readonly path: string;
  readonly options: BrowserContextOptions;
}

async function takePicture({ browser, url, name, path, options }: Picture): Promise<void> {
  const { page, expectQuiet, close } = await openTab(browser, url, options);
  await page.goto(path);
  await settled(page);
  await page.screenshot({ path: join(PICTURES ?? "", `${name}.png`) });
  expectQuiet();
  await close();
}

async function settled(page: Page): Promise<void> {
  await page.locator("main h1, main h2").first().waitFor();
  await page
    .getByRole("region", { name: "Health" })
    .getByText(/^All well$|errors? open/)
    .first()
    .waitFor();
  await until(async () => (await page.getByText(/^(Comparing|Counting|Reading)/).count()) === 0);
  await page.waitForLoadState("networkidle");
}

async function fill({ command, database }: RunningStore): Promise<void> {
  for (const [source, type, count] of [
    ["hookmesh", "user.created", 160],
    ["stripe", "payment_intent.succeeded", 240],
    ["github", "push", 70],
    ["standard", "invoice.paid", 30],
  ] as const) {
    await command("send", source, type, "--count", String(count));
  }
  // Nobody has added this carrier.
  const owl = ["--set", "payload.carrier=owl"];
  await command("send", "hookmesh", "order.shipped", "--count", "7", ...owl);
  await command("send", "hookmesh", "user.created", "--count", "3", "--set", "payload.email=null");
  await command("send", "stripe", "charge.refunded", "--count", "5", "--set", "data=null");
  // What failed and is tried again later is part of the picture.
  await until(async () => {
    const { rows } = await database.query(
      "select count(*)::int as n from millrace.events where status = 'pending' and last_error is null",
    );
    return rows[0].n === 0;
  });
  // Past the triggers, which refuse to touch what is completed.
  await database.query(`
    BEGIN;
    SET LOCAL session_replication_role = replica;
    UPDATE millrace.events SET
      recorded_at = recorded_at - ago, received_at = received_at - ago, started_at = started_at - ago,
      processed_at = processed_at - ago * 0.9995
    FROM (
      SELECT source AS s, event_id AS e, interval '58 minutes' * power(random(), 1.5) AS ago
      FROM millrace.events
    ) moved
    WHERE source = s AND event_id = e;
    DELETE FROM millrace.activity;
    DELETE FROM millrace.activity_progress;
    COMMIT`);
  await command("send", "stripe", "charge.refunded", "--count", "4");
  await command("send", "hookmesh", "order.shipped", "--id", "evt_order_7781", ...owl);
  await command("send", "github", "push", "--count", "2");
  const counted =
    "select from millrace.activity_progress where counted_until >= now() - interval '2 minutes'";
  await until(async () => (await database.query(counted)).rowCount === 1, { withinMs: 180_000 });
}
