import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import * as providers from "./senders.ts";
import { EVERY_SOURCE } from "./testing/every-source.ts";
import { signedDelivery } from "./testing/sign-delivery.ts";

const page = readFileSync(new URL("../../../docs/providers.md", import.meta.url), "utf8");

/** The rows of the table, by the provider's function that the config names; the first of each. */
const rows = new Map<string, readonly string[]>();
for (const line of page.split("\n").filter((text) => text.startsWith("| "))) {
  const cells = line
    .slice(2, -2)
    .split(" | ")
    .map((cell) => cell.trim());
  for (const [, name = ""] of (cells[0] ?? "").matchAll(/`(\w+)\(/g)) {
    if (!rows.has(name)) rows.set(name, cells);
  }
}

test("the page has a row for every provider, and for nothing else", () => {
  expect([...rows.keys()].toSorted()).toEqual(
    Object.keys(providers)
      .filter((name) => name !== "hmac")
      .toSorted(),
  );
});

const documented = Object.entries(EVERY_SOURCE).filter(([name]) => !/ |^hmac/.test(name));

test.each(documented)("the row of %s says what it does", (name, { source, toleranceMs }) => {
  const { provider } = source;
  const [, signed = "", identity = "", answer = ""] = rows.get(name) ?? [];
  const secret = provider.generateSecret();
  const { headers } = signedDelivery(source, { secret });
  for (const header of Object.keys(headers).filter((one) => /signature(?!-time)|hmac/.test(one))) {
    expect(signed.toLowerCase()).toContain(`\`${header}\``);
  }
  expect(identity.includes("unsigned")).toBe(!provider.idIsSigned);
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
