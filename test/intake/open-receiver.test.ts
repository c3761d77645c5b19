import { defineConfig, hmac, openReceiver, type Receiver } from "millrace";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { onRedis, type Ground } from "../support/backends.ts";
import { freePort } from "../support/free-port.ts";
import { runCommand } from "../support/millrace-process.ts";
import { describeOnRedis } from "../support/redis.ts";
import { scratchDatabase } from "../support/scratch-database.ts";
import { until } from "../support/until.ts";

const shop = hmac({ header: "x-signature", id: "json:id", type: "json:type" });
const config = defineConfig({ sources: { shop } });
const SECRET = "a-secret-of-the-shop";
const body = Buffer.from('{"id":"evt_1","type":"sold"}');

function deliver(receiver: Receiver) {
  const at = { eventId: "evt_1", type: "sold", body, secret: SECRET, nowMs: Date.now() };
  const headers = shop.provider.sign(at);
  return receiver.receive({ source: "shop", method: "POST", url: "/", headers, body });
}

describe("a receiver that is opened in an app", () => {
  let database: Awaited<ReturnType<typeof scratchDatabase>>;

  beforeEach(async () => {
    database = await scratchDatabase();
  });
  // With force; a connection that was left would be a rejection that nobody hears.
  afterEach(() => database.drop());

  test("wants what the ingress wants", async () => {
    const DATABASE_URL = database.url;
    const SHOP_WEBHOOK_SECRET = SECRET;
    await expect(openReceiver(config, { DATABASE_URL })).rejects.toMatchObject({
      code: "missing_secret",
    });
    await expect(openReceiver(config, { SHOP_WEBHOOK_SECRET })).rejects.toMatchObject({
      code: "invalid_config",
    });
    await expect(openReceiver(config, { DATABASE_URL, SHOP_WEBHOOK_SECRET })).rejects.toMatchObject(
      { code: "migration_needed" },
    );
  });

  test("answers 503 while its server is away, tells of it, and closes", async () => {
    const url = `postgres://millrace:none@127.0.0.1:${await freePort()}/none`;
    const env = { DATABASE_URL: url, SHOP_WEBHOOK_SECRET: SECRET };
    const troubles: string[] = [];
    const onTrouble = (cause: string) => void troubles.push(cause);
    const receiver = await openReceiver(config, env, { onTrouble });
    expect(await deliver(receiver)).toMatchObject({ status: 503, code: "unavailable" });
    expect(troubles).toContain("ledger: away");
    await receiver.close();
    expect(receiver.closing).toBe(true);
    expect(await deliver(receiver)).toMatchObject({ status: 503, code: "shutting_down" });
  });
});

describeOnRedis("a receiver that is opened in an app, on Redis", () => {
  let ground: Ground;

  beforeEach(async () => {
    ground = await onRedis();
  });
  afterEach(() => ground.release());

  test("puts an event on the queue, and goes on with the ledger when Redis dies", async () => {
    const env = {
      DATABASE_URL: ground.databaseUrl,
      REDIS_URL: ground.redisUrl ?? "",
      SHOP_WEBHOOK_SECRET: SECRET,
      MILLRACE_REDIS_VOLATILE: "1",
      MILLRACE_CONFIG: "examples/store/millrace.config.ts",
    };
    expect(await runCommand(["migrate"], env)).toMatchObject({ code: 0 });
    const notices: string[] = [];
    const notify = ({ kind }: { kind: string }) => void notices.push(kind);
    const receiver = await openReceiver(config, env, { notify, onTrouble: () => {} });
    try {
      expect(await deliver(receiver)).toMatchObject({ status: 202 });
      expect(receiver.placing()).toMatchObject([{ source: "shop", place: "queue" }]);
      expect(notices).toContain("answered");

      await ground.redis?.kill();
      await until(async () => (await deliver(receiver)).status < 300);
      await until(() => receiver.placing()[0]?.place === "ledger");
    } finally {
      await receiver.close();
    }
  });
});
