import { Agent, request } from "node:http";
import { describe, expect, onTestFinished, test } from "vitest";
import { onPostgres } from "../support/backends.ts";
import { openForAll } from "../support/open-for.ts";
import { post, startStack } from "../support/pipeline.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { until } from "../support/until.ts";

const USER = { user: "ops", password: "a right password" };
const TOKEN = "a-token-of-prometheus";
const ENVIRONMENT = {
  DASHBOARD_USER: USER.user,
  DASHBOARD_PASSWORD: USER.password,
  DASHBOARD_VIEWER_TOKENS: `prometheus:${TOKEN}`,
};

const account = (password: string) => ({ user: USER.user, password, role: "operator" }) as const;
const token = (text: string) => ({ name: "prometheus", token: text, role: "viewer" }) as const;
const CREDENTIALS = { accounts: [account(USER.password)], tokens: [token(TOKEN)] };

describe("guessing at the dashboard's password", () => {
  const stack = openForAll(() => startStack(onPostgres, { env: ENVIRONMENT, worker: false }));

  const start = (credentials = CREDENTIALS) =>
    stack.pipeline.startInProcess("dashboard", {}, { dashboard: { credentials } });

  async function inAudit(action: string): Promise<Entry[]> {
    const { rows } = await stack.pipeline.database.query<Entry>(
      "select actor, via, result from millrace.audit where action = $1 order by id",
      [action],
    );
    return rows;
  }

  test.each([
    ["the password of the operator", { ...CREDENTIALS, accounts: [account("fifteen-letters")] }],
    ["the token prometheus", { ...CREDENTIALS, tokens: [token("fifteen-letters")] }],
  ])("%s needs 16 characters, on loopback too", async (secret, credentials) => {
    await expect(start(credentials)).rejects.toMatchObject({
      code: "invalid_config",
      message: expect.stringMatching(`${secret} is shorter than 16 characters.*openssl rand`),
    });
  });

  test("of 2,000 guesses from 200 addresses 30 a minute are checked, and sessions and tokens work", async () => {
    const dashboard = await stack.pipeline.start("dashboard", { TRUST_PROXY: "127.0.0.1" });
    const { status, cookie } = await signIn(dashboard.url, USER, forwardedFor("203.0.113.50"));
    expect(status).toBe(200);
    const beganMs = performance.now();
    const attacker = attack(dashboard.url, {
      guesses: 2_000,
      // The proxy adds its own entry last, and the client's own entries do not count.
      from: (guess) => `192.0.2.${guess % 9}, 198.51.100.${guess < 500 ? 1 : (guess % 200) + 1}`,
    });
    await until(() => attacker.statuses.length >= 500);
    // While it goes on, a new sign-in is refused, and whoever is known is served.
    const refused = await signIn(dashboard.url, USER, forwardedFor("203.0.113.51"));
    expect(refused.status).toBe(429);
    expect(refused.retrySeconds).toBeGreaterThan(0);
    expect(refused.retrySeconds).toBeLessThanOrEqual(60);
    const stats = async (headers: Record<string, string>) =>
      (await fetch(`${dashboard.url}/api/stats`, { headers })).status;
    expect(await stats({ cookie })).toBe(200);
    expect(await stats({ authorization: `Bearer ${TOKEN}` })).toBe(200);
    expect(await stats({ authorization: "Bearer a-token-that-is-guessed" })).toBe(429);
    await until(() => attacker.statuses.length === 2_000);
    attacker.stop();
    const minutes = Math.ceil((performance.now() - beganMs) / 60_000);

    const checked = attacker.statuses.filter((of) => of === 401).length;
    expect(checked).toBeGreaterThanOrEqual(30);
    expect(checked).toBeLessThanOrEqual(30 * minutes);
    expect(new Set(attacker.statuses)).toEqual(new Set([401, 429]));
    const samples = await signInSamples(dashboard.url);
    expect(samples).toEqual({
      ...{ signed_in: 1, wrong_password: checked, wrong_token: 0 },
      too_many_failures: 2_002 - checked,
    });
    await until(async () => (await inAudit("sign_in_failed")).length > 0);
    await dashboard.end("SIGTERM");

    // One a minute, and those that were left when the dashboard closed.
    const entries = await inAudit("sign_in_failed");
    expect(entries.length).toBeLessThanOrEqual(minutes + 1);
    expect(failuresOf(entries)).toBe(2_002);
    for (const { result } of entries) expect(worstOf(result).length).toBeLessThanOrEqual(3);
    const [worst] = entries.flatMap(({ result }) => worstOf(result));
    expect(worst?.network).toBe("198.51.100.1");
    const lines = dashboard.output().split("\n");
    expect(lines.filter((line) => line.includes('"sign-ins failed"'))).toHaveLength(entries.length);
    expect(await inAudit("sign_in")).toEqual([
      { actor: "ops", via: "session", result: { network: "203.0.113.50" } },
    ]);
  });

  test("X-Forwarded-For of a stranger is not believed", async () => {
    const dashboard = await start();
    const before = (await inAudit("sign_in_failed")).length;
    for (let guess = 0; guess < 15; guess += 1) {
      const wrong = { ...USER, password: `guess ${guess}` };
      const { status } = await signIn(dashboard.url, wrong, forwardedFor(`192.0.2.${guess}`));
      expect(status).toBe(401);
    }
    expect((await signIn(dashboard.url, USER)).status).toBe(200);
    await dashboard.close();
    const entries = (await inAudit("sign_in_failed")).slice(before);
    const networks = entries.flatMap(({ result }) => worstOf(result).map(({ network }) => network));
    expect(new Set(networks)).toEqual(new Set(["127.0.0.1"]));
    expect(failuresOf(entries)).toBe(15);
  });

  test("who reads a body is in the audit by name, once", async () => {
    const dashboard = await start();
    await post(stack.ingress.url, { id: "evt_read_1", type: "test.effect" });
    const headers = { authorization: `Bearer ${TOKEN}` };
    const read = () => fetch(`${dashboard.url}/api/events/acme/evt_read_1`, { headers });
    expect((await read()).status).toBe(200);
    expect((await read()).status).toBe(200);
    expect(await inAudit("read_body")).toEqual([
      { actor: "prometheus", via: "token", result: { shown: true } },
    ]);
    const { rows } = await stack.pipeline.database.query(
      "select source, event_id, generation from millrace.audit where action = 'read_body'",
    );
    expect(rows).toEqual([{ source: "acme", event_id: "evt_read_1", generation: 0 }]);
  });

  test("a person signs in while Postgres is away", async () => {
    const proxy = await startTcpProxy(stack.servers.databaseUrl);
    onTestFinished(() => proxy.close());
    const env = { DATABASE_URL: proxy.url };
    const how = { dashboard: { credentials: CREDENTIALS } };
    const dashboard = await stack.pipeline.startInProcess("dashboard", env, how);
    proxy.freeze();
    const beganMs = performance.now();
    const { status, cookie } = await signIn(dashboard.url, USER);
    expect(status).toBe(200);
    const who = await fetch(`${dashboard.url}/api/session`, { headers: { cookie } });
    expect(await who.json()).toMatchObject({ user: "ops", via: "session" });
    expect(performance.now() - beganMs).toBeLessThan(5_000);
    proxy.thaw();
    await dashboard.close();
  });

  test("a stolen session is listed and ended alone, at every dashboard", async () => {
    const [one, other] = await Promise.all([start(), start()]);
    const stolen = await signIn(one.url, USER);
    const own = await signIn(one.url, USER);
    const status = async (url: string, { cookie }: { cookie: string }) =>
      (await fetch(`${url}/api/stats`, { headers: { cookie } })).status;
    expect(await status(other.url, stolen)).toBe(200);
    const id = stolen.cookie.split(".")[4] ?? "";
    const asOwn = { headers: { cookie: own.cookie, "content-type": "application/json" } };
    const listed = await fetch(`${one.url}/api/sessions`, asOwn);
    expect(await listed.text()).toContain(id);
    const end = async () =>
      (await fetch(`${one.url}/api/sessions/${id}/end`, { ...asOwn, method: "POST", body: "{}" }))
        .status;
    expect(await end()).toBe(200);
    for (const { url } of [one, other]) {
      await until(async () => (await status(url, stolen)) === 401, { withinMs: 12_000 });
      expect(await status(url, own)).toBe(200);
    }
    expect(await end()).toBe(404);
    await Promise.all([one.close(), other.close()]);
  });
});

async function signIn(url: string, given: typeof USER, headers: Record<string, string> = {}) {
  const response = await fetch(`${url}/api/session`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(given),
  });
  const [cookie = ""] = response.headers.getSetCookie().map((set) => set.split(";")[0] ?? "");
  const retrySeconds = Number(response.headers.get("retry-after"));
  return { status: response.status, cookie, retrySeconds };
}

const forwardedFor = (address: string) => ({ "x-forwarded-for": address });

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

const worstOf = (result: Entry["result"]) =>
  result["worst"] as readonly { readonly network: string; readonly failures: number }[];

function failuresOf(entries: readonly Entry[]): number {
  const counts = ["wrong_password", "wrong_token", "too_many_failures"];
  const all = entries.flatMap(({ result }) => counts.map((name) => Number(result[name] ?? 0)));
  return all.reduce((sum, count) => sum + count, 0);
}
