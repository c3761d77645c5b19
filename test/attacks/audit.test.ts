import { on, standardWebhooks, type HandlerContext, type WebhookEvent } from "millrace";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { onOneBackend } from "../support/backends.ts";
import type { RoleInProcess } from "../support/in-process.ts";
import { post, startStack, type Pipeline, type Stack } from "../support/pipeline.ts";
import { eventOf } from "../support/seen-events.ts";
import { until } from "../support/until.ts";

// M9: a handler deleted the audit, and completed.

const WRITES: Readonly<Record<string, readonly string[]>> = {
  "DELETE FROM millrace.audit": ["delete from millrace.audit"],
  "a DELETE that finds nothing": ["delete from millrace.audit where false"],
  "DELETE with the setting of those who may": [
    "select set_config('millrace.delete_audit', 'on', true)",
    "delete from millrace.audit",
  ],
  "DELETE without ordinary triggers": [
    "set local session_replication_role = 'replica'",
    "delete from millrace.audit",
  ],
  "UPDATE millrace.audit": ["update millrace.audit set actor = 'nobody'"],
  "an UPDATE that gives an act another result": ["update millrace.audit set result = '{}'"],
  "TRUNCATE millrace.audit CASCADE": ["truncate millrace.audit cascade"],
  "an act that nobody did": [
    "insert into millrace.audit (role, via, action) values ('operator', 'session', 'retry')",
  ],
  "DELETE FROM millrace.audit_results": ["delete from millrace.audit_results"],
  "UPDATE millrace.audit_results": ["update millrace.audit_results set result = '{}'"],
  "TRUNCATE millrace.audit_results": ["truncate millrace.audit_results"],
  "a result that nobody saw": [
    "insert into millrace.audit_results (id, result) select id, '{}' from millrace.audit",
  ],
  "a DELETE inside a function": ["do $$ begin execute 'delete from millrace' || '.audit'; end $$"],
};

async function runItsSql({ payload }: WebhookEvent, { tx }: HandlerContext): Promise<void> {
  for (const statement of payload.data.run as string[]) await tx.execute(sql.raw(statement));
}

const CONFIG = {
  sources: { acme: standardWebhooks({ attempts: 1 }) },
  handlers: [on("acme", "*", runItsSql)],
};

onOneBackend("a handler that writes to the audit", (prepare) => {
  let stack: Stack;
  let pipeline: Pipeline;
  let ingress: RoleInProcess;
  let dashboard: RoleInProcess;

  beforeAll(async () => {
    stack = await startStack(prepare, { config: CONFIG, worker: false });
    ({ pipeline, ingress, dashboard } = stack);
    for (const act of ["pause", "resume"]) {
      const url = `${dashboard.url}/api/sources/acme/${act}`;
      const headers = { "content-type": "application/json" };
      await fetch(url, { method: "POST", headers, body: JSON.stringify({ reason: "to see it" }) });
    }
  });
  afterAll(() => stack?.close());

  const audit = async (): Promise<unknown> => {
    const response = await fetch(`${dashboard.url}/api/audit`);
    const { entries } = (await response.json()) as { entries: unknown };
    return entries;
  };

  describe.each([
    ["first attempt", "on"],
    ["recorded attempt", "off"],
  ])("in a %s", (_, groups) => {
    let worker: RoleInProcess;
    beforeAll(async () => {
      worker = await pipeline.startInProcess("worker", { MILLRACE_GROUPS: groups });
    });
    afterAll(() => worker?.close());

    test.each(Object.entries(WRITES))(
      "fails by %s, and the audit is as before",
      async (_what, run) => {
        const before = await audit();
        expect(before).toMatchObject([
          { action: "resume", reason: "to see it", result: { paused: false } },
          { action: "pause", reason: "to see it", result: { paused: true } },
        ]);
        const id = `evt_${groups}_${Object.keys(WRITES).indexOf(_what)}`;
        await post(ingress.url, { id, type: "test.sql", data: { run } });
        const event = await until(async () => {
          const found = await eventOf(pipeline.database, id);
          return found?.status !== "pending" && found;
        });
        expect(event).toMatchObject({ status: "failed" });
        expect(event.last_error).toMatch(
          /Cannot write to millrace\.audit\w*: a handler may not.*MR004/,
        );
        expect(await audit()).toEqual(before);
      },
    );
  });
});
