import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import * as senders from "./senders.ts";
import { EVERY_SOURCE } from "./testing/every-source.ts";
import { signedDelivery } from "./testing/sign-delivery.ts";

interface Facts {
  readonly signed: string;
  readonly answer?: string;
}

const folder = new URL("../../../docs/providers/", import.meta.url);
const script = new URL("../../../scripts/provider-pages.mjs", import.meta.url);
const { FACTS, pagesOf } = (await import(script.href)) as {
  FACTS: { senders: Record<string, Facts>; aliases: Record<string, object> };
  pagesOf: (of: typeof senders) => ReadonlyMap<string, string>;
};

test("every provider has facts, and nothing else has", () => {
  const names = Object.keys(senders).filter((name) => name !== "hmac");
  const known = Object.keys({ ...FACTS.senders, ...FACTS.aliases });
  expect(known.toSorted()).toEqual(names.toSorted());
});

test("the pages are those that `npm run providers:pages` writes", () => {
  const files = readdirSync(folder).filter((name) => name.endsWith(".md"));
  const committed = files.map((name) => [name, readFileSync(new URL(name, folder), "utf8")]);
  expect(Object.fromEntries(committed)).toEqual(Object.fromEntries(pagesOf(senders)));
});

test("README, comparison, and changelog count the senders", () => {
  const [whole, aliases] = [FACTS.senders, FACTS.aliases].map((one) => Object.keys(one).length);
  const textOf = (name: string) => readFileSync(new URL(`../../${name}`, folder), "utf8");
  expect(textOf("README.md")).toContain(`[${whole} providers, and HMAC]`);
  const comparison = textOf("docs/comparison.md");
  expect(comparison).toContain(`[${whole}, and ${aliases} that sign as these]`);
  expect(comparison).toContain(`[${whole} providers, and HMAC]`);
  expect(textOf("CHANGELOG.md")).toContain(`from ${whole} providers, Svix`);
  expect(textOf("CHANGELOG.md")).toContain(`among them, ${aliases} senders`);
});

const documented = Object.entries(EVERY_SOURCE).flatMap(([name, source]) => {
  const facts = FACTS.senders[name];
  return facts === undefined ? [] : [{ name, facts, ...source }];
});

test.each(documented)("the facts of $name are what it does", (sender) => {
  const { name, facts, source, toleranceMs } = sender;
  const { provider } = source;
  const { signed, answer = "" } = facts;
  const { headers } = signedDelivery(source, { secret: provider.generateSecret() });
  for (const header of Object.keys(headers).filter((one) => /signature(?!-time)|hmac/.test(one))) {
    expect(signed.toLowerCase()).toContain(`\`${header}\``);
  }
  expect(signed).toMatch(
    toleranceMs === undefined ? /^(?!.*; \d+ (s|min|h)\b)/ : durationOf(toleranceMs),
  );
  expect(answer.includes("GET")).toBe(provider.methods.includes("GET"));
  const status = provider.answers?.accepted?.status;
  if (name !== "discord")
    expect(answer).toMatch(status === undefined ? /^(?!.*\b20\d\b)/ : /(^|; )200/);
});

function durationOf(ms: number): RegExp {
  const units = [
    ["h", 3_600_000],
    ["min", 60_000],
    ["s", 1_000],
  ] as const;
  const [unit, size] = units.find(([, unitMs]) => ms >= 2 * unitMs) ?? units[2];
  return new RegExp(`; ${ms / size} ${unit}\\b`);
}
