import { defineConfig, hmac, openReceiver, type Receiver } from "millrace";
import { describe, expect, test } from "vitest";
import { onRedis } from "../support/backends.ts";
import { freePort, serve } from "../support/free-port.ts";
import { runCommand } from "../support/millrace-process.ts";
import { openForEach } from "../support/open-for.ts";
import { describeOnRedis } from "../support/redis.ts";
import { scratchDatabase } from "../support/scratch-database.ts";
import { until } from "../support/until.ts";

const shop = hmac({ header: "x-signature", id: "json:id", type: "json:type" });
const config = defineConfig({ sources: { shop } });
const SECRET = "a-secret-of-the-shop";
const body = Buffer.from('{"id":"evt_1","type":"sold"}');

const signed = () =>
  shop.provider.sign({ eventId: "evt_1", type: "sold", body, secret: SECRET, nowMs: Date.now() });

function deliver(receiver: Receiver) {
  const request = { source: "shop", method: "POST", url: "/", headers: signed(), body };
  return receiver.receive(request);
}

async function deliverByAdapters(receiver: Receiver): Promise<Record<string, number>> {
  const url = "http://127.0.0.1/webhooks/shop";
  const byFetch = await receiver.fetch(
    new Request(url, { method: "POST", headers: signed(), body }),
    "shop",
  );
  const express = receiver.express();
  const server = await serve((request, response) => {
    if (request.url === "/node") return receiver.node(request, response, "shop");
    express(request, response, () => response.writeHead(418).end());
  });
  const post = async (path: string) => {
    const init = { method: "POST", headers: signed(), body };
    return (await fetch(`${server.url}${path}`, init)).status;
  };
  const statuses = {
    fetch: byFetch.status,
    node: await post("/node"),
    express: await post("/shop"),
  };
  await server.close();
  return statuses;
}

describe("a receiver that is opened in an app", () => {
  const database = openForEach(scratchDatabase);

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

  test("answers 503 while its server is away, notifies of it, and closes", async () => {
    const url = `postgres://millrace:none@127.0.0.1:${await freePort()}/none`;
    const env = { DATABASE_URL: url, SHOP_WEBHOOK_SECRET: SECRET };
    const errors: string[] = [];
    const onBackgroundError = (cause: string) => void errors.push(cause);
    const receiver = await openReceiver(config, env, { onBackgroundError });
    const members = ["close", "express", "fetch", "node", "ready", "receive"];
    expect(Object.keys(receiver).toSorted()).toEqual(members);
    expect(await deliver(receiver)).toMatchObject({ status: 503, code: "unavailable" });
    expect(await deliverByAdapters(receiver)).toEqual({ fetch: 503, node: 503, express: 503 });
    expect(await receiver.ready()).toMatchObject({ status: "not_ready", stores: { shop: "none" } });
    expect(errors).toContain("ledger: away");
    await receiver.close();
    expect(await deliver(receiver)).toMatchObject({ status: 503, code: "shutting_down" });
    expect(await receiver.ready()).toMatchObject({ status: "not_ready" });
  });
});

describeOnRedis("a receiver that is opened in an app, on Redis", () => {
  const servers = openForEach(() => onRedis());

  test("puts an event on the queue, and goes on with the ledger when Redis dies", async () => {
    const env = {
      DATABASE_URL: servers.databaseUrl,
      REDIS_URL: servers.redisUrl ?? "",
      SHOP_WEBHOOK_SECRET: SECRET,
      MILLRACE_REDIS_VOLATILE: "1",
      MILLRACE_CONFIG: "examples/store/millrace.config.ts",
    };
    expect(await runCommand(["migrate"], env)).toMatchObject({ code: 0 });
    const notices: string[] = [];
    const notify = ({ kind }: { kind: string }) => void notices.push(kind);
    const receiver = await openReceiver(config, env, { notify, onBackgroundError: () => {} });
    try {
      expect(await deliver(receiver)).toMatchObject({ status: 202 });
      expect(await deliverByAdapters(receiver)).toEqual({ fetch: 200, node: 200, express: 200 });
      expect(await receiver.ready()).toEqual({
        status: "ready",
        parts: { queue: "ok", ledger: "ok" },
        stores: { shop: "queue" },
      });
      expect(notices).toContain("answered");

      await servers.redis?.kill();
      await until(async () => (await deliver(receiver)).status < 300);
      await until(async () => (await receiver.ready()).stores["shop"] === "ledger");
    } finally {
      await receiver.close();
    }
  });
});
