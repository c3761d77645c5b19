import type { Random } from "../faults/random.ts";

/** A change of the bytes themselves: what comes of it is anyone's guess. */
export interface RawMutation {
  readonly name: string;
  apply(bytes: Buffer, random: Random, other: Buffer): Buffer;
}

const TOKENS = [
  ..."\r\n|\r|\n|\r\n\r\n|\0|: |,|0\r\n\r\n|HTTP/1.1 200 OK\r\n\r\n|HTTP/0.9|HTTP/1.0|HTTP/2.0".split(
    "|",
  ),
  ..."Transfer-Encoding: chunked\r\n|Content-Length: 0\r\n|Content-Length: 99999\r\n".split("|"),
  ..."Connection: close\r\n|Connection: Upgrade\r\nUpgrade: h2c\r\n|Expect: 100-continue\r\n".split(
    "|",
  ),
  ..."Transfer-Encoding : chunked\r\n|\u000bfoo: bar\r\n| folded\r\n|Trailer: x\r\n".split("|"),
  ..."POST /webhooks/a HTTP/1.1\r\nhost: x\r\n\r\n|PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".split("|"),
  ..."GET http://localhost/webhooks/a HTTP/1.1\r\n\r\n|ffffffffffffffff\r\n|;ext=1".split("|"),
];

const at = (bytes: Buffer, random: Random) => random.between(0, bytes.length);
/** Most of what can go wrong is in the head. */
const atHead = (bytes: Buffer, random: Random) =>
  random.between(0, random.chance(0.7) ? Math.min(bytes.length, 400) : bytes.length);

export const RAW: readonly RawMutation[] = [
  {
    name: "bytes flipped",
    apply: (bytes, random) => {
      const copy = Buffer.from(bytes);
      for (let turn = random.between(1, 8); turn > 0; turn -= 1) {
        const index = atHead(copy, random) % copy.length;
        copy[index] = (copy[index] ?? 0) ^ (1 << random.between(0, 7));
      }
      return copy;
    },
  },
  {
    name: "random bytes put in",
    apply: (bytes, random) => {
      const index = atHead(bytes, random);
      const more = Buffer.from(
        Array.from({ length: random.between(1, 64) }, () => random.between(0, 255)),
      );
      return Buffer.concat([bytes.subarray(0, index), more, bytes.subarray(index)]);
    },
  },
  {
    name: "words of HTTP put in",
    apply: (bytes, random) => {
      let result = bytes;
      for (let turn = random.between(1, 3); turn > 0; turn -= 1) {
        const index = atHead(result, random);
        const token = Buffer.from(random.pick(TOKENS), "latin1");
        result = Buffer.concat([result.subarray(0, index), token, result.subarray(index)]);
      }
      return result;
    },
  },
  {
    name: "a piece taken out",
    apply: (bytes, random) => {
      const index = atHead(bytes, random);
      const rest = bytes.subarray(Math.min(bytes.length, index + random.between(1, 60)));
      return Buffer.concat([bytes.subarray(0, index), rest]);
    },
  },
  {
    name: "a piece twice",
    apply: (bytes, random) => {
      const from = atHead(bytes, random);
      const to = Math.min(bytes.length, from + random.between(1, 200));
      return Buffer.concat([bytes.subarray(0, to), bytes.subarray(from)]);
    },
  },
  {
    name: "a header twice",
    apply: (bytes, random) => {
      const lines = bytes.toString("latin1").split("\r\n");
      const head = lines.indexOf("");
      const line = random.between(1, Math.max(1, head - 1));
      lines.splice(line, 0, lines[line] ?? "");
      return Buffer.from(lines.join("\r\n"), "latin1");
    },
  },
  {
    name: "line ends of LF alone",
    apply: (bytes) => Buffer.from(bytes.toString("latin1").replaceAll("\r\n", "\n"), "latin1"),
  },
  {
    name: "cut short",
    apply: (bytes, random) => bytes.subarray(0, at(bytes, random)),
  },
  {
    name: "one request within another",
    apply: (bytes, random, other) => {
      const index = at(bytes, random);
      return Buffer.concat([bytes.subarray(0, index), other, bytes.subarray(index)]);
    },
  },
  {
    name: "the head of one, the body of another",
    apply: (bytes, _random, other) => {
      const head = bytes.subarray(0, bytes.indexOf("\r\n\r\n") + 4);
      return Buffer.concat([head, other.subarray(other.indexOf("\r\n\r\n") + 4)]);
    },
  },
  {
    name: "no HTTP at all",
    apply: (_bytes, random) =>
      Buffer.from(Array.from({ length: random.between(1, 2_000) }, () => random.between(0, 255))),
  },
];
