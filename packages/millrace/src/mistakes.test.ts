import { parseConfig, readEnvironment } from "@millrace/core";
import { loadHandlers, resolveSecrets } from "@millrace/service";
import { expect, test } from "vitest";
import { hmac, hookMesh, internal, on, RetryLater, square, stripe, twilio } from "./index.ts";

// Mistakes of an author before an event comes: each says what to write. Those of a running handler
// are in test/testing/mistakes.test.ts.

const run = () => {};
const any = (value: unknown) => value as never;
const config = (over: object) => parseConfig({ sources: { acme: stripe() }, ...over });
const source = (options: object) => parseConfig({ sources: { acme: stripe(any(options)) } });
const mistaken = (acme: unknown) => parseConfig({ sources: { acme } });
const ofHmac = (...given: unknown[]) => mistaken(Reflect.apply(hmac, undefined, given));
const custom = (over: object) => ofHmac({ header: "x-sig", id: "json:id", ...over });
const handlers = (list: unknown) => loadHandlers(config({ handlers: list }));
const load = (...list: unknown[]) => handlers(() => Promise.resolve({ default: list }));
const bind = (...given: unknown[]) => Reflect.apply(on, undefined, given);
const environment = (name: string, value: string) => readEnvironment({ [name]: value });
const secret = (value: string) => {
  const { sources } = config({});
  const found = resolveSecrets(config({}), { ACME_WEBHOOK_SECRET: value });
  return sources["acme"]?.provider.createVerifier(found["acme"] ?? []);
};

const MISTAKES: readonly [what: string, make: () => unknown, says: RegExp][] = [
  ["no sources", () => parseConfig({}), /sources: is missing; the file must say/],
  ["no source", () => parseConfig({ sources: {} }), /at least one source/],
  ["no config", () => parseConfig(undefined), /\(top level\)/],
  ["internal alone", () => parseConfig({ sources: { a: internal() } }), /all of them are internal/],
  ["a capital", () => parseConfig({ sources: { Acme: stripe() } }), /must match \^\[a-z\]/],
  ["a text", () => parseConfig({ sources: { acme: "stripe" } }), /such as stripe\(\)/],
  ["no call", () => parseConfig({ sources: { acme: stripe } }), /such as stripe\(\)/],
  ["handler", () => config({ handler: [] }), /"handler" \(did you mean "handlers"\?\)/],
  ["retension", () => config({ retension: {} }), /did you mean "retention"\?/],
  ["migration", () => config({ migration: "x" }), /did you mean "migrations"\?/],
  ["concurency", () => config({ worker: { concurency: 5 } }), /did you mean "concurrency"\?/],
  ["handlers: 5", () => config({ handlers: 5 }), /must be a list of on\(\.\.\.\)/],
  ["a list of tables", () => config({ schema: [] }), /an object of Drizzle tables/],
  ["a number", () => config({ migrations: 5 }), /migrations: must be a string/],
  ["stalled", () => config({ worker: { stalledIntervalMs: 12_000 } }), /less than lockDurationMs/],
  ["idle", () => config({ worker: { handlerTimeoutMs: 40_000 } }), /idleInTransactionTimeoutMs/],
  ["lock", () => config({ worker: { lockTimeoutMs: 30_000 } }), /worker.lockTimeoutMs/],
  ["attemps", () => source({ attemps: 5 }), /did you mean "attempts"\?/],
  ["attempts: 0", () => source({ attempts: 0 }), /attempts: must be at least 1/],
  ["attempts: '3'", () => source({ attempts: "3" }), /attempts: must be a (whole )?number/],
  ["backoff.first", () => source({ backoff: { first: 1 } }), /has no option "first"/],
  ["ack", () => source({ ack: "postgres" }), /ack: must be one of queue, ledger/],
  ["redelivery", () => source({ redelivery: "yes" }), /must be one of retry, ignore/],
  ["seconds", () => source({ toleranceMs: 300 }), /toleranceMs: must be at least 1000/],
  ["1mb", () => source({ bodyBytesMax: "1mb" }), /bodyBytesMax: must be a/],
  ["concurrency", () => source({ concurrency: 501 }), /must be at most 500/],
  ["rate: 5", () => source({ rate: 5 }), /rate: must be an object/],
  ["rate.max", () => source({ rate: { max: 0 } }), /rate.max: must be at least 1/],
  ["rate.per", () => source({ rate: { max: 5, per: 5 } }), /rate: has no option "per"/],
  ["a type", () => source({ types: "a" }), /types: must be a list/],
  ["secret: 7", () => source({ secret: 7 }), /a string, or a list of strings/],
  ["bodyDedup", () => source({ bodyDedup: "no" }), /bodyDedup: must be /],
  [
    "secret",
    () => parseConfig({ sources: { a: internal(any({ secret: "x" })) } }),
    /cannot be set/,
  ],
  ["hmac()", () => ofHmac(), /header/],
  ["hmac: header", () => ofHmac({ id: "json:id" }), /header: is missing/],
  ["hmac: id", () => ofHmac({ header: "x-sig" }), /id: is missing/],
  ["hmac: heder", () => custom({ heder: "x" }), /did you mean "header"\?/],
  ["hmac: a header's name", () => custom({ header: "x sig" }), /must be a header's name/],
  ["hmac: location", () => custom({ id: "body.id" }), /must be header:<name> or json:<path>/],
  ["hmac: a list", () => custom({ id: "json:events.*.id" }), /no \*/],
  ["hmac: md5", () => custom({ algorithm: "md5" }), /must be one of sha256/],
  ["hmac: encoding", () => custom({ encoding: "hexx" }), /must be one of hex/],
  ["hmac: key", () => custom({ key: "ascii" }), /must be one of utf8/],
  ["hmac: message", () => custom({ message: "{ts}" }), /message/],
  ["hmac: timestamp", () => custom({ timestamp: "x-ts" }), /timestamp: must be an object/],
  ["hookMesh: key", () => mistaken(hookMesh({ key: any("ascii") })), /key: must be one of utf8/],
  ["square()", () => mistaken(Reflect.apply(square, undefined, [])), /url: is missing/],
  ["square: url", () => mistaken(square({ url: "hooks" })), /url: must be the whole URL/],
  ["twilio: url", () => mistaken(twilio({ url: any(5) })), /url: must be a string/],
  ["no handler", () => bind("acme", "a"), /there is none. Write on\("acme", "a", async/],
  ["handle", () => bind("acme", "a", { handle: run }), /no part "handle"/],
  ["wirte", () => bind("acme", "a", { wirte: run }), /did you mean "write"\?/],
  ["no part", () => bind("acme", "a", {}), /neither call nor write/],
  ["a text", () => bind("acme", "a", "b"), /there is none. Write on/],
  ["write: true", () => bind("acme", "a", { write: true }), /write is not a function/],
  ["when: true", () => bind("acme", "a", { write: run, when: true }), /when is not a function/],
  ["schema", () => bind("acme", "a", { write: run, schema: {} }), /not a Standard Schema/],
  ["timeoutMs", () => bind("acme", "a", { call: run, timeoutMs: 5 }), /must be 10 to/],
  ["batch: 1", () => bind("acme", "a", { batch: 1 }, run), /must be 2 to 500/],
  ["batch: '9'", () => bind("acme", "a", { batch: "9" }, run), /must be 2 to 500/],
  ["a set without one", () => bind("acme", "a", { batch: 5 }), /it is not a function/],
  ["batch with write", () => bind("acme", "a", { batch: 5, write: run }), /it is not a function/],
  ["no source", () => bind(undefined, "a", run), /a source must be a name/],
  ["no type", () => bind("acme", undefined, run), /a type must be a name/],
  ["a handler as type", () => bind("acme", run), /a type must be a name/],
  ["an empty type", () => bind("acme", ["a", ""], run), /a type must be a name/],
  ["a misspelt source", () => load(on("amce", "a", run)), /"amce" \(did you mean "acme"\?\)/],
  ["no types", () => load(on("acme", [], run)), /needs a source and a type/],
  ["no sources", () => load(on([], "a", run)), /needs a source and a type/],
  ["a * within", () => load(on("acme", "a*b", run)), /only at the end of a type/],
  ["two sets", () => load(bind("acme", "*", { batch: 5 }, run), on("acme", "a", run)), /set-based/],
  ["a function", () => load(run), /not a list of on\(\.\.\.\)/],
  ["a nested list", () => load([on("acme", "a", run)]), /not a list of on\(\.\.\.\)/],
  ["no default", () => handlers(() => Promise.resolve({ own: [] })), /not a list of on/],
  ["an import", () => handlers(() => Promise.reject(new Error("no file"))), /no file/],
  ["nothing", () => handlers(() => Promise.resolve(undefined)), /not a list of on/],
  ["mysql", () => environment("DATABASE_URL", "mysql://x/y"), /must begin with postgres/],
  ["http", () => environment("REDIS_URL", "http://x"), /must begin with redis/],
  ["a #", () => environment("DATABASE_URL", "postgres://u:a#b@h/d"), /write # as %23/],
  ["a port", () => environment("INGRESS_PORT", "web"), /0 to 65535/],
  ["a level", () => environment("LOG_LEVEL", "loud"), /LOG_LEVEL/],
  ["an empty secret", () => secret(" "), /ACME_WEBHOOK_SECRET|secret/],
  ["RetryLater(5000)", () => new RetryLater(any(5_000)), /afterMs/],
  ["RetryLater()", () => Reflect.construct(RetryLater, []), /afterMs/],
];

test.each(MISTAKES)("a mistake says what to write: %s", async (_what, make, says) => {
  const making = async () => await make();
  await expect(making()).rejects.toThrow(says);
});
