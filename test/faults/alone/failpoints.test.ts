import { readFileSync } from "node:fs";
import type { Failpoint } from "@millrace/core";
import { expect, test } from "vitest";
import { openForAll } from "../../support/open-for.ts";
import { describeOnRedis } from "../../support/redis.ts";
import { until } from "../../support/until.ts";
import { strikeAt } from "../faults/strike-role.ts";
import { ALWAYS, plainEvent } from "../load/plan.ts";
import { startFaultTest, type FaultTest } from "../start-fault-test.ts";
import type { RoleKind } from "../environment/role.ts";

interface Step {
  readonly role: RoleKind;
  arrange?(faultTest: FaultTest): Promise<void>;
  restore?(faultTest: FaultTest): void;
}

const redelivery: Step = {
  role: "ingress",
  arrange: async ({ send, settled, random }) => {
    const id = `msg_failed_${random.between(0, 2 ** 31)}`;
    const failed = plainEvent(id, { source: "frail", plan: { fails: ALWAYS } });
    send(failed);
    await settled(id, "failed");
    send({ ...failed, copies: 20 });
  },
};

const secondStore: Step = {
  role: "ingress",
  arrange: async ({ environment }) => {
    // The check of secrets expects no body in the queue unless a fault has sent deliveries there.
    environment.strike("F16", "froze the ingresses' way to Postgres");
    environment.servers.toPostgres.ingress.freeze();
  },
  restore: ({ environment }) => environment.servers.toPostgres.ingress.thaw(),
};

const STEPS = {
  "ingress.fallen_back": secondStore,
  "ingress.before_retry": redelivery,
  "ingress.retried": redelivery,
} as const satisfies Partial<Record<Failpoint, Step>>;

const STRUCK_IN = {
  "faults/faults/roles.ts": [
    ...["ingress.verified", "ingress.before_put", "queue.add_sent", "ingress.placed"],
    ...["ingress.before_answer", "ledger.accepted", "ledger.before_enqueue", "ledger.enqueued"],
    ...["ledger.marked", "worker.fetched", "worker.recorded", "worker.before_call"],
    ...["worker.step_ran", "worker.step_recorded", "worker.called", "worker.handled"],
    ...["worker.commit_sent", "worker.committed", "worker.before_fail", "worker.fail_recorded"],
    ...["worker.group_admitted", "worker.group_ran", "worker.group_commit_sent"],
    "worker.group_committed",
  ],
  "faults/alone/store-mails.test.ts": ["worker.locked"],
  "operations/bulk-run-crashes.test.ts": [
    ...["bulk_run.before_batch", "bulk_run.members_added", "bulk_run.committed"],
    "bulk_run.enqueued",
  ],
  "operations/retention.test.ts": [
    ...["retention.moved", "retention.detached", "retention.keys_deleted"],
  ],
} as const satisfies Record<string, readonly Failpoint[]>;

type Struck = keyof typeof STEPS | (typeof STRUCK_IN)[keyof typeof STRUCK_IN][number];
const NONE_IS_LEFT: Exclude<Failpoint, Struck> extends never ? true : never = true;

describeOnRedis("a process killed at a failpoint", () => {
  const faultTest = openForAll(() =>
    startFaultTest({ backend: "redis", ack: "ledger" }, { rate: 30 }),
  );

  test.each(Object.entries(STEPS) as [keyof typeof STEPS, Step][])(
    "comes by at %s, dies there, and is started again",
    async (failpoint, { role: kind, arrange, restore }) => {
      const { environment, random } = faultTest;
      const role = random.pick(environment.roles.filter((one) => one.kind === kind));
      const arranged = arrange?.(faultTest);
      const struck = await strikeAt(role, failpoint, "SIGKILL");
      restore?.(faultTest);
      await arranged;
      expect({ failpoint, struck }).toEqual({ failpoint, struck: true });
      await until(() => !role.up);
      await role.start();
    },
  );

  test("leaves every invariant intact", { timeout: 300_000 }, async () => {
    await faultTest.expectInvariants();
  });
});

test("every other failpoint is struck in a test that names it", () => {
  expect(NONE_IS_LEFT).toBe(true);
  for (const [file, failpoints] of Object.entries(STRUCK_IN)) {
    const text = readFileSync(new URL(`../../${file}`, import.meta.url), "utf8");
    for (const failpoint of failpoints) expect(text).toContain(`"${failpoint}"`);
  }
});
