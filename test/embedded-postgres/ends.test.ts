import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { queryOnce } from "../support/query-once.ts";
import { onFolder } from "./on-folder.ts";
import { startOwner } from "./owner-process.ts";

const it = onFolder({ hasData: true });

describe("two starts in one folder", () => {
  test("the second in the same process is refused by name", async () => {
    await it.start();
    await expect(it.start()).rejects.toMatchObject({ code: "already_running" });
  });

  test("of two processes that begin at once exactly one starts a server", async () => {
    it.dataDir = join(it.folder, "empty");
    const owners = await Promise.all([startOwner(it.dataDir), startOwner(it.dataDir)]);
    const winners = owners.filter((owner) => owner.said.pid !== undefined);
    const losers = owners.filter((owner) => owner.said.code === "already_running");
    for (const winner of winners) it.atEnd(() => winner.stop());
    expect([winners.length, losers.length]).toEqual([1, 1]);
    expect(losers[0]?.said.message).toContain(String(winners[0]?.child.pid));
  });

  test("the folder is free again after a stop, and after a start that failed", async () => {
    await expect(it.start({ settings: { no_such: "1" } })).rejects.toThrow("no_such");
    await (await it.start()).stop();
    await it.start();
  });
});

describe("the end", () => {
  test("comes to a server that hangs, by force", async () => {
    const postgres = await it.start();
    process.kill(postgres.pid, "SIGSTOP");
    await postgres.stop("immediate");
    await expect(queryOnce(postgres.url, "SELECT 1")).rejects.toThrow("ECONNREFUSED");
  });

  test("may be asked for twice", async () => {
    const postgres = await it.start();
    await Promise.all([postgres.stop(), postgres.stop()]);
    await postgres.stop();
    await expect(queryOnce(postgres.url, "SELECT 1")).rejects.toThrow("ECONNREFUSED");
  });

  test("can be undone: a server that was killed starts again on the same port", async () => {
    const postgres = await it.start();
    const before = postgres.pid;
    await postgres.kill();
    await expect(queryOnce(postgres.url, "SELECT 1")).rejects.toThrow("ECONNREFUSED");
    await postgres.restart();
    expect(postgres.pid).not.toBe(before);
    expect(await queryOnce(postgres.url, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  });

  test.runIf(process.platform === "linux")("passes the server by on Ctrl-C", async () => {
    const postgres = await it.start();
    const text = await readFile(`/proc/${postgres.pid}/stat`, "utf8");
    const group = text.slice(text.lastIndexOf(")") + 2).split(" ")[2];
    expect(group).toBe(String(postgres.pid));
  });
});
