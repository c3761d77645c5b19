import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { environmentSchema } from "@millrace/core";
import { beforeAll, expect, test } from "vitest";
import { readComposeFile, settingsOf, type ComposeFile } from "./compose-file.ts";
import { ROOT } from "./context.ts";

let page: string;
let sizing: string;
let monitoring: string;
let compose: ComposeFile;
beforeAll(async () => {
  page = await readFile(join(ROOT, "docs", "deployment.md"), "utf8");
  sizing = await readFile(join(ROOT, "docs", "sizing.md"), "utf8");
  monitoring = await readFile(join(ROOT, "docs", "monitoring.md"), "utf8");
  compose = await readComposeFile();
});

const found = (text: string, pattern: RegExp) =>
  [...text.matchAll(pattern)].map(([, match = ""]) => match);

test("the page on monitoring has every alert, and no other", async () => {
  const rules = await readFile(join(ROOT, "infra", "prometheus", "alerts.yml"), "utf8");
  const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name = ""]) => name);
  expect(alerts.length).toBeGreaterThan(10);
  const named = found(monitoring, /`(Millrace[A-Z]\w+)`/g);
  expect(named.toSorted()).toEqual(alerts.toSorted());
});

test("the page has every service and every file of variables", () => {
  for (const [name, { env_file = [] }] of Object.entries(compose.services)) {
    expect(page).toContain(`\`${name}\``);
    for (const file of env_file) expect(page).toContain(`| \`${file.replace("env/", "")}\` `);
  }
});

test("the page gives the reason of each setting of Postgres and Redis", () => {
  const postgres = settingsOf(compose.services["postgres"]?.command ?? []);
  const rows = found(sizing, /^\| `(\w+=\w+)` /gm);
  expect(rows).toEqual(postgres.map(([name, value]) => `${name}=${value}`));

  const words = (compose.services["redis"]?.command ?? []).slice(3);
  const redis = words.flatMap((word, index) =>
    word.startsWith("--") ? [`${word.slice(2)} ${words[index + 1] || '""'}`] : [],
  );
  expect(redis.length).toBeGreaterThan(3);
  for (const setting of redis) expect(sizing).toContain(`| \`${setting}\` `);
});

test("the page gives each role the time to stop that the compose file gives it", () => {
  for (const role of ["ingress", "worker", "dashboard"]) {
    const service = Object.values(compose.services).find(({ command }) => command?.[0] === role);
    expect(page).toMatch(new RegExp(`^\\| ${role} .*\\| ${service?.stop_grace_period} +\\|$`, "m"));
  }
});

test("the files of the platforms have commands, ports, and variables that exist", async () => {
  const { INGRESS_PORT, WORKER_PORT, DASHBOARD_PORT } = environmentSchema.parse({});
  const ports = [INGRESS_PORT, WORKER_PORT, DASHBOARD_PORT].map(String);
  const commands = ["ingress", "worker", "dashboard", "migrate"];
  for (const name of await readdir(join(ROOT, "infra/platforms"))) {
    const text = await readFile(join(ROOT, "infra/platforms", name), "utf8");
    const named = found(text, /(?:millrace(?:\.mjs)? |(?:args: |command": )\["?)([a-z]+)/g);
    expect(commands, name).toEqual(expect.arrayContaining(named));
    expect(ports, name).toEqual(expect.arrayContaining(found(text, /[pP]ort\W+(\d+)/g)));
    const used = found(text, /\b([A-Z]{3,}_[A-Z_]+)\b/g);
    expect(Object.keys(environmentSchema.shape), name).toEqual(expect.arrayContaining(used));
  }
});
