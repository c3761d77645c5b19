import { beforeAll, expect, test } from "vitest";
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
  beforeAll(async () => void (await on.shipByPigeon("--id", "evt_order_1")));

  async function signIn(path: string, { user, password }: typeof OPERATOR) {
    const tab = await on.open();
    await tab.page.goto(path);
    await tab.page.getByLabel("User").fill(user);
    await tab.page.getByLabel("Password").fill(password);
    await tab.page.getByRole("button", { name: "Sign in" }).click();
    return tab;
  }

  test.each(["light", "dark"] as const)(
    "a stranger sees a form and no data, in the %s",
    async (colorScheme) => {
      await on.inTab(
        async (page) => {
          await page.goto("/events?status=failed");
          await page.getByRole("heading", { name: "Sign in to Millrace" }).waitFor();
          expect(await page.getByText("evt_order_1").count()).toBe(0);
          await expectAccessible(page, "the form");
        },
        { colorScheme },
      );
    },
  );

  test("a wrong password is refused with its code, and the right one shows what was asked for", async () => {
    const { page, expectQuiet, close } = await signIn("/events?status=failed", {
      ...OPERATOR,
      password: "not this one",
    });
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
    expectQuiet();
    await close();
  });

  test("a viewer sees everything and is offered no write", async () => {
    const { page, expectQuiet, close } = await signIn("/events", VIEWER);
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
    expectQuiet();
    await close();
  });

  test("who asked for the queues gets there, and nobody is led elsewhere", async () => {
    const queues = await signIn("/queues", OPERATOR);
    await queues.page.waitForURL("/queues");
    await queues.close();
    const elsewhere = await signIn("/?next=//evil.example/queues", OPERATOR);
    await elsewhere.page.getByRole("heading", { name: "Overview" }).waitFor();
    expect(elsewhere.page.url()).toBe(`${on.store.dashboardUrl}/`);
    elsewhere.expectQuiet();
    await elsewhere.close();
  });
});
