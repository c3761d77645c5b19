import { request } from "node:http";
import type { DashboardOptions } from "@millrace/dashboard";
import type { TestServers } from "../support/backends.ts";
import { startInProcess } from "../support/in-process.ts";
import { environmentOf } from "../support/server-urls.ts";
import { openTestStores, STORES_CONFIG, type TestStores } from "../support/stores-fixture.ts";

/** A dashboard that listens, and a ledger and queues over the same servers. */
export interface TestDashboard extends TestStores {
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
  readonly bytes: Buffer;
  // The tests compare what comes with what they expect, whatever its shape.
  readonly json: any; // oxlint-disable-line typescript/no-explicit-any
}

/** Starts a dashboard on servers that it releases when it is closed. */
export async function startTestDashboard(
  servers: TestServers,
  options: Partial<DashboardOptions> = {},
): Promise<TestDashboard> {
  const stores = await openTestStores(servers);
  const { url, close } = await startInProcess("dashboard", STORES_CONFIG, environmentOf(servers), {
    dashboard: { shutdownTimeoutMs: 500, ...options },
  }).catch(async (error: unknown) => {
    await stores.close();
    throw error;
  });
  const port = Number(new URL(url).port);
  const send: TestDashboard["send"] = (method, path, sent = {}) =>
    sendRequest({ method, port, path, ...sent });
  return {
    ...stores,
    port,
    send,
    get: (path) => send("GET", path),
    close: async () => {
      await close();
      await stores.close();
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
        const bytes = Buffer.concat(chunks);
        const text = bytes.toString();
        const { statusCode: status = 0, headers } = response;
        const isJson = headers["content-type"]?.startsWith("application/json") === true;
        resolve({ status, headers, text, bytes, json: isJson ? JSON.parse(text) : undefined });
      });
    });
    sent.on("error", reject);
    sent.end(body);
  });
}
