import {
  bodyHash,
  messageDigest,
  MillraceError,
  parseConfig,
  partDigest,
  type IncomingEvent,
  type Provider,
  type SignedMessage,
  type SourceDefinition,
} from "@millrace/core";
import { describe, expect, test } from "vitest";
import type { EventStore } from "./event-store.ts";
import { Receiver } from "./receiver.ts";

const provider = {
  name: "picky",
  methods: ["POST"],
  bodyBytesMax: 1_000,
  keptHeaders: [],
  idIsSigned: true,
  createVerifier: (secrets: readonly string[]) => {
    if (secrets.includes("malformed")) {
      throw new MillraceError("missing_secret", "its secret is malformed");
    }
    return { verify: () => ({ ok: true }) };
  },
} as unknown as Provider;

const source = (secret?: string | string[]): SourceDefinition => ({
  provider,
  options: secret === undefined ? {} : { secret },
});

function create(
  sources: Record<string, SourceDefinition>,
  secrets: Readonly<Record<string, readonly string[]>>,
  ingress = {},
) {
  return new Receiver({ config: parseConfig({ sources, ingress }), secrets, stores: [] });
}

describe("a receiver whose sources lack secrets is not made", () => {
  test("every source is named, with its variable and what is wrong", () => {
    const make = () =>
      create(
        { none: source(), "is-empty": source(), blank: source(), bad: source(), fine: source() },
        { "is-empty": [], blank: ["good", "   "], bad: ["malformed"], fine: ["good"] },
      );
    expect(make).toThrow(expect.objectContaining({ code: "missing_secret" }));
    expect(make).toThrow(/none: it has no secret \(set NONE_WEBHOOK_SECRET\)/);
    expect(make).toThrow(/is-empty: it has no secret \(set IS_EMPTY_WEBHOOK_SECRET\)/);
    expect(make).toThrow(/blank: it has an empty secret/);
    expect(make).toThrow(/bad: its secret is malformed/);
    expect(make).not.toThrow(/fine/);
  });

  test("an empty list does not fall back on the config", () => {
    expect(() => create({ one: source("of-the-config") }, { one: [] })).toThrow("no secret");
  });
});

test("a secret of the config is used where none is given", () => {
  expect(create({ one: source(["of", "the-config"]) }, {}).source("one")).toMatchObject({
    bodyBytesMax: 1_000,
  });
});

test("the source's own limit goes before its provider's", () => {
  const config = { provider, options: { bodyBytesMax: 10 } };
  expect(create({ one: config }, { one: ["s"] }).source("one")?.bodyBytesMax).toBe(10);
  const MiB = 1024 * 1024;
  const unset = { provider: { ...provider, bodyBytesMax: 25 * MiB }, options: {} };
  const two = { one: unset, two: unset };
  const limitIn = (inFlightBytesMax: number) =>
    create(two, { one: ["s"], two: ["s"] }, { inFlightBytesMax }).source("one")?.bodyBytesMax;
  expect([64, 16, 1].map((size) => limitIn(size * MiB))).toEqual([25 * MiB, 7 * MiB, MiB]);
});

test("a receiver that was closed answers 503", async () => {
  const receiver = create({ one: source() }, { one: ["s"] });
  await receiver.close();
  const request = { source: "one", method: "POST", url: "/", headers: {}, body: Buffer.from("x") };
  expect(await receiver.receive(request)).toMatchObject({ status: 503, code: "shutting_down" });
});

/** The digests of the events that a delivery's body of ids makes. */
async function digestsOf(
  ids: readonly string[],
  { idIsSigned, signed, isPart }: { idIsSigned: boolean; signed?: SignedMessage; isPart?: boolean },
): Promise<readonly (string | undefined)[]> {
  const stored: IncomingEvent[] = [];
  const store: EventStore = {
    name: "queue",
    put: (events) => Promise.resolve(events.map((event) => (stored.push(event), "accepted"))),
    ping: () => Promise.resolve(),
    isFull: () => false,
  };
  const unsigned = {
    ...provider,
    idIsSigned,
    createVerifier: () => ({ verify: () => ({ ok: true, signed }) }),
    identify: () => ({
      ok: true,
      events: ids.map((eventId) =>
        isPart === true
          ? { eventId, type: "t", body: Buffer.from(eventId) }
          : { eventId, type: "t" },
      ),
    }),
  } as unknown as Provider;
  const config = parseConfig({ sources: { one: { provider: unsigned, options: {} } } });
  const receiver = new Receiver({ config, secrets: { one: ["s"] }, stores: [store] });
  const body = Buffer.from(ids.join());
  await receiver.receive({ source: "one", method: "POST", url: "/", headers: {}, body });
  await receiver.close();
  return stored.map(({ digest }) => digest);
}

test("a digest is made only where no id is signed, and the body's hash is not one already", async () => {
  const signed = ["v0:", Buffer.from("a")];
  expect(await digestsOf(["a"], { idIsSigned: true, signed })).toEqual([undefined]);
  expect(await digestsOf(["a"], { idIsSigned: false })).toEqual([undefined]);
  expect(await digestsOf(["a"], { idIsSigned: false, signed })).toEqual([messageDigest(signed)]);
});

test("each event of a delivery has a digest by its place in what was signed", async () => {
  const whole = bodyHash(Buffer.from("a,a"));
  const parts = [partDigest(whole, 0), partDigest(whole, 1)];
  expect(await digestsOf(["a", "a"], { idIsSigned: false, isPart: true })).toEqual(parts);
  const alone = bodyHash(Buffer.from("a"));
  expect(await digestsOf(["a"], { idIsSigned: false, isPart: true })).toEqual([alone]);
});
