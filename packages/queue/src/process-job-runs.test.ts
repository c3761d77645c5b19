import { describe, expect, it } from "vitest";
import { createRuns } from "./process-job.ts";

describe("createRuns", () => {
  it("aborts the run of the job that is named, and no other", () => {
    const runs = createRuns({ lockDurationMs: 1_000 });
    const mine = runs.begin("acme", "1");
    const namesake = runs.begin("other", "1");
    expect(runs.abort("acme", "1")).toBe(true);
    expect(mine.signal.reason).toMatchObject({ code: "lost_claim" });
    expect(namesake.signal.aborted).toBe(false);
    expect(runs.abort("acme", "2")).toBe(false);
  });

  it("aborts an older run of a job that begins again, and forgets it without harm to the new", () => {
    const runs = createRuns({ lockDurationMs: 1_000 });
    const older = runs.begin("acme", "1");
    const newer = runs.begin("acme", "1");
    expect(older.signal.aborted).toBe(true);
    older.end();
    expect(runs.active).toBe(1);
    runs.abort("acme", "1");
    expect(newer.signal.aborted).toBe(true);
  });

  it("aborts every run that is on and every run that begins later", () => {
    const runs = createRuns({ lockDurationMs: 1_000 });
    const before = runs.begin("acme", "1");
    runs.abortAll();
    const after = runs.begin("acme", "2");
    for (const run of [before, after]) {
      expect(run.signal.reason).toMatchObject({ code: "shutting_down" });
    }
  });

  it("is idle when the last run has ended, and not before", async () => {
    const runs = createRuns({ lockDurationMs: 1_000 });
    expect(await runs.idle(0)).toBe(true);
    const one = runs.begin("acme", "1");
    const two = runs.begin("acme", "2");
    one.end();
    expect(await runs.idle(1)).toBe(false);
    const idle = runs.idle(10_000);
    two.end();
    expect(await idle).toBe(true);
  });

  it("aborts what runs when the process was frozen for longer than a lock lasts", () => {
    const runs = createRuns({ lockDurationMs: 50 });
    const run = runs.begin("acme", "1");
    expect(run.signal.aborted).toBe(false);
    const untilMs = performance.now() + 60;
    while (performance.now() < untilMs);
    expect(run.signal.aborted).toBe(true);
    expect(run.signal.reason).toMatchObject({ code: "lost_claim" });
    run.end();
  });
});
