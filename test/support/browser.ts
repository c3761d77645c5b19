import { chromium, type Browser, type BrowserContextOptions } from "playwright-core";
import { describe, expect, inject } from "vitest";

export function describeInBrowser(title: string, suite: () => void): void {
  describe.skipIf(inject("chromium") === undefined)(`${title} (needs chromium)`, suite);
}

export async function openBrowser(): Promise<Browser> {
  return await chromium.launch({
    executablePath: inject("chromium") ?? "",
    args: [
      ...["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"],
      ...["--disable-background-networking", "--disable-component-update", "--disable-sync"],
    ],
  });
}

export type Tab = Awaited<ReturnType<typeof openTab>>;

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
