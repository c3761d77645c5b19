import {
  parseConfig,
  providerOfTenant,
  type Delivery,
  type Provider,
  type ReadSecrets,
  type Verification,
} from "@millrace/core";
import { expect, test, vi } from "vitest";
import { EVERY_SOURCE, TOKEN_SOURCES } from "../../providers/src/testing/every-source.ts";
import { signedDelivery } from "../../providers/src/testing/sign-delivery.ts";
import { TenantVerifications } from "./tenant-verifications.ts";

const MISMATCH: Verification = {
  ...{ ok: false, code: "invalid_signature", message: "" },
  failure: { reason: "no_secret_matches" },
};

/** A token in the URL is the secret: its `precheck` knows which are right, as of GitLab. */
const check = (secrets: readonly string[]) => ({
  verify: ({ url }: Pick<Delivery, "url">) =>
    secrets.includes(url) ? ({ ok: true } as const) : MISMATCH,
});
const provider = {
  ...{ name: "own", methods: ["POST"], bodyBytesMax: 10_000, keptHeaders: [], idIsSigned: true },
  createVerifier: (secrets: readonly string[]) => ({
    ...check(secrets),
    precheck: ({ url }: Pick<Delivery, "url">) => {
      if (url === "") return { ...MISMATCH, failure: { reason: "header_missing" } };
      const verified = check(secrets).verify({ url });
      return verified.ok ? undefined : verified;
    },
  }),
  generateSecret: () => "of-nobody",
} as unknown as Provider;

const usual: ReadSecrets = (tenant) => (tenant.startsWith("tenant") ? `secret-of-${tenant}` : null);

function open() {
  const asked: string[] = [];
  const it = { nowMs: 1_000_000, read: usual };
  const secrets: ReadSecrets = (tenant) => {
    asked.push(tenant);
    return it.read(tenant);
  };
  const { sources } = parseConfig({ sources: { own: { provider, options: { secrets } } } });
  if (sources["own"] === undefined) throw new Error("no source");
  const tenants = new TenantVerifications(sources["own"]);
  const verify = async (tenant: string, url: string) => {
    const head = { method: "POST", url, headers: {}, receivedAtMs: it.nowMs };
    const verified = await tenants.verify({ ...head, tenant, body: Buffer.from("{}") });
    return verified.ok ? "ok" : (verified.failure?.reason ?? verified.code);
  };
  return { it, asked, verify, tenants };
}

test("a delivery whose head can be of nobody costs no lookup, known or not", async () => {
  const { asked, verify, tenants } = open();
  expect(await verify("tenant", "secret-of-tenant")).toBe("ok");
  for (const tenant of ["tenant", "nobody"])
    expect(await verify(tenant, "")).toBe("header_missing");
  const head = { method: "POST", url: "secret-of-tenant", headers: {}, receivedAtMs: 0 };
  expect(tenants.precheck(head, 0)).toBeUndefined();
  expect(asked).toEqual(["tenant"]);
  expect(await verify("nobody", "secret-of-tenant")).toBe("unknown_source");
});

test("a flood of names that are made up takes no tenant out of the cache", async () => {
  const { asked, verify } = open();
  await verify("tenant", "secret-of-tenant");
  for (let sent = 0; sent <= 10_000; sent += 1) await verify(`name-${sent}`, "secret");
  asked.length = 0;
  expect(await verify("tenant", "secret-of-tenant")).toBe("ok");
  expect(await verify("name-10000", "secret")).toBe("unknown_source");
  expect(asked).toEqual([]);
  await verify("name-0", "secret");
  expect(asked).toEqual(["name-0"]);
});

test("of more than 10,000 tenants, the one that was longest unused is looked up again", async () => {
  const { asked, verify } = open();
  for (let tenant = 0; tenant < 10_000; tenant += 1) await verify(`tenant-${tenant}`, "secret");
  await verify("tenant-0", "secret-of-tenant-0");
  await verify("tenant-10000", "secret");
  asked.length = 0;
  expect(await verify("tenant-0", "secret-of-tenant-0")).toBe("ok");
  expect(await verify("tenant-1", "secret-of-tenant-1")).toBe("ok");
  expect(asked).toEqual(["tenant-1"]);
});

test("a secret that is new, a tenant that is new, and one that is gone are seen in time", async () => {
  const { it, asked, verify } = open();
  expect(await verify("tenant", "secret-of-tenant")).toBe("ok");
  expect(await verify("later", "secret")).toBe("unknown_source");
  it.read = () => ["the-next", "another"];
  expect(await verify("tenant", "the-next")).toBe("no_secret_matches");
  expect(await verify("later", "the-next")).toBe("unknown_source");
  it.nowMs += 5_000;
  expect(await verify("tenant", "the-next")).toBe("ok");
  expect(await verify("tenant", "secret-of-tenant")).toBe("no_secret_matches");
  expect(await verify("later", "another")).toBe("ok");
  expect(asked).toEqual(["tenant", "later", "tenant", "later"]);
  it.read = () => [];
  it.nowMs += 59_999;
  expect(await verify("tenant", "the-next")).toBe("ok");
  it.nowMs += 1;
  expect(await verify("tenant", "the-next")).toBe("unknown_source");
  // The clock is set back.
  it.nowMs -= 86_400_000;
  expect(await verify("later", "another")).toBe("unknown_source");
  expect(asked.slice(4)).toEqual(["tenant", "later"]);
});

test("while secrets cannot be read, the known ones count, and a mismatch is not decided", async () => {
  const { it, asked, verify } = open();
  expect(await verify("tenant", "secret-of-tenant")).toBe("ok");
  it.read = () => Promise.reject(new Error("the store is away"));
  expect(await verify("tenant-2", "secret-of-tenant-2")).toBe("unavailable");
  it.nowMs += 60_000;
  expect(await verify("tenant", "secret-of-tenant")).toBe("ok");
  expect(await verify("tenant", "the-next")).toBe("unavailable");
  expect(asked).toEqual(["tenant", "tenant-2", "tenant"]);
  it.nowMs += 5_000;
  expect(await verify("tenant", "the-next")).toBe("unavailable");
  it.read = () => ["the-next", ""];
  it.nowMs += 5_000;
  expect(await verify("tenant", "the-next")).toBe("unavailable");
  it.read = () => "the-next";
  it.nowMs += 5_000;
  expect(await verify("tenant", "the-next")).toBe("ok");
});

test("50 deliveries at once are one lookup, of all that wait for it", async () => {
  const { it, asked, verify } = open();
  let answer = () => {};
  it.read = () => new Promise((resolve) => (answer = () => resolve("secret-of-tenant")));
  const verified = Array.from({ length: 50 }, () => verify("tenant", "secret-of-tenant"));
  await vi.waitUntil(() => asked.length > 0);
  answer();
  expect(new Set(await Promise.all(verified))).toEqual(new Set(["ok"]));
  expect(asked).toEqual(["tenant"]);
});

const SOURCES = Object.entries(EVERY_SOURCE).map(([name, { source }]) => [name, source] as const);

test.each([...SOURCES, ...Object.entries(TOKEN_SOURCES)])(
  "%s verifies the deliveries of each tenant",
  async (_name, made) => {
    const secretOf = {
      acme: made.provider.generateSecret(),
      globex: made.provider.generateSecret(),
    };
    const secrets: ReadSecrets = (tenant) => Reflect.get(secretOf, tenant);
    const options = { ...made.options, secrets };
    const { own } = parseConfig({ sources: { own: { ...made, options } } }).sources;
    if (own === undefined) throw new Error("no source");
    const tenants = new TenantVerifications(own);
    const type = made.provider.sampleTypes[0] ?? "t";
    for (const tenant of ["acme", "globex"] as const) {
      const ofTenant = { provider: providerOfTenant(made.provider, tenant) };
      const delivery = signedDelivery(ofTenant, { secret: secretOf[tenant], type });
      expect(await tenants.verify({ ...delivery, tenant })).toMatchObject({ ok: true });
      const other = tenant === "acme" ? "globex" : "acme";
      expect(await tenants.verify({ ...delivery, tenant: other })).toMatchObject({ ok: false });
      expect(await tenants.verify({ ...delivery, tenant: "nobody" })).toMatchObject({ ok: false });
    }
  },
);
