import { parseConfig, type ReadSecrets } from "@millrace/core";
import { stripe, twilio } from "@millrace/providers";
import { beforeEach, expect, test, vi } from "vitest";
import { sendTo } from "./send-to.ts";
import { startTestIngress, type TestIngress } from "./test-ingress.ts";

type Signed = Pick<Parameters<typeof sendTo>[1], "headers" | "body">;

let it: Pick<TestIngress, "port" | "store" | "metrics">;
let asked: string[];
let readSecrets: ReadSecrets;

beforeEach(async () => {
  asked = [];
  readSecrets = (tenant) =>
    ["acme", "globex"].includes(tenant) ? `whsec_secret-of-${tenant}` : undefined;
  const secrets: ReadSecrets = (tenant) => {
    asked.push(tenant);
    return readSecrets(tenant);
  };
  const config = parseConfig({
    sources: { pay: stripe({ secrets }), phone: twilio({ secrets }) },
    publicUrl: "https://hooks.example.com",
  });
  it = await startTestIngress({}, config);
});

function signed(tenant: string, eventId = "evt_1"): Signed {
  const body = Buffer.from(JSON.stringify({ id: eventId, type: "invoice.paid" }));
  const signing = { eventId, type: "invoice.paid", body, nowMs: Date.now() };
  const secret = `whsec_secret-of-${tenant}`;
  return { headers: stripe().provider.sign({ ...signing, secret }), body };
}

const post = (path: string, request: Signed) => sendTo(it.port, { source: path, ...request });
const statusOf = async (path: string, request: Signed) => (await post(path, request)).status;

test("the same id of two tenants is two events, and each tenant's own secret counts", async () => {
  expect(await statusOf("pay/acme", signed("acme"))).toBe(202);
  const answer = await post("pay/globex", signed("globex"));
  expect([answer.status, answer.headers["millrace-event-id"]]).toEqual([202, "globex%2Fevt_1"]);
  expect(await statusOf("pay/acme", signed("acme"))).toBe(200);
  expect(await statusOf("pay/globex", signed("acme"))).toBe(401);
  // An id that begins as another tenant's would is still the sender's own.
  expect(await statusOf("pay/acme", signed("acme", "globex/evt_1"))).toBe(202);
  const ids = ["acme/evt_1", "globex/evt_1", "acme/globex/evt_1"];
  expect([...it.store.events.keys()]).toEqual(ids.map((id) => `pay/${id}`));
  expect(await it.metrics()).toMatch(/deliveries_total\{source="pay",outcome="accepted"/);
  expect(await it.metrics()).not.toMatch(/acme|globex/);
});

test("a sender that signs its URL signs the tenant's", async () => {
  const body = Buffer.from("MessageSid=SM1&SmsStatus=sent");
  const signing = { eventId: "1", type: "t", body, secret: "whsec_secret-of-acme", nowMs: 0 };
  for (const [path, status] of [
    ["phone/acme", 200],
    ["phone/globex", 401],
    ["phone", 401],
  ] as const) {
    const { sign } = twilio({ url: `https://hooks.example.com/webhooks/${path}` }).provider;
    const headers = { ...sign(signing), "content-type": "application/x-www-form-urlencoded" };
    expect([path, await statusOf("phone/acme", { headers, body })]).toEqual([path, status]);
  }
});

test("a path that only decodes to a tenant names none, and nothing is looked up", async () => {
  const paths = ["%2e%2e", "..", ".", "acme%2Fother", "acme/other", "%61cme", "acme%00", "acme/"];
  const odd = ["acme%20", "acm%C3%A9", "acme;a=b", "a".repeat(65), "__proto__/acme", "*", ""];
  for (const path of [...paths, ...odd]) {
    expect([path, await statusOf(`pay/${path}`, signed("acme"))]).toEqual([path, 401]);
  }
  expect(asked).toEqual([]);
  const names = ["__proto__", "ACME", "a".repeat(64)];
  for (const name of names) expect(await statusOf(`pay/${name}`, signed("acme"))).toBe(401);
  expect(asked).toEqual(names);
  expect(it.store.calls).toEqual([]);
});

test("an unknown tenant is answered as an unknown source is, byte for byte", async () => {
  const answers = new Set<string>();
  for (const path of ["nobody", "pay/nobody", "nobody/acme", "pay", "pay/", "pay/acme/1"]) {
    const { status, headers, text } = await post(path, signed("acme"));
    const { date: _date, ...others } = headers;
    answers.add(JSON.stringify({ status, headers: others, text }));
  }
  expect([...answers]).toEqual([expect.stringContaining("invalid_signature")]);
  expect(asked).toEqual(["nobody"]);
  expect(it.store.calls).toEqual([]);
});

test("while 20 lookups hang, known tenants are answered, and others get 503", async () => {
  expect(await statusOf("pay/acme", signed("acme"))).toBe(202);
  readSecrets = () => new Promise(() => {});
  const hanging = Array.from({ length: 20 }, (_, index) => {
    return statusOf(`pay/tenant-${index}`, signed("nobody"));
  });
  await vi.waitUntil(() => asked.length === 21);
  expect(await statusOf("pay/acme", signed("acme", "evt_2"))).toBe(202);
  const beyond = await post("pay/globex", signed("globex"));
  expect([beyond.status, beyond.headers["retry-after"]]).toEqual([503, expect.any(String)]);
  expect(new Set(await Promise.all(hanging))).toEqual(new Set([503]));
  expect(asked).toHaveLength(21);
});
