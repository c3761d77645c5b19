import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { plainEvent } from "../load/plan.ts";
import { openScene, type OpenScene } from "../scenes/open-scene.ts";
import type { Role, RoleKind } from "../stage/role.ts";
import { THIS_BUILD, type Build } from "../stage/stage.ts";
import { runCommand } from "../../support/millrace-process.ts";
import { describeOnRedis } from "../../support/redis.ts";
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
  let scene: OpenScene;
  beforeAll(async () => {
    older = await installOlderBuild();
  });
  afterEach(() => scene?.close());
  afterAll(() => older?.remove());

  test.each(ACKS)(
    "%s first: from the older build to this one and back, and the account comes out even",
    { timeout: 900_000 },
    async (ack) => {
      scene = await openScene({ backend: "redis", ack, build: older }, { rate: 20 });
      const { stage, send, settled } = scene;
      await deliveriesGoOn(scene);
      send(plainEvent("msg_all_the_way_1", { plan: { fails: FAILS_ALL_THE_WAY } }));
      send(plainEvent("msg_failed_1", { plan: { permanent: true } }));
      await settled("msg_failed_1", "failed");

      // The tables first, under the older build, which goes on.
      expect(await command(scene, THIS_BUILD, "migrate")).toMatchObject({ code: 0 });
      await deliveriesGoOn(scene);
      await deploy(scene, THIS_BUILD);
      await retryFailed(scene, THIS_BUILD, { attempts: 2 });
      await settled("msg_all_the_way_1", "pending");

      await deploy(scene, older);
      await retryFailed(scene, older, { attempts: 3 });
      await settled("msg_all_the_way_1", "pending");

      // A stopping ingress answers what it has read: a sender is told to come again at the worst.
      const answers = scene.log.unusual.map(({ answer }) => answer);
      expect(answers.filter((answer) => typeof answer === "number" && answer > 503)).toEqual([]);
      expect(stage.roles.map(({ name, unexpected }) => [name, ...unexpected])).toEqual(
        stage.roles.map(({ name }) => [name]),
      );
      await scene.expectEven();
    },
  );
});

/** Replaces every worker, then every ingress, by one of another build. */
async function deploy(scene: OpenScene, build: Build): Promise<void> {
  for (const kind of ["worker", "ingress"] as const) await replaceAll(scene, kind, build);
}

/** Puts a new process beside the old ones, then replaces these, one at a time. */
async function replaceAll(scene: OpenScene, kind: RoleKind, build: Build): Promise<void> {
  const { stage } = scene;
  const replaced = stage.roles.filter((role) => role.kind === kind && !role.retired);
  expect(replaced).toHaveLength(2);
  const { bin, config } = build;
  for (const role of replaced) {
    const next = stage.addRole(kind, { bin, env: { MILLRACE_CONFIG: config } });
    await startReady(next);
    await deliveriesGoOn(scene);
    await role.retire();
    await deliveriesGoOn(scene);
  }
}

async function startReady(role: Role): Promise<void> {
  await role.start();
  await until(async () => (await fetch(`${role.url}/readyz`)).ok, { what: `${role.name} ready` });
}

/** Waits until further deliveries were acknowledged and further events completed. */
async function deliveriesGoOn({ log, stage }: OpenScene): Promise<void> {
  const completed = async () => {
    const { rows } = await stage.database.query<{ n: number }>(
      "select count(*)::int as n from millrace.events where status = 'completed'",
    );
    return rows[0]?.n ?? 0;
  };
  const before = { acknowledged: log.acknowledged, completed: await completed() };
  await until(
    async () =>
      log.acknowledged > before.acknowledged + 10 && (await completed()) > before.completed + 2,
    { what: "deliveries acknowledged and completed" },
  );
}

/** Retries, by a build's command, the event that failed under another one; its workers run it. */
async function retryFailed(
  scene: OpenScene,
  build: Build,
  { attempts }: { attempts: number },
): Promise<void> {
  const retried = await command(scene, build, "retry", "steady", "msg_failed_1");
  expect(retried).toMatchObject({ code: 0 });
  await until(async () => (await scene.settled("msg_failed_1", "failed")).attempts === attempts, {
    what: `msg_failed_1 failed after ${attempts} attempts`,
  });
}

function command({ stage }: OpenScene, { bin, config }: Build, ...args: string[]) {
  const { postgres, redis } = stage.ground;
  return runCommand(
    args,
    {
      MILLRACE_CONFIG: config,
      DATABASE_URL: postgres.url,
      REDIS_URL: String(redis?.server.url),
    },
    { bin },
  );
}
