import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { onPostgres, openOn, type TestServers } from "../support/backends.ts";
import { createPipeline, type Pipeline } from "../support/pipeline.ts";
import { readMetric } from "../support/metrics.ts";
import { until } from "../support/until.ts";
import { startAttackers, type Attack, type Attackers } from "./attackers.ts";
import { compare, deliverGood, type Delivered } from "./good-deliveries.ts";

// A stranger opens more connections than the ingress may have, and delivers nothing on any of them.

const CONNECTIONS_MAX = 300;
const DELIVERIES = 200;

let servers: TestServers;
let pipeline: Pipeline;
let port: number;
let url: string;
let quiet: Delivered;
let attackers: Attackers | undefined;

beforeAll(async () => {
  servers = await onPostgres();
  pipeline = await openOn(servers, () => createPipeline(servers));
  const limit = { TEST_CONNECTIONS_MAX: String(CONNECTIONS_MAX) };
  ({ url } = await pipeline.start("ingress", limit));
  port = Number(new URL(url).port);
  await deliverGood(port, DELIVERIES);
  quiet = await deliverGood(port, DELIVERIES, undefined, { keepAlive: false });
});
afterEach(async () => {
  await attackers?.stop();
  attackers = undefined;
});
afterAll(async () => {
  await pipeline?.stop();
  await servers?.release();
});

const dropped = async () =>
  (await readMetric(url, "millrace_ingress_connections_dropped_total")) ?? -1;

test.each<[string, Attack["kind"]]>([
  ["that say nothing", "silent"],
  ["that are answered once, and then send half a head", "half-head"],
  ["that hold back the last byte of a small body", "hold-back"],
])("as many connections as there may be, %s, keep out no good delivery", async (what, kind) => {
  const before = await dropped();
  const connections = CONNECTIONS_MAX + 20;
  attackers = startAttackers(port, { kind, connections, bytes: 100, spreadMs: 5, pauseMs: 200 });
  await until(async () => (await dropped()) > before, {
    what: "more connections than there may be",
  });
  const delivered = await deliverGood(port, DELIVERIES, undefined, { keepAlive: false });
  process.stdout.write(compare(`${connections} connections ${what}`, quiet, delivered));
  expect(Object.keys(delivered.statuses)).toEqual(["202"]);
  expect(await dropped()).toBeGreaterThan(before + 20);
});
