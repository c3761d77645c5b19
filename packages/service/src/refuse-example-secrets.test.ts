import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { isExampleSecret, refuseExampleSecrets } from "./refuse-example-secrets.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const SECRET = "f3a1c09be2d4478f9a6d5b0c1e7f2a83";
const EXAMPLE = "change-me-stripe-secret";

const start = (over: Partial<Parameters<typeof refuseExampleSecrets>[0]>) => () =>
  refuseExampleSecrets({ env: {}, host: "0.0.0.0", ...over });

test("secrets of one's own are taken anywhere", () => {
  const env = {
    DASHBOARD_PASSWORD: SECRET,
    DASHBOARD_TOKEN: `${SECRET},${SECRET}0`,
    DATABASE_URL: `postgres://millrace:${SECRET}@postgres:5432/millrace`,
    REDIS_URL: `rediss://:${SECRET}@redis:6379`,
  };
  expect(start({ env, secrets: { stripe: [`whsec_${SECRET}`] } })).not.toThrow();
});

test("every example is refused together, by its variable, and none is quoted", () => {
  const env = {
    DASHBOARD_PASSWORD: "change-me-dashboard",
    DASHBOARD_VIEWER_TOKEN: `${SECRET}, change-me-viewer-token`,
    DATABASE_URL: "postgres://millrace:change-me-postgres@postgres:5432/millrace",
    REDIS_URL: "redis://:change%2Dme-redis@redis:6379",
  };
  const secrets = { "hook-mesh": [SECRET, EXAMPLE], stripe: [SECRET] };
  let thrown: unknown;
  try {
    start({ env, secrets })();
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toMatchObject({ code: "example_secret" });
  const { message } = thrown as Error;
  expect(message.match(/^ {2}[A-Z_]+(?=:)/gm)?.map((name) => name.trim())).toEqual([
    "HOOK_MESH_WEBHOOK_SECRET",
    "DASHBOARD_PASSWORD",
    "DASHBOARD_VIEWER_TOKEN",
    "DATABASE_URL",
    "REDIS_URL",
  ]);
  expect(message).not.toMatch(/change-me|change%2D/i);
  expect(message).toContain("openssl rand -hex");
});

test.each<[string, Parameters<typeof start>[0]]>([
  ["on loopback alone", { host: "127.0.0.1" }],
  ["by its name", { host: "localhost" }],
  [
    "with its stores there",
    {
      host: "::1",
      env: {
        DATABASE_URL: "postgres://user:password@127.0.0.1:5432/app",
        REDIS_URL: "redis://[::1]:6379",
      },
    },
  ],
  ["with a socket", { host: "127.0.0.1", env: { DATABASE_URL: "postgres:///app?host=/run" } }],
])("an example is taken %s", (_, over) => {
  expect(start({ secrets: { stripe: [EXAMPLE] }, ...over })).not.toThrow();
});

test.each<[string, Parameters<typeof start>[0]]>([
  ["other machines can reach it", { host: "0.0.0.0" }],
  ["it runs in production", { host: "127.0.0.1", env: { NODE_ENV: "production" } }],
  ["its Redis is elsewhere", { host: "127.0.0.1", env: { REDIS_URL: "redis://redis:6379" } }],
  [
    "its Postgres is elsewhere",
    { host: "127.0.0.1", env: { DATABASE_URL: "postgres://localhost/app?host=db" } },
  ],
])("an example is refused where %s", (_, over) => {
  expect(start({ secrets: { stripe: [EXAMPLE] }, ...over })).toThrow(
    expect.objectContaining({ code: "example_secret" }),
  );
});

const PAGES = ["docs", "infra", "examples", "README.md", "apps/cli/src/init"];
const ASSIGNMENT = /\b[A-Z_]*(?:SECRET|PASSWORD|TOKEN|AUTH|QUEUE_KEY)=["']?([^\s"'`]*)/g;
const IN_URL = /\b(?:postgres|postgresql|rediss?):\/\/[^\s:/@]*:([^\s@$]+)@/g;

/** Every secret that a page of ours prints, by page. */
function printed(path: string): [string, string][] {
  const absolute = join(ROOT, path);
  if (statSync(absolute).isDirectory()) {
    const names = readdirSync(absolute).filter((name) => name !== "node_modules");
    return names.flatMap((name) => printed(join(path, name)));
  }
  const text = readFileSync(absolute, "utf8");
  const values = [...text.matchAll(ASSIGNMENT), ...text.matchAll(IN_URL)].map(
    ([, value = ""]) => value,
  );
  // A variable of the shell's, a word in brackets, or nothing, is no secret.
  return values
    .flatMap((value) => value.split(","))
    .filter((value) => value !== "" && !/^[$<]/.test(value))
    .map((value) => [path, value]);
}

test("every secret that our documents print is an example", () => {
  const found = PAGES.flatMap(printed);
  expect(found.length).toBeGreaterThan(10);
  expect(found.filter(([, secret]) => !isExampleSecret(secret))).toEqual([]);
});
