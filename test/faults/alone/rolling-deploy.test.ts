import { afterAll, beforeAll, expect, test } from "vitest";
import { plainEvent } from "../load/plan.ts";
import { useFaultTests, type FaultTest } from "../start-fault-test.ts";
import type { Role, RoleKind } from "../environment/role.ts";
import { THIS_BUILD, type Build } from "../environment/environment.ts";
import { describeOnRedis } from "../../support/redis.ts";
import { withQueue } from "../../support/queue-fixture.ts";
import { until } from "../../support/until.ts";
import { installOlderBuild, type OlderBuild } from "./older-build.ts";

/** With FAULTS=all also where the ledger takes events first. */
const ALL = process.env["FAULTS"] === "all";
const ACKS = ALL ? (["queue", "ledger"] as const) : (["queue"] as const);
if (!ALL)
  process.stdout.write("Deployed is with the queue first; FAULTS=all adds the ledger first\n");

/** Longer on its way than the deploy and the way back take, with a second between its attempts. */
const FAILS_ALL_THE_WAY = 120;

describeOnRedis("a rolling deploy under steady traffic", () => {
  let older: OlderBuild;
  const startFaultTest = useFaultTests();
  beforeAll(async () => {
    older = await installOlderBuild();
  });
  afterAll(() => older?.remove());

  test.each(ACKS)(
    "%s first: from the older build to this one and back, and every invariant holds",
    { timeout: 900_000 },
    async (ack) => {
      const faultTest = await startFaultTest({ backend: "redis", ack, build: older }, { rate: 20 });
      const { environment, send, settled } = faultTest;
      await deliveriesGoOn(faultTest);
      send(plainEvent("msg_all_the_way_1", { plan: { fails: FAILS_ALL_THE_WAY } }));
      send(plainEvent("msg_failed_1", { plan: { permanent: true } }));
      await settled("msg_failed_1", "failed");
      const unsigned = await leaveWaiting(faultTest, "unsigned", { isSigned: false });

      // The tables first, under the older build, which goes on.
      expect(await environment.command(["migrate"])).toMatchObject({ code: 0 });
      await deliveriesGoOn(faultTest);
      await deploy(faultTest, THIS_BUILD);
      await runWaiting(faultTest, unsigned);
      await retryFailed(faultTest, THIS_BUILD, { attempts: 2 });
      await settled("msg_all_the_way_1", "pending");

      const signed = await leaveWaiting(faultTest, "signed", { isSigned: true });
      await deploy(faultTest, older);
      await runWaiting(faultTest, signed);
      await retryFailed(faultTest, older, { attempts: 3 });
      await settled("msg_all_the_way_1", "pending");

      // A stopping ingress answers what it has read: at the worst a sender has to retry.
      const answers = faultTest.log.unusual.map(({ answer }) => answer);
      expect(answers.filter((answer) => typeof answer === "number" && answer > 503)).toEqual([]);
      expect(environment.roles.map(({ name, unexpected }) => [name, ...unexpected])).toEqual(
        environment.roles.map(({ name }) => [name]),
      );
      await faultTest.expectInvariants();
    },
  );
});

const PAUSED = "frail";

/** Delivers events whose jobs wait in a paused queue, as the ingresses that run now write them. */
async function leaveWaiting(
  { environment, send }: FaultTest,
  name: string,
  { isSigned }: { isSigned: boolean },
): Promise<readonly string[]> {
  const ids = Array.from({ length: 5 }, (_, n) => `msg_${name}_${n}`);
  await withQueue(environment.urls, PAUSED, async (queue) => {
    await queue.pause();
    for (const id of ids) send(plainEvent(id, { source: PAUSED }));
    for (const id of ids) {
      const job = await until(() => queue.getJob(id), { what: `job ${id}` });
      expect([id, typeof job.data.mac]).toEqual([id, isSigned ? "string" : "undefined"]);
    }
  });
  return ids;
}

/** Lets workers run what has waited. */
async function runWaiting(
  { environment, settled }: FaultTest,
  ids: readonly string[],
): Promise<void> {
  const count = () =>
    environment.count("millrace.events where event_id = any($1) and attempts > 0", [ids]);
  expect(await count()).toBe(0);
  await withQueue(environment.urls, PAUSED, (queue) => queue.resume());
  for (const id of ids) await settled(id, "completed");
}

/** Replaces every worker, then every ingress, by one of another build. */
async function deploy(faultTest: FaultTest, build: Build): Promise<void> {
  for (const kind of ["worker", "ingress"] as const) await replaceAll(faultTest, kind, build);
}

/** Puts a new process beside the old ones, then replaces these, one at a time. */
async function replaceAll(faultTest: FaultTest, kind: RoleKind, build: Build): Promise<void> {
  const { environment } = faultTest;
  const replaced = environment.roles.filter((role) => role.kind === kind && !role.retired);
  expect(replaced).toHaveLength(2);
  for (const role of replaced) {
    const next = environment.addRole(kind, { build });
    await startReady(next);
    await deliveriesGoOn(faultTest);
    await role.retire();
    await deliveriesGoOn(faultTest);
  }
}

async function startReady(role: Role): Promise<void> {
  await role.start();
  await until(async () => (await fetch(`${role.url}/readyz`)).ok, { what: `${role.name} ready` });
}

/** Waits until further deliveries were acknowledged and further events completed. */
async function deliveriesGoOn({ log, environment }: FaultTest): Promise<void> {
  const completed = () => environment.count("millrace.events where status = 'completed'");
  const before = { acknowledged: log.acknowledged, completed: await completed() };
  await until(
    async () =>
      log.acknowledged > before.acknowledged + 10 && (await completed()) > before.completed + 2,
    { what: "deliveries acknowledged and completed" },
  );
}

/** Retries, by a build's command, the event that failed under another one; its workers run it. */
async function retryFailed(
  faultTest: FaultTest,
  build: Build,
  { attempts }: { attempts: number },
): Promise<void> {
  const retried = await faultTest.environment.command(["retry", "steady", "msg_failed_1"], build);
  expect(retried).toMatchObject({ code: 0 });
  await until(
    async () => (await faultTest.settled("msg_failed_1", "failed")).attempts === attempts,
    {
      what: `msg_failed_1 failed after ${attempts} attempts`,
    },
  );
}
