import type { Random } from "../faults/random.ts";
import type { Draft } from "../bad-input/wire.ts";

/** A change of a request, and what it does to whether the request may be accepted. */
export interface Mutation {
  readonly name: string;
  apply(draft: Draft, random: Random): void;
}

const SIGNATURE = /signature/;
const LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789-_.!#$%&'*+^`|~";

const text = (random: Random, from: string, length: number) =>
  Array.from({ length }, () => random.pick(from.split(""))).join("");
const visible = (random: Random, length: number) =>
  String.fromCharCode(
    ...Array.from({ length }, () =>
      random.chance(0.8) ? random.between(0x21, 0x7e) : random.between(0x80, 0xff),
    ),
  );

function eachHeader(draft: Draft, change: (header: [string, string]) => [string, string]): void {
  draft.headers = draft.headers.map(change);
}

function flipped(bytes: Buffer, random: Random): Buffer {
  const copy = Buffer.from(bytes);
  const at = random.between(0, copy.length - 1);
  copy[at] = (copy[at] ?? 0) ^ random.between(1, 255);
  return copy;
}

/** Changes after which the request is what it was: it must be accepted. */
export const KEEPING: readonly Mutation[] = [
  { name: "nothing", apply: () => {} },
  {
    name: "header names in any case",
    apply: (draft, random) =>
      eachHeader(draft, ([name, value]) => [
        name.replaceAll(/[a-z]/g, (l) => (random.chance(0.5) ? l.toUpperCase() : l)),
        value,
      ]),
  },
  {
    name: "white space round values",
    apply: (draft, random) =>
      eachHeader(draft, ([name, value]) => [
        name,
        `${text(random, " \t", 3)}${value}${text(random, " \t", 2)}`,
      ]),
  },
  {
    name: "another order of headers",
    apply: (draft, random) => void (draft.headers = random.shuffled(draft.headers)),
  },
  {
    name: "headers that nobody knows",
    apply: (draft, random) => {
      for (let more = random.between(1, 20); more > 0; more -= 1) {
        const name = `x-${text(random, LETTERS, random.between(1, 40))}`;
        draft.headers.push([name, visible(random, random.between(0, 200))]);
      }
    },
  },
  {
    name: "chunks",
    apply: (draft, random) => {
      const sizes = Array.from({ length: 5 }, () => random.between(1, 4_000));
      draft.framing = { kind: "chunked", sizes };
    },
  },
  {
    name: "a query",
    apply: (draft, random) => void (draft.target += `?${text(random, LETTERS, 20)}=/webhooks/x`),
  },
  {
    name: "a content type",
    apply: (draft, random) =>
      void draft.headers.push(["content-type", random.pick(["text/plain", "a/b; charset=x", "é"])]),
  },
  {
    name: "the identity encoding",
    apply: (draft) => {
      // Twice it would be a list, which is refused.
      const others = draft.headers.filter(([name]) => name.toLowerCase() !== "content-encoding");
      draft.headers = [...others, ["content-encoding", "Identity"]];
    },
  },
];

/** Changes after which the request must not be accepted. */
export const BREAKING: readonly Mutation[] = [
  {
    name: "a byte of the body",
    apply: (draft, random) => void (draft.body = flipped(draft.body, random)),
  },
  {
    name: "a longer body",
    apply: (draft, random) =>
      void (draft.body = Buffer.concat([draft.body, Buffer.from(random.pick([" ", "\n", "\0"]))])),
  },
  {
    name: "a shorter body",
    apply: (draft, random) =>
      void (draft.body = draft.body.subarray(0, random.between(0, draft.body.length - 1))),
  },
  {
    name: "no signature",
    apply: (draft) =>
      void (draft.headers = draft.headers.filter(([name]) => !SIGNATURE.test(name))),
  },
  {
    name: "a signature of nonsense",
    apply: (draft, random) =>
      eachHeader(draft, ([name, value]) => [
        name,
        SIGNATURE.test(name) ? visible(random, random.between(1, 300)) : value,
      ]),
  },
  {
    name: "half a signature",
    apply: (draft) =>
      eachHeader(draft, ([name, value]) => [
        name,
        SIGNATURE.test(name) ? value.slice(0, value.length - 10) : value,
      ]),
  },
  {
    name: "another source",
    apply: (draft, random) => {
      const others = ["nobody", "__proto__", "A", "a/", "%61", "stripe%00", "constructor"];
      draft.target = `/webhooks/${random.pick(others)}`;
    },
  },
  {
    name: "another method",
    apply: (draft, random) =>
      void (draft.method = random.pick(["GET", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])),
  },
  {
    name: "a compression that it does not have",
    apply: (draft, random) =>
      void draft.headers.push(["content-encoding", random.pick(["gzip", "br", "x", "gzip, br"])]),
  },
  {
    name: "headers beyond the limit",
    apply: (draft, random) =>
      void draft.headers.push(["x-filler", "x".repeat(random.between(16_400, 200_000))]),
  },
  {
    name: "thousands of headers",
    apply: (draft) =>
      void draft.headers.push(
        ...Array.from({ length: 5_000 }, (): [string, string] => ["x", "yyyy"]),
      ),
  },
  {
    name: "length and chunks",
    apply: (draft) => {
      draft.headers.push(["content-length", `${draft.body.length}`]);
      draft.framing = { kind: "chunked", sizes: [100] };
    },
  },
  {
    name: "two lengths",
    apply: (draft) => void draft.headers.push(["content-length", `${draft.body.length + 1}`]),
  },
  {
    name: "a length that is none",
    apply: (draft, random) => {
      draft.framing = { kind: "none" };
      const lengths = ["-1", "0x10", "1e3", "99999999999999999999", "", "5 5", "+5"];
      draft.headers.push(["content-length", random.pick(lengths)]);
    },
  },
  {
    name: "a coding that nobody knows",
    apply: (draft, random) => {
      draft.framing = { kind: "none" };
      const codings = ["chunked, gzip", "gzip", "xchunked", "chunked\x0b", "identity"];
      draft.headers.push(["transfer-encoding", random.pick(codings)]);
    },
  },
  {
    name: "a body beyond the limit",
    apply: (draft) => {
      draft.target = "/webhooks/standard";
      draft.body = Buffer.concat([draft.body, Buffer.alloc(70_000, "x")]);
    },
  },
  {
    name: "a control character in a header",
    apply: (draft, random) =>
      void draft.headers.push(["x-odd", `a${random.pick(["\0", "\x01", "\r", "\n", "\x7f"])}b`]),
  },
];
