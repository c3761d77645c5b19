import { createHash, createHmac } from "node:crypto";
import { sql } from "drizzle-orm";
import { github, hmac, on, PermanentError, shopify } from "millrace";
import type { PoolClient } from "pg";
import { expect, test } from "vitest";
import { onOneBackend } from "../support/backends.ts";
import { openForAll } from "../support/open-for.ts";
import { startStack } from "../support/pipeline.ts";
import { until } from "../support/until.ts";
import attacks from "./by-a-stranger.json" with { type: "json" };

const SECRET = "one-secret-of-many-sources";
const LOCK = 4242;
const WITHIN = { timeout: 30_000 };
const soon = { attempts: 2, backoff: { firstMs: 20, factor: 1, maxMs: 20 } };

/** Writes what it ran: `F` fails for good, and `W` waits for a lock that the attack holds. */
const write = on("*", "*", async ({ type, payload, id }, { tx }) => {
  const name = String(payload["name"]);
  await tx.execute(
    sql`insert into effects (event_id, source) values (${id}, ${`${type} ${name}`})`,
  );
  if (name === "F") throw new PermanentError("No retry will help");
  if (name === "W") await tx.execute(sql`select pg_advisory_xact_lock_shared(${LOCK})`);
});
const config = {
  sources: {
    ...{ hub: github(soon), twin: github(soon), kept: github({ ...soon, ack: "ledger" as const }) },
    ...{ shop: shopify(soon), clock: hmac({ ...soon, header: "x-mac", id: "json:at" }) },
  },
  handlers: [write],
  migrations: "./migrations",
};
const env = Object.fromEntries(
  Object.keys(config.sources).map((name) => [`${name.toUpperCase()}_WEBHOOK_SECRET`, SECRET]),
);

type Text = string | string[];
type Headers = Record<string, Text>;

function headersOf(source: string, id: Text, type: Text, body: string): Headers {
  const mac = createHmac("sha256", SECRET).update(body);
  if (source === "clock") return { "x-mac": mac.digest("hex") };
  if (source !== "shop") {
    const signature = `sha256=${mac.digest("hex")}`;
    return { "x-hub-signature-256": signature, "x-github-delivery": id, "x-github-event": type };
  }
  const names = { "x-shopify-shop-domain": "a.example", "x-shopify-topic": type };
  return { ...names, "x-shopify-event-id": id, "x-shopify-hmac-sha256": mac.digest("base64") };
}

onOneBackend("what a stranger sends", (prepare) => {
  const stack = openForAll(() => startStack(prepare, { config, env }));
  let holder: PoolClient | undefined;

  const seenOf = async (mark: string) => {
    const ask = async (query: string) =>
      (await stack.pipeline.database.query<{ key: string; value: string }>(query, [`%${mark}%`]))
        .rows;
    const ends = await ask(`select event_id || ' ' || generation as key,
      case when status = 'failed' then last_error_code else status end as value
      from millrace.events where event_id like $1`);
    const ran = await ask(
      "select source as key, '' as value from effects where event_id like $1 order by 1",
    );
    const kept = await ask(`select c.event_id || ' ' || c.type || ' ' ||
      (convert_from(b.body, 'UTF8')::json ->> 'name') as key, '' as value from millrace.conflicts c
      join millrace.bodies b on b.day = c.body_day and b.id = c.body_id where event_id like $1 order by 1`);
    const named = (rows: typeof ends) => rows.map(({ key }) => key.replaceAll(mark, "@"));
    const count: Record<string, number> = {};
    for (const { value } of ends) count[value] = (count[value] ?? 0) + 1;
    const byKey = Object.fromEntries(
      ends.map(({ key, value }) => [key.replaceAll(mark, "@"), value]),
    );
    return { ends: byKey, count, ran: named(ran), kept: named(kept) };
  };

  const bodyOf = (mark: string, name: string) => JSON.stringify({ name, at: `${mark}t` });
  const play = async (mark: string, [verb, ...given]: unknown[]) => {
    const { database } = stack.pipeline;
    const own = JSON.parse(JSON.stringify(given).replaceAll("@", mark)) as unknown[];
    const [first, id, type, name, wanted, more] = own as [
      ...[source: string, id: Text, type: Text, name: string, wanted: number, more?: Headers],
    ];
    const send = async (eventId: Text) => {
      const body = bodyOf(mark, name);
      const headers = { ...headersOf(first, eventId, type, body), ...more };
      const pairs = Object.entries(headers).flatMap(([header, values]) =>
        [values].flat().map((value): [string, string] => [header, value]),
      );
      const delivery = { method: "POST", headers: pairs, body };
      return (await fetch(`${stack.ingress.url}/webhooks/${first}`, delivery)).status;
    };
    switch (verb) {
      case "send":
        return expect({ id, status: await send(id) }).toEqual({ id, status: wanted });
      case "many": {
        const ids = Array.from({ length: wanted }, (_, index) => `${String(id)}${index}`);
        const sending = Array.from({ length: 8 }, async () => {
          for (let next = ids.pop(); next !== undefined; next = ids.pop()) {
            expect(await send(next)).toBe(202);
          }
        });
        return await Promise.all(sending);
      }
      case "settle":
        return await expect
          .poll(async () => {
            const { pending, ...ended } = (await seenOf(mark)).count;
            return pending === undefined && Object.values(ended).reduce((sum, one) => sum + one, 0);
          }, WITHIN)
          .toBe(first);
      case "age":
        return await database.query(`begin; set local session_replication_role = replica;
          update millrace.events set recorded_at = recorded_at - interval '${first} hours'
          where event_id like '%${mark}%'; commit`);
      case "hold":
        holder = await database.connect();
        return await holder.query("select pg_advisory_lock($1)", [LOCK]);
      case "running":
        return await until(async () => {
          const waiting = "select from pg_locks where objid = $1 and not granted";
          return (await database.query(waiting, [LOCK])).rowCount === 1;
        });
      case "release":
        await holder?.query("select pg_advisory_unlock_all()");
        return holder?.release();
      default: {
        const hash = (one: string) =>
          createHash("sha256").update(bodyOf(mark, one)).digest("base64url");
        const path = first.replace(/\$(\w)/, (_, one: string) => hash(one));
        const headers = { "content-type": "application/json" };
        const call = { method: "POST", body: "{}", headers };
        expect((await fetch(`${stack.dashboard.url}/api/${path}`, call)).status).toBe(200);
      }
    }
  };

  test.each(attacks)("$title", async ({ steps, ends, count, ran, kept }) => {
    const mark = `a${attacks.findIndex((one) => one.steps === steps)}x`;
    for (const step of steps) await play(mark, step);
    const expected = { ...(ends && { ends }), ...(count && { count }), ...(ran && { ran }) };
    const shown = async () => {
      const seen = await seenOf(mark);
      return { ...expected, ...seen, ends: ends && seen.ends, count: count && seen.count };
    };
    await expect
      .poll(shown, WITHIN)
      .toEqual({ ...expected, kept: kept ?? [], ran: ran ?? expect.any(Array) });
  });
});
