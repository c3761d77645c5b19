import { execFileSync } from "node:child_process";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { newFolder } from "../support/new-folder.ts";
import { openForAll } from "../support/open-for.ts";
import { describeOnRedis } from "../support/redis.ts";
import { doctorAgrees, named, openRestorable } from "./sending.ts";

describeOnRedis("an older Redis", () => {
  const backup = newFolder();
  const servers = openForAll(openRestorable);
  beforeAll(() => servers.pipeline.start("worker"));

  const copyRedis = async (from: string, to: string) => {
    await servers.redis.kill();
    await rm(join(to, "appendonlydir"), { recursive: true, force: true });
    execFileSync("cp", ["-a", join(from, "appendonlydir"), to]);
    await servers.redis.restart();
  };

  test("runs nothing again, and takes what is delivered from then on", async () => {
    const { pipeline, redis, send, completed } = servers;
    const [before, later] = [named("before", 30), named("later", 60)];
    await send(before);
    await completed(...before);
    await copyRedis(redis.folder, backup);
    await send(later);
    await completed(...before, ...later);
    await copyRedis(backup, redis.folder);

    await doctorAgrees(pipeline);
    // Redis has forgotten the later ones, and the ledger has not: a job of theirs runs no handler.
    await send([...before, ...later]);
    const after = named("after", 10);
    await send(after);
    await completed(...before, ...later, ...after);
    await doctorAgrees(pipeline);
  });

  test("has what an even older Postgres has lost, and that runs again", async () => {
    const { pipeline, postgres, redis, send, completed } = servers;
    const [before, between, later] = [named("pg", 20), named("between", 40), named("gone", 20)];
    await send(before);
    await completed(...before);
    await postgres.backUp();
    await send(between);
    await completed(...before, ...between);
    await copyRedis(redis.folder, backup);
    await send(later);
    await completed(...later);
    await Promise.all([postgres.restore(), copyRedis(backup, redis.folder)]);

    await completed(...before, ...between);
    const { rows } = await pipeline.database.query(
      "select count(*)::int from millrace.events where event_id like 'msg_gone_%'",
    );
    expect(rows[0].count).toBe(0);
    await doctorAgrees(pipeline);
    // Neither has a trace of these. Their senders do.
    await send(later);
    await completed(...before, ...between, ...later);
  });
});
