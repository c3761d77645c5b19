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

interface Signing {
  readonly idIsSigned: boolean;
  readonly signed?: SignedMessage;
  readonly isPart?: boolean;
  readonly tenant?: string;
}

/** The digests of the events that a delivery's body of ids makes. */
async function digestsOf(
  ids: readonly string[],
  { idIsSigned, signed, isPart, tenant }: Signing,
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
    generateSecret: () => "s",
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
  const options = tenant === undefined ? {} : { secrets: () => "s" };
  const config = parseConfig({ sources: { one: { provider: unsigned, options } } });
  const receiver = new Receiver({ config, secrets: { one: ["s"] }, stores: [store] });
  const body = Buffer.from(ids.join());
  const path = tenant === undefined ? "one" : `one/${tenant}`;
  await receiver.receive({ source: path, method: "POST", url: "/", headers: {}, body });
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

test("the digest of a tenant's message is no other tenant's", async () => {
  const digests = await Promise.all(
    ["acme", "globex"].map((tenant) => digestsOf(["a"], { idIsSigned: false, tenant })),
  );
  expect(digests.flat()).toEqual(["acme/a", "globex/a"].map((text) => messageDigest([text])));
  expect(await digestsOf(["a"], { idIsSigned: true, tenant: "acme" })).toEqual([undefined]);
  const parts = { idIsSigned: false, isPart: true, tenant: "acme" };
  const whole = messageDigest(["acme/a,b"]);
  expect(await digestsOf(["a", "b"], parts)).toEqual([0, 1].map((at) => partDigest(whole, at)));
});

test.each([
  ["acme", 1_019, 1],
  ["acme", 1_020, 0],
  ["acme", 0, 0],
  [undefined, 1_024, 1],
])(
  "an id is as long as its tenant (%s) leaves room for: %d bytes",
  async (tenant, length, made) => {
    const signing = { idIsSigned: true, ...(tenant !== undefined && { tenant }) };
    expect(await digestsOf(["x".repeat(length)], signing)).toHaveLength(made);
  },
);
