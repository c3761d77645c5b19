import type { AuditedFact } from "@millrace/ledger";
import type { Logger } from "@millrace/service";
import { Registry } from "prom-client";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createSignInRecord } from "./sign-in-record.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] });
});
afterEach(() => {
  vi.useRealTimers();
});

function aRecord() {
  const lines: unknown[] = [];
  const facts: AuditedFact[] = [];
  const errors: unknown[] = [];
  const postgres = { record: async (given: readonly AuditedFact[]) => void facts.push(...given) };
  const log = (line: object, message: string) => void lines.push({ ...line, message });
  const registry = new Registry();
  const record = createSignInRecord({
    ledger: {
      audit: { record: (given: readonly AuditedFact[]) => postgres.record(given) } as never,
    },
    logger: { info: log, warn: log } as unknown as Logger,
    registry,
    onError: (error) => errors.push(error),
  });
  const count = async (result: string) =>
    (await registry.metrics()).match(new RegExp(`result="${result}"} (\\d+)`))?.[1];
  return { record, lines, facts, errors, postgres, count };
}

test("failures are one line and one entry with the three worst networks, at most once a minute", async () => {
  const { record, lines, facts, count } = aRecord();
  for (let times = 0; times < 50; times += 1) record.failed("wrong_password", "198.51.100.1");
  record.failed("too_many_failures", "198.51.100.1");
  for (let network = 0; network < 1_200; network += 1) {
    record.failed("wrong_token", `network ${network}`);
  }
  for (let times = 0; times < 3; times += 1) record.failed("wrong_token", "network 7");
  record.failed("wrong_token", "network 5");
  await vi.advanceTimersByTimeAsync(1_000);
  const result = {
    ...{ wrong_password: 50, too_many_failures: 1, wrong_token: 1_204, networks: 1_000 },
    worst: [
      { network: "198.51.100.1", failures: 51 },
      { network: "network 7", failures: 4 },
      { network: "network 5", failures: 2 },
    ],
    since: expect.stringMatching(/^\d{4}-.*Z$/),
  };
  expect(lines).toEqual([{ ...result, message: "sign-ins failed" }]);
  const nobody = { actor: null, role: "none", action: "sign_in_failed" };
  expect(facts).toEqual([{ ...nobody, via: "session", result }]);
  record.failed("wrong_token", "198.51.100.1");
  await vi.advanceTimersByTimeAsync(58_000);
  expect([lines.length, facts.length]).toEqual([1, 1]);
  await vi.advanceTimersByTimeAsync(2_000);
  expect([lines.length, facts.length, facts[1]?.via]).toEqual([2, 2, "token"]);
  expect([await count("wrong_password"), await count("signed_in")]).toEqual(["50", "0"]);
  await record.close();
});

test("what Postgres does not take is written with the next failures, and the log has it", async () => {
  const { record, lines, facts, errors, postgres } = aRecord();
  const { record: works } = postgres;
  postgres.record = () => Promise.reject(new Error("away"));
  record.failed("wrong_password", "a");
  await vi.advanceTimersByTimeAsync(1_000);
  expect([lines.length, facts.length, errors.length]).toEqual([1, 0, 1]);
  postgres.record = works;
  await vi.advanceTimersByTimeAsync(60_000);
  expect([lines.length, facts.length]).toEqual([1, 1]);
  await record.close();
});

test("who signs in waits a second at most for an audit that hangs", async () => {
  const { record, errors, postgres, count } = aRecord();
  postgres.record = () => new Promise(() => {});
  const signedIn = record.signedIn({ user: "ops", role: "operator" }, "198.51.100.1");
  await vi.advanceTimersByTimeAsync(1_000);
  await signedIn;
  expect(errors).toHaveLength(1);
  expect(await count("signed_in")).toBe("1");
});
