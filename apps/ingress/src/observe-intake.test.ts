import { parseConfig, type SignRequest } from "@millrace/core";
import type { EventStore } from "@millrace/intake";
import { stripe } from "@millrace/providers";
import { createRegistry, type Logger } from "@millrace/service";
import { expect, onTestFinished, test } from "vitest";
import { createIngress } from "./create-ingress.ts";

const SECRET = "whsec_of-the-test";
const BODY = Buffer.from('{"id":"evt_1","type":"t"}');

const store: EventStore = {
  name: "queue",
  put: (events) => Promise.resolve(events.map(() => "accepted")),
  ping: () => Promise.resolve(),
  isFull: () => false,
};

function signedWith(signing: Partial<SignRequest>): Record<string, string> {
  const request = { eventId: "evt_1", type: "t", body: BODY, secret: SECRET, nowMs: Date.now() };
  return stripe().provider.sign({ ...request, ...signing });
}

const REFUSED: Readonly<Record<string, Record<string, string>>> = {
  header_missing: {},
  malformed: { "stripe-signature": "sha256=00" },
  no_secret_matches: signedWith({ secret: "whsec_of-nobody" }),
  too_old: signedWith({ nowMs: Date.now() - 4_000_000 }),
  too_new: signedWith({ nowMs: Date.now() + 4_000_000 }),
};

test("a refused signature is answered as every other, and its reason is in metrics and log", async () => {
  const lines: { failure?: string; seconds?: number; msg: string }[] = [];
  const warn = (fields: object, msg: string) => void lines.push({ ...fields, msg });
  const counted = new Map<string | undefined, number>();
  const registry = createRegistry({ role: "ingress" });
  const ingress = createIngress({
    config: parseConfig({ sources: { pay: stripe() } }),
    secrets: { pay: [SECRET] },
    stores: [store],
    logger: { warn } as unknown as Logger,
    registry,
    refusals: { add: (_source, code) => void counted.set(code, (counted.get(code) ?? 0) + 1) },
  });
  onTestFinished(() => ingress.close());
  const port = await ingress.listen({ port: 0, host: "127.0.0.1" });
  const post = (path: string, headers: Record<string, string>) =>
    fetch(`http://127.0.0.1:${port}/webhooks/${path}`, { method: "POST", headers, body: BODY });

  expect((await post("pay", signedWith({}))).status).toBe(202);
  const answers = new Set<string>();
  for (const headers of Object.values(REFUSED)) {
    answers.add(await (await post("pay", headers)).text());
  }
  answers.add(await (await post("nobody", {})).text());
  expect([...answers]).toEqual([expect.stringContaining('"code":"invalid_signature"')]);

  const metrics = await registry.metrics();
  for (const reason of Object.keys(REFUSED)) {
    expect(metrics).toMatch(
      new RegExp(`rejected_total\\{source="pay",code="invalid_\\w+",failure="${reason}".*\\} 1`),
    );
    expect(counted.get(reason)).toBe(1);
    const [line, ...others] = lines.filter(({ failure }) => failure === reason);
    expect(line).toMatchObject({ msg: "delivery rejected", source: "pay" });
    expect(others).toEqual([]);
    if (reason.startsWith("too_")) expect(line?.seconds).toBeCloseTo(4_000, -2);
    else expect(line).not.toHaveProperty("seconds");
  }
  expect(counted.get("unknown_source")).toBe(1);
});

test("a refused tenant is in the log, and in no metric", async () => {
  const lines: object[] = [];
  const warn = (fields: object) => void lines.push(fields);
  const registry = createRegistry({ role: "ingress" });
  const ingress = createIngress({
    config: parseConfig({
      sources: { pay: stripe({ secrets: (tenant) => (tenant === "acme" ? SECRET : null) }) },
    }),
    ...{ secrets: {}, stores: [store], logger: { warn } as unknown as Logger, registry },
  });
  onTestFinished(() => ingress.close());
  const port = await ingress.listen({ port: 0, host: "127.0.0.1" });
  for (const path of ["pay/acme", "pay/nobody", "pay"]) {
    const headers = signedWith({ secret: "whsec_of-nobody" });
    const url = `http://127.0.0.1:${port}/webhooks/${path}`;
    expect((await fetch(url, { method: "POST", headers, body: BODY })).status).toBe(401);
  }
  expect(lines).toMatchObject([
    { tenant: "acme", code: "invalid_signature" },
    { tenant: "nobody", reason: expect.stringContaining('the tenant "nobody" has no secret') },
    {
      source: "unknown",
      reason: expect.stringContaining('"pay" names no source, or lacks its tenant'),
    },
  ]);
  expect(await registry.metrics()).toContain('{source="pay",code="unknown_source"');
  expect(await registry.metrics()).not.toMatch(/acme|nobody/);
});
