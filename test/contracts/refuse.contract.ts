import { describe, expect, test } from "vitest";
import { SECRET } from "../intake/plain-config.ts";
import { SIGNATURE, sign } from "../intake/plain-provider.ts";
import { codeOf, useAdapter, type OpenAdapter } from "./adapter-fixture.ts";

export function refuseContract(title: string, open: OpenAdapter): void {
  describe(`what is no delivery, by ${title}`, () => {
    const it = useAdapter(open);

    test.each([
      ["no signature", undefined],
      ["an empty signature", ""],
      ["a short signature", "ab"],
      ["another source's signature", sign('{"id":"evt_no"}', "another")],
      ["a signature of other bytes", sign('{"id":"evt_no" }', SECRET)],
    ])("%s is answered 401", async (_title, signature) => {
      const headers = signature === undefined ? {} : { [SIGNATURE]: signature };
      const answer = await it.adapter.send({ source: "plain", headers, body: '{"id":"evt_no"}' });
      expect([answer.status, codeOf(answer)]).toEqual([401, "invalid_signature"]);
      expect(it.store.calls).toEqual([]);
    });

    test("a 401 says the same whatever failed", async () => {
      const stale = await it.deliver({ id: "evt_no" }, "plain", { "x-stale": "1" });
      const unsigned = await it.adapter.send({ source: "plain", body: '{"id":"evt_no"}' });
      expect([stale.status, codeOf(stale)]).toEqual([401, "invalid_signature"]);
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
      const answer = await it.deliver(data);
      expect([answer.status, codeOf(answer)]).toEqual([400, code]);
      expect(it.store.calls).toEqual([]);
    });

    test("ids of 1,024 bytes and of any script are taken", async () => {
      for (const id of ["x".repeat(1_024), "€".repeat(341), "🦄", "../x", "__proto__"]) {
        expect((await it.deliver({ id })).status).toBe(202);
        expect(it.store.events.has(`plain/${id}`)).toBe(true);
      }
    });

    test("an empty body is answered 400", async () => {
      const answer = await it.deliver("");
      expect([answer.status, codeOf(answer)]).toEqual([400, "invalid_body"]);
    });

    test.each(["nobody", "__proto__", "constructor", "Plain", "toString"])(
      "the source %s is unknown, and answered as a wrong signature",
      async (source) => {
        const answer = await it.deliver({ id: "x" }, source);
        expect([answer.status, codeOf(answer)]).toEqual([401, "invalid_signature"]);
        const notice = { kind: "answered", source: undefined, code: "unknown_source" };
        const asked = source === "nobody" || source === "constructor" ? source : undefined;
        expect(it.notices.at(-1)).toMatchObject({ ...notice, asked });
      },
    );

    test.each(["GET", "PUT", "DELETE"])("%s to an unknown source is a 405", async (method) => {
      const answer = await it.adapter.send({ source: "nobody", method });
      expect([answer.status, codeOf(answer)]).toEqual([405, "method_not_allowed"]);
      expect(answer.headers["allow"]).toBe("POST");
    });

    test.each(["GET", "PUT", "DELETE", "OPTIONS"])("%s is answered 405", async (method) => {
      const answer = await it.adapter.send({ source: "plain", method });
      expect([answer.status, codeOf(answer)]).toEqual([405, "method_not_allowed"]);
      expect(answer.headers["allow"]).toBe("POST");
    });

    test("a provider that throws costs one 500, and its words go nowhere", async () => {
      const answer = await it.deliver({ bug: true });
      expect([answer.status, codeOf(answer)]).toEqual([500, "internal"]);
      expect(answer.text).not.toContain("canary-body");
      expect((await it.deliver({ id: "evt_after" })).status).toBe(202);
    });
  });
}

export function refuseBodyContract(title: string, open: OpenAdapter): void {
  describe(`a body that is refused unread, by ${title}`, () => {
    const it = useAdapter(open);

    test("a body is taken up to the source's limit and not a byte more", async () => {
      const ofBytes = (bytes: number) => `{"id":"l_${bytes}","x":"`.padEnd(bytes - 2, "x") + '"}';
      expect((await it.deliver(ofBytes(4_095))).status).toBe(202);
      expect((await it.deliver(ofBytes(4_096))).status).toBe(202);
      const answer = await it.deliver(ofBytes(4_097));
      expect([answer.status, codeOf(answer)]).toEqual([413, "body_too_large"]);
      expect((await it.deliver(ofBytes(101), "chatty")).status).toBe(413);
      expect((await it.deliver(ofBytes(100), "chatty")).status).toBe(200);
    });

    test("a compressed body is answered 415", async () => {
      for (const encoding of ["gzip", "br", "deflate", "gzip, gzip", "x"]) {
        const answer = await it.deliver({ id: "x" }, "plain", { "content-encoding": encoding });
        expect([answer.status, codeOf(answer)]).toEqual([415, "unsupported_encoding"]);
      }
      const plain = await it.deliver({ id: "evt_identity" }, "plain", {
        "content-encoding": "identity",
      });
      expect(plain.status).toBe(202);
    });
  });
}
