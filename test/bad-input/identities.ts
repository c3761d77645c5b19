import { expect } from "vitest";
import { until } from "../support/until.ts";
import type { Line, LineTests } from "./lines.ts";
import { github, plain, standard, stripe, stripeBody } from "./senders.ts";
import type { Target } from "./target.ts";

const REFUSED: readonly (readonly [Line, string, string])[] = [
  [40, "null", "null"],
  [43, "1,025 bytes", `"${"x".repeat(1_025)}"`],
  [45, "a path with a NUL", '"../\\u0000"'],
];

const KEYS =
  "meta wait id events marker active delayed completed failed stalled prioritized paused limiter pc repeat stalled-check waiting-children metrics:completed metrics:failed de:x:y metrics:completed:data".split(
    " ",
  );

const TAKEN: readonly (readonly [Line, string, readonly string[]])[] = [
  [40, "blanks and numbers in text", ["  ", "-5", "05", "5.0", "true", "null"]],
  [41, "a zero and colons", ["0", "0:1", "a:b", "a:b:c", ":", "::"]],
  [42, "names of BullMQ's own", KEYS],
  [42, "names of our own job ids", ["h-x1", "g1-x1", "g12-a1", "h-", "g1-"]],
  [43, "300 characters, and 1,024 bytes", ["x".repeat(300), "x".repeat(1_024), "€".repeat(341)]],
  [
    44,
    "what only looks alike",
    ["é", "e\u0301", "É", "ab", "a\u200bb", "a\u202eb", "🦄", "🦄\ufe0f"],
  ],
  [45, "paths and patterns", ["../x", "%2e%2e", "*", "{x}", "\\", "$1"]],
  [45, "quotes and line ends", ['"', "'; drop table effects;--", "a\r\nb", "\n", "\t"]],
  [45, "names of Object.prototype", ["__proto__", "constructor", "toString", "hasOwnProperty"]],
];

const CONFLICTS = 'millrace_conflicts_total{source="stripe"';

export function identities(tests: LineTests, target: () => Target): void {
  for (const [line, title, id] of REFUSED) {
    tests.proves(line, `an id that is ${title} is answered 400`, async () => {
      const body = `{"type":"test.effect","id":${id}}`;
      expect(await target().refusal(stripe(body))).toBe("400 invalid_event_id");
    });
  }
  tests.proves(40, "an id that is a number is its digits", async () => {
    await target().take(stripe('{"id":5,"type":"test.effect"}'), "5");
    expect(await target().refusal(stripe('{"id":"5","type":"test.effect"}'))).toMatch(/^200/);
  });
  tests.proves(40, "an id in a header that is missing or empty is answered 400", async () => {
    const { source, headers, body } = github("x", "{}");
    for (const values of [[], [["x-github-delivery", ""]] as const]) {
      const others = headers.filter(([name]) => name !== "x-github-delivery");
      const request = { source, body, headers: [...others, ...values] };
      expect(await target().refusal(request)).toBe("400 invalid_event_id");
    }
  });
  for (const [line, title, ids] of TAKEN) {
    tests.proves(line, `${title}: each id is an event of its own, and wedges nothing`, async () => {
      await Promise.all(ids.map((id) => target().take(stripe(stripeBody(id)), id)));
      for (const id of ids) expect(await target().effectsOf("stripe", id)).toBe(1);
    });
  }
  tests.proves(42, "a reserved name in a signed header is an event too", async () => {
    for (const id of ["active", "stalled-check", "0"]) {
      await target().take(standard(id, '{"type":"test.effect"}'), id);
    }
  });

  tests.proves(46, "the same id from two sources is two events", async () => {
    const body = stripeBody("shared_1");
    for (const request of [stripe(body), plain("a", body), plain("a-b", body)]) {
      await target().take(request, "shared_1");
      expect(await target().effectsOf(request.source, "shared_1")).toBe(1);
    }
  });

  tests.proves(47, "a source and an id cannot be taken for another pair", async () => {
    await target().take(plain("a-b", stripeBody("c1")), "c1");
    await target().take(plain("a", stripeBody("b-c1")), "b-c1");
    expect(await target().effectsOf("a-b", "c1")).toBe(1);
    expect(await target().effectsOf("a", "b-c1")).toBe(1);
  });

  tests.proves(48, "of two bodies under one id the first is kept, the other counted", async () => {
    await target().take(stripe(stripeBody("conflict_1", { n: 1 })), "conflict_1");
    const other = stripe(stripeBody("conflict_1", { n: 2 }));
    const before = await target().metric(CONFLICTS);
    expect((await target().ask(other)).status).toBe(200);
    expect(await target().payloadOf("stripe", "conflict_1")).toMatchObject({ n: 1 });
    expect(await target().effectsOf("stripe", "conflict_1")).toBe(1);
    await until(async () => (await target().metric(CONFLICTS)) === before + 1);
  });
}
