import { createServer, type Server, type ServerResponse } from "node:http";
import { on, type Handler } from "@millrace/core";
import { Redis } from "ioredis";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { describeOnRedis, startRedis, type TestRedis } from "../../support/redis.ts";
import { until } from "../../support/until.ts";
import { jobOf, openPageShop, retried, type PageShop } from "./page-shop.ts";

// The guard in Redis of docs/idempotency.md, next to handlers without it: what several events share, and what a
// flush does to it.

describeOnRedis("a guard by a key in Redis", () => {
  let server: TestRedis;
  let redis: Redis;
  let chat: Chat;
  let shop: PageShop;
  const before = { redis: process.env["GUARD_REDIS_URL"], chat: process.env["CHAT_URL"] };

  beforeAll(async () => {
    [server, chat] = await Promise.all([startRedis(), startChat()]);
    redis = new Redis(server.url);
    process.env["GUARD_REDIS_URL"] = server.url;
    process.env["CHAT_URL"] = chat.url;
    shop = await openPageShop();
  });
  afterAll(async () => {
    restore("GUARD_REDIS_URL", before.redis);
    restore("CHAT_URL", before.chat);
    await shop?.close();
    redis?.disconnect();
    await chat?.close();
    await server?.stop();
  });
  beforeEach(async () => {
    await redis.flushall();
    chat.alerts.length = 0;
  });

  const isLow = { type: "stock.low", data: { sku: "flour" } };
  const alert = () => fetch(chat.url, { method: "POST", body: "Few left of flour" });

  /** Asks first, and remembers afterward. */
  const asksFirst = on("shop", "stock.low", async () => {
    if ((await redis.get("alerted:flour")) !== null) return;
    await alert();
    await redis.set("alerted:flour", "1", "EX", 3_600);
  });

  /** Runs two events at the same time: the chat answers nobody before both have asked it, or one has ended. */
  async function atOnce(handlers: readonly Handler[]): Promise<number> {
    chat.hold();
    const workers = shop.startWorkers(handlers);
    let ended = 0;
    const runs = workers.map((worker) => worker.process(jobOf(isLow)).finally(() => (ended += 1)));
    await until(() => chat.held + ended === 2);
    chat.answer();
    await Promise.all(runs);
    return chat.alerts.length;
  }

  test("two events about one product are one alert, one after the other", async () => {
    await shop.run("one after the other", shop.handlers, [isLow, isLow]);
    expect(chat.alerts).toHaveLength(1);
  });

  test("of two at once, one alerts; where the handler asks first, both do", async () => {
    expect(await atOnce([asksFirst])).toBe(2);
    chat.alerts.length = 0;
    await redis.flushall();
    expect(await atOnce(shop.handlers)).toBe(1);
  });

  test("an attempt that failed after it took the key is made up for; without the event's key in it, it is not", async () => {
    const takesKeyAlone = on("shop", "stock.low", async () => {
      const isFirst = await redis.set("alerted:flour", "1", "EX", 3_600, "NX");
      if (isFirst === null) return;
      const answer = await alert();
      if (!answer.ok) throw new Error("The chat is away");
    });
    const alertsAfterFailure = async (handlers: readonly Handler[]) => {
      chat.alerts.length = 0;
      chat.failNext();
      const [worker] = shop.startWorkers(handlers);
      const job = jobOf(isLow);
      const result = await retried(worker, job, await worker.process(job));
      expect(result).toMatchObject({ kind: "completed" });
      return chat.alerts.length;
    };
    expect(await alertsAfterFailure([takesKeyAlone])).toBe(0);
    expect(await alertsAfterFailure(shop.handlers)).toBe(1);
  });

  test("a flush makes the next event alert again, and undoes nothing that the ledger knows", async () => {
    await shop.begin();
    const sold = { type: "user.created", data: { user_id: "u1", email: "ada@example.com" } };
    const [worker] = shop.startWorkers(shop.handlers);
    const [created, low] = [jobOf(sold), jobOf(isLow)];
    await worker.process(created);
    await worker.process(low);
    expect(chat.alerts).toHaveLength(1);

    await redis.flushall();
    expect(await worker.process({ ...low, run: "run-2" })).toEqual({ kind: "duplicate" });
    expect(await worker.process({ ...created, run: "run-2" })).toEqual({ kind: "duplicate" });
    expect(chat.alerts).toHaveLength(1);
    await worker.process(jobOf(isLow));
    expect(chat.alerts).toHaveLength(2);
  });

  test("a store of ids in Redis lets an event through again after a flush", async () => {
    const handle = async (id: string) => {
      const isNew = await redis.set(`processed:${id}`, "1", "EX", 3_600, "NX");
      return isNew === null ? "duplicate" : "processed";
    };
    expect([await handle("e1"), await handle("e1")]).toEqual(["processed", "duplicate"]);
    await redis.flushall();
    expect(await handle("e1")).toBe("processed");
  });
});

interface Chat {
  readonly url: string;
  /** What it has accepted. */
  readonly alerts: string[];
  /** How many requests wait for their answer. */
  readonly held: number;
  /** Answers nobody from now on, until `answer`. */
  hold(): void;
  answer(): void;
  /** Answers the next request 503. */
  failNext(): void;
  close(): Promise<void>;
}

async function startChat(): Promise<Chat> {
  const alerts: string[] = [];
  const waiting: ServerResponse[] = [];
  let [isHolding, fails] = [false, false];
  const server: Server = createServer((request, response) => {
    request.resume().on("end", () => {
      if (fails) {
        fails = false;
        response.writeHead(503).end();
        return;
      }
      alerts.push(request.url ?? "");
      if (isHolding) waiting.push(response);
      else response.end();
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}/`,
    alerts,
    get held() {
      return waiting.length;
    },
    hold: () => void (isHolding = true),
    answer: () => {
      isHolding = false;
      for (const response of waiting.splice(0)) response.end();
    },
    failNext: () => void (fails = true),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function restore(name: string, value: string | undefined): void {
  if (value === undefined) delete process.env[name];
  else process.env[name] = value;
}
