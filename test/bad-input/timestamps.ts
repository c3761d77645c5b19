import { expect } from "vitest";
import type { LineTests } from "./lines.ts";
import { github, standard, standardAt, stripe, stripeBody } from "./senders.ts";
import type { Target } from "./target.ts";
import { headerOf, withHeader } from "./wire.ts";

const nowS = () => Math.floor(Date.now() / 1_000);
const BODY = '{"type":"test.effect"}';

const TIMES: readonly (readonly [string, () => string])[] = [
  ["missing", () => ""],
  ["an exponent", () => "1e9"],
  ["negative", () => "-1"],
  ["a fraction", () => `${nowS()}.5`],
  ["milliseconds", () => String(Date.now())],
  ["followed by letters", () => `${nowS()}abc`],
  ["twenty digits long", () => "1".repeat(20)],
];

export function timestamps(tests: LineTests, target: () => Target): void {
  for (const [title, time] of TIMES) {
    tests.proves(15, `a time that is ${title} is answered 401`, async () => {
      const request = standardAt("time_1", time(), BODY);
      expect(await target().refusal(request)).toBe("401 invalid_signature");
    });
  }
  tests.proves(15, "Stripe's header without a time, or with two, is answered 401", async () => {
    const good = stripe(stripeBody("time_2"));
    const header = headerOf(good, "stripe-signature");
    for (const value of [header.replace(/t=\d+,/, ""), `t=${nowS()},${header}`]) {
      const request = withHeader(good, "stripe-signature", value);
      expect(await target().refusal(request)).toBe("401 invalid_signature");
    }
  });

  // The second before the bound is left out: a request may take that long to be read.
  for (const [title, seconds] of [
    ["301 seconds ago", -301],
    ["330 seconds ahead", 330],
  ] as const) {
    tests.proves(16, `what was signed ${title} is answered 401`, async () => {
      const atMs = Date.now() + seconds * 1_000;
      const requests = [standard("old_1", BODY, { atMs }), stripe(stripeBody("old_2"), { atMs })];
      for (const request of requests) {
        expect(await target().refusal(request)).toBe("401 invalid_signature");
      }
    });
  }

  tests.proves(17, "the very same delivery again is a duplicate, and has no effect", async () => {
    const request = standard("again_1", BODY);
    await target().take(request, "again_1");
    for (let turn = 0; turn < 5; turn += 1) {
      expect(await target().refusal(request)).toBe("200 duplicate");
    }
    expect(await target().effectsOf("standard", "again_1")).toBe(1);
  });

  tests.proves(
    18,
    "a body that comes again under a new, unsigned id is not run again",
    async () => {
      const body = '{"ref":"refs/heads/replayed"}';
      await target().take(github("first_1", body), "first_1");
      const second = await target().take(github("second_1", body), "second_1");
      expect(second).toMatchObject({ status: "failed", outcome: null });
      expect(await target().effectsOf("github", "second_1")).toBe(0);
    },
  );

  tests.proves(19, "an id with a dot is answered 401", async () => {
    const request = standard("a.b", BODY);
    expect(await target().refusal(request)).toBe("401 invalid_signature");
    // The same bytes are signed for the id "a" at the time "b.<time>".
    const time = headerOf(request, "webhook-timestamp");
    const shifted = withHeader(withHeader(request, "webhook-id", "a"), "webhook-timestamp", time);
    expect(await target().refusal(shifted)).toBe("401 invalid_signature");
  });

  for (const [title, change] of [
    ["one more byte", (text: string) => `${text} `],
    ["one byte less", (text: string) => text.slice(0, -1)],
    ["CR before LF", (text: string) => text.replace("\n", "\r\n")],
    ["a byte order mark", (text: string) => `\ufeff${text}`],
    ["other white space", (text: string) => JSON.stringify(JSON.parse(text))],
  ] as const) {
    tests.proves(20, `a body with ${title} than was signed is answered 401`, async () => {
      const text = '{\n  "id": "changed_1",\n "type":"test.effect" }';
      for (const good of [github("changed_1", text), stripe(text), standard("changed_1", text)]) {
        const request = { ...good, body: Buffer.from(change(text)) };
        expect(await target().refusal(request)).toBe("401 invalid_signature");
      }
    });
  }
}
