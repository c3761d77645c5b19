import { BODY_CANARY, github, plain, standard, stripe } from "../bad-input/senders.ts";
import { toDraft, write, type Draft, type WireRequest } from "../bad-input/wire.ts";
import { createRandom, type Random } from "../faults/random.ts";

export interface SignedEvent {
  readonly source: string;
  readonly eventId: string;
  readonly body: Buffer;
}

export interface FuzzCase {
  readonly name: string;
  readonly segments: readonly Buffer[];
  readonly signed: readonly SignedEvent[];
  readonly answers: number;
  readonly resets: boolean;
}

export function makeCase(seed: number, index: number): FuzzCase {
  const random = createRandom(seed * 1_000_003 + index);
  const draw = (part: number) => drawRequest(random, `fuzz_${seed}_${index}_${part}`);
  return random.chance(0.3) ? keep(random, draw) : spoil(random, draw);
}

interface Drawn {
  readonly draft: Draft;
  readonly event: SignedEvent;
}

function drawRequest(random: Random, eventId: string): Drawn {
  const type = "fuzz.thing";
  const filling = random.pick(["", "é\u0000🦄", "x".repeat(random.between(0, 20_000)), "\\ud800"]);
  const json = JSON.stringify({ id: eventId, event_id: eventId, type, card: BODY_CANARY, filling });
  const request = random.pick<() => WireRequest>([
    () => stripe(json),
    () => standard(eventId, json),
    () => standard(eventId, json, { source: "hookmesh" }),
    () => plain("a", json),
    () => plain("a-b", json),
    () => github(eventId, json, { type }),
  ])();
  const draft = toDraft(request);
  return { draft, event: { source: request.source, eventId, body: draft.body } };
}

function keep(random: Random, draw: (part: number) => Drawn): FuzzCase {
  const count = random.chance(0.7) ? 1 : random.between(2, 5);
  const drawn = Array.from({ length: count }, (_, part) => draw(part));
  const names = drawn.map(({ draft }) => {
    const name = random.pick(Object.keys(KEEPING));
    KEEPING[name]?.(draft, random);
    return name;
  });
  return {
    name: `kept: ${names.join(", ")}`,
    segments: split(Buffer.concat(drawn.map(({ draft }) => write(draft))), random),
    signed: drawn.map(({ event }) => event),
    answers: count,
    resets: false,
  };
}

function spoil(random: Random, draw: (part: number) => Drawn): FuzzCase {
  const [one, other] = [draw(0), draw(1)];
  const names = Array.from({ length: random.between(1, 2) }, () => random.pick(Object.keys(RAW)));
  const bytes = names.reduce(
    (spoiled, name) => RAW[name]?.(spoiled, random, write(other.draft)) ?? spoiled,
    write(one.draft),
  );
  const whole = random.chance(0.2) ? Buffer.concat([bytes, write(other.draft)]) : bytes;
  return {
    name: `raw: ${names.join(", ")}`,
    segments: split(whole, random),
    signed: [one.event, other.event],
    answers: 0,
    resets: random.chance(0.1),
  };
}

function split(bytes: Buffer, random: Random): readonly Buffer[] {
  if (random.chance(0.5)) return [bytes];
  const cuts = Array.from({ length: random.between(1, 5) }, () => random.between(0, bytes.length));
  const bounds = [0, ...cuts.toSorted((a, b) => a - b), bytes.length];
  return bounds
    .slice(1)
    .map((end, index) => bytes.subarray(bounds[index] ?? 0, end))
    .filter((piece) => piece.length > 0);
}

const text = (random: Random, from: string, length: number) =>
  Array.from({ length }, () => random.pick(from.split(""))).join("");
const noise = (random: Random, length: number) =>
  Buffer.from(Array.from({ length }, () => random.between(0, 255)));

const KEEPING: Readonly<Record<string, (draft: Draft, random: Random) => void>> = {
  nothing: () => {},
  "header names in any case": (draft, random) => {
    const anyCase = (letter: string) => (random.chance(0.5) ? letter.toUpperCase() : letter);
    draft.headers = draft.headers.map(([name, value]) => [
      name.replaceAll(/[a-z]/g, anyCase),
      value,
    ]);
  },
  "white space round values": (draft, random) => {
    const space = () => text(random, " \t", 3);
    draft.headers = draft.headers.map(([name, value]) => [name, `${space()}${value}${space()}`]);
  },
  "another order of headers": (draft, random) => {
    draft.headers = random.shuffled(draft.headers);
  },
  "headers that nobody knows": (draft, random) => {
    for (let more = random.between(1, 20); more > 0; more -= 1) {
      const name = `x-${text(random, "abcxyz0189-_.!#$%&'*+^`|~", random.between(1, 40))}`;
      draft.headers.push([
        name,
        text(random, "!09AZaz~\u0080\u00a0\u00ff", random.between(0, 200)),
      ]);
    }
  },
  chunks: (draft, random) => {
    const sizes = Array.from({ length: 5 }, () => random.between(1, 4_000));
    draft.framing = { kind: "chunked", sizes };
  },
  "a query": (draft) => {
    draft.target += "?a-b_c.d~=/webhooks/x";
  },
};

const TOKENS = [
  ...["\r\n", "\r", "\n", "\r\n\r\n", "\0", ": ", ",", "0\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n"],
  ...["HTTP/0.9", "HTTP/1.0", "HTTP/2.0", "Content-Length: 0\r\n", "Content-Length: 99999\r\n"],
  ...["Transfer-Encoding: chunked\r\n", "Transfer-Encoding : chunked\r\n", "Trailer: x\r\n"],
  ...["Connection: close\r\n", "Connection: Upgrade\r\nUpgrade: h2c\r\n", "\u000bfoo: bar\r\n"],
  ...["Expect: 100-continue\r\n", " folded\r\n", "ffffffffffffffff\r\n", ";ext=1"],
  ...["POST /webhooks/a HTTP/1.1\r\nhost: x\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
  "GET http://localhost/webhooks/a HTTP/1.1\r\n\r\n",
];

/** Most of what can go wrong is in the head. */
const inHead = (bytes: Buffer, random: Random) =>
  random.between(0, random.chance(0.7) ? Math.min(bytes.length, 400) : bytes.length);

const insert = (bytes: Buffer, at: number, more: Buffer) =>
  Buffer.concat([bytes.subarray(0, at), more, bytes.subarray(at)]);

const RAW: Readonly<Record<string, (bytes: Buffer, random: Random, other: Buffer) => Buffer>> = {
  "bytes flipped": (bytes, random) => {
    const copy = Buffer.from(bytes);
    for (let turn = random.between(1, 8); turn > 0; turn -= 1) {
      const index = inHead(copy, random) % copy.length;
      copy[index] = (copy[index] ?? 0) ^ (1 << random.between(0, 7));
    }
    return copy;
  },
  "random bytes put in": (bytes, random) =>
    insert(bytes, inHead(bytes, random), noise(random, random.between(1, 64))),
  "words of HTTP put in": (bytes, random) =>
    Array.from({ length: random.between(1, 3) }).reduce<Buffer>(
      (result) =>
        insert(result, inHead(result, random), Buffer.from(random.pick(TOKENS), "latin1")),
      bytes,
    ),
  "a piece taken out": (bytes, random) => {
    const index = inHead(bytes, random);
    const rest = bytes.subarray(Math.min(bytes.length, index + random.between(1, 60)));
    return Buffer.concat([bytes.subarray(0, index), rest]);
  },
  "a piece twice": (bytes, random) => {
    const from = inHead(bytes, random);
    const to = Math.min(bytes.length, from + random.between(1, 200));
    return Buffer.concat([bytes.subarray(0, to), bytes.subarray(from)]);
  },
  "a header twice": (bytes, random) => {
    const lines = bytes.toString("latin1").split("\r\n");
    const line = random.between(1, Math.max(1, lines.indexOf("") - 1));
    lines.splice(line, 0, lines[line] ?? "");
    return Buffer.from(lines.join("\r\n"), "latin1");
  },
  "line ends of LF alone": (bytes) =>
    Buffer.from(bytes.toString("latin1").replaceAll("\r\n", "\n"), "latin1"),
  "cut short": (bytes, random) => bytes.subarray(0, random.between(0, bytes.length)),
  "one request within another": (bytes, random, other) =>
    insert(bytes, random.between(0, bytes.length), other),
  "the head of one, the body of another": (bytes, _random, other) => {
    const head = bytes.subarray(0, bytes.indexOf("\r\n\r\n") + 4);
    return Buffer.concat([head, other.subarray(other.indexOf("\r\n\r\n") + 4)]);
  },
  "no HTTP at all": (_bytes, random) => noise(random, random.between(1, 2_000)),
};
