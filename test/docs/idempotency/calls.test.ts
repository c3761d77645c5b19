import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { on, type Handler } from "@millrace/core";
import { sql } from "drizzle-orm";
import { Redis } from "ioredis";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { describeOnRedis, startRedis, type TestRedis } from "../../support/redis.ts";
import { until } from "../../support/until.ts";
import {
  CIRCUMSTANCES,
  jobOf,
  openPageShop,
  retried,
  type Fact,
  type PageShop,
} from "./page-shop.ts";

const OPEN = { id: "i1", status: "open", version: 1 };
const PAID = { id: "i1", status: "paid", version: 2 };

describeOnRedis("a handler that calls", () => {
  let server: TestRedis;
  let redis: Redis;
  let shop: PageShop;
  let invoice = OPEN;
  let alerts = 0;
  let fails = false;
  const sender = createPeer(() => JSON.stringify(invoice));
  const chat = createPeer(() => {
    if (fails) {
      fails = false;
      return undefined;
    }
    alerts += 1;
    return "";
  });

  beforeAll(async () => {
    server = await startRedis();
    redis = new Redis(server.url);
    vi.stubEnv("GUARD_REDIS_URL", server.url);
    vi.stubEnv("CHAT_URL", await chat.listen());
    vi.stubEnv("SHOP_API_URL", await sender.listen());
    shop = await openPageShop();
  });
  afterAll(async () => {
    vi.unstubAllEnvs();
    await shop?.close();
    redis?.disconnect();
    await Promise.all([chat.close(), sender.close(), server?.stop()]);
  });
  beforeEach(() => start());

  async function start(): Promise<void> {
    await shop.begin();
    await redis.flushall();
    [alerts, invoice] = [0, OPEN];
  }

  async function completes(handlers: readonly Handler[], fact: Fact): Promise<void> {
    const [worker] = shop.startWorkers(handlers);
    const job = jobOf(fact);
    const result = await retried(worker, job, await worker.process(job));
    expect(result).toMatchObject({ kind: "completed" });
  }

  describe("and reads the newest state", () => {
    const opened: Fact = { type: "invoice.opened", data: { invoice_id: "i1", status: "open" } };
    const paid: Fact = { type: "invoice.paid", data: { invoice_id: "i1", status: "paid" } };
    const invoices = () => shop.ask("select * from invoices");
    const upsert = ({ status, version }: typeof OPEN) =>
      sql`insert into invoices values ('i1', ${status}, ${version})
          on conflict (id) do update set status = excluded.status, version = excluded.version`;
    const read = async () =>
      (await (await fetch(process.env["SHOP_API_URL"] ?? "")).json()) as typeof OPEN;
    const readsBy = (call: Parameters<typeof on<{}, typeof OPEN>>[2]) =>
      on<{}, typeof OPEN>("shop", "invoice.*", call);

    test.each(CIRCUMSTANCES)("has it, of two events %s", async (circumstance) => {
      const writesPayload = on("shop", "invoice.*", async (event, { tx }) => {
        await tx.execute(upsert({ ...OPEN, status: event.payload.data.status }));
      });
      await shop.run(circumstance, [writesPayload], [opened, paid]);
      const wrong = circumstance === "in reverse order" ? "open" : "paid";
      expect(await invoices(), "without the recipe").toMatchObject([{ status: wrong }]);

      await start();
      invoice = PAID;
      await shop.run(circumstance, shop.handlers, [opened, paid]);
      expect(await invoices(), "with the recipe").toEqual([PAID]);
    });

    test("does not overwrite it by an answer that comes late", async () => {
      const readsOnly = readsBy({
        call: read,
        write: async (_event, { tx }, found) => void (await tx.execute(upsert(found))),
      });
      for (const [handlers, expected] of [
        [[readsOnly], OPEN],
        [shop.handlers, PAID],
      ] as const) {
        await start();
        const [one, other] = shop.startWorkers(handlers);
        sender.hold(1);
        const late = one.process(jobOf(opened));
        await until(() => sender.held() === 1);
        invoice = PAID;
        expect(await other.process(jobOf(paid))).toMatchObject({ kind: "completed" });
        sender.answer();
        expect(await late).toMatchObject({ kind: "completed" });
        expect(await invoices()).toEqual([expected]);
      }
    });

    test("reads again in a later attempt", async () => {
      const failsOnce = shop.handlers.map((handler) => ({
        ...handler,
        write: async (...given: Parameters<NonNullable<Handler["write"]>>) => {
          await handler.write?.(...given);
          if (invoice === PAID) return;
          invoice = PAID;
          throw new Error("This attempt fails");
        },
      }));
      await completes(failsOnce, paid);
      expect(await invoices()).toEqual([PAID]);
    });
  });

  describe("behind a key in Redis", () => {
    const isLow = { type: "stock.low", data: { sku: "flour" } };
    const alert = () => fetch(process.env["CHAT_URL"] ?? "", { method: "POST", body: "Few left" });

    test("alerts once of two at once; where the handler asks first, twice", async () => {
      const asksFirst = on("shop", "stock.low", async () => {
        if ((await redis.get("alerted:flour")) !== null) return;
        await alert();
        await redis.set("alerted:flour", "1", "EX", 3_600);
      });
      for (const [handlers, expected] of [
        [[asksFirst], 2],
        [shop.handlers, 1],
      ] as const) {
        await start();
        // The chat answers nobody before both have asked it, or one has ended.
        chat.hold(2);
        let ended = 0;
        const runs = shop
          .startWorkers(handlers)
          .map((worker) => worker.process(jobOf(isLow)).finally(() => (ended += 1)));
        await until(() => chat.held() + ended === 2);
        chat.answer();
        await Promise.all(runs);
        expect(alerts).toBe(expected);
      }
    });

    test("makes up for an attempt that failed after it took the key; without the event's key in it, it does not", async () => {
      const takesKeyAlone = on("shop", "stock.low", async () => {
        const isFirst = await redis.set("alerted:flour", "1", "EX", 3_600, "NX");
        if (isFirst === null) return;
        if (!(await alert()).ok) throw new Error("The chat is away");
      });
      for (const [handlers, expected] of [
        [[takesKeyAlone], 0],
        [shop.handlers, 1],
      ] as const) {
        await start();
        fails = true;
        await completes(handlers, isLow);
        expect(alerts).toBe(expected);
      }
    });

    test("alerts again after a flush, which undoes nothing that the ledger knows", async () => {
      const [worker] = shop.startWorkers(shop.handlers);
      const low = jobOf(isLow);
      await worker.process(low);
      await redis.flushall();
      expect(await worker.process({ ...low, run: "run-2" })).toEqual({ kind: "duplicate" });
      expect(alerts).toBe(1);
      await worker.process(jobOf(isLow));
      expect(alerts).toBe(2);
    });
  });
});

function createPeer(answerNow: () => string | undefined) {
  const held: (() => void)[] = [];
  let holds = 0;
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      const body = answerNow();
      const send = () => void response.writeHead(body === undefined ? 503 : 200).end(body);
      if (holds > 0) held.push(send);
      else send();
      holds = Math.max(0, holds - 1);
    });
  });
  return {
    listen: async () => {
      await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    },
    hold: (count: number) => void (holds = count),
    held: () => held.length,
    answer: () => {
      holds = 0;
      for (const send of held.splice(0)) send();
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
