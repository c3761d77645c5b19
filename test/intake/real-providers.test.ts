import { parseConfig, type SourceDefinition } from "@millrace/core";
import { Receiver } from "@millrace/intake";
import {
  discord,
  github,
  gitlab,
  hookMesh,
  linear,
  meta,
  paddle,
  sendgrid,
  shopify,
  slack,
  square,
  standardWebhooks,
  stripe,
  svix,
  twilio,
  zoom,
} from "millrace";
import { expect, test } from "vitest";
import { createMemoryStore } from "./memory-store.ts";

const url = "https://hooks.example.com/webhooks/a";

test.each<[string, SourceDefinition, number]>([
  ["stripe", stripe(), 202],
  ["github", github(), 202],
  ["hookmesh", hookMesh(), 200],
  ["standard", standardWebhooks(), 202],
  ["shopify", shopify(), 202],
  ["slack", slack(), 200],
  ["svix", svix(), 202],
  ["square", square({ url }), 202],
  ["paddle", paddle(), 200],
  ["linear", linear(), 200],
  ["twilio", twilio({ url }), 200],
  ["sendgrid", sendgrid(), 202],
  ["discord", discord(), 200],
  ["meta", meta({ verifyToken: "a token of ours" }), 200],
  ["gitlab", gitlab(), 202],
  ["zoom", zoom(), 200],
])("what %s signs is accepted, and a changed byte is not", async (source, definition, status) => {
  const { provider } = definition;
  const store = createMemoryStore();
  const secret = provider.generateSecret();
  const nowMs = Date.now();
  const receiver = new Receiver({
    nowMs: () => nowMs,
    config: parseConfig({ sources: { [source]: definition } }),
    secrets: { [source]: [secret] },
    stores: [store],
  });
  const eventId = "0c7d6a1e-5f0a-4f4e-9a53-3f3e1d0c2b1a";
  const type = provider.sampleTypes[0] ?? "";
  const body = Buffer.from(provider.sample({ eventId, type, nowMs }));
  const headers = provider.sign({ eventId, type, body, secret, nowMs });
  const request = { source, method: "POST", url: `/webhooks/${source}`, headers, body };
  expect(await receiver.receive(request)).toMatchObject({ status, outcome: "accepted" });
  expect(await receiver.receive(request)).toMatchObject({ status: 200, outcome: "duplicate" });
  const identified = provider.identify({ ...request, receivedAtMs: nowMs });
  const named = identified.ok && identified.kind === "events" ? identified.events[0]?.eventId : "";
  const [event] = store.events.values();
  expect(store.events.size).toBe(1);
  expect(event).toMatchObject({ source, eventId: named, type, unsigned: !provider.idIsSigned });
  // An id of the provider's own is kept as it is, and one that it has none of is made of the body.
  if (!/^[0-9a-f]{64}$/.test(named ?? "")) expect(named?.endsWith(eventId)).toBe(true);
  expect(Object.keys(event?.headers ?? {}).join()).not.toMatch(
    /signature|hmac|gitlab-token|authorization/,
  );

  const changed = Buffer.from(body);
  const last = changed.length - 1;
  changed[last] = changed[last] === 0x20 ? 0x21 : 0x20;
  const answer = await receiver.receive({ ...request, body: changed });
  expect(answer).toMatchObject({ status: 401, outcome: "rejected" });
  await receiver.close();
});
