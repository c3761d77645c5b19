import { MillraceError, parseConfig, type Provider, type SourceDefinition } from "@millrace/core";
import { describe, expect, test } from "vitest";
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
) {
  return new Receiver({ config: parseConfig({ sources }), secrets, stores: [] });
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
});

test("a receiver that was closed answers 503", async () => {
  const receiver = create({ one: source() }, { one: ["s"] });
  await receiver.close();
  const request = { source: "one", method: "POST", url: "/", headers: {}, body: Buffer.from("x") };
  expect(await receiver.receive(request)).toMatchObject({ status: 503, code: "shutting_down" });
});
