import { stripe } from "@millrace/providers";
import { expect, test } from "vitest";
import { millrace, STORE_CONFIG } from "../support/run-in-process.ts";

const SECRET = "whsec_of-the-store";
const BODY = '{"id":"evt_1","type":"t"}';

/** Verifies a request of Stripe as it came by HTTP. No store is there. */
async function verify(secret: string, ...args: string[]) {
  const signing = { eventId: "evt_1", type: "t", body: Buffer.from(BODY), secret };
  const headers = Object.entries(stripe().provider.sign({ ...signing, nowMs: Date.now() }));
  const lines = ["POST /webhooks/stripe HTTP/1.1", ...headers.map((pair) => pair.join(": "))];
  return await millrace(["verify", "--source", "stripe", "--request", "-", ...args], {
    env: { MILLRACE_CONFIG: STORE_CONFIG, STRIPE_WEBHOOK_SECRET: SECRET },
    stdin: `${lines.join("\r\n")}\r\n\r\n${BODY}`,
  });
}

test("millrace verify says that a request is valid, or why it is not, and exits so", async () => {
  const good = await verify(SECRET);
  const valid = 'stripe: valid\nThe signature matches a secret of "stripe".\n';
  expect(good).toEqual({ code: 0, stderr: "", stdout: valid });
  const bad = await verify("whsec_of-another");
  expect(bad).toMatchObject({ code: 1, stderr: "" });
  expect(bad.stdout).toMatch(/^stripe: not valid \(no_secret_matches\)\n.*matches no live secret/);
  const json = await verify("of-the-store", "--json");
  expect(JSON.parse(json.stdout)).toMatchObject({
    ...{ source: "stripe", valid: false, reason: "no_secret_matches", seconds: null },
    sentences: [expect.any(String), "It matches the secret without its whsec_."],
  });
  for (const { stdout } of [good, bad, json]) expect(stdout).not.toContain(SECRET);
});
