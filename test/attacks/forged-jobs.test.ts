import { randomUUID } from "node:crypto";
import { bodyHash, makeQueueKey, toEnvelope, type IncomingEvent } from "@millrace/core";
import { createLedger } from "@millrace/ledger";
import { sign } from "@octokit/webhooks-methods";
import { defineConfig, github, on, standardWebhooks } from "millrace";
import { expect, test } from "vitest";
import { anEvent } from "../support/events.ts";
import { openForAll } from "../support/open-for.ts";
import { post, SECRETS } from "../support/pipeline.ts";
import { withQueue } from "../support/queue-fixture.ts";
import { describeOnRedis } from "../support/redis.ts";
import { until } from "../support/until.ts";
import { readDisagreement } from "./disagreements.ts";
import { startJobForger } from "./job-forger.ts";

// Somebody can write to Redis, and has no key: what they write is not run, and never becomes a row.

interface Handled {
  readonly id: string;
  readonly generation: number;
  readonly type: string;
  readonly unsigned: boolean;
  readonly body: string;
}
const handled: Handled[] = [];

const soon = { attempts: 3, backoff: { firstMs: 20, factor: 1, maxMs: 20 } };
const config = defineConfig({
  sources: {
    acme: standardWebhooks(soon),
    patient: standardWebhooks({ ...soon, ack: "ledger" }),
    github: github(soon),
  },
  handlers: ["acme", "patient", "github"].map((source) =>
    on(source, "*", ({ id, generation, type, unsigned, body }) => {
      handled.push({ id, generation, type, unsigned, body: Buffer.from(body).toString() });
      return Promise.resolve();
    }),
  ),
  reconciler: { intervalMs: 200, graceMs: 0 },
});

const OLD_KEY = makeQueueKey();
const NEW_KEY = makeQueueKey();

describeOnRedis("jobs that were written into Redis by hand", () => {
  const forger = openForAll(() => startJobForger(config, OLD_KEY));

  const handledOf = (eventId: string) => handled.filter(({ id }) => id === eventId);

  async function push(id: string, body: string): Promise<void> {
    const response = await fetch(`${forger.ingress.url}/webhooks/github`, {
      method: "POST",
      headers: {
        "x-github-delivery": id,
        "x-github-event": "push",
        "x-hub-signature-256": await sign(SECRETS.github, body),
      },
      body,
    });
    expect(response.status).toBe(202);
  }

  const conflictsOf = async (id: string) => {
    const text = "select from millrace.conflicts where event_id = $1";
    return (await forger.pipeline.database.query(text, [id])).rowCount;
  };
  const invented = (eventId: string, over: Partial<IncomingEvent> = {}) =>
    anEvent({ source: "acme", eventId, type: "money.sent", ...over });

  test.each(["acme", "patient"] as const)(
    "an invented event with the hash of its body is refused, and is no row: %s",
    async (source) => {
      const id = `invented_${source}`;
      await forger.add(toEnvelope(invented(id, { source })), id, source);
      expect(await forger.failedReason(id, source)).toContain("job_mac_invalid");
      expect(handledOf(id)).toEqual([]);
      expect(await forger.rowsOf(id)).toEqual([]);
    },
  );

  test("a completed event does not run again as a replay that nobody asked for", async () => {
    await post(forger.ingress.url, { id: "again_1", type: "test.effect" });
    await forger.settled("again_1");
    const forged = invented("again_1", { generation: 7, body: Buffer.from('{"amount":1000000}') });
    await forger.add(toEnvelope(forged), "g7-again_1");
    expect(await forger.failedReason("g7-again_1")).toContain("job_mac_invalid");
    expect(handledOf("again_1")).toHaveLength(1);
    expect(await forger.rowsOf("again_1")).toMatchObject([{ generation: 0, status: "completed" }]);
  });

  test.each<[string, Record<string, unknown>]>([
    ["type", { type: "charge.succeeded" }],
    ["time", { accepted_at: 1 }],
    ["headers", { headers: { "content-type": "text/plain" } }],
    ["kid", { kid: "00000000" }],
    ["mac", { mac: "A".repeat(43) }],
    ["headers_hash", { headers_hash: bodyHash(Buffer.from("{}")) }],
  ])("an event whose %s was edited in the queue is refused", async (field, over) => {
    const id = `edited_${field}`;
    const deliver = () => post(forger.ingress.url, { id, type: "charge.refunded" });
    await forger.edit("acme", deliver, id, (data) => ({ ...data, ...over }));
    expect(await forger.failedReason(id)).toContain("job_mac_invalid");
    expect(handledOf(id)).toEqual([]);
    expect(await forger.rowsOf(id)).toEqual([]);
  });

  test("where the ledger has the event, it runs with what is written there", async () => {
    const deliver = () =>
      post(forger.ingress.url, { id: "edited_row", type: "charge.refunded", source: "patient" });
    await forger.edit("patient", deliver, "edited_row", (data) => ({
      ...data,
      type: "charge.succeeded",
      body: '{"forged":true}',
      body_encoding: "utf8",
      body_hash: bodyHash(Buffer.from('{"forged":true}')),
    }));
    await forger.settled("edited_row");
    expect(handledOf("edited_row")).toMatchObject([{ type: "charge.refunded" }]);
    expect(handledOf("edited_row")[0]?.body).not.toContain("forged");
    expect(await forger.rowsOf("edited_row")).toMatchObject([{ type: "charge.refunded" }]);
    expect(await conflictsOf("edited_row")).toBe(0);
  });

  test("`unsigned: false` does not switch the replay check off", async () => {
    const [first, second] = [randomUUID(), randomUUID()];
    const body = JSON.stringify({ after: randomUUID() });
    await push(first, body);
    await forger.settled(first);
    await forger.edit(
      "github",
      () => push(second, body),
      second,
      (data) => ({ ...data, unsigned: false }),
    );
    expect(await forger.failedReason(second, "github")).toContain("job_mac_invalid");
    expect(handledOf(second)).toEqual([]);
  });

  test("the reconciler and the dashboard show refused jobs, and record none", async () => {
    const shown = await until(async () => {
      const found = await readDisagreement(forger.dashboard, "unrecorded_job_unsigned");
      return (found?.count ?? 0) > 0 && found;
    });
    expect(shown.examples).toContainEqual(expect.objectContaining({ source: "acme" }));
    const gauge = /millrace_disagreements\{kind="unrecorded_job_unsigned"[^}]*\} [1-9]/;
    await until(async () => gauge.test(await forger.metrics()), {
      what: "the reconciler's finding",
    });
    expect(await forger.rowsOf("invented_acme")).toEqual([]);
    expect(await forger.rowsOf("edited_type")).toEqual([]);
    const event = await fetch(`${forger.dashboard.url}/api/events/acme/invented_acme`);
    expect(await event.json()).toMatchObject({ job_state: "failed", type: null, body: null });
  });

  test("the refused jobs are counted", async () => {
    const metrics = await forger.metrics();
    for (const mac of ["missing", "wrong"]) {
      const labels = `source="acme",mac="${mac}",result="refused"`;
      const name = "millrace_worker_job_mac_failures_total";
      expect(metrics).toMatch(new RegExp(`${name}\\{${labels}[^}]*\\} [1-9]`));
    }
  });

  test("an unsigned job of an event that the ledger has runs by the ledger", async () => {
    const deliver = () =>
      post(forger.ingress.url, { id: "stripped_1", type: "test.effect", source: "patient" });
    await forger.edit(
      "patient",
      deliver,
      "stripped_1",
      ({ kid: _, mac: __, headers_hash: ___, ...data }) => data,
    );
    await forger.settled("stripped_1");
  });

  test("a key is exchanged without a gap, and jobs of a removed key are refused", async () => {
    await forger.restartWorker(`${NEW_KEY},${OLD_KEY}`);
    await post(forger.ingress.url, { id: "rotated_1", type: "test.effect" });
    await forger.settled("rotated_1");
    const next = await forger.pipeline.startInProcess("ingress", {
      MILLRACE_QUEUE_KEY: `${NEW_KEY},${OLD_KEY}`,
    });
    await forger.restartWorker(NEW_KEY);
    await post(next.url, { id: "rotated_2", type: "test.effect" });
    await forger.settled("rotated_2");
    await post(forger.ingress.url, { id: "rotated_3", type: "test.effect" });
    expect(await forger.failedReason("rotated_3")).toContain("job_mac_invalid");
    await forger.restartWorker(OLD_KEY);
  });

  test("a signed job that says otherwise than the ledger runs by the ledger, and is a conflict", async () => {
    const ledger = createLedger({ pool: forger.pipeline.database });
    await withQueue(forger.servers, "acme", async (queue) => {
      await queue.pause();
      await post(forger.ingress.url, { id: "both_1", type: "from.queue", data: { from: "queue" } });
      const inLedger = invented("both_1", {
        type: "from.ledger",
        body: Buffer.from('{"from":"ledger"}'),
      });
      expect(await ledger.intake.accept([inLedger])).toEqual(["accepted"]);
      await queue.resume();
    });
    await forger.settled("both_1");
    expect(handledOf("both_1")).toMatchObject([{ type: "from.ledger", body: '{"from":"ledger"}' }]);
    expect(await conflictsOf("both_1")).toBe(1);
  });

  test("a signed replay that the ledger has lost is recorded as failed", async () => {
    await post(forger.ingress.url, { id: "lost_1", type: "test.effect" });
    await forger.settled("lost_1");
    await withQueue(forger.servers, "acme", async (queue) => {
      await queue.pause();
      const answer = await fetch(`${forger.dashboard.url}/api/events/acme/lost_1/replay`, {
        method: "POST",
      });
      expect(answer.ok).toBe(true);
      await until(() => queue.getJob("g1-lost_1"));
      // The ledger refuses to forget what is pending; an older backup of it does not ask.
      await forger.pipeline.database.query(
        `begin; set local session_replication_role = replica;
         delete from millrace.events where event_id = 'lost_1' and generation = 1; commit`,
      );
      await queue.resume();
    });
    expect(await forger.failedReason("g1-lost_1")).toContain("replay_lost");
    expect(await forger.rowsOf("lost_1")).toMatchObject([
      { generation: 0, status: "completed" },
      { generation: 1, status: "failed", code: "replay_lost" },
    ]);
    // It is left to a person: neither the job, moved back as bull-board does it, nor the sender's redelivery runs it.
    await withQueue(forger.servers, "acme", async (queue) => {
      await (await queue.getJob("g1-lost_1"))?.retry();
    });
    expect(await forger.failedReason("g1-lost_1")).toContain("replay_lost");
    await post(forger.ingress.url, { id: "lost_1", type: "test.effect" });
    expect(handledOf("lost_1")).toHaveLength(1);
    const retry = `${forger.dashboard.url}/api/events/acme/lost_1/retry`;
    expect((await fetch(retry, { method: "POST" })).status).toBe(200);
    await until(() => handledOf("lost_1").length === 2);
  });
});
