import { expect, test } from "vitest";
import { parseConfig } from "./define-config.ts";
import { isMillraceError } from "./errors.ts";
import type { Provider } from "./provider.ts";

const provider = {
  createVerifier: () => ({ verify: () => ({ ok: true }) }),
} as unknown as Provider;
const sources = { acme: { provider, options: {} } };

function refusal(input: unknown): string {
  try {
    parseConfig(input);
  } catch (error) {
    if (isMillraceError(error) && error.code === "invalid_config") return error.message;
    throw error;
  }
  throw new Error("the config was taken");
}

test("defaults fit together and need nothing but sources", () => {
  const config = parseConfig({ sources });
  expect(config.sources["acme"]?.options).toMatchObject({
    attempts: 12,
    backoff: { firstMs: 2_000, factor: 3, maxMs: 3_600_000 },
  });
  expect(config.worker).toMatchObject({
    handlerTimeoutMs: 30_000,
    idleInTransactionTimeoutMs: 35_000,
    lockDurationMs: 12_000,
  });
});

test("every problem is reported at once, each with its path", () => {
  const message = refusal({
    sources: { Acme: { provider, options: {} }, other: { provider, options: { attempts: 0 } } },
    worker: { handlerTimeoutMs: 40_000, concurency: 5 },
    retension: 5,
  });
  for (const part of [
    "sources.Acme",
    "sources.other.options.attempts",
    "concurency",
    "retension",
  ]) {
    expect(message).toContain(part);
  }
});

test.each([
  [{ handlerTimeoutMs: 40_000 }, "worker.idleInTransactionTimeoutMs"],
  [{ lockTimeoutMs: 30_000 }, "worker.lockTimeoutMs"],
  [{ stalledIntervalMs: 12_000 }, "worker.stalledIntervalMs"],
])("times that contradict each other are refused: %j", (worker, path) => {
  expect(refusal({ sources, worker })).toContain(path);
});

test("an internal source has no secret, and is not the only one", () => {
  const internal = { ...provider, isInternal: true } as Provider;
  const mail = { provider: internal, options: { secret: "whsec_a" } };
  expect(refusal({ sources: { ...sources, mail } })).toContain(
    "sources.mail.options.secret: cannot be set: an internal source has no URL",
  );
  const secrets = () => undefined;
  const refused = (of: Partial<Provider>, options: object) =>
    refusal({ sources: { ...sources, mail: { provider: { ...provider, ...of }, options } } });
  expect(refused({ isInternal: true }, { secrets })).toContain(
    "options.secrets: cannot be set: an",
  );
  expect(refused({}, { secrets, secret: "whsec_a" })).toContain(
    "options.secret: cannot be set: `secrets` is set",
  );
  expect(refused({ needsSecret: false }, { secrets })).toContain("it needs no secret");
  expect(refused({}, { secrets: ["a"] })).toContain("options.secrets: must be a function (tenant)");
  expect(refusal({ sources: { mail: { provider: internal, options: {} } } })).toContain(
    "must name at least one source with a URL: all of them are internal",
  );
});

test("a config without sources, or with a source that no provider made, is refused", () => {
  expect(refusal({ sources: {} })).toContain("at least one source");
  expect(refusal({ sources: { acme: {} } })).toContain("provider");
  expect(refusal({ sources: { acme: { provider: "stripe", options: {} } } })).toContain("stripe()");
  expect(refusal(undefined)).toContain("(top level)");
});

test("problems are told in plain words, contradictions beside what is misspelt", () => {
  const wrong = refusal({
    sources: {
      Acme: { provider, options: {} },
      b: { provider, options: { attempts: 0.5, toleranceMs: "5", secret: 7, concurrency: 501 } },
    },
    handlers: 5,
    worker: { stalledIntervalMs: 12_000 },
    ingres: {},
  });
  expect(wrong.split("\n").slice(1).toSorted()).toEqual([
    '  (top level): has no option "ingres" (did you mean "ingress"?)',
    "  handlers: must be a list of on(...), or a function that imports one",
    "  sources.Acme: its name must match ^[a-z][a-z0-9-]{0,39}$",
    "  sources.b.options.attempts: must be a whole number",
    "  sources.b.options.concurrency: must be at most 500",
    "  sources.b.options.secret: must be a string, or a list of strings",
    "  sources.b.options.toleranceMs: must be a number",
    "  worker.stalledIntervalMs: must be less than lockDurationMs (12000), or dead workers are found late",
  ]);
});

test("a file without a default export is told how to end", () => {
  expect(refusal({})).toContain("sources: is missing; the file must say: export default");
});

test("alerts have a source of their own, which no sender may be", () => {
  const alerts = [{ name: "own", target: "x", variable: "X", send: () => Promise.resolve() }];
  const names = (input: object) => Object.keys(parseConfig(input).sources);
  expect(names({ sources })).toEqual(["acme"]);
  expect(names({ sources, alerts })).toEqual(["millrace", "acme"]);
  const taken = { ...sources, millrace: sources.acme };
  expect(refusal({ sources: taken, alerts })).toContain(
    "sources.millrace: is the source of alerts",
  );
  expect(refusal({ sources, alerts: ["slack"] })).toContain("alerts.0: must come from alertTo");
});
