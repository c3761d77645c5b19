import { expect } from "vitest";
import { connect, type RawConnection } from "../intake/raw-connection.ts";
import type { TestServers } from "../support/backends.ts";
import { readMetric } from "../support/metrics.ts";
import { createPipeline } from "../support/pipeline.ts";
import { until } from "../support/until.ts";
import { exchange, type Reply } from "./exchange.ts";
import config from "./fixture/millrace.config.ts";
import { VARIABLES } from "./fixture/variables.ts";
import { plain } from "./senders.ts";
import { createStored } from "./stored.ts";
import { toBytes, type WireRequest } from "./wire.ts";

export type Target = Awaited<ReturnType<typeof startTarget>>;

export async function startTarget(servers: TestServers) {
  const pipeline = await createPipeline(servers, VARIABLES, config);
  const [ingress, worker, dashboard] = await Promise.all([
    pipeline.start("ingress"),
    pipeline.start("worker"),
    pipeline.start("dashboard"),
  ]);
  const port = Number(new URL(ingress.url).port);
  const answers: string[] = [];
  const taken = new Set<string>();
  const opened: RawConnection[] = [];
  const stored = createStored(pipeline.database, servers);

  const ask = async (request: WireRequest | Uint8Array): Promise<Reply> => {
    const reply = await exchange(port, request instanceof Uint8Array ? request : toBytes(request));
    answers.push(reply.text);
    return reply;
  };

  const deliver = async (request: WireRequest, eventId: string): Promise<void> => {
    taken.add(`${request.source}/${eventId}`);
    const reply = await until(async () => {
      const given = await ask(request);
      return given.status === 503 ? undefined : given;
    });
    expect([reply.status, reply.code]).toEqual([expect.toBeOneOf([200, 202]), "accepted"]);
  };

  const metric = async (beginning: string) => (await readMetric(ingress.url, beginning)) ?? 0;

  let alive = 0;
  return {
    ...stored,
    pipeline,
    ingress,
    worker,
    dashboard,
    answers,
    ask,
    deliver,
    metric,
    open: async () => {
      const made = await connect(port);
      opened.push(made);
      return made;
    },
    refusal: async (request: WireRequest | Uint8Array) => {
      const { status, code } = await ask(request);
      return `${status} ${code}`;
    },
    take: async (request: WireRequest, eventId: string) => {
      await deliver(request, eventId);
      const state = await until(async () => {
        const found = await stored.stateOf(request.source, eventId);
        return found?.status === "pending" ? undefined : found;
      });
      const kept = await stored.bodyOf(request.source, eventId);
      expect(kept?.equals(request.body)).toBe(true);
      return state;
    },
    stillWorks: async () => {
      const id = `alive_${(alive += 1)}`;
      await deliver(plain("a", JSON.stringify({ id, type: "test.effect" })), id);
      await until(async () => (await metric("millrace_ingress_bytes_in_flight")) === 0, {
        what: "no byte in flight",
      });
    },
    // I1 and I2: what was acknowledged is settled, and nothing else is there. I3: its effect is one.
    expectAllSettled: async () => {
      const rows = await until(async () => {
        const found = await stored.events();
        const settled = found.filter(({ status }) => status !== "pending");
        return settled.length >= taken.size ? found : undefined;
      });
      expect(new Set(rows.map(({ event }) => event))).toEqual(taken);
      const wrong = rows.filter(({ status, outcome, effects }) => {
        return effects !== (status === "completed" && outcome === "handled" ? 1 : 0);
      });
      expect(wrong).toEqual([]);
    },
    close: async () => {
      for (const each of opened) each.abort();
      await pipeline.stop();
    },
  };
}
