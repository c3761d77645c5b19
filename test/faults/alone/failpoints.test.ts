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

const ingress: Step = { role: "ingress" };
const worker: Step = { role: "worker" };

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
  "ingress.verified": ingress,
  "ingress.before_put": ingress,
  "queue.add_sent": ingress,
  "ledger.accepted": ingress,
  "ledger.before_enqueue": ingress,
  "ledger.enqueued": ingress,
  "ledger.marked": ingress,
  "ingress.placed": ingress,
  "ingress.fallen_back": secondStore,
  "ingress.before_retry": redelivery,
  "ingress.retried": redelivery,
  "ingress.before_answer": ingress,
  "worker.fetched": worker,
  "worker.recorded": worker,
  "worker.handled": worker,
  "worker.commit_sent": worker,
  "worker.committed": worker,
  "worker.before_fail": worker,
  "worker.fail_recorded": worker,
} as const satisfies Partial<Record<Failpoint, Step>>;

/** What deletes has tests of its own, that stop it at each step: it would break the invariants. So has
 * what only some load makes come by. */
const STRUCK_IN = {
  "worker.locked": "faults/alone/store-mails.test.ts",
  "worker.group_admitted": "processor/groups.test.ts",
  "worker.group_ran": "processor/groups.test.ts",
  "worker.group_commit_sent": "processor/groups.test.ts",
  "worker.group_committed": "processor/groups.test.ts",
  "worker.before_call": "processor/step-crashes.test.ts",
  "worker.step_ran": "processor/step-crashes.test.ts",
  "worker.step_recorded": "processor/step-crashes.test.ts",
  "worker.called": "processor/step-crashes.test.ts",
  "bulk_run.before_batch": "operations/bulk-run-crashes.test.ts",
  "bulk_run.members_added": "operations/bulk-run-crashes.test.ts",
  "bulk_run.committed": "operations/bulk-run-crashes.test.ts",
  "bulk_run.enqueued": "operations/bulk-run-crashes.test.ts",
  "retention.moved": "operations/retention.test.ts",
  "retention.archived": "operations/retention-archive.test.ts",
  "retention.detached": "operations/retention.test.ts",
  "retention.keys_deleted": "operations/retention.test.ts",
} as const satisfies Record<Exclude<Failpoint, keyof typeof STEPS>, string>;

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

test.each(Object.entries(STRUCK_IN))("%s is struck in test/%s", (failpoint, file) => {
  const text = readFileSync(new URL(`../../${file}`, import.meta.url), "utf8");
  expect(text).toContain(`"${failpoint}"`);
});
