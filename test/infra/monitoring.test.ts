import { readFile } from "node:fs/promises";
import { request } from "node:http";
import { basename, dirname, join } from "node:path";
import { environmentSchema, ERROR_CODES } from "@millrace/core";
import { beforeAll, expect, test } from "vitest";
import { parse } from "yaml";
import { onRedis } from "../support/backends.ts";
import { openForAll } from "../support/open-for.ts";
import { post, startStack, type Stack } from "../support/pipeline.ts";
import { reaches } from "../support/seen-events.ts";
import { describeOnRedis } from "../support/redis.ts";
import { until } from "../support/until.ts";
import { environmentOf, readComposeFile } from "./compose-file.ts";
import { ROOT } from "./context.ts";
import { parsePromql, type Selector } from "./promql.ts";

const INFRA = join(ROOT, "infra");
const read = async (path: string): Promise<string> => await readFile(join(INFRA, path), "utf8");

interface Scrape {
  readonly job_name: string;
  readonly authorization?: { readonly credentials_file: string };
  readonly static_configs: readonly { readonly targets: readonly string[] }[];
}
interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly description: string };
}
interface Panel {
  readonly title: string;
  readonly datasource: { readonly uid: string };
  readonly targets: readonly { readonly expr: string; readonly legendFormat: string }[];
}

const scrapes = async () =>
  (parse(await read("prometheus/prometheus.yml")) as { scrape_configs: Scrape[] }).scrape_configs;
const rules = async () =>
  (parse(await read("prometheus/alerts.yml")) as { groups: { rules: Rule[] }[] }).groups.flatMap(
    (group) => group.rules,
  );
const readDashboard = async () =>
  JSON.parse(await read("grafana/dashboards/millrace.json")) as {
    panels: Panel[];
    templating: { list: { name: string; definition: string; allValue: string }[] };
  };
const panels = async () => (await readDashboard()).panels;

/** With every variable at "All". */
async function withVariables(expression: string): Promise<string> {
  const { list } = (await readDashboard()).templating;
  return list.reduce(
    (text, { name, allValue }) => text.replaceAll(`"$${name}"`, `"${allValue}"`),
    expression.replaceAll("$__rate_interval", "5m"),
  );
}

test("every process of the compose file is scraped, at its port", async () => {
  const { services } = await readComposeFile();
  const ports = environmentSchema.parse({});
  const wanted = Object.entries(services).flatMap(([name, { command = [] }]) => {
    const port = { ingress: 1, worker: 1, dashboard: 1 }[command[0] ?? ""];
    if (port === undefined) return [];
    const variable = `${command[0]?.toUpperCase()}_PORT` as "INGRESS_PORT";
    return [`millrace-${command[0]} ${name}:${ports[variable]}`];
  });
  const scraped = (await scrapes()).flatMap(({ job_name, static_configs }) =>
    static_configs.flatMap(({ targets }) => targets.map((target) => `${job_name} ${target}`)),
  );
  expect(scraped.toSorted()).toEqual(wanted.toSorted());
});

test("Prometheus scrapes the dashboard with a viewer's token", async () => {
  const { services, secrets } = await readComposeFile();
  const { DASHBOARD_VIEWER_TOKEN } = await environmentOf(services["dashboard"]);
  const [authorization] = (await scrapes()).flatMap((scraped) => scraped.authorization ?? []);
  const file = authorization?.credentials_file ?? "";
  const secret = basename(file);
  expect(dirname(file)).toBe("/run/secrets");
  expect(services["prometheus"]?.secrets).toEqual([secret]);
  expect(await read(`${secrets[secret]?.file}.example`)).toBe(DASHBOARD_VIEWER_TOKEN);
});

test("every alert has a name of its own, says how urgent it is, and what to do", async () => {
  const all = await rules();
  expect(new Set(all.map(({ alert }) => alert)).size).toBe(all.length);
  for (const { alert, labels, annotations } of all) {
    expect(alert).toMatch(/^Millrace[A-Z]\w+$/);
    expect(["page", "ticket"]).toContain(labels.severity);
    expect(annotations).toEqual({ summary: expect.any(String), description: expect.any(String) });
  }
});

test("the dashboard asks the data source that is provisioned", async () => {
  const source = parse(await read("grafana/provisioning/datasources/prometheus.yml")) as {
    datasources: { uid: string }[];
  };
  const uids = source.datasources.map(({ uid }) => uid);
  for (const { datasource } of await panels()) expect(uids).toContain(datasource.uid);
});

describeOnRedis("what real roles export", () => {
  const stack = openForAll(() => startStack(onRedis, { env: LOGIN, worker: false }));
  let exported: Exported;

  beforeAll(async () => {
    const worker = await stack.pipeline.startInProcess("worker");
    const dashboard = await stack.pipeline.start("dashboard");
    const { ingress } = stack;
    await makeTraffic(stack);
    const texts = await until(async () => {
      const found = await Promise.all([ingress, worker, dashboard].map(scrape));
      return readExported(found).labels.has("millrace_worker_handler_seconds_bucket") && found;
    });
    exported = readExported(texts);
  });

  test("has every metric and label that the alerts and the dashboard ask for", async () => {
    const expressions = await Promise.all(
      [
        ...(await rules()).map(({ expr }) => expr),
        ...(await panels()).flatMap(({ targets }) => targets.map(({ expr }) => expr)),
      ].map(withVariables),
    );
    expect(expressions.length).toBeGreaterThan(20);
    const problems = expressions.flatMap((expression) =>
      problemsOf(expression, exported).map((problem) => `${problem}, in ${expression}`),
    );
    expect(problems).toEqual([]);
  });

  test("is narrowed by every variable of the dashboard, where it has the label", async () => {
    const { templating, panels: all } = await readDashboard();
    expect(templating.list.map(({ name }) => name)).toEqual(["source", "instance"]);
    for (const { name, definition } of templating.list) {
      const [, series = "", label] = /^label_values\((.+), (\w+)\)$/.exec(definition) ?? [];
      expect(label).toBe(name);
      expect(problemsOf(series, exported)).toEqual([]);
    }
    for (const { expr } of all.flatMap(({ targets }) => targets)) {
      for (const selector of parsePromql(expr.replaceAll("$__rate_interval", "5m")).selectors) {
        const narrowing = selector.matchers.filter(({ value }) => value.startsWith("$"));
        const wanted = ["source", "instance"].filter((each) => hasLabel(exported, selector, each));
        expect(narrowing.map(({ label, value }) => value === `$${label}` && label)).toEqual(wanted);
      }
    }
  });

  test("has every label that the dashboard's legends name", async () => {
    const missing = (await panels()).flatMap(({ title, targets }) =>
      targets.flatMap(({ expr, legendFormat }) => {
        const named = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = ""]) => label);
        const { selectors, grouping } = parsePromql(expr.replaceAll("$__rate_interval", "5m"));
        const has = (label: string) =>
          grouping.includes(label) ||
          (grouping.length === 0 && selectors.every((one) => hasLabel(exported, one, label)));
        return named.filter((label) => !has(label)).map((label) => `${title}: ${label}`);
      }),
    );
    expect(missing).toEqual([]);
  });
});

interface Listening {
  readonly url: string;
}

const LOGIN = { DASHBOARD_VIEWER_TOKEN: "a-token-for-prometheus" };

async function scrape({ url }: Listening): Promise<string> {
  const authorization = `Bearer ${LOGIN.DASHBOARD_VIEWER_TOKEN}`;
  const response = await fetch(`${url}/metrics`, { headers: { authorization } });
  expect(response.status).toBe(200);
  return await response.text();
}

async function makeTraffic({ pipeline, ingress }: Stack): Promise<void> {
  await post(ingress.url, { id: "msg_good", type: "test.effect" });
  await post(ingress.url, { id: "msg_bad", type: "test.never" });
  const unsigned = await fetch(`${ingress.url}/webhooks/acme`, { method: "POST", body: "{}" });
  expect(unsigned.status).toBe(401);
  expect(await sendCutUp(ingress)).toBe(400);
  await reaches(pipeline.database, "msg_good", "completed");
  await reaches(pipeline.database, "msg_bad", "failed");
}

function sendCutUp({ url }: Listening): Promise<number | undefined> {
  const headers = {
    "webhook-id": "msg_cut_up",
    "webhook-timestamp": String(Math.floor(Date.now() / 1_000)),
    "webhook-signature": `v1,${Buffer.alloc(32).toString("base64")}`,
  };
  return new Promise((resolve, reject) => {
    const sent = request(`${url}/webhooks/acme`, { method: "POST", headers }, (response) => {
      resolve(response.statusCode);
      sent.destroy();
    });
    sent.on("error", reject);
    for (let chunks = 0; chunks < 300; chunks += 1) sent.write("x");
  });
}

const OF_TARGETS: Readonly<Record<string, readonly string[]>> = {
  job: ["millrace-ingress", "millrace-worker", "millrace-dashboard"],
  instance: ["ingress-a:3000"],
};

function problemsOf(expression: string, exported: Exported): string[] {
  const { selectors, grouping } = parsePromql(expression);
  return selectors.flatMap((selector) => {
    const { metric, matchers } = selector;
    // Prometheus makes it of each target.
    if (metric !== "up" && !exported.names.has(metric)) return [`nobody exports ${metric}`];
    const wanted = [...grouping, ...matchers.map(({ label }) => label)];
    const labels = wanted
      .filter((label) => !hasLabel(exported, selector, label))
      .map((label) => `${metric} has no label ${label}`);
    const values = matchers
      .filter((matcher) => !isSeen(exported, metric, matcher))
      .map(({ label, operator, value }) => `${metric} is never ${label}${operator}"${value}"`);
    return labels.length > 0 ? labels : values;
  });
}

function hasLabel(exported: Exported, { metric }: Selector, label: string): boolean {
  return label in OF_TARGETS || exported.labels.get(metric)?.has(label) === true;
}

function isSeen(
  exported: Exported,
  metric: string,
  { label, operator, value }: Selector["matchers"][number],
): boolean {
  const seen =
    OF_TARGETS[label] ??
    // Not every error can be made here; the registry has them all.
    (label === "code"
      ? Object.keys(ERROR_CODES)
      : [...(exported.labels.get(metric)?.get(label) ?? [])]);
  if (operator === "=") return seen.includes(value);
  const pattern = new RegExp(`^(?:${value})$`);
  return seen.some((known) => pattern.test(known));
}

type Exported = ReturnType<typeof readExported>;

function readExported(texts: readonly string[]) {
  const names = new Set<string>();
  const labels = new Map<string, Map<string, Set<string>>>();
  for (const line of texts.flatMap((text) => text.split("\n"))) {
    const [, declared, type] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? [];
    // A counter that nothing has counted yet is declared, and has no sample.
    if (declared !== undefined) for (const name of samplesOf(declared, type)) names.add(name);
    const [, name, pairs = ""] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? \S+$/.exec(line) ?? [];
    if (name === undefined) continue;
    const seen = labels.get(name) ?? new Map<string, Set<string>>();
    labels.set(name, seen);
    for (const [, label = "", value = ""] of pairs.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) {
      seen.set(label, (seen.get(label) ?? new Set()).add(value));
    }
  }
  return { names, labels };
}

function samplesOf(name: string, type: string | undefined): string[] {
  if (type !== "histogram") return [name];
  return [`${name}_bucket`, `${name}_sum`, `${name}_count`];
}
