import { expect, test } from "vitest";
import { cutWithoutSecrets, hideSecrets, secretsOf } from "./hide-secrets.ts";

const SECRETS: readonly (readonly [text: string, secret: string])[] = [
  ["connect to postgres://millrace:s3cretPass@db.internal:5432/app failed", "s3cretPass"],
  ["GET https://user:hunter2hunter2@api.example.com/v1", "hunter2hunter2"],
  ["401 for Authorization: Bearer abc.def-ghi_jkl012345", "abc.def-ghi_jkl012345"],
  ["authorization: Basic dXNlcjpwYXNzd29yZA==", "dXNlcjpwYXNzd29yZA=="],
  ["Invalid API Key provided: sk_live_51H8abcdefghijk", "sk_live_51H8abcdefghijk"],
  ["signing with whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
  ["slack said no to xoxb-1234567890-abcdefghij", "xoxb-1234567890-abcdefghij"],
  ["remote: ghp_abcdefghijklmnopqrstuvwxyz0123456789", "ghp_abcdefghijklmnopqrstuvwxyz0123456789"],
  ["AKIAIOSFODNN7EXAMPLE is not allowed", "AKIAIOSFODNN7EXAMPLE"],
  ['body: {"user":"kim","password":"correct horse"}', "correct horse"],
  ["retry with api_key=abc123def456&page=2", "abc123def456"],
  ["Cookie: session=abcdef0123456789; theme=dark", "abcdef0123456789"],
  ["jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmN", "dozjgNryP4J3jVmN"],
  [
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA\n-----END RSA PRIVATE KEY-----",
    "MIIEowIBAAKCAQEA",
  ],
  ["client_secret: 'q1w2e3r4t5'", "q1w2e3r4t5"],
  [
    "x-shopify-access-token: shpat_0123456789abcdef0123456789abcdef",
    "shpat_0123456789abcdef0123456789abcdef",
  ],
];

test.each(SECRETS)("%s", (text, secret) => {
  const hidden = hideSecrets(text);
  expect(hidden).not.toContain(secret);
  expect(hidden).toContain("<secret>");
});

test.each([
  "TypeError: Cannot read properties of undefined (reading 'amount')",
  'duplicate key value violates unique constraint "orders_pkey" (SQLSTATE 23505)',
  "connect ECONNREFUSED 127.0.0.1:5432",
  "Unexpected token '<' in JSON",
  "the basic plan has no such thing",
  "Token validation failed: expired",
  "Digest mismatch of the upload",
  "GET https://example.com/orders?to=kim@example.com failed",
])("leaves what is no secret: %s", (text) => {
  expect(hideSecrets(text)).toBe(text);
});

test("takes a hostile text in the time of its length", () => {
  for (const part of [
    "password=",
    "a".repeat(20) + "://",
    "Bearer ",
    "eyJaaaaa.",
    '"secret":"\\"',
    "-----BEGIN ",
    "cookie: ",
    'token\\\\"',
    "Token a",
    "a://b@",
  ]) {
    const started = process.cpuUsage();
    hideSecrets(part.repeat(Math.ceil(8_192 / part.length)));
    expect(process.cpuUsage(started).user).toBeLessThan(500_000);
  }
});

test("cuts after it has taken the secrets out, so that no half of one stays", () => {
  const secret = "sk_live_51H8abcdefghijk";
  for (let before = 60; before < 100; before += 1) {
    const text = `${"x".repeat(before)} ${secret} ${"y".repeat(40)}`;
    const cut = cutWithoutSecrets(text, 100);
    expect(cut).toHaveLength(Math.min(100, text.length - secret.length + "<secret>".length));
    expect(cut).not.toContain("51H8");
  }
  // A hidden part moves the rest forward, such as a secret at the end of the part that is read.
  for (let length = 7_700; length < 8_200; length += 1) {
    const text =
      `password=${"p".repeat(1_990)} `.repeat(4).padEnd(length, "z ") + secret.repeat(20);
    expect(cutWithoutSecrets(text, 100)).not.toContain("51H8");
  }
  expect(cutWithoutSecrets("x".repeat(1_000_000), 100)).toBe("x".repeat(100));
});

test("finds the secrets of an environment by the names of its variables, and the passwords of URLs", () => {
  expect(
    secretsOf({
      GITHUB_WEBHOOK_SECRET: "a-github-secret,a-second-secret",
      DASHBOARD_TOKENS: "deploy:a-deploy-token",
      DATABASE_URL: "postgres://app:p%40ssword9@db/app",
      REDIS_URL: "redis://cache:6379",
      ...{ SHORT_TOKEN: "abc", API_KEY_HEADER: "x-api-key-of-ours", HOME: "/home/millrace" },
      NOT_SET_SECRET: undefined,
    }).toSorted(),
  ).toEqual([
    "a-deploy-token",
    "a-github-secret",
    "a-github-secret,a-second-secret",
    "a-second-secret",
    "deploy:a-deploy-token",
    "p%40ssword9",
    "p@ssword9",
  ]);
});
