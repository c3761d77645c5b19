import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import {
  parseConfig,
  type Delivery,
  type IncomingEvent,
  type Provider,
  type Verification,
} from "@millrace/core";
import { expect, test } from "vitest";
import type { EventStore } from "./event-store.ts";
import { rejectEarly } from "./head-checks.ts";
import type { IntakeNotice } from "./notice.ts";
import { Receiver } from "./receiver.ts";

const OK = { ok: true } as const;
const digestOf = (body: Uint8Array) => createHash("sha256").update(body).digest("hex");

/** A receiver of one source whose provider verifies by a function. */
function open(
  verify: (delivery: Delivery) => Verification | Promise<Verification>,
  parts: Partial<Provider> = {},
  secret = "a-live-secret",
) {
  const stored: IncomingEvent[] = [];
  const notices: IntakeNotice[] = [];
  const store: EventStore = {
    name: "queue",
    put: (events) => {
      stored.push(...events);
      return Promise.resolve(events.map(() => "accepted" as const));
    },
    ping: () => Promise.resolve(),
    isFull: () => false,
  };
  const provider = {
    ...{ name: "own", methods: ["POST"], bodyBytesMax: 10_000, keptHeaders: [], idIsSigned: false },
    createVerifier: () => ({ verify }),
    identify: ({ body }: Delivery) => ({
      ok: true,
      events: [{ eventId: digestOf(body), type: "t" }],
    }),
    ...parts,
  } as unknown as Provider;
  const config = parseConfig({ sources: { own: { provider, options: {} } } });
  const receiver = new Receiver({
    ...{ config, secrets: { own: [secret] }, stores: [store] },
    notify: (notice) => notices.push(notice),
  });
  const receive = (body: Uint8Array = Buffer.from("{}")) =>
    receiver.receive({ source: "own", method: "POST", url: "/", headers: {}, body });
  return { receiver, receive, stored, notices };
}

test("a source whose sender's keys are fetched needs no secret", async () => {
  const { receive } = open(() => OK, { needsSecret: false }, "");
  expect(await receive()).toMatchObject({ status: 202 });
  expect(() => open(() => OK, {}, "")).toThrow(/it has an empty secret/);
});

test("a provider that does not answer in a second is answered with 503", async () => {
  const { receive, stored } = open(() => new Promise(() => {}));
  expect(await receive()).toMatchObject({ status: 503, code: "unavailable" });
  expect(stored).toEqual([]);
});

test("twenty asynchronous verifications are in flight, and the next is not begun", async () => {
  const pending: (() => void)[] = [];
  const { receive, stored } = open(() => new Promise((resolve) => pending.push(() => resolve(OK))));
  const twenty = Array.from({ length: 20 }, (_, at) => receive(Buffer.from(String(at))));
  expect(await receive()).toMatchObject({ status: 503, code: "unavailable" });
  expect(pending).toHaveLength(20);
  for (const verified of pending) verified();
  expect((await Promise.all(twenty)).map(({ status }) => status)).toEqual(twenty.map(() => 202));
  const later = receive();
  pending.at(-1)?.();
  expect(await later).toMatchObject({ status: 202 });
  expect(stored).toHaveLength(21);
});

test("a provider's bug is answered with 500 and reported, and a mismatch with 401", async () => {
  const error = new TypeError("x is not a function");
  const failed = open(() => ({ ok: false, code: "provider_failed", message: "Cannot", error }));
  expect(await failed.receive()).toMatchObject({ status: 500, code: "provider_failed" });
  expect(failed.notices).toContainEqual({ kind: "unexpected", source: "own", error });
  const forgotten = open(() => ({ ok: false, code: "invalid_signature", message: "No", error }));
  expect(await forgotten.receive()).toMatchObject({ status: 401, code: "invalid_signature" });
  expect(forgotten.notices).toContainEqual({ kind: "unexpected", source: "own", error });
});

const TEXT = Buffer.from(JSON.stringify({ text: "mill ".repeat(500) }));

test.each(["raw", "inflated"] as const)(
  "a body in gzip is verified %s, and stored inflated",
  async (inflate) => {
    const gzip = gzipSync(TEXT);
    const signed = digestOf(inflate === "raw" ? gzip : TEXT);
    const { receive, receiver, stored } = open(
      ({ body }) =>
        digestOf(body) === signed ? OK : { ok: false, code: "invalid_signature", message: "No" },
      { inflate },
    );
    expect(await receive(gzip)).toMatchObject({ status: 202 });
    expect(stored).toMatchObject([{ eventId: digestOf(TEXT), body: TEXT }]);
    expect(receiver.budget.taken).toBe(0);
    const other = gzipSync(Buffer.concat([TEXT, Buffer.from(" ")]));
    expect(await receive(other)).toMatchObject({ status: 401 });
    const cut = gzip.subarray(0, -9);
    expect((await receive(cut)).status).toBe(inflate === "raw" ? 401 : 400);
    expect(receiver.budget.taken).toBe(0);
  },
);

test("a bomb is refused at the source's limit", async () => {
  const { receive, receiver, stored } = open(() => OK, { inflate: "raw" });
  expect(await receive(gzipSync(Buffer.alloc(1_000_000)))).toMatchObject({ status: 413 });
  expect(receiver.budget.taken).toBe(0);
  expect(stored).toEqual([]);
});

test("only a source that inflates takes a compressed body", () => {
  const head = { method: "POST", headers: { "content-encoding": "gzip" } };
  const statusOf = (parts: Partial<Provider>, headers = head.headers) =>
    rejectEarly({ ...head, headers }, open(() => OK, parts).receiver.source("own"))?.status;
  expect(statusOf({})).toBe(415);
  expect(statusOf({ inflate: "raw" })).toBeUndefined();
  expect(statusOf({ inflate: "raw" }, { "content-encoding": "gzip, br" })).toBe(415);
});
