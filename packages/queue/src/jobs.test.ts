import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { QueueKeys } from "bullmq";
import { describe, expect, it } from "vitest";
import { jobId } from "./jobs.ts";

const BULLMQ = dirname(fileURLToPath(import.meta.resolve("bullmq/package.json")));

describe("jobId", () => {
  it.each(["evt_1NG8Du2eZvKYlo2C", "72d3162e-cc78-11e3-81ab-4c9367dc0958", "a.1", "1e5", "01x"])(
    "keeps %s as it is",
    (id) => {
      expect(jobId(id, 0)).toBe(id);
    },
  );

  it.each([
    ...["", "0", "5", "-5", "01", "123456789012345678901234567890", "0:1", "a1:b", "a1:b:c"],
    ...[
      "meta",
      "stalled-check",
      "waiting-children",
      "h-x1",
      "g1-x1",
      "g12-x1",
      "x 1",
      "é1",
      "{x1}",
    ],
    ...["__proto__:", "x1\n", "😀1", "1".repeat(128), `x${"1".repeat(128)}`, "a".repeat(100_000)],
  ])("hashes %j", (id) => {
    expect(jobId(id, 0)).toMatch(/^h-[A-Za-z0-9_-]{43}$/);
  });

  it("puts a later generation in front of the first one's id", () => {
    expect(jobId("evt_1", 3)).toBe("g3-evt_1");
    expect(jobId("meta", 3)).toBe(`g3-${jobId("meta", 0)}`);
  });

  it("never gives a name that BullMQ uses for a key of its own", () => {
    const names = bullmqKeyNames();
    expect(names).toEqual(expect.arrayContaining(["meta", "active", "stalled-check", "pc"]));
    for (const name of names) expect(jobId(name, 0)).not.toBe(name);
  });

  it("gives no two events of a source the same id", () => {
    const id = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.stringMatching(/^[hg0-9_.-]{1,8}$/),
      fc.constantFrom(...bullmqKeyNames(), "h-1", "g1-h-1", "g1-a1", "g01-a1", "a1"),
      fc.constantFrom("meta", "x y").map((raw) => jobId(raw, 0)),
      fc.constantFrom("a1", "meta").map((raw) => jobId(raw, 1)),
    );
    const event = fc.record({ id, generation: fc.integer({ min: 0, max: 12 }) });
    fc.assert(
      fc.property(event, event, (one, other) => {
        const same =
          Buffer.from(one.id).equals(Buffer.from(other.id)) && one.generation === other.generation;
        expect(jobId(one.id, one.generation) === jobId(other.id, other.generation)).toBe(same);
      }),
      { numRuns: 5_000 },
    );
  });

  it("gives nothing but short names that BullMQ accepts and Redis Cluster does not read", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.nat(99), (id, generation) => {
        const job = jobId(id, generation);
        expect(job).toMatch(/^[A-Za-z0-9_.-]{1,132}$/);
        expect(job).not.toMatch(/^-?\d+$/);
        expect(job).toMatch(/[0-9_-]/);
      }),
      { numRuns: 2_000 },
    );
  });
});

/** Every key name in BullMQ's source: its list of them, and what its scripts and classes append. */
function bullmqKeyNames(): string[] {
  const listed = Object.keys(new QueueKeys("bull").getKeys("q"));
  const folders = ["dist/cjs/commands", "dist/cjs/commands/includes", "dist/cjs/classes"];
  const sources = folders.flatMap((folder) =>
    readdirSync(join(BULLMQ, folder))
      .filter((file) => /\.(?:lua|js)$/.test(file))
      .map((file) => readFileSync(join(BULLMQ, folder, file), "utf8")),
  );
  const built = sources.flatMap((source) => [
    ...source.matchAll(/toKey\(\s*['"`]([^'"`$]+)['"`]/g),
    ...source.matchAll(
      /(?:prefix|prefixKey|queueKeyPrefix|KEYS\[\d+\])\s*\.\.\s*["']:?([^"']+)["']/g,
    ),
  ]);
  return [...new Set([...listed, ...built.map((match) => match[1] ?? "")])];
}
