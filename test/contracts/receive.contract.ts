import { bodyHash, type Config } from "@millrace/core";
import type { DurablePlace, IntakeNotice, Notify } from "@millrace/intake";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createMemoryPlace, type MemoryPlace } from "../intake/memory-place.ts";
import { plainConfig, SECRET, SECRETS, signed } from "../intake/plain-config.ts";
import { SIGNATURE, sign } from "../intake/plain-provider.ts";

/** One way in: bare `receive()`, the ingress's hot route, or the router in an app. */
export interface WayIn {
  send(request: {
    source: string;
    method?: string;
    headers?: Record<string, string>;
    body?: string | Uint8Array;
  }): Promise<{ status: number; headers: Record<string, string>; text: string }>;
  close(): Promise<void>;
}

export type OpenWayIn = (deps: {
  config: Config;
  secrets: Readonly<Record<string, readonly string[]>>;
  places: readonly DurablePlace[];
  notify: Notify;
}) => Promise<WayIn>;

/** What every way in must do. `readsBodies` is false for bare `receive()`, which is given them. */
export function receiveContract(
  title: string,
  open: OpenWayIn,
  { readsBodies }: { readsBodies: boolean },
): void {
  describe(`a delivery by ${title}`, () => {
    let place: MemoryPlace;
    let wayIn: WayIn;
    let notices: IntakeNotice[];

    beforeEach(async () => {
      place = createMemoryPlace();
      notices = [];
      wayIn = await open({
        config: plainConfig(),
        secrets: SECRETS,
        places: [place],
        notify: (notice) => notices.push(notice),
      });
    });
    afterEach(() => wayIn.close());

    const deliver = (data: unknown, source = "plain", headers: Record<string, string> = {}) => {
      const request = signed(data);
      return wayIn.send({ ...request, source, headers: { ...request.headers, ...headers } });
    };
    const codeOf = (answer: { text: string }) => JSON.parse(answer.text).error?.code;

    test("a verified event is accepted when the place has it, exactly as it came", async () => {
      const text = '{ "id":"evt_1",\n"type":"thing.happened","n":1.0,"é":"\\u0000" }';
      const answer = await deliver(text, "plain", { "x-kept": "kept", "x-other": "not kept" });
      expect(answer).toMatchObject({ status: 202, text: '{"status":"accepted"}' });
      expect(answer.headers["content-type"]).toContain("application/json");
      const event = place.events.get("plain/evt_1");
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
      expect((await wayIn.send({ source: "plain", body, headers })).status).toBe(202);
      const kept = Buffer.from(place.events.get("plain/evt_bytes")?.body ?? []);
      expect(kept.equals(body)).toBe(true);
    });

    test("an event that the place had is a duplicate", async () => {
      await deliver({ id: "evt_2" });
      const answer = await deliver({ id: "evt_2" });
      expect(answer).toMatchObject({ status: 200, text: '{"status":"duplicate"}' });
    });

    test("the same id from two sources is two events", async () => {
      await deliver({ id: "evt_3" });
      await deliver({ id: "evt_3" }, "chatty");
      expect([...place.events.keys()]).toEqual(["plain/evt_3", "chatty/evt_3"]);
    });

    test("a provider's own answers go before ours", async () => {
      const accepted = await deliver({ id: "evt_4" }, "chatty");
      expect(accepted).toMatchObject({ status: 200, text: "[accepted]" });
      expect(accepted.headers).toMatchObject({ "x-taken": "yes" });
      const duplicate = await deliver({ id: "evt_4" }, "chatty");
      expect(duplicate).toMatchObject({ status: 204, text: "" });
    });

    test("a secret that is being changed verifies as long as it is live", async () => {
      const next = signed({ id: "evt_5" }, "the-next-secret");
      expect((await wayIn.send({ source: "chatty", ...next })).status).toBe(200);
      expect((await wayIn.send({ source: "plain", ...next })).status).toBe(401);
    });

    test("a handshake is answered and nothing is placed", async () => {
      const answer = await deliver({ challenge: "<b>echo</b>" });
      expect(answer).toMatchObject({ status: 200, text: "<b>echo</b>" });
      expect(answer.headers["content-type"]).toContain("text/plain");
      expect(place.calls).toEqual([]);
    });

    test("a delivery of several events is accepted when the place has all of them", async () => {
      expect((await deliver([{ id: "a_1" }, { id: "a_2" }])).status).toBe(202);
      expect((await deliver([{ id: "a_2" }, { id: "a_3" }])).status).toBe(202);
      expect((await deliver([{ id: "a_1" }, { id: "a_3" }])).status).toBe(200);
      place.refused.add("a_5");
      expect((await deliver([{ id: "a_4" }, { id: "a_5" }])).status).toBe(503);
    });

    test("a delivery of no events is accepted", async () => {
      expect((await deliver([])).status).toBe(202);
      expect(place.calls).toEqual([]);
    });

    test.each([
      ["no signature", undefined],
      ["an empty signature", ""],
      ["a short signature", "ab"],
      ["another source's signature", sign('{"id":"evt_no"}', "another")],
      ["a signature of other bytes", sign('{"id":"evt_no" }', SECRET)],
    ])("%s is answered 401", async (_title, signature) => {
      const headers = signature === undefined ? {} : { [SIGNATURE]: signature };
      const answer = await wayIn.send({ source: "plain", headers, body: '{"id":"evt_no"}' });
      expect([answer.status, codeOf(answer)]).toEqual([401, "invalid_signature"]);
      expect(place.calls).toEqual([]);
    });

    test("a 401 says the same whatever failed", async () => {
      const stale = await deliver({ id: "evt_no" }, "plain", { "x-stale": "1" });
      const unsigned = await wayIn.send({ source: "plain", body: '{"id":"evt_no"}' });
      expect([stale.status, codeOf(stale)]).toEqual([401, "invalid_timestamp"]);
      const message = (answer: { text: string }) => JSON.parse(answer.text).error.message;
      expect(message(stale)).toBe(message(unsigned));
    });

    test.each([
      ["not JSON", "{", "invalid_body"],
      ["without an id", {}, "invalid_event_id"],
      ["with an id of 1,025 bytes", { id: "x".repeat(1_025) }, "invalid_event_id"],
      ["with an id of 342 three-byte characters", { id: "€".repeat(342) }, "invalid_event_id"],
      ["with a NUL in its id", { id: "a\0b" }, "invalid_event_id"],
      ["with a lone surrogate in its id", '{"id":"a\\ud800"}', "invalid_event_id"],
      ["with a number for an id", { id: 5 }, "invalid_event_id"],
      ["with a type of 257 bytes", { id: "x", type: "t".repeat(257) }, "invalid_event_type"],
      ["with a NUL in its type", { id: "x", type: "a\0" }, "invalid_event_type"],
    ])("a signed body %s is answered 400", async (_title, data, code) => {
      const answer = await deliver(data);
      expect([answer.status, codeOf(answer)]).toEqual([400, code]);
      expect(place.calls).toEqual([]);
    });

    test("ids of 1,024 bytes and of any script are taken", async () => {
      for (const id of ["x".repeat(1_024), "€".repeat(341), "🦄", "../x", "__proto__"]) {
        expect((await deliver({ id })).status).toBe(202);
        expect(place.events.has(`plain/${id}`)).toBe(true);
      }
    });

    test("an empty body is answered 400", async () => {
      const answer = await deliver("");
      expect([answer.status, codeOf(answer)]).toEqual([400, "invalid_body"]);
    });

    test.each(["nobody", "__proto__", "constructor", "Plain", "toString"])(
      "the source %s is unknown",
      async (source) => {
        const answer = await deliver({ id: "x" }, source);
        expect([answer.status, codeOf(answer)]).toEqual([404, "unknown_source"]);
        expect(notices.at(-1)).toMatchObject({ kind: "answered", source: undefined });
      },
    );

    test.each(["GET", "PUT", "DELETE", "OPTIONS"])("%s is answered 405", async (method) => {
      const answer = await wayIn.send({ source: "plain", method });
      expect([answer.status, codeOf(answer)]).toEqual([405, "method_not_allowed"]);
      expect(answer.headers["allow"]).toBe("POST");
    });

    test("a provider that throws costs one 500, and its words go nowhere", async () => {
      const answer = await deliver({ bug: true });
      expect([answer.status, codeOf(answer)]).toEqual([500, "internal"]);
      expect(answer.text).not.toContain("canary-body");
      expect((await deliver({ id: "evt_after" })).status).toBe(202);
    });

    test("a place that throws is answered 503 with Retry-After", async () => {
      place.before = () => Promise.reject(new Error("down"));
      const answer = await deliver({ id: "evt_6" });
      expect([answer.status, codeOf(answer)]).toEqual([503, "unavailable"]);
      expect(Number(answer.headers["retry-after"])).toBeGreaterThanOrEqual(1);
      expect(Number(answer.headers["retry-after"])).toBeLessThanOrEqual(5);
      expect(answer.text).not.toContain("down");
      place.before = undefined;
      expect((await deliver({ id: "evt_6" })).status).toBe(202);
    });

    test("a place that hangs is answered 503 in time, and heals", async () => {
      place.before = () => new Promise(() => {});
      const startedMs = performance.now();
      const answers = await Promise.all(
        Array.from({ length: 60 }, (_, index) => deliver({ id: `evt_hung_${index}` })),
      );
      // One after the other they would take a minute.
      expect(performance.now() - startedMs).toBeLessThan(10_000);
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]));
      place.before = undefined;
      expect((await deliver({ id: "evt_7" })).status).toBe(202);
      // What nobody waited for any longer was not sent after the hung call.
      expect(place.calls.reduce((sum, size) => sum + size, 0)).toBeLessThan(60);
    });

    test("a place that fails late is heard of by nobody but the log", async () => {
      let fail: (error: Error) => void = () => {};
      place.before = () => new Promise((_resolve, reject) => (fail = reject));
      expect((await deliver({ id: "evt_8" })).status).toBe(503);
      fail(new Error("late"));
      await expect
        .poll(() => notices.filter(({ kind }) => kind === "place_failed"))
        .toMatchObject([{ place: "queue", events: 1 }]);
    });

    /** Three deliveries behind a call that is held for so long; gives what they shared. */
    async function behindHeldCall(turn: number, heldMs: number): Promise<readonly number[]> {
      let open_ = () => {};
      place.before = () => new Promise<void>((resolve) => (open_ = resolve));
      const before = place.calls.length;
      const first = deliver({ id: `evt_first_${turn}` });
      await expect.poll(() => place.calls.length).toBe(before + 1);
      const shared = Promise.all(
        [`evt_new_${turn}`, "evt_known", "evt_refused"].map((id) => deliver({ id })),
      );
      await new Promise((resolve) => setTimeout(resolve, heldMs));
      place.before = undefined;
      open_();
      expect((await first).status).toBe(202);
      expect((await shared).map(({ status }) => status)).toEqual([202, 200, 503]);
      return place.calls.slice(before);
    }

    test("deliveries that share a call are each answered from their own result", async () => {
      await deliver({ id: "evt_known" });
      place.refused.add("evt_refused");
      // On a socket the three take a moment to be read, longer on a busy machine.
      const sizes: number[] = [];
      for (const heldMs of [50, 150, 450]) {
        sizes.splice(0, sizes.length, ...(await behindHeldCall(heldMs, heldMs)));
        if (sizes.length === 2) break;
      }
      expect(sizes).toEqual([1, 3]);
    });

    test("what becomes of a delivery is told once, by configured source", async () => {
      await deliver({ id: "evt_9" });
      await deliver({ id: "evt_9" });
      await wayIn.send({ source: "plain", body: "{}" });
      const answered = notices.filter((notice) => notice.kind === "answered");
      expect(answered).toMatchObject([
        { source: "plain", outcome: "accepted", code: undefined },
        { source: "plain", outcome: "duplicate", code: undefined },
        { source: "plain", outcome: "rejected", code: "invalid_signature" },
      ]);
      expect(notices.filter(({ kind }) => kind === "batch")).toMatchObject([
        { size: 1 },
        { size: 1 },
      ]);
    });

    if (!readsBodies) return;

    test("a body is taken up to the source's limit and not a byte more", async () => {
      const ofBytes = (bytes: number) => `{"id":"l_${bytes}","x":"`.padEnd(bytes - 2, "x") + '"}';
      expect((await deliver(ofBytes(4_095))).status).toBe(202);
      expect((await deliver(ofBytes(4_096))).status).toBe(202);
      const answer = await deliver(ofBytes(4_097));
      expect([answer.status, codeOf(answer)]).toEqual([413, "body_too_large"]);
      expect((await deliver(ofBytes(101), "chatty")).status).toBe(413);
      expect((await deliver(ofBytes(100), "chatty")).status).toBe(200);
    });

    test("a compressed body is answered 415", async () => {
      for (const encoding of ["gzip", "br", "deflate", "gzip, gzip", "x"]) {
        const answer = await deliver({ id: "x" }, "plain", { "content-encoding": encoding });
        expect([answer.status, codeOf(answer)]).toEqual([415, "unsupported_encoding"]);
      }
      const plain = await deliver({ id: "evt_identity" }, "plain", {
        "content-encoding": "identity",
      });
      expect(plain.status).toBe(202);
    });
  });
}
