import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { dashboardConnections, ingressConnections, workerConnections } from "@millrace/connect";
import { environmentSchema, readEnvironment, secretVariable, withUrl } from "@millrace/core";
import { loadConfig } from "@millrace/service";
import { beforeAll, expect, test } from "vitest";
import { STORE_CONFIG } from "../support/run-in-process.ts";
import {
  environmentOf,
  readComposeFile,
  settingsOf,
  timesToStop,
  type ComposeFile,
  type Service,
} from "./compose-file.ts";
import { ROOT } from "./context.ts";

const ROLES = ["ingress", "worker", "dashboard"];
const ONCE = ["roles", "migrate", "grants"];
let compose: ComposeFile;
let ours: [name: string, service: Service][];
beforeAll(async () => {
  compose = await readComposeFile();
  ours = Object.entries(compose.services).filter(([, { image }]) => image.startsWith("millrace:"));
});

const roleOf = (service: Service) => service.command?.[0] ?? "";
const countOf = (role: string) => ours.filter(([, service]) => roleOf(service) === role).length;

test("there are two ingresses, two workers, a dashboard and one migration", () => {
  expect(["migrate", ...ROLES].map(countOf)).toEqual([1, 2, 2, 1]);
  expect(ours).toHaveLength(6);
});

test("every role is asked for its own readiness, ends by its signal, and writes nowhere", () => {
  for (const [, service] of ours) {
    expect(service).toMatchObject({ init: true, read_only: true });
    if (roleOf(service) === "migrate") continue;
    expect(service.healthcheck?.test).toEqual([
      ...["CMD", "node", "infra/healthcheck.mjs", "/readyz", roleOf(service)],
    ]);
    expect(service.restart).toBe("unless-stopped");
  }
});

test("every role gets variables that it knows, and takes their values", async () => {
  const { config } = await loadConfig(STORE_CONFIG);
  const secrets = Object.keys(withUrl(config.sources)).map(secretVariable);
  const known = Object.keys(environmentSchema.shape);
  for (const [, service] of ours) {
    const env = await environmentOf(service);
    const isIngress = roleOf(service) === "ingress";
    expect(
      Object.keys(env)
        .filter((name) => !known.includes(name))
        .toSorted(),
    ).toEqual(isIngress ? secrets.toSorted() : []);
    expect(() => readEnvironment(env)).not.toThrow();
    expect(env).toHaveProperty("DATABASE_URL");
    expect("REDIS_URL" in env).toBe(roleOf(service) !== "migrate");
    expect("RETENTION_DATABASE_URL" in env).toBe(roleOf(service) === "worker");
  }
});

test("only the dashboard is given its password and token, and Prometheus' name is one it is reached by", async () => {
  for (const [name, service] of ours) {
    const { DASHBOARD_USER, DASHBOARD_PASSWORD, DASHBOARD_VIEWER_TOKEN, DASHBOARD_HOSTS } =
      await environmentOf(service);
    const doors = [DASHBOARD_USER, DASHBOARD_PASSWORD, DASHBOARD_VIEWER_TOKEN];
    const isThere = doors.every((value) => value !== undefined);
    expect(doors.some((value) => value !== undefined)).toBe(isThere);
    expect(isThere).toBe(name === "dashboard");
    if (isThere) expect(DASHBOARD_HOSTS?.split(",")).toContain("dashboard");
  }
});

test("each role has its own login, with the password that the servers are given for it", async () => {
  const roles = await environmentOf(compose.services["roles"]);
  const redis = await environmentOf(compose.services["redis"]);
  const postgres = await environmentOf(compose.services["postgres"]);
  // The tables of one named "millrace" would be made in Millrace's schema.
  expect(postgres["POSTGRES_USER"]).toBe("postgres");
  for (const [, service] of ours) {
    const role = roleOf(service);
    const { DATABASE_URL, RETENTION_DATABASE_URL, REDIS_URL } = await environmentOf(service);
    const login = role === "migrate" ? "owner" : role;
    const logins = { [login]: DATABASE_URL, retention: RETENTION_DATABASE_URL };
    for (const [name, url] of Object.entries(logins).filter(([, text]) => text !== undefined)) {
      expect(partsOf(url ?? "")).toEqual({
        host: "postgres:5432",
        user: `millrace_${name}`,
        password: roles[`MILLRACE_${name.toUpperCase()}_PASSWORD`],
        path: `/${roles["POSTGRES_DB"]}`,
      });
    }
    if (REDIS_URL === undefined) continue;
    expect(partsOf(REDIS_URL)).toMatchObject({
      host: "redis:6379",
      user: `millrace-${role}`,
      password: redis[`REDIS_${role.toUpperCase()}_PASSWORD`],
    });
  }
});

test("every role of roles.sql and user of users.acl has a password from the environment", async () => {
  const read = (...path: string[]) => readFile(join(ROOT, "infra", ...path), "utf8");
  const [sql, passwords] = [
    await read("postgres", "roles.sql"),
    await read("postgres", "passwords.sql"),
  ];
  const logins = [...new Set(sql.match(/'millrace_\w+'/g))].map((name) => name.slice(1, -1));
  const given = await environmentOf(compose.services["roles"]);
  expect(logins).toHaveLength(5);
  for (const login of logins) {
    const name = login.replace("millrace_", "");
    expect(passwords).toContain(`\\getenv ${name} MILLRACE_${name.toUpperCase()}_PASSWORD\n`);
    expect(passwords).toContain(`ALTER ROLE ${login} PASSWORD :'${name}';\n`);
    expect(given).toHaveProperty(`MILLRACE_${name.toUpperCase()}_PASSWORD`);
  }
  const [acl, start] = [await read("redis", "users.acl"), await read("redis", "start.sh")];
  const marks = [...acl.matchAll(/ #(\w+) /g)].map(([, mark = ""]) => mark);
  expect(marks).toHaveLength(4);
  for (const mark of marks) expect(start).toContain(`s/#${mark}/`);
});

function partsOf(text: string) {
  const { host, username: user, password, pathname: path } = new URL(text);
  return { host, user, password: decodeURIComponent(password), path };
}

test("who waits for a service's health waits for one that is checked, and all wait for the tables", () => {
  for (const [, service] of ours) {
    for (const [name, { condition }] of Object.entries(service.depends_on ?? {})) {
      const other = compose.services[name];
      if (condition === "service_healthy") expect(other?.healthcheck?.test).toBeDefined();
      else {
        expect(condition).toBe("service_completed_successfully");
        expect(ONCE).toContain(name);
      }
    }
    const before = roleOf(service) === "migrate" ? "roles" : "grants";
    expect(service.depends_on).toHaveProperty(before);
  }
  expect(compose.services["grants"]?.depends_on).toHaveProperty("migrate");
  for (const name of ONCE) expect(compose.services[name]?.restart).toBe("no");
});

test("ports are published on loopback alone, each once, and those of the roles are the defaults", () => {
  const defaults = environmentSchema.parse({});
  const published = Object.values(compose.services).flatMap(({ ports = [] }) => ports);
  for (const port of published) expect(port).toMatch(/^127\.0\.0\.1:\d+:\d+$/);
  expect(new Set(published.map((port) => port.split(":")[1])).size).toBe(published.length);
  const inside = (role: string) =>
    ours
      .filter(([, service]) => roleOf(service) === role)
      .flatMap(([, { ports = [] }]) => ports.map((port) => Number(port.split(":")[2])));
  expect(inside("ingress")).toEqual([defaults.INGRESS_PORT, defaults.INGRESS_PORT]);
  expect(inside("dashboard")).toEqual([defaults.DASHBOARD_PORT]);
  expect(compose.services["redis"]?.ports).toBeUndefined();
  expect(compose.services["postgres"]?.ports).toBeUndefined();
});

test("every role is given more time to stop than it takes", async () => {
  const takesMs = await timesToStop();
  for (const [, service] of ours) {
    if (roleOf(service) === "migrate") continue;
    const [, seconds] = /^(\d+)s$/.exec(service.stop_grace_period ?? "") ?? [];
    expect(Number(seconds) * 1_000).toBeGreaterThan(takesMs[roleOf(service)] ?? Infinity);
  }
});

test("Postgres has connections for one more of each role, and for people", async () => {
  const { config } = await loadConfig(STORE_CONFIG);
  const settings = settingsOf(compose.services["postgres"]?.command ?? []);
  const { max_connections } = Object.fromEntries(settings);
  const wanted =
    (countOf("worker") + 1) * workerConnections(config.worker.concurrency) +
    (countOf("ingress") + 1) * ingressConnections +
    (countOf("dashboard") + 1) * dashboardConnections;
  expect(Number(max_connections)).toBeGreaterThan(wanted + 20);
});
