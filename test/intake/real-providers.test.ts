import { parseConfig } from "@millrace/core";
import { Receiver } from "@millrace/intake";
import * as millrace from "millrace";
import { expect, test } from "vitest";
import { createMemoryStore } from "./memory-store.ts";

const url = "https://hooks.example.com/webhooks/a";

test.each([
  [millrace.stripe(), 202],
  [millrace.github(), 202],
  [millrace.hookMesh(), 200],
  [millrace.standardWebhooks(), 202],
  [millrace.shopify(), 202],
  [millrace.slack(), 200],
  [millrace.svix(), 202],
  [millrace.square({ url }), 202],
  [millrace.paddle(), 200],
  [millrace.linear(), 200],
  [millrace.twilio({ url }), 200],
  [millrace.sendgrid(), 202],
  [millrace.discord(), 200],
  [millrace.meta({ verifyToken: "a token of ours" }), 200],
  [millrace.gitlab(), 202],
  [millrace.zoom(), 200],
])(
  "what $provider.name signs is accepted, with %i or its own answer",
  async (definition, status) => {
    const { provider } = definition;
    const source = provider.name;
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
    const [event] = store.events.values();
    expect(event).toMatchObject({ source, type, unsigned: !provider.idIsSigned });
    await receiver.close();
  },
);
