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

test("failures are one line and one entry a network, at most once a minute", async () => {
  const { record, lines, facts, count } = aRecord();
  for (let times = 0; times < 50; times += 1) record.failed("wrong_password", "198.51.100.1");
  record.failed("too_many_failures", "198.51.100.1");
  record.failed("wrong_token", "2001:db8:1:2::/64");
  await vi.advanceTimersByTimeAsync(1_000);
  expect(lines).toEqual([
    {
      ...{ wrong_password: 50, wrong_token: 1, too_many_failures: 1, networks: 2 },
      worst: ["198.51.100.1", "2001:db8:1:2::/64"],
      since: expect.any(Date),
      message: "sign-ins failed",
    },
  ]);
  const nobody = { actor: null, role: "none", action: "sign_in_failed" };
  const since = expect.stringMatching(/^\d{4}-.*Z$/);
  expect(facts).toEqual([
    {
      ...{ ...nobody, via: "session" },
      result: { network: "198.51.100.1", wrong_password: 50, too_many_failures: 1, since },
    },
    { ...nobody, via: "token", result: { network: "2001:db8:1:2::/64", wrong_token: 1, since } },
  ]);
  record.failed("wrong_password", "198.51.100.1");
  await vi.advanceTimersByTimeAsync(58_000);
  expect([lines.length, facts.length]).toEqual([1, 2]);
  await vi.advanceTimersByTimeAsync(2_000);
  expect([lines.length, facts.length]).toEqual([2, 3]);
  expect([await count("wrong_password"), await count("signed_in")]).toEqual(["51", "0"]);
  await record.close();
});

test("the networks with the most failures have entries of their own, and the others one", async () => {
  const { record, facts } = aRecord();
  for (let network = 0; network < 1_200; network += 1) {
    for (let times = 0; times < (network < 20 ? 3 : 1); times += 1) {
      record.failed("wrong_password", `network ${network}`);
    }
  }
  await record.close();
  expect(facts).toHaveLength(21);
  const results = facts.map(({ result }) => result);
  expect(results[19]).toMatchObject({ network: "network 19", wrong_password: 3 });
  expect(results[20]).toMatchObject({ network: "others", wrong_password: 1_180 });
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
