import { expect } from "vitest";
import { connect, type RawConnection } from "../intake/raw-connection.ts";
import type { Ground } from "../support/backends.ts";
import { createPipeline, type Pipeline } from "../support/pipeline.ts";
import type { MillraceProcess } from "../support/millrace-process.ts";
import { until } from "../support/until.ts";
import { account } from "./account.ts";
import { fixtureEnvironment } from "./environment.ts";
import { exchange, type Reply } from "./exchange.ts";
import config from "./fixture/millrace.config.ts";
import { plain } from "./senders.ts";
import { bodyOf, storedText } from "./stored.ts";
import { toBytes, type WireRequest } from "./wire.ts";

/** An ingress, a worker and a dashboard in processes of their own, and what was sent to them. */
export interface Stage {
  readonly pipeline: Pipeline;
  readonly ground: Ground;
  readonly ingress: MillraceProcess;
  readonly worker: MillraceProcess;
  readonly dashboard: MillraceProcess;
  /** Every answer that came, in one text. */
  readonly answers: readonly string[];
  open(): Promise<RawConnection>;
  /** Sends a request over a connection of its own. */
  ask(request: WireRequest | Uint8Array): Promise<Reply>;
  /** What a request is refused with: `401 invalid_signature`. */
  refusal(request: WireRequest | Uint8Array): Promise<string>;
  /** Delivers an event, and is told that it was accepted. */
  deliver(request: WireRequest, eventId: string): Promise<void>;
  /** Delivers an event, and waits until it is settled and the ledger has its very bytes. */
  take(request: WireRequest, eventId: string): Promise<EventState>;
  stateOf(source: string, eventId: string): Promise<EventState | undefined>;
  effectsOf(source: string, eventId: string): Promise<number>;
  payloadOf(source: string, eventId: string): Promise<unknown>;
  /** An event that was delivered, and whose job a test then spoiled: it may not have an effect. */
  isForged(source: string, eventId: string): void;
  /** All that the ledger and the queue hold, as text. */
  storedText(): Promise<string>;
  /** The value of a line of the ingress's metrics, by how it begins. */
  metric(beginning: string): Promise<number>;
  /** A good delivery on a fresh connection is accepted, and no byte of another is held. */
  stillWorks(): Promise<void>;
  /** Waits until all is settled: the ledger holds what was taken, and nothing else. */
  account(): Promise<void>;
  close(): Promise<void>;
}

export interface EventState {
  readonly status: "pending" | "completed" | "failed";
  readonly outcome: string | null;
  readonly last_error: string | null;
}

export async function createStage(ground: Ground): Promise<Stage> {
  const pipeline = await createPipeline(ground, fixtureEnvironment(), config);
  const [ingress, worker, dashboard] = await Promise.all([
    pipeline.start("ingress"),
    pipeline.start("worker"),
    pipeline.start("dashboard"),
  ]);
  const port = Number(new URL(ingress.url).port);
  const answers: string[] = [];
  const taken = new Set<string>();
  const forged = new Set<string>();
  const opened: RawConnection[] = [];
  const { database } = pipeline;

  const ask: Stage["ask"] = async (request) => {
    const reply = await exchange(port, request instanceof Uint8Array ? request : toBytes(request));
    answers.push(reply.text);
    return reply;
  };

  /** As a sender does, it comes again after a 503. */
  const deliver: Stage["deliver"] = async (request, eventId) => {
    taken.add(`${request.source}/${eventId}`);
    const reply = await until(async () => {
      const given = await ask(request);
      return given.status === 503 ? undefined : given;
    });
    expect([reply.status, reply.code]).toEqual([expect.toBeOneOf([200, 202]), "accepted"]);
  };

  const stateOf: Stage["stateOf"] = async (source, eventId) => {
    const { rows } = await database.query(
      "select status, outcome, last_error from webhook_events where (source, event_id) = ($1, $2)",
      [source, eventId],
    );
    return rows[0];
  };

  const metric: Stage["metric"] = async (beginning) => {
    const text = await (await fetch(`${ingress.url}/metrics`)).text();
    const line = text.split("\n").find((candidate) => candidate.startsWith(beginning));
    return Number(line?.split(" ").at(-1) ?? 0);
  };

  let alive = 0;
  return {
    pipeline,
    ground,
    ingress,
    worker,
    dashboard,
    answers,
    ask,
    deliver,
    isForged: (source, eventId) => void forged.add(`${source}/${eventId}`),
    storedText: () => storedText(database, ground),
    metric,
    stateOf,
    open: async () => {
      const made = await connect(port);
      opened.push(made);
      return made;
    },
    refusal: async (request) => {
      const { status, code } = await ask(request);
      return `${status} ${code}`;
    },
    take: async (request, eventId) => {
      await deliver(request, eventId);
      const state = await until(async () => {
        const found = await stateOf(request.source, eventId);
        return found?.status === "pending" ? undefined : found;
      });
      const kept = await bodyOf(database, request.source, eventId);
      expect(kept?.equals(request.body)).toBe(true);
      return state;
    },
    effectsOf: async (source, eventId) => {
      const { rows } = await database.query(
        "select count(*)::int from effects where (source, event_id) = ($1, $2)",
        [source, eventId],
      );
      return rows[0].count;
    },
    payloadOf: async (source, eventId) => {
      const { rows } = await database.query(
        "select payload from webhook_events where (source, event_id) = ($1, $2)",
        [source, eventId],
      );
      return rows[0]?.payload;
    },
    stillWorks: async () => {
      const id = `alive_${(alive += 1)}`;
      await deliver(plain("a", JSON.stringify({ id, type: "test.effect" })), id);
      await until(async () => (await metric("millrace_ingress_bytes_in_flight")) === 0, {
        what: "no byte in flight",
      });
    },
    account: () => account(database, { taken, forged }),
    close: async () => {
      for (const each of opened) each.abort();
      await pipeline.stop();
    },
  };
}
