import { expect, test } from "vitest";
import { createStatus } from "../progress.ts";
import { asText, ok, runChecks } from "./report.ts";

test("a terminal that says that it has 0 columns shows the examples", () => {
  const example = { source: "acme", event_id: "evt_1", generation: 0, job_id: null, detail: null };
  const found = new Map([["pending_without_job" as const, { count: 1, examples: [example] }]]);
  const diagnosis = { found, pending: 1, looked: 1, notCompared: new Map() } as never;
  const text = asText({ checks: [], diagnosis }, { isTTY: true, columns: 0, write: () => true });
  expect(text).toContain("\n  acme  evt_1");
});

test("a terminal shows which check runs, and what is no terminal does not", async () => {
  for (const isTTY of [true, false]) {
    const written: unknown[] = [];
    const show = createStatus({ isTTY, write: (text) => written.push(text) });
    const shown: number[] = [];
    const run = () => {
      shown.push(written.length);
      return ok("");
    };
    await runChecks([], [{ name: "epochs", run }], {}, show);
    expect(shown).toEqual([isTTY ? 1 : 0]);
    expect(written).toEqual(isTTY ? ["\r\u001b[KChecking epochs…"] : []);
  }
});
