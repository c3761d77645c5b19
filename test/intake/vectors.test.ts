import { readdirSync, readFileSync } from "node:fs";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { parseConfig, type SourceDefinition } from "@millrace/core";
import { createExpressAdapter, Receiver } from "@millrace/intake";
import express from "express";
import * as millrace from "millrace";
import { expect, onTestFinished, test } from "vitest";
import { createMemoryStore } from "./memory-store.ts";
import { sendTo } from "./send-to.ts";

const folder = new URL("../vectors/", import.meta.url);
const names = readdirSync(folder).map((file) => file.replace(/\.json$/, ""));
const url = "https://hooks.example.com/webhooks/a";
/** Senders that unit tests compare with their SDKs; here they sign a sample. */
const OPTIONS: Readonly<Record<string, object>> = {
  ...{ discord: {}, github: {}, gitlab: {}, "hook-mesh": {}, linear: {}, paddle: {} },
  ...{ sendgrid: {}, shopify: {}, slack: {}, "standard-webhooks": {}, stripe: {}, svix: {} },
  ...{ meta: {}, square: { url }, twilio: { url }, zoom: {} },
};

function readVector(name: string) {
  const camel = name.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
  const make = Reflect.get(millrace, camel) as (options?: object) => SourceDefinition;
  if (!Object.hasOwn(OPTIONS, name)) {
    const vector = JSON.parse(readFileSync(new URL(`${name}.json`, folder), "utf8"));
    return { definition: make(vector.options), vector };
  }
  const definition = make(OPTIONS[name]);
  const { provider } = definition;
  const [type = ""] = provider.sampleTypes;
  const request = { eventId: "0c7d6a1e", type, nowMs: Date.now() };
  const [secret, body] = [provider.generateSecret(), provider.sample(request)];
  const headers = provider.sign({ ...request, secret, body: Buffer.from(body) });
  const vector = { secret, body, headers, receivedAtMs: request.nowMs, events: [{ type }] };
  return { definition, vector };
}

test.each([...names, ...Object.keys(OPTIONS)])(
  "what %s sent is taken over HTTP once, and nothing that is changed",
  async (name) => {
    const { definition, vector } = readVector(name);
    const { idIsSigned, authenticatedOnly } = definition.provider;
    const store = createMemoryStore();
    const receiver = new Receiver({
      nowMs: () => vector.receivedAtMs,
      config: parseConfig({ sources: { [name]: definition } }),
      secrets: { [name]: [vector.secret] },
      stores: [store],
    });
    const server = createServer(express().use("/webhooks", createExpressAdapter(receiver)));
    await once(server.listen(0, "127.0.0.1"), "listening");
    onTestFinished(async () => {
      server.close();
      await receiver.close();
    });
    const { port } = server.address() as AddressInfo;
    const send = async (body: string, headers = vector.headers) =>
      (await sendTo(port, { source: name, headers, body })).status;

    const changed = vector.body.replace(/[a-z](?=[^a-z]*$)/, (one: string) =>
      one === "a" ? "b" : "a",
    );
    if (authenticatedOnly !== true) expect(await send(changed)).toBe(401);
    // Adyen's signature stands in the body.
    if (name !== "adyen") expect(await send(vector.body, {})).toBe(401);
    expect(store.calls).toEqual([]);
    const [first, second] = [await send(vector.body), await send(vector.body)];
    expect([200, 202, 204]).toContain(first);
    expect(second).toBe(first === 202 ? 200 : first);
    const events = [...store.events.values()].map(({ type, unsigned }) => ({ type, unsigned }));
    const wanted = (vector.events as { type: string }[]).map(({ type }) => type);
    expect(events).toEqual(wanted.map((type) => ({ type, unsigned: !idIsSigned })));
  },
);
