import { describe, expect, it } from "vitest";
import type { QueueNotice } from "./notices.ts";
import { causeOf, createErrorReporter } from "./notices.ts";

describe("createErrorReporter", () => {
  it("tells of one error once, however many queues report it", () => {
    const notices: QueueNotice[] = [];
    const report = createErrorReporter((notice) => notices.push(notice));
    const error = new Error("gone");
    for (let queue = 0; queue < 60; queue += 1) report(error);
    report("a string that was thrown", "acme");
    expect(notices).toEqual([
      { kind: "background_error", cause: "gone", error },
      expect.objectContaining({ cause: "a string that was thrown", source: "acme" }),
    ]);
  });
});

describe("causeOf", () => {
  it.each([
    ["ECONNREFUSED", Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" })],
    ["57P01", Object.assign(new Error("terminating connection"), { code: "57P01" })],
    ["OOM", new Error("OOM command not allowed when used memory > 'maxmemory'.")],
    [
      "Missing lock for job moveToFinished",
      new Error("Missing lock for job evt_1. moveToFinished"),
    ],
  ])("names %s the same for every job", (cause, error) => {
    expect(causeOf(error)).toBe(cause);
  });
});
