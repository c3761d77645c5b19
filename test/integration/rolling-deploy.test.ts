import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";
import { openScene, type OpenScene } from "../faults/scenes/open-scene.ts";
import type { Role, RoleKind } from "../faults/stage/role.ts";
import { runCommand } from "../support/millrace-process.ts";
import { describeOnRedis } from "../support/redis.ts";
import { until } from "../support/until.ts";

const CONFIG = fileURLToPath(new URL("../fixtures/faults/millrace.config.ts", import.meta.url));

/** With FAULTS=all also where the ledger takes events first. */
const ALL = process.env["FAULTS"] === "all";
const ACKS = ALL ? (["queue", "ledger"] as const) : (["queue"] as const);
if (!ALL)
  process.stdout.write("Deployed is with the queue first; FAULTS=all adds the ledger first\n");

describeOnRedis("a rolling deploy under steady traffic", () => {
  let scene: OpenScene;
  afterEach(() => scene?.close());

  test.each(ACKS)(
    "%s first: the tables, then every worker, then every ingress, and the account comes out even",
    { timeout: 900_000 },
    async (ack) => {
      scene = await openScene({ backend: "redis", ack }, { rate: 20 });
      const { stage } = scene;
      const env = { MILLRACE_CONFIG: CONFIG, DATABASE_URL: stage.ground.postgres.url };
      await deliveriesGoOn(scene);
      expect(await runCommand(["migrate"], env)).toMatchObject({ code: 0 });

      const old = processesOf(stage.roles);
      for (const kind of ["worker", "ingress"] as const) await replaceAll(scene, kind);
      expect(processesOf(stage.roles).filter((pid) => old.includes(pid))).toEqual([]);

      // A stopping ingress answers what it has read: a sender is told to come again at the worst.
      const answers = scene.log.unusual.map(({ answer }) => answer);
      expect(answers.filter((answer) => typeof answer === "number" && answer > 503)).toEqual([]);
      await scene.expectEven();
    },
  );
});

/** Puts a new process beside the old ones, then replaces these, one at a time. */
async function replaceAll(scene: OpenScene, kind: RoleKind): Promise<void> {
  const { stage } = scene;
  const replaced = stage.roles.filter((role) => role.kind === kind);
  expect(replaced).toHaveLength(2);
  const beside = stage.addRole(kind);
  await startReady(beside);
  for (const role of replaced) {
    await deliveriesGoOn(scene);
    expect(await role.end("SIGTERM")).toBe(0);
    await deliveriesGoOn(scene);
    await startReady(role);
  }
  await deliveriesGoOn(scene);
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

const processesOf = (roles: readonly Role[]): number[] => roles.map(({ pid }) => pid);
