import { bodyHash } from "@millrace/core";
import { describe, expect, test } from "vitest";
import { SECRET, signed } from "../intake/plain-config.ts";
import { SIGNATURE, sign } from "../intake/plain-provider.ts";
import { useAdapter, type OpenAdapter } from "./adapter-fixture.ts";

export function receiveContract(title: string, open: OpenAdapter): void {
  describe(`a delivery by ${title}`, () => {
    const it = useAdapter(open);

    test("a verified event is accepted when the store has it, exactly as it came", async () => {
      const text = '{ "id":"evt_1",\n"type":"thing.happened","n":1.0,"é":"\\u0000" }';
      const answer = await it.deliver(text, "plain", { "x-kept": "kept", "x-other": "not kept" });
      expect(answer).toMatchObject({ status: 202, text: '{"status":"accepted"}' });
      expect(answer.headers["content-type"]).toContain("application/json");
      const event = it.store.events.get("plain/evt_1");
      expect(Buffer.from(event?.body ?? []).toString()).toBe(text);
      expect(event).toMatchObject({
        source: "plain",
        eventId: "evt_1",
        type: "thing.happened",
        generation: 0,
        bodyHash: bodyHash(Buffer.from(text)),
        headers: { "x-kept": "kept" },
        unsigned: false,
      });
      expect(Object.keys(event?.headers ?? {})).toEqual(["x-kept"]);
      expect(Math.abs((event?.acceptedAtMs ?? 0) - Date.now())).toBeLessThan(60_000);
    });

    test("bytes that are no UTF-8 are kept byte for byte", async () => {
      const body = Buffer.concat([
        Buffer.from('{"id":"evt_bytes","x":"'),
        Buffer.of(0xff, 0xfe),
        Buffer.from('"}'),
      ]);
      const headers = { [SIGNATURE]: sign(body, SECRET) };
      expect((await it.adapter.send({ source: "plain", body, headers })).status).toBe(202);
      const kept = Buffer.from(it.store.events.get("plain/evt_bytes")?.body ?? []);
      expect(kept.equals(body)).toBe(true);
    });

    test("an event that the store had is a duplicate", async () => {
      await it.deliver({ id: "evt_2" });
      const answer = await it.deliver({ id: "evt_2" });
      expect(answer).toMatchObject({ status: 200, text: '{"status":"duplicate"}' });
    });

    test("the same id from two sources is two events", async () => {
      await it.deliver({ id: "evt_3" });
      await it.deliver({ id: "evt_3" }, "chatty");
      expect([...it.store.events.keys()]).toEqual(["plain/evt_3", "chatty/evt_3"]);
    });

    test("a provider's own answers go before ours", async () => {
      const accepted = await it.deliver({ id: "evt_4" }, "chatty");
      expect(accepted).toMatchObject({ status: 200, text: "[accepted]" });
      expect(accepted.headers).toMatchObject({ "x-taken": "yes" });
      const duplicate = await it.deliver({ id: "evt_4" }, "chatty");
      expect(duplicate).toMatchObject({ status: 204, text: "" });
    });

    test("a secret that is being changed verifies as long as it is live", async () => {
      const next = signed({ id: "evt_5" }, "the-next-secret");
      expect((await it.adapter.send({ source: "chatty", ...next })).status).toBe(200);
      expect((await it.adapter.send({ source: "plain", ...next })).status).toBe(401);
    });

    test.each([
      ["an echo", { challenge: "<b>echo</b>" }, "<b>echo</b>"],
      ["proof of the secret", { prove: "token" }, sign("token", SECRET)],
    ])("a handshake that asks for %s is answered and nothing is stored", async (_, data, text) => {
      const answer = await it.deliver(data);
      expect(answer).toMatchObject({ status: 200, text });
      expect(answer.headers["content-type"]).toContain("text/plain");
      expect(it.store.calls).toEqual([]);
      const answered = it.notices.filter((notice) => notice.kind === "answered");
      expect(answered).toMatchObject([{ outcome: "handshake" }]);
    });

    test("an answer of the delivery's own goes before the provider's, once the store has it", async () => {
      const asked = { id: "evt_says", says: "deferred" };
      expect(await it.deliver(asked, "chatty")).toMatchObject({ status: 200, text: "deferred" });
      expect(await it.deliver(asked, "chatty")).toMatchObject({ status: 200, text: "deferred" });
      const outcomes = it.notices.flatMap((one) => (one.kind === "answered" ? [one.outcome] : []));
      expect(outcomes).toEqual(["accepted", "duplicate"]);
      it.store.refused.add("evt_lost");
      expect((await it.deliver({ id: "evt_lost", says: "deferred" }, "chatty")).status).toBe(503);
    });

    test("a delivery of several events is accepted when the store has all of them", async () => {
      expect((await it.deliver([{ id: "a_1" }, { id: "a_2" }])).status).toBe(202);
      expect((await it.deliver([{ id: "a_2" }, { id: "a_3" }])).status).toBe(202);
      expect((await it.deliver([{ id: "a_1" }, { id: "a_3" }])).status).toBe(200);
      it.store.refused.add("a_5");
      expect((await it.deliver([{ id: "a_4" }, { id: "a_5" }])).status).toBe(503);
    });

    test("a delivery of no events is accepted", async () => {
      expect((await it.deliver([])).status).toBe(202);
      expect(it.store.calls).toEqual([]);
    });

    test("what becomes of a delivery is notified once, by configured source", async () => {
      await it.deliver({ id: "evt_9" });
      await it.deliver({ id: "evt_9" });
      await it.adapter.send({ source: "plain", body: "{}" });
      const answered = it.notices.filter((notice) => notice.kind === "answered");
      expect(answered).toMatchObject([
        { source: "plain", outcome: "accepted", code: undefined },
        { source: "plain", outcome: "duplicate", code: undefined },
        { source: "plain", outcome: "rejected", code: "invalid_signature" },
      ]);
    });
  });
}
