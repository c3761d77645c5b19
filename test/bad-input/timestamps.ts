import { expect } from "vitest";
import type { LineTests } from "./lines.ts";
import { github, standard, standardAt, stripe } from "./senders.ts";
import type { Target } from "./target.ts";
import { headerOf, withHeader } from "./wire.ts";

const BODY = '{"type":"test.effect"}';

export function timestamps(tests: LineTests, target: () => Target): void {
  tests.proves(15, "a time that is missing, or in milliseconds, is answered 401", async () => {
    for (const time of ["", String(Date.now())]) {
      const request = standardAt("time_1", time, BODY);
      expect(await target().refusal(request)).toBe("401 invalid_signature");
    }
  });

  // The second before the bound is left out: a request may take that long to be read.
  for (const seconds of [-301, 330]) {
    tests.proves(16, `what was signed ${seconds} s from now is answered 401`, async () => {
      const atMs = Date.now() + seconds * 1_000;
      const request = standard("old_1", BODY, { atMs });
      expect(await target().refusal(request)).toBe("401 invalid_signature");
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

  tests.proves(18, "a body that comes again under an unsigned id does not run", async () => {
    const body = '{"ref":"refs/heads/replayed"}';
    await target().take(github("first_1", body), "first_1");
    const second = await target().take(github("second_1", body), "second_1");
    expect(second).toMatchObject({ status: "failed", outcome: null });
    expect(await target().effectsOf("github", "second_1")).toBe(0);
  });

  tests.proves(19, "an id with a dot is answered 401", async () => {
    const request = standard("a.b", BODY);
    expect(await target().refusal(request)).toBe("401 invalid_signature");
    const time = headerOf(request, "webhook-timestamp");
    const shifted = withHeader(withHeader(request, "webhook-id", "a"), "webhook-timestamp", time);
    expect(await target().refusal(shifted)).toBe("401 invalid_signature");
  });

  tests.proves(20, "a body with other white space than was signed is answered 401", async () => {
    const text = '{\n  "id": "changed_1",\n "type":"test.effect" }';
    for (const good of [github("changed_1", text), stripe(text), standard("changed_1", text)]) {
      const request = { ...good, body: Buffer.from(JSON.stringify(JSON.parse(text))) };
      expect(await target().refusal(request)).toBe("401 invalid_signature");
    }
  });
}
