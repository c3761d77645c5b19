import { on, type Handler, type JobResult } from "@millrace/core";
import { sql } from "drizzle-orm";
import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeOnRedis, startRedis, type TestRedis } from "../../support/redis.ts";
import { until } from "../../support/until.ts";
import { jobOf, openPageShop, signal, type Fact, type PageShop } from "./page-shop.ts";

// The lock by name of docs/idempotency.md, the order of its names, and the lock in Redis that it is not.

let shop: PageShop;
beforeAll(async () => {
  shop = await openPageShop();
});
afterAll(() => shop?.close());

const booking = (id: string, day: number, ...rooms: string[]): Fact => ({
  type: "rooms.booked",
  data: { booking_id: id, rooms, first_day: `2026-05-0${day}`, last_day: `2026-05-0${day + 1}` },
});

/** Runs two handlers whose second names are each other's first, and both of which wait for the same name. */
async function inOppositeOrders(handlers: readonly Handler[]): Promise<string[]> {
  await shop.begin();
  const holder = await shop.connect();
  const [one, other] = shop.startWorkers(handlers);
  const runs: Promise<JobResult>[] = [];
  try {
    await holder.query("begin");
    await holder.query("select pg_advisory_xact_lock(hashtextextended('room blue', 0))");
    // The lock is given in the order in which it was asked for.
    runs.push(one.process(jobOf(booking("b1", 1, "blue", "red"))));
    await until(async () => (await shop.lockWaits()) === 1);
    runs.push(other.process(jobOf(booking("b2", 2, "red", "blue"))));
    await until(async () => (await shop.lockWaits()) === 2);
  } finally {
    await holder.query("rollback");
    holder.release();
  }
  return (await Promise.all(runs)).map(({ kind }) => kind).toSorted();
}

test("of two handlers that lock two names in opposite orders one is rolled back; in one order, none is", async () => {
  const inGivenOrder = on("shop", "rooms.booked", async (event, { tx }) => {
    for (const room of event.payload.data.rooms as string[]) {
      const name = `room ${room}`;
      await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`);
    }
  });
  expect(await inOppositeOrders([inGivenOrder])).toEqual(["completed", "retry"]);
  expect(await inOppositeOrders(shop.handlers)).toEqual(["completed", "completed"]);
});

test("a worker whose connection dies keeps no name", async () => {
  const [written, goOn] = [signal(), signal()];
  let pid = 0;
  const held = shop.handlers.map((handler) => ({
    ...handler,
    write: async (...given: Parameters<NonNullable<Handler["write"]>>) => {
      await handler.write?.(...given);
      const { rows } = await given[1].tx.execute<{ pid: number }>(
        sql`select pg_backend_pid() as pid`,
      );
      pid = rows[0]?.pid ?? 0;
      written.resolve();
      await goOn.reached;
    },
  }));
  await shop.begin();
  const dying = shop.startWorkers(held)[0].process(jobOf(booking("b1", 1, "blue")));
  await written.reached;
  const other = shop.startWorkers(shop.handlers)[1].process(jobOf(booking("b2", 1, "blue")));
  await until(async () => (await shop.lockWaits()) > 0);
  await shop.ask("select pg_terminate_backend($1)", [pid]);
  expect(await other).toMatchObject({ kind: "completed" });
  goOn.resolve();
  expect(await dying).toMatchObject({ kind: "retry" });
  expect(await shop.ask("select id from bookings")).toEqual([{ id: "b2" }]);
});

describeOnRedis("a lock in Redis that ends by time and by DEL", () => {
  let server: TestRedis;
  let redis: Redis;
  beforeAll(async () => {
    server = await startRedis();
    redis = new Redis(server.url);
  });
  afterAll(async () => {
    redis?.disconnect();
    await server?.stop();
  });

  /** The usual one, for a time that the work outlasts. */
  async function withRedisLock(work: () => Promise<void>): Promise<boolean> {
    const lock = await redis.set("webhook-lock:blue", "1", "PX", 50, "NX");
    if (lock === null) return false;
    try {
      await work();
    } finally {
      await redis.del("webhook-lock:blue");
    }
    return true;
  }

  /** The same for the lock by name. */
  async function withNamedLock(work: () => Promise<void>): Promise<boolean> {
    const client = await shop.connect();
    try {
      await client.query("begin");
      await client.query("select pg_advisory_xact_lock(hashtextextended('room blue', 0))");
      await work();
      await client.query("commit");
    } finally {
      client.release();
    }
    return true;
  }

  test("lets a second worker in while the first works, and the first one's DEL a third", async () => {
    const work = new Work();
    const first = withRedisLock(work.of("first"));
    await until(() => work.inside.has("first"));
    await until(async () => (await redis.exists("webhook-lock:blue")) === 0);
    const second = withRedisLock(work.of("second"));
    await until(() => work.inside.has("second"));
    await redis.persist("webhook-lock:blue"); // the second one's lock does not end by time
    work.end("first");
    await first;
    const third = withRedisLock(work.of("third"));
    await until(() => work.inside.has("third"));
    expect([...work.inside]).toEqual(["second", "third"]);
    for (const name of work.inside) work.end(name);
    expect(await Promise.all([second, third])).toEqual([true, true]);
  });

  test("the lock by name lets one in at a time, however long it works", async () => {
    const work = new Work();
    const all = ["first", "second", "third"].map((name) => withNamedLock(work.of(name)));
    for (let ended = 1; ended <= 3; ended += 1) {
      await until(() => work.inside.size > 0);
      // The others wait for as long as it works.
      if (ended < 3) await until(async () => (await shop.lockWaits()) > 0);
      for (const name of work.inside) work.end(name);
      await until(() => work.ended === ended);
    }
    await Promise.all(all);
    expect(work.mostAtOnce).toBe(1);
  });
});

/** Work that goes on until the test ends it, and who does it at the same time. */
class Work {
  readonly inside = new Set<string>();
  ended = 0;
  mostAtOnce = 0;
  private readonly ends = new Map<string, () => void>();

  of(name: string): () => Promise<void> {
    return async () => {
      this.inside.add(name);
      this.mostAtOnce = Math.max(this.mostAtOnce, this.inside.size);
      await new Promise<void>((resolve) => this.ends.set(name, resolve));
      this.inside.delete(name);
      this.ended += 1;
    };
  }

  end(name: string): void {
    this.ends.get(name)?.();
  }
}
