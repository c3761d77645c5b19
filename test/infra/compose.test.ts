import { existsSync } from "node:fs";
import { join } from "node:path";
import { dashboardConnections, ingressConnections, workerConnections } from "@millrace/connect";
import { environmentSchema, readEnvironment, secretVariable } from "@millrace/core";
import { loadConfig } from "@millrace/service";
import { beforeAll, expect, test } from "vitest";
import { millrace, STORE_CONFIG } from "../support/run-in-process.ts";
import {
  environmentOf,
  readComposeFile,
  readExample,
  settingsOf,
  type ComposeFile,
  type Service,
} from "./compose-file.ts";
import { ROOT } from "./context.ts";

const ROLES = ["ingress", "worker", "dashboard"];
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

test("every command is one of millrace", async () => {
  for (const [, { command = [] }] of ours) {
    expect(command).toHaveLength(1);
    expect(await millrace(["help", ...command])).toMatchObject({ code: 0 });
  }
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
  const secrets = Object.keys(config.sources).map(secretVariable);
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
    expect(env).toMatchObject({ DATABASE_URL: expect.any(String), REDIS_URL: expect.any(String) });
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

test("the URLs name the services, with the passwords that those are given", async () => {
  const { DATABASE_URL = "", REDIS_URL = "" } = await readExample("env/stores.env");
  const postgres = await environmentOf(compose.services["postgres"]);
  const redis = await environmentOf(compose.services["redis"]);
  expect(partsOf(DATABASE_URL)).toEqual({
    host: "postgres:5432",
    user: postgres["POSTGRES_USER"],
    password: postgres["POSTGRES_PASSWORD"],
    path: `/${postgres["POSTGRES_DB"]}`,
  });
  expect(partsOf(REDIS_URL)).toMatchObject({
    host: "redis:6379",
    password: redis["REDISCLI_AUTH"],
  });
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
      else expect([name, condition]).toEqual(["migrate", "service_completed_successfully"]);
    }
    if (roleOf(service) !== "migrate") expect(service.depends_on).toHaveProperty("migrate");
  }
  expect(compose.services["migrate"]?.restart).toBe("no");
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

test("everything that is mounted is declared, or lies in the repository", () => {
  for (const { volumes = [], secrets = [] } of Object.values(compose.services)) {
    for (const [source = ""] of volumes.map((volume) => volume.split(":"))) {
      if (source.startsWith(".")) expect(existsSync(join(ROOT, "infra", source))).toBe(true);
      else expect(Object.keys(compose.volumes)).toContain(source);
    }
    for (const secret of secrets) {
      const file = compose.secrets[secret]?.file ?? "";
      expect(existsSync(join(ROOT, "infra", `${file}.example`))).toBe(true);
    }
  }
});

test("every role is given more time to stop than it takes", async () => {
  const { config } = await loadConfig(STORE_CONFIG);
  // What each does after its own time: enqueue what is left; undo, tell the hooks, end the pools.
  const takesMs: Record<string, number> = {
    ingress: config.ingress.shutdownTimeoutMs + 5_000,
    worker: config.worker.shutdownTimeoutMs + 10_000,
    dashboard: 5_000 + 5_000,
  };
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
