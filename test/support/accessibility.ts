import axe, { type AxeResults } from "axe-core";
import type { Page } from "playwright-core";
import { expect } from "vitest";

export async function expectAccessible(page: Page, what: string): Promise<void> {
  // Evaluated, not added as a script: the page's policy would rightly refuse that.
  await page.evaluate(axe.source);
  const results = (await page.evaluate("axe.run()")) as AxeResults;
  const found = results.violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => ({ id, nodes: nodes.map(({ html }) => html.slice(0, 200)) }));
  expect({ what, found }).toEqual({ what, found: [] });
}
