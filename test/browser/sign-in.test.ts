import type { Page } from "playwright-core";
import { beforeAll, expect } from "vitest";
import { expectAccessible } from "../support/accessibility.ts";
import { onPostgres } from "../support/backends.ts";
import { describeInBrowser } from "../support/browser.ts";
import { useStorePage } from "./store-page.ts";

const OPERATOR = { user: "ada", password: "operator-password-1" };
const VIEWER = { user: "bob", password: "viewer-password-1" };

describeInBrowser("signing in to the ledger's page", () => {
  const accounts = [
    { ...OPERATOR, role: "operator" as const },
    { ...VIEWER, role: "viewer" as const },
  ];
  const on = useStorePage(onPostgres, { dashboard: { credentials: { accounts, tokens: [] } } });
  const { test } = on;
  beforeAll(async () => void (await on.shipByPigeon("--id", "evt_order_1")));

  async function signIn(page: Page, path: string, { user, password }: typeof OPERATOR) {
    await page.goto(path);
    await page.getByLabel("User").fill(user);
    await page.getByLabel("Password").fill(password);
    await page.getByRole("button", { name: "Sign in" }).click();
  }

  test.for(["light", "dark"] as const)(
    "a stranger sees a form and no data, in the %s",
    async (colorScheme, { page }) => {
      await page.emulateMedia({ colorScheme });
      await page.goto("/events?status=failed");
      await page.getByRole("heading", { name: "Sign in to Millrace" }).waitFor();
      expect(await page.getByText("evt_order_1").count()).toBe(0);
      await expectAccessible(page, "the form");
    },
  );

  test("a wrong password is refused with its code, and the right one shows what was asked for", async ({
    page,
  }) => {
    await signIn(page, "/events?status=failed", { ...OPERATOR, password: "not this one" });
    await page.getByRole("alert").getByText("unauthorized").waitFor();
    await page.getByLabel("Password").fill(OPERATOR.password);
    await page.getByLabel("Password").press("Enter");
    await page.getByRole("link", { name: "evt_order_1" }).waitFor();
    expect(new URL(page.url()).search).toBe("?status=failed");
    await page.getByText("ada").waitFor();
    await page.getByRole("button", { name: "Retry failed…" }).waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: "Sign in to Millrace" }).waitFor();
    await page.reload();
    await page.getByRole("heading", { name: "Sign in to Millrace" }).waitFor();
  });

  test("a viewer sees everything and is offered no write", async ({ page }) => {
    await signIn(page, "/events", VIEWER);
    await page.getByText("viewer", { exact: false }).first().waitFor();
    await page.getByRole("link", { name: "evt_order_1" }).click();
    await page.getByText('Unknown carrier "pigeon"').waitFor();
    await page.getByText("Viewers cannot retry, replay, or give up").waitFor();
    for (const name of [/Retry/, /Replay/, /Pause/]) {
      expect(await page.getByRole("button", { name }).count()).toBe(0);
    }
    await page
      .getByRole("link", { name: /^Events/ })
      .first()
      .click();
    await page.getByRole("button", { name: "Live" }).waitFor();
    for (const name of [/Retry/, /Replay/, /Pause/]) {
      expect(await page.getByRole("button", { name }).count()).toBe(0);
    }
  });

  test("who asked for the queues gets there, and nobody is led elsewhere", async ({ page }) => {
    const queues = await on.open();
    await signIn(queues.page, "/queues", OPERATOR);
    await queues.page.waitForURL("/queues");
    await queues.close();
    await signIn(page, "/?next=//evil.example/queues", OPERATOR);
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    expect(page.url()).toBe(`${on.store.dashboardUrl}/`);
  });
});
