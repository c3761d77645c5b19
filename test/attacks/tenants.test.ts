import { parseConfig } from "@millrace/core";
import { stripe } from "@millrace/providers";
import { expect, test } from "vitest";
import { sendTo } from "../intake/send-to.ts";
import { startTestIngress } from "../intake/test-ingress.ts";

async function start() {
  const asked: string[] = [];
  const secrets = async (tenant: string) => {
    asked.push(tenant);
    return ["acme", "globex"].includes(tenant) ? `whsec_secret-of-${tenant}` : undefined;
  };
  const config = parseConfig({ sources: { pay: stripe({ secrets }) } });
  const { port, store } = await startTestIngress({}, config);
  const post = async (tenant: string, signer: string, eventId: string) => {
    const body = Buffer.from(JSON.stringify({ id: eventId, type: "invoice.paid" }));
    const signing = { eventId, type: "invoice.paid", body, nowMs: Date.now() };
    const headers = stripe().provider.sign({ ...signing, secret: `whsec_secret-of-${signer}` });
    return (await sendTo(port, { source: `pay/${tenant}`, headers, body })).status;
  };
  return { asked, store, post };
}

test("a path that only decodes to a tenant names none, and nothing is looked up", async () => {
  const { asked, store, post } = await start();
  const paths = ["%2e%2e", "..", ".", "acme%2Fother", "acme/other", "%61cme", "acme%00", "acme/"];
  const odd = ["acme%20", "acm%C3%A9", "acme;a=b", "a".repeat(65), "__proto__/acme", "*", ""];
  for (const path of [...paths, ...odd]) {
    expect([path, await post(path, "acme", "evt_1")]).toEqual([path, 401]);
  }
  expect(asked).toEqual([]);
  const names = ["__proto__", "ACME", "a".repeat(64)];
  for (const name of names) expect(await post(name, "acme", "evt_1")).toBe(401);
  expect(asked).toEqual(names);
  expect(store.calls).toEqual([]);
});

test("a tenant's delivery, sent to another tenant's URL, is nothing there", async () => {
  const { store, post } = await start();
  expect(await post("acme", "acme", "evt_2")).toBe(202);
  expect(await post("globex", "acme", "evt_2")).toBe(401);
  // An id that begins as another tenant's would is still the sender's own.
  expect(await post("acme", "acme", "globex/evt_2")).toBe(202);
  expect(await post("globex", "globex", "evt_2")).toBe(202);
  const ids = ["acme/evt_2", "acme/globex/evt_2", "globex/evt_2"];
  expect([...store.events.keys()]).toEqual(ids.map((id) => `pay/${id}`));
});
