import { write } from "../bad-input/wire.ts";
import { createRandom, type Random } from "../faults/random.ts";
import { BREAKING, KEEPING } from "./mutations.ts";
import { RAW } from "./raw-mutations.ts";
import { drawSeed, type SignedEvent } from "./seeds.ts";

/** What is sent over one connection, and what must come of it. */
export interface FuzzCase {
  readonly name: string;
  readonly segments: readonly Buffer[];
  /** Between segments. */
  readonly pauseMs: number;
  /** What was signed for it. */
  readonly signed: readonly SignedEvent[];
  /** Whether all of it must be accepted, or none; `either` is anyone's guess. */
  readonly verdict: "accepted" | "refused" | "either";
  /** Answers to wait for; with none our side is closed when one has come, or none for a while. */
  readonly answers: number;
  /** Whether our side is reset as soon as all was sent. */
  readonly resets: boolean;
}

/** Makes case `index` of a run; the same again for the same seed. */
export function makeCase(seed: number, index: number): FuzzCase {
  const random = createRandom(seed * 1_000_003 + index);
  const id = (part: number) => `fuzz_${seed}_${index}_${part}`;
  const kind = random.next();
  if (kind < 0.3) return keeping(random, id);
  if (kind < 0.6) return breaking(random, id);
  return raw(random, id);
}

function keeping(random: Random, id: (part: number) => string): FuzzCase {
  const seeds = Array.from({ length: random.chance(0.7) ? 1 : random.between(2, 5) }, (_, part) =>
    drawSeed(random, id(part)),
  );
  const names: string[] = [];
  for (const { draft } of seeds) {
    for (let turn = random.between(1, 2); turn > 0; turn -= 1) {
      const mutation = random.pick(KEEPING);
      names.push(mutation.name);
      mutation.apply(draft, random);
    }
  }
  const bytes = Buffer.concat(seeds.map(({ draft }) => write(draft)));
  return {
    name: `kept: ${names.join(", ")}`,
    segments: split(bytes, random),
    pauseMs: random.between(0, 3),
    signed: seeds.map(({ event }) => event),
    verdict: "accepted",
    answers: seeds.length,
    resets: false,
  };
}

function breaking(random: Random, id: (part: number) => string): FuzzCase {
  // What was signed long ago is as bad as what was never signed.
  const isOld = random.chance(0.1);
  const atMs = Date.now() - (isOld ? random.between(400, 90_000) * 1_000 : 0);
  const { draft, event } = drawSeed(random, id(0), atMs);
  const mutation = random.pick(BREAKING);
  mutation.apply(draft, random);
  return {
    name: `broken: ${mutation.name}`,
    segments: split(write(draft), random),
    pauseMs: 0,
    signed: [event],
    verdict: "refused",
    answers: 1,
    resets: false,
  };
}

function raw(random: Random, id: (part: number) => string): FuzzCase {
  const [one, other] = [drawSeed(random, id(0)), drawSeed(random, id(1))];
  const behind = random.chance(0.2);
  const names: string[] = [];
  let bytes = write(one.draft);
  for (let turn = random.between(1, 2); turn > 0; turn -= 1) {
    const mutation = random.pick(RAW);
    names.push(mutation.name);
    bytes = mutation.apply(bytes, random, write(other.draft));
  }
  const whole = behind ? Buffer.concat([bytes, write(other.draft)]) : bytes;
  return {
    name: `raw: ${names.join(", ")}${behind ? ", another behind" : ""}`,
    segments: split(whole, random),
    pauseMs: random.between(0, 2),
    signed: [one.event, other.event],
    verdict: "either",
    answers: 0,
    resets: random.chance(0.1),
  };
}

/** Cuts bytes into up to six segments, anywhere. */
function split(bytes: Buffer, random: Random): readonly Buffer[] {
  if (random.chance(0.5)) return [bytes];
  const cuts = Array.from({ length: random.between(1, 5) }, () => random.between(0, bytes.length));
  const bounds = [0, ...cuts.toSorted((a, b) => a - b), bytes.length];
  return bounds
    .slice(1)
    .map((end, index) => bytes.subarray(bounds[index] ?? 0, end))
    .filter((piece) => piece.length > 0);
}
