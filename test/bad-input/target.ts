import { createConnection } from "node:net";
import { expect } from "vitest";
import type { Pool } from "pg";
import { connect, type RawConnection } from "../intake/raw-connection.ts";
import type { TestServers } from "../support/backends.ts";
import { readMetric } from "../support/metrics.ts";
import { createPipeline } from "../support/pipeline.ts";
import { until } from "../support/until.ts";
import config from "./fixture/millrace.config.ts";
import { VARIABLES } from "./fixture/variables.ts";
import { plain } from "./senders.ts";
import { toBytes, type WireRequest } from "./wire.ts";
import type { ServerUrls } from "../support/server-urls.ts";
import { redisText, withRedis } from "../support/redis-client.ts";

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

interface Reply {
  readonly status: number;
  readonly code: string | undefined;
  readonly text: string;
}

const ANSWER_TIMEOUT_MS = 20_000;

/**
 * Sends bytes over a connection of their own and gives the first final answer.
 * @throws when the connection ends or breaks without one.
 */
function exchange(port: number, bytes: Uint8Array): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const socket = createConnection({ port, host: "127.0.0.1", allowHalfOpen: true });
    let text = "";
    const fail = (why: string) => {
      socket.destroy();
      reject(new Error(`Cannot get an answer: ${why}, after ${JSON.stringify(text)}`));
    };
    socket.setTimeout(ANSWER_TIMEOUT_MS, () => fail("none came in time"));
    socket.on("error", (error) => fail(error.message));
    socket.on("end", () => fail("the connection ended"));
    socket.on("data", (chunk: Buffer) => {
      text += chunk.toString("latin1");
      const [answer] = readResponses(text);
      if (answer === undefined) return;
      socket.removeAllListeners("end").destroy();
      const code = /"(?:code|status)":"(\w+)"/.exec(answer.body)?.[1];
      resolve({ status: answer.status, code, text });
    });
    socket.write(bytes);
  });
}

function readResponses(text: string) {
  const all: { status: number; body: string }[] = [];
  let rest = text;
  for (;;) {
    const end = rest.indexOf("\r\n\r\n");
    const status = /^HTTP\/1\.1 (\d{3}) [\x20-\x7e]*\r\n/.exec(rest)?.[1];
    if (end === -1 || status === undefined) return all;
    const head = rest.slice(0, end);
    const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0);
    const body = rest.slice(end + 4, end + 4 + length);
    if (body.length < length) return all;
    rest = rest.slice(end + 4 + length);
    if (!status.startsWith("1")) all.push({ status: Number(status), body });
  }
}

interface EventState {
  readonly status: "pending" | "completed" | "failed";
  readonly outcome: string | null;
  readonly last_error: string | null;
}

type Key = [source: string, eventId: string];

function createStored(database: Pool, { redisUrl }: ServerUrls) {
  const all = async (text: string, values: unknown[] = []) =>
    (await database.query(text, values)).rows;
  return {
    stateOf: async (...key: Key): Promise<EventState | undefined> => {
      const [row] = await all(
        "select status, outcome, last_error from webhook_events where (source, event_id) = ($1, $2)",
        key,
      );
      return row;
    },
    bodyOf: async (...key: Key): Promise<Buffer | undefined> => {
      const [row] = await all(
        `select b.body from millrace.events e
           join millrace.bodies b on b.day = e.body_day and b.id = e.body_id
          where (e.source, e.event_id) = ($1, $2)`,
        key,
      );
      return row?.body;
    },
    payloadOf: async (...key: Key): Promise<unknown> => {
      const [row] = await all(
        "select payload from webhook_events where (source, event_id) = ($1, $2)",
        key,
      );
      return row?.payload;
    },
    effectsOf: async (...key: Key): Promise<number> => {
      const [row] = await all(
        "select count(*)::int from effects where (source, event_id) = ($1, $2)",
        key,
      );
      return row.count;
    },
    events: (): Promise<readonly (EventState & { event: string; effects: number })[]> =>
      all(
        `select source || '/' || event_id as event, status, outcome, last_error,
                (select count(*)::int from effects x
                  where (x.source, x.event_id) = (e.source, e.event_id)) as effects
           from webhook_events e`,
      ),
    storedText: async () => {
      const jobs =
        redisUrl === undefined
          ? await all("select to_jsonb(j) as row from bullmq.job j")
          : await withRedis(redisUrl, redisText);
      return JSON.stringify([
        await all("select to_jsonb(e) as row from millrace.events e"),
        await all("select b.headers, encode(b.body, 'escape') as body from millrace.bodies b"),
        jobs,
      ]);
    },
  };
}
