import { createHmac } from "node:crypto";
import { expect } from "vitest";
import type { Line, LineTests } from "./lines.ts";
import { github, OLD_GITHUB_SECRET, plain, SECRETS, standard } from "./senders.ts";
import type { Target } from "./target.ts";
import { headerOf, withHeader, type WireRequest } from "./wire.ts";

const HUB = "x-hub-signature-256";
const WEBHOOK = "webhook-signature";
const BODY = '{"ref":"refs/heads/main"}';

const HUB_SIGNATURES: readonly (readonly [Line, string, (digits: string) => readonly string[]])[] =
  [
    [1, "no signature header", () => []],
    [2, "an empty signature", () => [""]],
    [3, "63 digits", (digits) => [`sha256=${digits.slice(1)}`]],
    [4, "64 letters that are no digits", () => [`sha256=${"z".repeat(64)}`]],
    [5, "digits with their highest bit set", (digits) => [`sha256=${raised(digits)}`]],
    [6, "a right beginning", (digits) => [`sha256=${digits.slice(0, 32)}`]],
    [9, "good, then bad", (digits) => [`sha256=${digits}`, `sha256=${"0".repeat(64)}`]],
    [11, "the scheme sha1", (digits) => [`sha1=${digits}`]],
  ];

export function signatures(tests: LineTests, target: () => Target): void {
  for (const [line, title, change] of HUB_SIGNATURES) {
    tests.proves(line, `${title} is answered 401`, async () => {
      const good = github(`bad_${line}`, BODY);
      const digits = headerOf(good, HUB).slice("sha256=".length);
      const request = withHeader(good, HUB, ...change(digits));
      expect(await target().refusal(request)).toBe("401 invalid_signature");
    });
  }
  tests.proves(8, "base64 with garbage behind is answered 401", async () => {
    const good = standard("bad_8", "{}");
    const request = withHeader(good, WEBHOOK, `${headerOf(good, WEBHOOK)}AAAA`);
    expect(await target().refusal(request)).toBe("401 invalid_signature");
  });

  tests.proves(7, "hexadecimal digits in upper case are accepted", async () => {
    const good = github("upper_case_1", BODY);
    const digits = headerOf(good, HUB).slice("sha256=".length).toUpperCase();
    await target().take(withHeader(good, HUB, `sha256=${digits}`), "upper_case_1");
  });

  tests.proves(9, "two headers of Standard Webhooks are one list", async () => {
    const good = standard("two_headers_1", '{"type":"test.effect"}');
    const request = withHeader(good, WEBHOOK, bad(1).trim(), headerOf(good, WEBHOOK));
    await target().take(request, "two_headers_1");
  });

  tests.proves(10, "one good signature of twenty is found", async () => {
    const good = standard("of_twenty_1", '{"type":"test.effect"}');
    const request = withHeader(good, WEBHOOK, `${bad(19)}${headerOf(good, WEBHOOK)}`);
    await target().take(request, "of_twenty_1");
  });

  tests.proves(10, "ten thousand signatures are not even read", async () => {
    const good = standard("of_many_1", "{}");
    const request = withHeader(good, WEBHOOK, `${bad(10_000)}${headerOf(good, WEBHOOK)}`);
    expect(await target().refusal(request)).toBe("431 headers_too_large");
  });

  emptySecrets(tests, target);

  tests.proves(13, "another source's secret is answered 401", async () => {
    const { body, headers } = plain("a-b", '{"id":"cross_1"}');
    expect(await target().refusal({ source: "a", body, headers })).toBe("401 invalid_signature");
    const request = github("cross_2", BODY, { secret: SECRETS.a });
    expect(await target().refusal(request)).toBe("401 invalid_signature");
  });

  tests.proves(14, "the old secret is accepted while it is live, and not after", async () => {
    const withOld = (id: string) => github(id, `{"id":"${id}"}`, { secret: OLD_GITHUB_SECRET });
    await target().take(withOld("rotating_1"), "rotating_1");
    const over = { GITHUB_WEBHOOK_SECRET: SECRETS.github };
    const later = await target().pipeline.start("ingress", over);
    const post = ({ source, headers, body }: WireRequest) =>
      fetch(`${later.url}/webhooks/${source}`, {
        method: "POST",
        headers: headers.map(([name, value]): [string, string] => [name, value]),
        body: Buffer.from(body),
      });
    expect((await post(withOld("rotated_1"))).status).toBe(401);
    expect((await post(github("alive_0", BODY, { secret: "" }))).status).toBe(401);
    expect(await later.end("SIGTERM")).toBe(0);
  });
}

function emptySecrets(tests: LineTests, target: () => Target): void {
  tests.proves(12, "an ingress whose secret is not set does not start", async () => {
    const start = target().pipeline.startInProcess("ingress", { GITHUB_WEBHOOK_SECRET: "" });
    await expect(start).rejects.toMatchObject({
      code: "missing_secret",
      message: expect.stringContaining("GITHUB_WEBHOOK_SECRET"),
    });
  });
  tests.proves(12, "what is signed with an empty key is answered 401", async () => {
    const request = github("empty_1", BODY, { secret: "" });
    expect(await target().refusal(request)).toBe("401 invalid_signature");
    const good = standard("empty_2", "{}");
    const signed = `empty_2.${headerOf(good, "webhook-timestamp")}.{}`;
    const signature = createHmac("sha256", "").update(signed).digest("base64");
    const forged = withHeader(good, WEBHOOK, `v1,${signature}`);
    expect(await target().refusal(forged)).toBe("401 invalid_signature");
  });
}

const bad = (count: number) => `v1,${Buffer.alloc(32).toString("base64")} `.repeat(count);
const raised = (digits: string) =>
  String.fromCharCode(...[...Buffer.from(digits)].map((byte) => byte | 0x80));
