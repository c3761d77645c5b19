import { randomBytes } from "node:crypto";
import { sql } from "drizzle-orm";
import {
  defineConfig,
  discord,
  github,
  gitlab,
  hookMesh,
  linear,
  meta,
  on,
  paddle,
  RetryLater,
  sendgrid,
  shopify,
  slack,
  square,
  standardWebhooks,
  stripe,
  svix,
  twilio,
  zoom,
  type FailedEvent,
} from "millrace";
import { createTestEnvironment, deliver, type TestEnvironment } from "millrace/testing";
import { afterEach, beforeEach, describe, expect, inject, test } from "vitest";
import { queryOnce } from "../support/query-once.ts";

const hookUrl = "https://hooks.example.com/webhooks/a";
const failures: FailedEvent[] = [];

const config = defineConfig({
  sources: {
    ...{
      stripe: stripe(),
      github: github(),
      gitlab: gitlab(),
      hookmesh: hookMesh({ attempts: 3 }),
    },
    ...{ linear: linear(), meta: meta(), paddle: paddle() },
    ...{
      sendgrid: sendgrid(),
      shopify: shopify(),
      slack: slack(),
      square: square({ url: hookUrl }),
    },
    ...{
      standard: standardWebhooks(),
      svix: svix(),
      twilio: twilio({ url: hookUrl }),
      zoom: zoom(),
    },
    ...{ discord: discord(), keeper: hookMesh({ attempts: 1, redelivery: "ignore" }) },
    shops: stripe({ secrets: () => undefined }),
  },
  handlers: [
    on("hookmesh", "note", async (event, { tx }) => {
      await tx.execute(sql`insert into notes values (${event.id}, ${event.payload.text})`);
      if (event.payload.text === "later") throw new RetryLater({ afterMs: 60_000 });
      if (event.payload.text === "broken") throw new RangeError("the text is broken");
    }),
    on("shops", "*", async (event, { tx }) => {
      await tx.execute(sql`insert into notes values (${event.id}, ${event.tenant})`);
    }),
    on("keeper", "*", () => {
      throw new Error("never");
    }),
    on("sendgrid", "*", async (event, { tx }) => {
      await tx.execute(sql`insert into notes values (${event.id}, ${event.payload.email})`);
    }),
    on("twilio", "*", async (event, { tx }) => {
      const form = new URLSearchParams(Buffer.from(event.body).toString());
      await tx.execute(sql`insert into notes values (${event.id}, ${form.get("Body")})`);
    }),
  ],
  onFailed: (event) => void failures.push(event),
});

const NOTES = "create table notes (id text primary key, text text)";

describe("a test environment", () => {
  let environment: TestEnvironment;

  beforeEach(async () => {
    failures.length = 0;
    environment = await createTestEnvironment(config);
    await environment.db.execute(NOTES);
  });
  afterEach(() => environment.close());

  const notes = async () => (await environment.db.execute("select * from notes order by id")).rows;
  const note = (text: string, options?: { id?: string; attempts?: number }) =>
    environment.deliver("hookmesh", "note", { text }, options);

  test("runs the handler of an event, and its writes are there with its record", async () => {
    const delivered = await note("a", { id: "evt_1" });
    expect(delivered).toMatchObject({
      status: "completed",
      outcome: "handled",
      attempts: 1,
      error: undefined,
      event: { source: "hookmesh", event_id: "evt_1", type: "note", generation: 0 },
    });
    expect(await notes()).toEqual([{ id: "evt_1", text: "a" }]);
  });

  test("delivers to a tenant, which the handler reads", async () => {
    const delivered = await environment.deliver("shops", "t", {}, { id: "evt_1", tenant: "acme" });
    expect(delivered).toMatchObject({ status: "completed", event: { event_id: "acme/evt_1" } });
    await environment.deliver("shops", "t", {}, { id: "evt_1" });
    await note("a", { id: "hook/1" });
    expect(await notes()).toEqual([
      { id: "acme/evt_1", text: "acme" },
      { id: "hook/1", text: "a" },
      { id: "test/evt_1", text: "test" },
    ]);
  });

  test("undoes what a failed attempt wrote, and says what was thrown", async () => {
    const delivered = await note("broken");
    expect(delivered).toMatchObject({ status: "pending", outcome: null, attempts: 1 });
    expect(delivered.error).toMatchObject({ code: "handler_failed" });
    expect(delivered.error?.message).toContain("the text is broken");
    expect(delivered.error?.cause).toBeInstanceOf(RangeError);
    expect(await notes()).toEqual([]);
    expect(failures).toEqual([]);
  });

  test("attempts an event until it is settled, and tells the config's onFailed", async () => {
    const delivered = await note("broken", { id: "evt_1", attempts: Infinity });
    expect(delivered).toMatchObject({ status: "failed", attempts: 3, nextAttemptInMs: undefined });
    expect(failures).toMatchObject([{ eventId: "evt_1", attempts: 3, code: "handler_failed" }]);
  });

  test("says how long a worker would wait", async () => {
    expect(await note("later")).toMatchObject({ status: "pending", nextAttemptInMs: 60_000 });
  });

  test("stops at an event that asks to wait, unless it was told how many attempts to make", async () => {
    const id = "evt_1";
    expect(await note("later", { id, attempts: Infinity })).toMatchObject({
      ...{ status: "pending", attempts: 1, nextAttemptInMs: 60_000 },
      error: { code: "retry_later" },
    });
    expect(await environment.attempt("hookmesh", id, { attempts: 4 })).toMatchObject({
      ...{ status: "pending", attempts: 5, nextAttemptInMs: 60_000 },
    });
  });

  test("leaves a pending event to its next attempt when it is delivered again", async () => {
    await note("broken", { id: "evt_1" });
    expect(await note("broken", { id: "evt_1" })).toMatchObject({ status: "pending", attempts: 1 });
    expect(await environment.attempt("hookmesh", "evt_1")).toMatchObject({ attempts: 2 });
  });

  test("runs a failed event again that its sender delivers again, where the source says so", async () => {
    await note("broken", { id: "evt_1", attempts: 3 });
    expect(await note("broken", { id: "evt_1" })).toMatchObject({ status: "pending", attempts: 4 });
    await environment.deliver("keeper", "note", {}, { id: "evt_1" });
    const again = await environment.deliver("keeper", "note", {}, { id: "evt_1" });
    expect(again).toMatchObject({ status: "failed", attempts: 1 });
  });

  test("completes an event that nobody hears as ignored", async () => {
    const { answer, outcome } = await environment.deliver("stripe", "customer.created");
    expect({ ...answer, outcome }).toEqual({
      status: 202,
      body: '{"status":"accepted"}',
      outcome: "ignored",
    });
  });

  test("runs every event of a delivery that carries several", async () => {
    const batch = ["a@example.com", "b@example.com"].map((email, index) => ({
      ...{ email, event: "delivered", timestamp: Math.floor(Date.now() / 1_000) },
      ...{ sg_event_id: `sg-${index}`, sg_message_id: "m" },
    }));
    const { events } = await environment.deliver("sendgrid", "delivered", batch);
    expect(events.map(({ event }) => event.event_id)).toEqual(["sg-0", "sg-1"]);
    expect(await notes()).toMatchObject([{ text: "a@example.com" }, { text: "b@example.com" }]);
  });

  test("puts fields over a sample that is a list, and over one that is a form", async () => {
    await environment.deliver("sendgrid", "open", { email: "c@example.com" });
    await environment.deliver("twilio", "message.received", { Body: "Turn & turn" });
    const texts = new Set((await notes()).map(({ text }) => text));
    expect(texts).toEqual(new Set(["Turn & turn", "c@example.com"]));
  });

  test("sends text as it is, byte for byte", async () => {
    const body = `{ "event_id":"evt_9", "event_type": "note" , "text" :"\\u00e9" }`;
    const { event } = await environment.deliver("hookmesh", "note", body);
    expect(event.event_id).toBe("evt_9");
    const { rows } = await environment.db.execute(sql`select body from millrace.bodies`);
    expect(String(rows[0]?.["body"])).toBe(body);
  });

  test("signs for every provider", async () => {
    const sources = Object.entries(config.sources).filter(([name]) => name !== "keeper");
    for (const [name, { provider }] of sources) {
      const type = provider.sampleTypes[0] ?? "";
      expect(await environment.deliver(name, type)).toMatchObject({ status: "completed" });
    }
  });

  test("refuses what the ingress would refuse, and a body of another type than the test's", async () => {
    await expect(environment.deliver("acme", "note")).rejects.toMatchObject({
      code: "unknown_source",
    });
    await expect(environment.deliver("stripe", "a", "no JSON")).rejects.toMatchObject({
      code: "invalid_body",
    });
    await expect(environment.deliver("stripe", "a", { type: "b" })).rejects.toMatchObject({
      code: "invalid_event_type",
      message: expect.stringContaining('of type "b"'),
    });
    await expect(environment.attempt("stripe", "evt_none")).rejects.toMatchObject({
      code: "event_not_found",
    });
  });
});

describe("deliver", () => {
  test("is a test environment for one event", async () => {
    let seen = 0;
    const { outcome, event } = await deliver(config, "stripe", "a", undefined, {
      id: "evt_1",
      check: async ({ db }) => {
        seen = (await db.execute("select * from webhook_events")).rows.length;
      },
    });
    expect({ outcome, id: event.event_id, seen }).toEqual({
      outcome: "ignored",
      id: "evt_1",
      seen: 1,
    });
  });

  test("leaves no database behind, and needs no superuser", async () => {
    const { databaseUrl, databases } = await ownServerUser();
    const options = { databaseUrl };
    const found: string[] = [];
    const check = async () => void found.push(...(await databases()));
    await deliver(config, "stripe", "a", {}, { ...options, check });
    expect(found).toEqual([expect.stringMatching(/^millrace_test_/)]);

    const broken = { ...config, migrations: "./no-such-folder" };
    const code = "invalid_config";
    await expect(deliver(broken, "stripe", "a", {}, options)).rejects.toMatchObject({ code });
    await expect(deliver(config, "acme", "a", {}, options)).rejects.toMatchObject({
      code: "unknown_source",
    });
    expect(await databases()).toEqual([]);
  });

  test("says what to do where no scratch database can be made", async () => {
    const databaseUrl = "postgres://nobody:wrong@127.0.0.1:1/none";
    await expect(deliver(config, "stripe", "a", {}, { databaseUrl })).rejects.toMatchObject({
      code: "database_unreachable",
      message: expect.stringMatching(
        /^Cannot make a scratch database on 127.0.0.1:1: .*Set TEST_DATABASE_URL/,
      ),
    });
  });
});

async function ownServerUser() {
  const user = `tester_${randomBytes(6).toString("hex")}`;
  await query(`create role ${user} login createdb password 'secret'`);
  const url = new URL(inject("postgresUrl"));
  url.username = user;
  url.password = "secret";
  const databases = async () => {
    const rows = await query(
      `select datname from pg_database where pg_get_userbyid(datdba) = '${user}'`,
    );
    return rows.map(({ datname }) => String(datname));
  };
  return { databaseUrl: url.href, databases };
}

function query(statement: string): Promise<Record<string, unknown>[]> {
  return queryOnce(inject("postgresUrl"), statement);
}
