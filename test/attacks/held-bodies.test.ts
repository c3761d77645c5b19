import { beforeAll, beforeEach, expect, test } from "vitest";
import { connect } from "../intake/raw-connection.ts";
import { onRedis } from "../support/backends.ts";
import { readMetric } from "../support/metrics.ts";
import type { MillraceProcess } from "../support/millrace-process.ts";
import { openForAll } from "../support/open-for.ts";
import { startStack } from "../support/pipeline.ts";
import { describeOnRedis } from "../support/redis.ts";
import { until } from "../support/until.ts";
import { headOf, startAttackers, type Attack } from "./attackers.ts";
import { compare, deliverGood, type Delivered } from "./good-deliveries.ts";

const DELIVERIES = 200;
const IN_FLIGHT = "millrace_ingress_bytes_in_flight";
const IN_FLIGHT_MAX = 64 * 1024 * 1024;
const GROWTH_BYTES_MAX = 300 * 1024 * 1024;

const LARGE: Attack = {
  kind: "hold-back",
  connections: 16,
  bytes: 4 * 1024 * 1024,
  pauseMs: 2_000,
};

describeOnRedis("bodies that are held back or cut up, at an ingress with its defaults", () => {
  const stack = openForAll(() => startStack(onRedis, { worker: false }));
  let ingress: MillraceProcess;
  let port: number;
  let quiet: Delivered;

  beforeAll(async () => {
    ingress = await stack.pipeline.start("ingress");
    port = Number(new URL(ingress.url).port);
    await deliverGood(port, DELIVERIES);
    quiet = await deliverGood(port, DELIVERIES);
  });
  beforeEach(() => until(async () => (await metric(IN_FLIGHT)) === 0));

  const metric = async (beginning: string) => (await readMetric(ingress.url, beginning)) ?? 0;
  const refusals = (reason: string) =>
    metric(`millrace_ingress_admission_refused_total{source="github",reason="${reason}"`);
  const residentBytes = () => metric("process_resident_memory_bytes");

  async function deliverBeside(
    what: string,
    attackers: readonly ReturnType<typeof startAttackers>[],
    ended: number,
  ) {
    const before = await residentBytes();
    let [peak, held] = [0, 0];
    // Often enough to see a peak, and seldom enough not to be an attack itself.
    const timer = setInterval(() => {
      void residentBytes().then((bytes) => (peak = Math.max(peak, bytes)));
      void metric(IN_FLIGHT).then((bytes) => (held = Math.max(held, bytes)));
    }, 250);
    const wereEnded = () => attackers.every((each) => each.ended() >= ended);
    const delivered = await deliverGood(port, DELIVERIES, wereEnded);
    clearInterval(timer);
    peak = Math.max(peak, await residentBytes());
    const grown = `grown by ${Math.round((peak - before) / 1e6)} MB`;
    process.stdout.write(compare(`${what}, ${grown}`, quiet, delivered));
    expect(Object.keys(delivered.statuses)).toEqual(["202"]);
    expect(held).toBeLessThanOrEqual(IN_FLIGHT_MAX);
    expect(peak - before).toBeLessThan(GROWTH_BYTES_MAX);
  }

  test("without an attack every good delivery is accepted", () => {
    expect(quiet.statuses).toEqual({ 202: DELIVERIES });
  });

  test("16 connections that hold back the last byte of large bodies keep out no good delivery", async () => {
    const attackers = startAttackers(port, { ...LARGE, source: "github" });
    await deliverBeside("16 large bodies held back", [attackers], 16);
    expect([...attackers.statuses]).toEqual([503]);
  });

  test("large bodies that are held back at several sources keep out no good delivery of any", async () => {
    const attackers = ["github", "mirror"].map((source) =>
      startAttackers(port, { ...LARGE, source }),
    );
    await deliverBeside("32 large bodies of two sources held back", attackers, 16);
  });

  test("hundreds of small bodies that are held back keep out no good delivery of their source", async () => {
    const small = { kind: "hold-back", connections: 700, bytes: 60_000, pauseMs: 2_000 } as const;
    const attackers = startAttackers(port, small);
    await deliverBeside("700 small bodies held back", [attackers], 100);
    expect([...attackers.statuses]).toEqual([503]);
  });

  test("bodies in chunks of one byte take neither memory nor the others' time", async () => {
    const attackers = startAttackers(port, { kind: "cut-up", connections: 3, bytes: 800_000 });
    await deliverBeside("3 bodies in one-byte chunks at 2.4 MB/s", [attackers], 12);
    expect([...attackers.statuses]).toEqual([400]);
    expect(await refusals("too_many_chunks")).toBeGreaterThanOrEqual(12);
  });

  test("a body that stalls is ended though nobody needs its bytes", async () => {
    const attackers = startAttackers(port, { ...LARGE, connections: 1 });
    await until(() => attackers.ended() > 0);
    expect([...attackers.statuses]).toEqual([408]);
    expect(await refusals("too_slow")).toBeGreaterThan(0);
  });

  test.each([
    ["no signature", (head: string) => head.replace(/x-hub-signature-256.*\r\n/, ""), 401],
    ["a signature that is none", (head: string) => head.replace("sha256=0", "sha256="), 401],
    ["more bytes than GitHub sends", (head: string) => head.replace("100000", "26214401"), 413],
  ])("a head with %s is refused before any byte of its body", async (_title, change, status) => {
    const connection = await connect(port);
    connection.write(change(headOf("content-length: 100000")));
    expect(await connection.statuses(1)).toEqual([status]);
    await connection.ended();
    // The sender is not reset while it still sends, and so can read why.
    connection.write(Buffer.alloc(64_000));
    connection.write(Buffer.alloc(1_000));
    await until(async () => (await metric(IN_FLIGHT)) === 0);
    expect(connection.error).toBeUndefined();
    connection.abort();
  });

  test("a head that was signed long ago is refused before any byte of its body", async () => {
    const connection = await connect(port);
    const old = `t=${Math.floor(Date.now() / 1_000) - 301},v1=${"0".repeat(64)}`;
    connection.write(
      `POST /webhooks/stripe HTTP/1.1\r\nhost: x\r\nstripe-signature: ${old}\r\ncontent-length: 99\r\n\r\n`,
    );
    expect(await connection.statuses(1)).toEqual([401]);
    expect(connection.received()).toContain('"invalid_signature"');
    connection.abort();
  });
});
