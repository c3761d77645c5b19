import { Redis } from "ioredis";
import { expect, test } from "vitest";
import { redisUrlOf, startGuardedRedis } from "../support/least-privilege.ts";
import { openForAll } from "../support/open-for.ts";
import { describeOnRedis } from "../support/redis.ts";

const REFUSED_BY_REDIS = /NOPERM|not allowed|The user executing the script/;

const DANGEROUS = [
  ...["FLUSHALL", "FLUSHDB", "KEYS *", "SCAN 0", "RANDOMKEY", "DBSIZE", "SWAPDB 0 1"],
  ...["CONFIG GET *", "CONFIG SET appendonly no", "ACL LIST", "CLIENT KILL TYPE normal", "MONITOR"],
  ...["DEBUG SLEEP 0", "SHUTDOWN NOSAVE", "SAVE", "REPLICAOF 127.0.0.1 1", "MODULE LIST"],
  ...["SCRIPT FLUSH", "FUNCTION FLUSH", "SET another 1", "GET another", "PUBLISH a b"],
  ...["EVAL redis.call('FLUSHALL') 0", "EVAL redis.call('GET','another') 0"],
  // It would tell the names of all keys that anyone changes.
  ...["CLIENT TRACKING ON BCAST", "CLIENT NO-EVICT ON", "CLIENT PAUSE 1", "ACL WHOAMI"],
];

const TAKES_AWAY = [
  ...["DEL bull:millrace-fast:1", "UNLINK bull:millrace-fast:1", "EXPIRE bull:millrace-fast:1 1"],
  ...["RENAME bull:millrace-fast:wait bull:millrace-fast:x", "LTRIM bull:millrace-fast:wait 1 0"],
  ...[
    "LREM bull:millrace-fast:wait 0 1",
    "RPOP bull:millrace-fast:wait",
    "SET bull:millrace-fast:1 1",
  ],
  ...["BZPOPMIN bull:millrace-fast:marker 0.01"],
];

const USERS = ["ingress", "worker", "dashboard"] as const;
const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

describeOnRedis("a role that has its own user in Redis", () => {
  const redis = openForAll(startGuardedRedis);

  async function answersTo(user: (typeof USERS)[number], commands: readonly string[]) {
    const client = new Redis(redisUrlOf(redis, user), { maxRetriesPerRequest: 0 });
    const answers = commands.map(async (command) => {
      const [name = "", ...args] = command.split(" ");
      return await client.call(name, ...args).then(() => "done", messageOf);
    });
    const said = await Promise.all(answers);
    client.disconnect();
    return said;
  }

  test.each(USERS)("the %s gives no command about the server or other keys", async (user) => {
    const said = await answersTo(user, DANGEROUS);
    expect(DANGEROUS.filter((_, index) => !REFUSED_BY_REDIS.test(said[index] ?? ""))).toEqual([]);
  });

  test("the ingress has no command that deletes a key or takes a waiting job", async () => {
    const said = await answersTo("ingress", TAKES_AWAY);
    expect(TAKES_AWAY.filter((_, index) => !said[index]?.includes("NOPERM"))).toEqual([]);
  });

  // As docs/logins.md says: its scripts need these commands.
  test("the ingress can empty a job, and take a failed one off its list", async () => {
    await answersTo("worker", [
      "HSET bull:millrace-fast:evt_1 data x",
      "ZADD bull:millrace-fast:failed 1 evt_1",
    ]);
    const takes = ["HDEL bull:millrace-fast:evt_1 data", "ZREM bull:millrace-fast:failed evt_1"];
    expect(await answersTo("ingress", takes)).toEqual(["done", "done"]);
  });

  test("only a worker takes jobs", async () => {
    const take = ["BZPOPMIN bull:millrace-fast:marker 0.01"];
    expect(await answersTo("worker", take)).toEqual(["done"]);
    expect(await answersTo("dashboard", take)).toEqual([expect.stringContaining("NOPERM")]);
  });

  test("nobody comes in without a name", async () => {
    const client = new Redis(redis.port, { maxRetriesPerRequest: 0 });
    client.on("error", () => {});
    await expect(client.ping()).rejects.toThrow("NOAUTH");
    client.disconnect();
  });
});
