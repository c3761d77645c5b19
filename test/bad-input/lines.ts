import { expect, test } from "vitest";

/**
 * What must be refused, or taken in its one defined way: bad input by number, and the answer that is
 * right. Every line is proved by a test of this folder; a test fails where one is not.
 */
export const LINES = {
  1: "no signature header: 401",
  2: "an empty signature: 401",
  3: "a signature of 1, 63, 65 or 10,000 hexadecimal digits: 401",
  4: "64 characters that are no hexadecimal digits: 401",
  5: "64 characters above 127: 401",
  6: "a right beginning of a signature (CVE-2024-21491): 401",
  7: "hexadecimal digits in upper case: accepted",
  8: "base64url for base64, no padding, garbage behind: 401",
  9: "the signature header twice, good and bad: 401, or by the provider's own list",
  10: "one good signature of twenty is found; ten thousand are not looked at",
  11: "a scheme that is not the provider's: 401",
  12: "an empty secret: no start, and nothing signed with an empty key is accepted",
  13: "another source's secret: 401",
  14: "the old secret: accepted while it is live, 401 after that",
  15: "a timestamp that is missing or no number of seconds: 401",
  16: "a timestamp beyond the tolerance, past or future: 401",
  17: "the very same delivery again: 2xx and no second effect",
  18: "the same body under a new id that is not signed: 2xx and no second effect",
  19: "an id with a dot, which would shift what is signed: 400",
  20: "a right signature of a body that was changed since: 401",
  21: "an empty body: 400",
  22: "no content type: accepted",
  23: "JSON sent as text, form or multipart: accepted as the bytes that were signed",
  24: "another charset: the bytes as they are",
  25: "a compressed body, a bomb, one that is compressed twice or cut: 415",
  26: "content-encoding identity: accepted",
  27: "a body of the limit less one, the limit, and one more: accepted, accepted, 413",
  28: "ten gigabytes announced and three bytes sent: 413 at once, closed",
  29: "a body without end, a body or headers that trickle in: 413 or 408, cut",
  30: "a sender that goes away in the middle of a body: nothing is kept",
  31: "bytes that are no UTF-8: stored byte for byte",
  32: "NUL and lone surrogates in the body: stored and processed",
  33: "JSON that is null, a list, a string or a number: 400 where the id is in it",
  34: "no JSON, rightly signed: 400 where the id is in it, else stored as it is",
  35: "40,000 nested lists: accepted",
  36: "names of Object.prototype, doubled keys, numbers beyond a double: accepted as bytes",
  37: "100,000 keys: accepted",
  38: "a megabyte of colours and line ends: accepted, and not in a log",
  39: "an id in both header and body: only the one that the provider names counts",
  40: "an id that is empty, missing, blank, null, a number, true, a list or an object",
  41: "an id of 0, 0:1, a:b or a:b:c: accepted",
  42: "an id that is a name of BullMQ's own: accepted, and wedges nothing",
  43: "an id of 300 characters: accepted; beyond 1,024 bytes, with NUL or half a pair: 400",
  44: "ids that only look alike are different events",
  45: "paths, patterns, quotes and line ends in an id: accepted; NUL: 400",
  46: "the same id from two sources: two events",
  47: "source a-b with id c, and source a with id b-c: two events",
  48: "the same id with another body: the first is kept, the conflict counted",
  49: "a method that the provider does not deliver by: 405",
  50: "a source that is not configured, under any spelling: 401, as a wrong signature",
  51: "lengths that contradict, HTTP/1.0 without one, pipelining, a strange Expect",
  52: "100 headers of a kilobyte: 431",
  53: "X-Forwarded-For: nothing is believed of it",
  54: "thousands of idle connections: closed beyond the bound, the others served",
  55: "500 bad signatures a second: all 401, and good deliveries hardly wait for them",
  56: "the connection after a 413: closed, what follows is no request",
  57: "a handler that throws anything: failed, its words cut and without the payload",
  58: "secrets and credentials: in no log, job, metric or answer",
} as const satisfies Readonly<Record<number, string>>;

export type Line = keyof typeof LINES;

export type LineTests = ReturnType<typeof createLineTests>;

export function createLineTests() {
  const proved = new Set<number>();
  return {
    proves: (line: Line, title: string, run: () => Promise<void>): void => {
      proved.add(line);
      test(`${line}: ${title}`, run);
    },
    isComplete: () =>
      test("every line of bad input has a test", () => {
        const missing = Object.entries(LINES).filter(([line]) => !proved.has(Number(line)));
        expect(missing).toEqual([]);
      }),
  };
}
