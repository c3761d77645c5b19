import { beforeAll, expect, test } from "vitest";
import { onPostgres } from "../support/backends.ts";
import { readMetric } from "../support/metrics.ts";
import { openForAll } from "../support/open-for.ts";
import { startStack } from "../support/pipeline.ts";
import { until } from "../support/until.ts";
import { startAttackers, type Attack } from "./attackers.ts";
import { compare, deliverGood, type Delivered } from "./good-deliveries.ts";

const CONNECTIONS_MAX = 300;
const DELIVERIES = 200;

const stack = openForAll(() => startStack(onPostgres, { worker: false }));
let port: number;
let url: string;
let quiet: Delivered;

beforeAll(async () => {
  const limit = { TEST_CONNECTIONS_MAX: String(CONNECTIONS_MAX) };
  ({ url } = await stack.pipeline.start("ingress", limit));
  port = Number(new URL(url).port);
  await deliverGood(port, DELIVERIES);
  quiet = await deliverGood(port, DELIVERIES, undefined, { keepAlive: false });
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
  startAttackers(port, { kind, connections, bytes: 100, spreadMs: 5, pauseMs: 200 });
  await until(async () => (await dropped()) > before, {
    what: "more connections than there may be",
  });
  const delivered = await deliverGood(port, DELIVERIES, undefined, { keepAlive: false });
  process.stdout.write(compare(`${connections} connections ${what}`, quiet, delivered));
  expect(Object.keys(delivered.statuses)).toEqual(["202"]);
  expect(await dropped()).toBeGreaterThan(before + 20);
});
