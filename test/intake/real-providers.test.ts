import { parseConfig, type SourceDefinition } from "@millrace/core";
import { createReceiver } from "@millrace/intake";
import { github, hookMesh, standardWebhooks, stripe } from "millrace";
import { expect, test } from "vitest";
import { createMemoryPlace } from "./memory-place.ts";

test.each<[string, SourceDefinition, number]>([
  ["stripe", stripe(), 202],
  ["github", github(), 202],
  ["hookmesh", hookMesh(), 200],
  ["standard", standardWebhooks(), 202],
])("what %s signs is accepted, and a changed byte is not", async (source, definition, status) => {
  const { provider } = definition;
  const place = createMemoryPlace();
  const secret = provider.generateSecret();
  const receiver = createReceiver({
    config: parseConfig({ sources: { [source]: definition } }),
    secrets: { [source]: [secret] },
    places: [place],
  });
  const eventId = "0c7d6a1e-5f0a-4f4e-9a53-3f3e1d0c2b1a";
  const type = provider.sampleTypes[0] ?? "";
  const nowMs = Date.now();
  const body = Buffer.from(provider.sample({ eventId, type, nowMs }));
  const headers = provider.sign({ eventId, type, body, secret, nowMs });
  const request = { source, method: "POST", url: `/webhooks/${source}`, headers, body };
  expect(await receiver.receive(request)).toMatchObject({ status, outcome: "accepted" });
  expect(await receiver.receive(request)).toMatchObject({ status: 200, outcome: "duplicate" });
  const [event] = place.events.values();
  expect(event).toMatchObject({ source, eventId, type, unsigned: !provider.idIsSigned });
  expect(Object.keys(event?.headers ?? {}).join()).not.toMatch(/signature|authorization/);

  const changed = Buffer.from(body);
  changed[changed.length - 1] = 0x20;
  const answer = await receiver.receive({ ...request, body: changed });
  expect(answer).toMatchObject({ status: 401, outcome: "rejected" });
  await receiver.close();
});
