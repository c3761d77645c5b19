import { request } from "node:http";
import { createDashboard, type DashboardOptions } from "@millrace/dashboard";
import { createLogger, createRegistry } from "@millrace/service";
import type { TestServers } from "../support/backends.ts";
import { createStage, type Stage } from "../operations/stage.ts";

/** A dashboard that listens, over a real ledger and real queues. */
export interface DashboardOnStage extends Stage {
  readonly port: number;
  get(path: string): Promise<Answer>;
  /** Sends a request whose headers `fetch` would not let a test choose. */
  send(method: string, path: string, options?: SendOptions): Promise<Answer>;
}

export interface SendOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  // The tests compare what comes with what they expect, whatever its shape.
  readonly json: any; // oxlint-disable-line typescript/no-explicit-any
}

export async function createDashboardOnStage(
  servers: TestServers,
  options: Partial<DashboardOptions> = {},
): Promise<DashboardOnStage> {
  const stage = await createStage(servers);
  const dashboard = createDashboard(
    {
      ledger: stage.ledger,
      queues: stage.queues,
      checks: { ledger: () => stage.ledger.reads.ping(), queue: () => stage.queues.ping() },
      logger: createLogger({ role: "dashboard", level: "silent" }),
      registry: createRegistry({ role: "dashboard" }),
    },
    { host: "127.0.0.1", shutdownTimeoutMs: 500, ...options },
  );
  const port = await dashboard.listen({ port: 0 });
  const send: DashboardOnStage["send"] = (method, path, sent = {}) =>
    sendRequest({ method, port, path, ...sent });
  return {
    ...stage,
    port,
    send,
    get: (path) => send("GET", path),
    close: async () => {
      await dashboard.close();
      await stage.close();
    },
  };
}

function sendRequest(
  options: { method: string; port: number; path: string } & SendOptions,
): Promise<Answer> {
  const { body, ...rest } = options;
  return new Promise((resolve, reject) => {
    const sent = request({ host: "127.0.0.1", agent: false, ...rest }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () => {
        const text = Buffer.concat(chunks).toString();
        const { statusCode: status = 0, headers } = response;
        const isJson = headers["content-type"]?.startsWith("application/json") === true;
        resolve({ status, headers, text, json: isJson ? JSON.parse(text) : undefined });
      });
    });
    sent.on("error", reject);
    sent.end(body);
  });
}
