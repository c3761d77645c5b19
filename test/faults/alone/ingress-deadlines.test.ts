import { expect, test } from "vitest";
import type { MillraceProcess } from "../../support/millrace-process.ts";
import { describeOnRedis } from "../../support/redis.ts";
import { openForEach } from "../../support/open-for.ts";
import { until } from "../../support/until.ts";
import { openHangingServers, type Source, type Timed } from "./hanging-servers.ts";

const ANSWERED_WITHIN_MS = 4_000;
const AT_ONCE_MS = 400;
const LOAD_MS = 1_500;

interface Outage {
  readonly what: string;
  readonly source: Source;
  strike(): void;
  heal(): void;
}

const hanging = openForEach(openHangingServers);

const redisHangs: readonly Outage[] = [
  {
    what: "Redis hangs",
    source: "acme",
    strike: () => hanging.servers.redis?.freeze(),
    heal: () => hanging.servers.redis?.thaw(),
  },
  {
    what: "the connection to Redis is half-open",
    source: "acme",
    strike: () => hanging.toRedis.strand(),
    heal: () => {},
  },
];

const commitHangs: Outage = {
  what: "every COMMIT hangs",
  source: "patient",
  strike: () => hanging.toPostgres.strandAfter("COMMIT"),
  heal: () => hanging.toPostgres.strandAfter(undefined),
};

const postgresHangs: Outage = {
  what: "Postgres hangs",
  source: "patient",
  strike: () => hanging.toPostgres.freeze(),
  heal: () => hanging.toPostgres.thaw(),
};

describeOnRedis("an ingress with one event store", () => {
  test.each([
    ...redisHangs.map((outage) => ({ ...outage, without: "DATABASE_URL" })),
    { ...commitHangs, without: "REDIS_URL" },
  ])("answers 503 in time while $what", async ({ source, strike, heal, without }) => {
    // An ingress without a database knows its ledger from a worker's mark.
    await (await hanging.pipeline.startInProcess("worker")).close();
    const ingress = await hanging.startIngress({ [without]: "" });
    await untilTaken(ingress, source, "before");
    strike();
    const answers = await deliverTogether(ingress, source, "while");
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 503));
    expect(slowest(answers)).toBeLessThan(ANSWERED_WITHIN_MS);
    heal();
    await untilTaken(ingress, source, "after");
    await hanging.pipeline.start("worker", without === "REDIS_URL" ? { REDIS_URL: "" } : {});
    await hanging.expectCompletedOnce();
  });
});

describeOnRedis("an ingress with two event stores", () => {
  test.each([...redisHangs, commitHangs, postgresHangs])(
    "takes events into the other one in time while $what, and soon at once",
    async ({ source, strike, heal }) => {
      const ingress = await hanging.startIngress();
      await hanging.pipeline.start("worker");
      await untilTaken(ingress, source, "before");
      strike();
      const first = await deliverTogether(ingress, source, "first");
      expect(first.filter(({ status }) => status >= 300)).toEqual([]);
      expect(slowest(first)).toBeLessThan(ANSWERED_WITHIN_MS);
      const later = await deliverFor(ingress, source, LOAD_MS);
      expect(later.filter(({ status }) => status >= 300)).toEqual([]);
      expect(median(later)).toBeLessThan(AT_ONCE_MS);
      // Most of the time would be theirs if the store were asked again after each rest.
      const slow = later.filter(({ tookMs }) => tookMs > AT_ONCE_MS);
      expect(sumOf(slow)).toBeLessThan(sumOf(later) / 2);
      heal();
      await untilTaken(ingress, source, "after");
      await hanging.expectCompletedOnce();
    },
  );
});

function deliverTogether(ingress: MillraceProcess, source: Source, name: string) {
  const ids = Array.from({ length: 10 }, (_, n) => `${name}_${n}`);
  return Promise.all(ids.map((id) => hanging.deliver(ingress, source, id)));
}

async function deliverFor(ingress: MillraceProcess, source: Source, loadMs: number) {
  const beganMs = performance.now();
  const answers: Timed[] = [];
  while (performance.now() - beganMs < loadMs) {
    answers.push(await hanging.deliver(ingress, source, `later_${answers.length}`));
  }
  return answers;
}

async function untilTaken(ingress: MillraceProcess, source: Source, name: string) {
  let tries = 0;
  await until(
    async () => {
      tries += 1;
      const { status, tookMs } = await hanging.deliver(ingress, source, `${name}_${tries}`);
      return status < 300 && tookMs < AT_ONCE_MS;
    },
    { what: `an event of ${source} taken at once` },
  );
}

const slowest = (answers: readonly Timed[]): number =>
  Math.max(...answers.map(({ tookMs }) => tookMs));

const sumOf = (answers: readonly Timed[]): number =>
  answers.reduce((sum, { tookMs }) => sum + tookMs, 0);

const median = (answers: readonly Timed[]): number =>
  answers.map(({ tookMs }) => tookMs).toSorted((a, b) => a - b)[answers.length >> 1] ?? NaN;
