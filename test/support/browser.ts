import { chromium, type Browser, type BrowserContextOptions, type Page } from "playwright-core";
import { describe, expect, inject, test as base } from "vitest";
import { openForAll } from "./open-for.ts";

export function describeInBrowser(title: string, suite: () => void): void {
  describe.skipIf(inject("chromium") === undefined)(`${title} (needs chromium)`, suite);
}

/** A browser for a suite, with a `test` that gives each test a page of its own. */
export function useBrowser(url: () => string) {
  const held = openForAll(async () => {
    const browser = await openBrowser();
    return { browser, close: () => browser.close() };
  });
  const open = () => openTab(held.browser, url());
  const test = base.extend<{ page: Page }>({
    // oxlint-disable-next-line no-empty-pattern -- vitest reads from it what the fixture needs
    page: async ({}, use) => {
      const { page, expectQuiet, close } = await open();
      await use(page);
      expectQuiet();
      await close();
    },
  });
  return Object.assign(held, { open, test });
}

function openBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: inject("chromium") ?? "",
    args: [
      ...["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"],
      ...["--disable-background-networking", "--disable-component-update", "--disable-sync"],
    ],
  });
}

export async function openTab(browser: Browser, url: string, options: BrowserContextOptions = {}) {
  const context = await browser.newContext({
    ...{ baseURL: url, locale: "en-GB", timezoneId: "UTC" },
    ...{ viewport: { width: 1_280, height: 900 }, reducedMotion: "reduce" },
    ...options,
  });
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  const troubles: string[] = [];
  page.on("pageerror", (error) => troubles.push(`thrown: ${error.message}`));
  page.on("console", (message) => {
    // What is refused is a line of the console too, and for the test to look at on the page.
    if (message.type() !== "error" || message.text().startsWith("Failed to load resource")) return;
    troubles.push(`console: ${message.text()}`);
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(url)) troubles.push(`asked elsewhere: ${request.url()}`);
  });
  return {
    page,
    expectQuiet: () => expect(troubles).toEqual([]),
    close: () => context.close(),
  };
}
