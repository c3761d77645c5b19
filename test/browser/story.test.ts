import { expect } from "vitest";
import { expectAccessible } from "../support/accessibility.ts";
import { onEachBackend } from "../support/backends.ts";
import { describeInBrowser } from "../support/browser.ts";
import { PICTURES, takePictures } from "./pictures.ts";
import { until } from "../support/until.ts";
import { useStorePage } from "./store-page.ts";

onEachBackend("the ledger's page", (prepare, backend) => {
  describeInBrowser("in a browser", () => {
    const on = useStorePage(prepare);
    const { test } = on;
    const ship = (id: string) => on.shipByPigeon("--id", id);
    const all = (ids: readonly string[], status: string) =>
      until(async () => {
        const named = `event_id in (${ids.map((id) => `'${id}'`).join()})`;
        return (await on.countOf(`status = '${status}' and ${named}`)) === ids.length;
      });

    test("an empty ledger says what to send", async ({ page }) => {
      await page.goto("/events");
      await page.getByText("No events yet").waitFor();
      await page.getByText("npx millrace send github").waitFor();
      await expectAccessible(page, "an empty ledger");
    });

    test("an event that failed is found, its cause read, fixed, and retried with a reason", async ({
      page,
    }) => {
      await page.goto("/events");
      await page.getByText("No events yet").waitFor();
      await ship("evt_order_1");
      const link = page.getByRole("link", { name: "evt_order_1" });
      await link.waitFor();
      await page.getByLabel("Status").selectOption("failed");
      await link.click();

      await page.getByRole("heading", { name: "evt_order_1" }).waitFor();
      await page.getByText('Unknown carrier "pigeon"').waitFor();
      await page.getByRole("heading", { name: "Payload" }).waitFor();

      const others = ["evt_order_2", "evt_order_3", "evt_order_4", "evt_order_5"];
      for (const id of others) await ship(id);
      await all(others, "failed");
      await on.store.command("send", "hookmesh", "carrier.added", "--set", "payload.name=pigeon");
      await page.getByRole("button", { name: "Retry…" }).click();
      await page.getByLabel("Reason").fill("pigeon is a carrier now");
      await page.getByRole("dialog").getByRole("button", { name: "Retry", exact: true }).click();
      await page.getByText("Retried: the event is pending again.").waitFor();
      await page.getByText("Completed by attempt 2").waitFor();
      expect(await page.getByText('Unknown carrier "pigeon"').count()).toBe(1);
      const audit = page.getByRole("region", { name: "Audit" });
      await audit.getByText("pigeon is a carrier now").waitFor();
      await page.getByRole("link", { name: "Audit", exact: true }).click();
      await page.getByRole("cell", { name: "pigeon is a carrier now" }).waitFor();
      await page.getByRole("link", { name: "hookmesh / evt_order_1" }).first().click();
      await page.getByText("Completed by attempt 2").waitFor();
    });

    test("events that failed are retried by the API, by the command, and by a bulk run", async () => {
      const path = "/api/events/hookmesh/evt_order_2/retry";
      const headers = { "content-type": "application/json", origin: on.store.dashboardUrl };
      const retry = { method: "POST", headers, body: "{}" };
      expect((await fetch(`${on.store.dashboardUrl}${path}`, retry)).status).toBe(200);
      await all(["evt_order_2"], "completed");
      await on.store.command("retry", "hookmesh", "evt_order_3");
      await all(["evt_order_3"], "completed");
      await on.store.command("retry", "--source", "hookmesh");
      await all(["evt_order_4", "evt_order_5"], "completed");
    });

    test("an event of a paused source is shown as it waits, and completes when the source resumes", async ({
      page,
    }) => {
      await on.store.command("pause", "standard");
      await on.store.command("send", "standard", "invoice.paid", "--id", "evt_queued_1");
      await page.goto("/events?q=evt_queued_1");
      await page.getByRole("link", { name: "evt_queued_1" }).click();
      if (backend === "redis") {
        await page.getByText("This event is still only in its queue").waitFor();
      }
      await page.getByText('"invoice.paid"').waitFor();
      await expectAccessible(page, "a queued event");
      await on.store.command("resume", "standard");
      await page.getByText("Completed by attempt 1").waitFor();
    });

    if (PICTURES !== undefined && backend === "postgres") {
      test("the README's pictures are taken", () => takePictures(on.browser));
    }
  });
});
