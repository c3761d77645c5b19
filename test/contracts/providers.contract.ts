import { createHmac } from "node:crypto";
import { parseConfig } from "@millrace/core";
import { discord, meta, sendgrid, twilio } from "millrace";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createMemoryStore, type MemoryStore } from "../intake/memory-store.ts";
import type { OpenAdapter, Adapter } from "./adapter-fixture.ts";

const SOURCES = {
  discord: discord(),
  meta: meta(),
  sendgrid: sendgrid(),
  twilio: twilio({ url: "https://hooks.example.com/sms" }),
};
const generated = Object.entries(SOURCES).map(([name, { provider }]) => {
  return [name, provider.generateSecret()] as const;
});
const SECRETS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(generated),
  meta: "a token of ours:the app's secret",
};

export function providersContract(title: string, open: OpenAdapter): void {
  describe(`a provider of its own ways by ${title}`, () => {
    let store: MemoryStore;
    let adapter: Adapter;

    beforeEach(async () => {
      store = createMemoryStore();
      adapter = await open({
        config: parseConfig({ sources: SOURCES }),
        secrets: Object.fromEntries(Object.entries(SECRETS).map(([name, one]) => [name, [one]])),
        stores: [store],
        notify: () => {},
      });
    });
    afterEach(() => adapter.close());

    const send = (source: keyof typeof SOURCES, text: string) => {
      const request = { eventId: "1", type: "t", nowMs: Date.now(), secret: SECRETS[source] ?? "" };
      const body = Buffer.from(text);
      const headers = SOURCES[source].provider.sign({ ...request, body });
      return adapter.send({ source, body, headers });
    };

    test("a handshake by GET is answered with its challenge, and nothing is stored", async () => {
      const ask = (token: string, method = "GET") =>
        adapter.send({
          source: "meta",
          method,
          query: `?hub.mode=subscribe&hub.challenge=1158&hub.verify_token=${token}`,
        });
      const answer = await ask("a%20token+of%20ours");
      expect(answer).toMatchObject({ status: 200, text: "1158" });
      expect(answer.headers).toMatchObject({ "x-content-type-options": "nosniff" });
      expect(answer.headers["content-type"]).toContain("text/plain");
      expect(await ask("another")).toMatchObject({ status: 401 });
      expect(await ask("a%20token+of%20ours", "PUT")).toMatchObject({ status: 405 });
      expect(await ask("a%20token+of%20ours", "POST")).toMatchObject({ status: 400 });
      expect(store.calls).toEqual([]);
    });

    test("a form is taken that was signed for another host, with the query of the request", async () => {
      const query = "?from=console&x=%2F";
      const signature = createHmac("sha1", SECRETS["twilio"] ?? "")
        .update(`https://hooks.example.com/sms${query}MessageSidSM1SmsStatusreceived`)
        .digest("base64");
      const headers = {
        host: "ingress.internal",
        "content-type": "application/x-www-form-urlencoded",
        "x-twilio-signature": signature,
        "i-twilio-idempotency-token": "token-1",
      };
      const body = "SmsStatus=received&MessageSid=SM1";
      const answer = await adapter.send({ source: "twilio", query, headers, body });
      expect(answer).toMatchObject({ status: 200, text: expect.stringContaining("<Response>") });
      expect(answer.headers["content-type"]).toContain("text/xml");
      expect(store.events.get("twilio/token-1")).toMatchObject({
        type: "message.received",
        unsigned: true,
        body: Buffer.from(body),
      });
      const without = await adapter.send({ source: "twilio", headers, body });
      expect(without.status).toBe(401);
    });

    test("each event of a batch is stored with the bytes that it came in", async () => {
      const body =
        '[{"sg_event_id":"a","event":"open", "n":1.0},\r\n{"sg_event_id":"b","event":"click"}]';
      expect(await send("sendgrid", body)).toMatchObject({ status: 202 });
      const kept = [...store.events].map(([key, event]) => [
        key,
        Buffer.from(event.body).toString(),
      ]);
      expect(kept).toEqual([
        ["sendgrid/a", '{"sg_event_id":"a","event":"open", "n":1.0}'],
        ["sendgrid/b", '{"sg_event_id":"b","event":"click"}'],
      ]);
      expect(await send("sendgrid", body)).toMatchObject({ status: 200 });
    });

    test("what Discord is answered depends on what it sent", async () => {
      expect(await send("discord", '{"type":1}')).toMatchObject({
        status: 200,
        text: '{"type":1}',
      });
      expect(store.calls).toEqual([]);
      const command = await send("discord", '{"type":2,"id":"7"}');
      expect(command).toMatchObject({ status: 200, text: '{"type":5}' });
      expect([...store.events.keys()]).toEqual(["discord/7"]);
      const event = await send("discord", '{"type":1,"event":{"type":"X"}}');
      expect(event).toMatchObject({ status: 204, text: "" });
    });
  });
}
