import { Agent, request } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { onPostgres, type TestServers } from "../support/backends.ts";
import type { RoleOptions } from "../support/in-process.ts";
import { createPipeline, post, type Pipeline } from "../support/pipeline.ts";
import { millrace } from "../support/run-in-process.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { until } from "../support/until.ts";

const USER = { user: "ops", password: "a right password" };
const TOKEN = "a-token-of-prometheus";
const ENVIRONMENT = {
  DASHBOARD_USER: USER.user,
  DASHBOARD_PASSWORD: USER.password,
  DASHBOARD_VIEWER_TOKENS: `prometheus:${TOKEN}`,
};

describe("guessing at the dashboard's password", () => {
  let servers: TestServers;
  let pipeline: Pipeline;

  beforeAll(async () => {
    servers = await onPostgres();
    pipeline = await createPipeline(servers, ENVIRONMENT);
  });
  afterAll(async () => {
    await pipeline?.stop();
    await servers?.release();
  });

  const start = (options: RoleOptions["dashboard"] = {}, over: Record<string, string> = {}) =>
    pipeline.startInProcess("dashboard", over, {
      dashboard: { credentials: CREDENTIALS, ...options },
    });

  test("2,000 guesses from 200 addresses are slow, seen, and in nobody's way", async () => {
    const dashboard = await pipeline.start("dashboard", { TRUST_PROXY: "127.0.0.1" });
    const attacker = attack(dashboard.url, {
      guesses: 2_000,
      // What a proxy adds stands last; what the client wrote counts for nothing.
      from: (guess) => `192.0.2.${guess % 9}, 198.51.100.${(guess % 200) + 1}`,
    });
    await until(() => attacker.statuses.length > 500);
    const beganMs = performance.now();
    const honest = await signIn(dashboard.url, USER, forwardedFor("203.0.113.50"));
    expect(honest.status).toBe(200);
    // Two seconds are the queue's, at most; the rest is what this machine takes for all these requests.
    expect(performance.now() - beganMs).toBeLessThan(20_000);

    // All but those that wait have been answered, and next to none was checked.
    await until(() => attacker.statuses.length >= 1_890);
    expect(attacker.statuses.filter((status) => status === 401).length).toBeLessThan(150);
    expect(new Set(attacker.statuses)).toEqual(new Set([401, 429]));
    await until(() => dashboard.output().includes('"sign-ins failed"'));
    const samples = await signInSamples(dashboard.url);
    expect(samples["signed_in"]).toBe(1);
    expect(samples["wrong_password"]).toBeGreaterThan(10);
    expect(samples["too_many_failures"]).toBeGreaterThan(1_700);

    attacker.stop();
    await dashboard.end("SIGTERM");
    const lines = dashboard.output().split("\n");
    expect(lines.filter((line) => line.includes('"sign-ins failed"')).length).toBeLessThan(4);
    const entries = await failuresInAudit(pipeline);
    expect(entries.length).toBeGreaterThan(1);
    expect(entries.length).toBeLessThan(70);
    const counted = entries.reduce((sum, { failures }) => sum + failures, 0);
    expect(counted).toBe(2_000);
    for (const { network } of entries) expect(network).toMatch(/^198\.51\.100\.\d+$|^others$/);
    expect(await inAudit(pipeline, "sign_in")).toEqual([
      { actor: "ops", via: "session", result: { network: "203.0.113.50" } },
    ]);
  });

  test("X-Forwarded-For of a stranger is not believed, and locks nobody out", async () => {
    const dashboard = await start();
    const before = (await failuresInAudit(pipeline)).length;
    for (let guess = 0; guess < 15; guess += 1) {
      const wrong = { ...USER, password: `guess ${guess}` };
      expect((await signIn(dashboard.url, wrong, forwardedFor(`192.0.2.${guess}`))).status).toBe(
        401,
      );
    }
    // As all people do behind a proxy that is not named, the honest one has the guesser's address.
    expect((await signIn(dashboard.url, USER)).status).toBe(200);
    await dashboard.close();
    const entries = (await failuresInAudit(pipeline)).slice(before);
    expect(new Set(entries.map(({ network }) => network))).toEqual(new Set(["127.0.0.1"]));
    expect(entries.reduce((sum, { failures }) => sum + failures, 0)).toBe(15);
  });

  test("a browser that was signed in before gets in next to guesses from its own address", async () => {
    const dashboard = await start();
    const { browser } = await signIn(dashboard.url, USER);
    const attacker = attack(dashboard.url, { guesses: 1_000, from: () => "192.0.2.1" });
    await until(() => attacker.statuses.length > 200);
    const honest = await signIn(dashboard.url, USER, { cookie: browser });
    expect(honest.status).toBe(200);
    attacker.stop();
    await dashboard.close();
  });

  test("a flood from every network of a /48 keeps nobody out", async () => {
    const dashboard = await pipeline.start("dashboard", { TRUST_PROXY: "127.0.0.1" });
    const { browser } = await signIn(dashboard.url, USER, forwardedFor("203.0.113.50"));
    // Each has never been seen before.
    const attacker = attack(dashboard.url, {
      guesses: 1_500,
      from: (guess) => `2001:db8:1:${guess.toString(16)}::1`,
    });
    await until(() => attacker.statuses.length > 500);
    const fromElsewhere = signIn(dashboard.url, USER, forwardedFor("2001:db8:2:1::1"));
    const known = signIn(dashboard.url, USER, {
      ...forwardedFor("2001:db8:1:ffff::1"),
      cookie: browser,
    });
    expect((await fromElsewhere).status).toBe(200);
    expect((await known).status).toBe(200);
    attacker.stop();
    await dashboard.end("SIGTERM");
  });

  test("a flood of addresses that were never seen does not keep out a browser that was signed in before", async () => {
    const dashboard = await pipeline.start("dashboard", { TRUST_PROXY: "127.0.0.1" });
    const { browser } = await signIn(dashboard.url, USER, forwardedFor("203.0.113.50"));
    const attacker = attack(dashboard.url, {
      guesses: 1_500,
      from: (guess) => `10.1.${guess >> 8}.${guess & 255}`,
    });
    await until(() => attacker.statuses.length > 500);
    const mistyped = { ...USER, password: "a wrong password" };
    const known = { ...forwardedFor("203.0.113.99"), cookie: browser };
    expect((await signIn(dashboard.url, mistyped, known)).status).toBe(401);
    expect((await signIn(dashboard.url, USER, known)).status).toBe(200);
    attacker.stop();
    await dashboard.end("SIGTERM");
  });

  test("who reads a body is in the audit by name, once", async () => {
    const ingress = await pipeline.startInProcess("ingress");
    const dashboard = await start();
    await post(ingress.url, { id: "evt_read_1", type: "test.effect" });
    const headers = { authorization: `Bearer ${TOKEN}` };
    const read = () => fetch(`${dashboard.url}/api/events/acme/evt_read_1`, { headers });
    expect((await read()).status).toBe(200);
    expect((await read()).status).toBe(200);
    expect(await inAudit(pipeline, "read_body")).toEqual([
      { actor: "prometheus", via: "token", result: { shown: true } },
    ]);
    const { rows } = await pipeline.database.query(
      "select source, event_id, generation from millrace.audit where action = 'read_body'",
    );
    expect(rows).toEqual([{ source: "acme", event_id: "evt_read_1", generation: 0 }]);
  });

  test("a person signs in while Postgres is away", async () => {
    const proxy = await startTcpProxy(servers.databaseUrl);
    try {
      const dashboard = await start({}, { DATABASE_URL: proxy.url });
      proxy.freeze();
      const beganMs = performance.now();
      const { status, cookie } = await signIn(dashboard.url, USER);
      expect(status).toBe(200);
      const who = await fetch(`${dashboard.url}/api/session`, { headers: { cookie } });
      expect(await who.json()).toMatchObject({ user: "ops", via: "session" });
      expect(performance.now() - beganMs).toBeLessThan(5_000);
      proxy.thaw();
      await dashboard.close();
    } finally {
      await proxy.close();
    }
  });

  test("a stolen session is listed and ended alone, at every dashboard", async () => {
    const [one, other] = await Promise.all([start(), start()]);
    const stolen = await signIn(one.url, USER);
    const own = await signIn(one.url, USER);
    const status = async (url: string, { cookie }: { cookie: string }) =>
      (await fetch(`${url}/api/stats`, { headers: { cookie } })).status;
    expect(await status(other.url, stolen)).toBe(200);
    const id = stolen.cookie.split(".")[4] ?? "";
    const listed = await millrace(["sessions", "--json"], { env: pipeline.env });
    expect(listed.stdout).toContain(id);
    const ended = await millrace(["sessions", "--end", id], { env: pipeline.env });
    expect([ended.code, ended.stdout]).toEqual([0, `ended ${id}\n`]);
    for (const { url } of [one, other]) {
      await until(async () => (await status(url, stolen)) === 401, { withinMs: 12_000 });
      expect(await status(url, own)).toBe(200);
    }
    const again = await millrace(["sessions", "--end", id], { env: pipeline.env });
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining("session_not_found")]);
    await Promise.all([one.close(), other.close()]);
  });

  test.each([
    ["listens on every address", { host: "0.0.0.0" }],
    ["has a name that a proxy in front passes on", { hosts: ["dash.example.com"] }],
  ])(
    "a dashboard that %s gives no reasons of its health, and its metrics with a token only",
    async (_, how) => {
      const dashboard = await start(how);
      const ready = await fetch(`${dashboard.url}/readyz`);
      expect([ready.status, await ready.json()]).toEqual([200, { status: "ready" }]);
      const cookie = (await signIn(dashboard.url, USER)).cookie;
      const status = async (headers: Record<string, string>) =>
        (await fetch(`${dashboard.url}/metrics`, { headers })).status;
      expect(await status({})).toBe(401);
      expect(await status({ cookie })).toBe(403);
      expect(await status({ authorization: `Bearer ${TOKEN}` })).toBe(200);
    },
  );
});

const CREDENTIALS = {
  accounts: [{ ...USER, role: "operator" }],
  tokens: [{ name: "prometheus", token: TOKEN, role: "viewer" }],
} as const;

async function signIn(url: string, given: typeof USER, headers: Record<string, string> = {}) {
  const response = await fetch(`${url}/api/session`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(given),
  });
  const [cookie = "", browser = ""] = response.headers
    .getSetCookie()
    .map((set) => set.split(";")[0] ?? "");
  return { status: response.status, cookie, browser };
}

const forwardedFor = (address: string) => ({ "x-forwarded-for": address });

/** Sends wrong passwords, 400 at a time, until all are answered or it is stopped. */
function attack(url: string, how: { guesses: number; from: (guess: number) => string }) {
  const agent = new Agent({ keepAlive: true, maxSockets: 400 });
  const statuses: (number | undefined)[] = [];
  for (let guess = 0; guess < how.guesses; guess += 1) {
    const headers = { "content-type": "application/json", "x-forwarded-for": how.from(guess) };
    const sent = request(`${url}/api/session`, { method: "POST", agent, headers }, (response) => {
      statuses.push(response.statusCode);
      response.resume();
    });
    sent.on("error", () => {});
    sent.end(JSON.stringify({ user: "ops", password: `guess ${guess}` }));
  }
  return { statuses, stop: () => agent.destroy() };
}

/** The counter of sign-ins by result. */
async function signInSamples(url: string): Promise<Readonly<Record<string, number>>> {
  const headers = { authorization: `Bearer ${TOKEN}` };
  const text = await (await fetch(`${url}/metrics`, { headers })).text();
  const samples = text.matchAll(/^millrace_dashboard_sign_ins_total\{result="(\w+)".*\} (\d+)$/gm);
  return Object.fromEntries([...samples].map(([, result = "", count]) => [result, Number(count)]));
}

interface Entry {
  readonly actor: string | null;
  readonly via: string;
  readonly result: Readonly<Record<string, unknown>>;
}

async function inAudit(pipeline: Pipeline, action: string): Promise<Entry[]> {
  const { rows } = await pipeline.database.query<Entry>(
    "select actor, via, result from millrace.audit where action = $1 order by id",
    [action],
  );
  return rows;
}

/** The gathered failures: a network, and how many. */
async function failuresInAudit(pipeline: Pipeline) {
  const entries = await inAudit(pipeline, "sign_in_failed");
  return entries.map(({ result }) => ({
    network: String(result["network"]),
    failures: Number(result["wrong_password"] ?? 0) + Number(result["too_many_failures"] ?? 0),
  }));
}
