import { readdirSync, readFileSync } from "node:fs";
import { openIngress } from "@millrace/connect";
import { parseConfig, readEnvironment } from "@millrace/core";
import { createExpressAdapter, Receiver } from "@millrace/intake";
import express from "express";
import { expect, test } from "vitest";
import { EVERY_SOURCE } from "../../packages/providers/src/testing/every-source.ts";
import {
  attacksOn,
  sampleOf,
  signsTime,
  vectorOf,
} from "../../packages/providers/src/testing/vectors.ts";
import { sendTo } from "../intake/send-to.ts";
import { serve } from "../support/free-port.ts";
import { onEachBackend } from "../support/backends.ts";
import { queryOnce } from "../support/query-once.ts";
import { environmentOf } from "../support/server-urls.ts";
import { until } from "../support/until.ts";
import { startWorker } from "../support/worker.ts";

const folder = new URL("../vectors/", import.meta.url);
const vectors = readdirSync(folder).map((file) =>
  vectorOf(file, readFileSync(new URL(file, folder), "utf8")),
);
/** Senders without a vector: they sign a sample here, and unit tests compare them with their SDKs. */
const samples = Object.values(EVERY_SOURCE)
  .filter(({ source }) => vectors.every(({ name }) => name !== source.provider.name))
  .map(({ source }, at) => sampleOf(`sample-${at}`, source));
const ALL = [...vectors, ...samples];
const config = parseConfig({
  sources: Object.fromEntries(ALL.map(({ name, source }) => [name, source])),
});

onEachBackend("what senders sign", (prepare) => {
  test("is recorded once, and nothing that is changed", async () => {
    const servers = await prepare();
    const environment = readEnvironment(environmentOf(servers));
    const stores = openIngress(environment, config, { onIntakeNotice: () => {} });
    const worker = await startWorker(servers, config, []);
    const closes = [() => servers.release(), () => stores.close(), () => worker.close()];
    let nowMs = 0;

    /** A receiver at a port, whose secrets may be those of another account. */
    async function listen(secretOf: (one: (typeof ALL)[number]) => string): Promise<number> {
      const secrets = Object.fromEntries(ALL.map((one) => [one.name, [secretOf(one)]]));
      const deps = { config, secrets, stores: stores.eventStores, nowMs: () => nowMs };
      const receiver = new Receiver(deps);
      const server = await serve(express().use("/webhooks", createExpressAdapter(receiver)));
      closes.push(() => receiver.close(), server.close);
      return server.port;
    }

    try {
      await stores.opened;
      const port = await listen(({ vector }) => vector.secret);
      const strange = await listen(({ source }) => source.provider.generateSecret());
      for (const one of ALL) {
        const { name, vector } = one;
        const { headers, body, receivedAtMs } = vector;
        const send = async (changed: object, to = port) =>
          (await sendTo(to, { source: name, headers, body, ...changed })).status;
        nowMs = receivedAtMs;
        const attacks = await attacksOn(one);
        const statuses = await Promise.all(attacks.map((attack) => send(attack)));
        expect(attacks.filter((_, at) => statuses[at] !== 401)).toEqual([]);
        expect([name, await send({}, strange)]).toEqual([name, 401]);
        for (const offsetMs of (await signsTime(one)) ? [-86_500_000, 86_500_000] : []) {
          nowMs = receivedAtMs + offsetMs;
          expect([name, offsetMs, await send({})]).toEqual([name, offsetMs, 401]);
        }
        nowMs = receivedAtMs;
        const [first, second] = [await send({}), await send({})];
        expect([200, 202, 204]).toContain(first);
        expect(second).toBe(first === 202 ? 200 : first);
      }
      const wanted = ALL.flatMap(({ name, source, vector }) =>
        vector.events.map(({ type }) => `${name} ${type} ${!source.provider.idIsSigned}`),
      ).toSorted();
      const recorded = await until(async () => {
        const text = "select source, type, unsigned from webhook_events where status = 'completed'";
        const rows = await queryOnce(servers.databaseUrl, text);
        return rows.length >= wanted.length && rows;
      });
      const found = recorded.map((row) => `${row["source"]} ${row["type"]} ${row["unsigned"]}`);
      expect(found.toSorted()).toEqual(wanted);
    } finally {
      for (const close of closes.toReversed()) await close();
    }
  });
});
