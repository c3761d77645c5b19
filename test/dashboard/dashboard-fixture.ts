import { request } from "node:http";
import type { DashboardOptions } from "@millrace/dashboard";
import type { TestServers } from "../support/backends.ts";
import { startInProcess } from "../support/in-process.ts";
import { environmentOf } from "../support/server-urls.ts";
import { until } from "../support/until.ts";
import { openTestStores, STORES_CONFIG, type TestStores } from "../support/stores-fixture.ts";

export interface TestDashboard extends TestStores {
  readonly port: number;
  get(path: string): Promise<Answer>;
  send(method: string, path: string, options?: SendOptions): Promise<Answer>;
  post(path: string, body: unknown, headers?: SendOptions["headers"]): Promise<Answer>;
  signIn(user: { readonly user: string; readonly password: string }): Promise<string>;
  complete(...eventIds: readonly string[]): Promise<void>;
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
  readonly json: any; // oxlint-disable-line typescript/no-explicit-any -- each test knows it
}

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
  const post: TestDashboard["post"] = (path, body, headers) =>
    send("POST", path, {
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    });
  return {
    ...stores,
    port,
    send,
    post,
    get: (path) => send("GET", path),
    signIn: async (user) => {
      const signedIn = await post("/api/session", user);
      return String(signedIn.headers["set-cookie"]).split(";")[0] ?? "";
    },
    complete: async (...eventIds) => {
      const text = "SELECT FROM millrace.events WHERE event_id = ANY ($1) AND status = 'completed'";
      const found = async () => (await stores.pool.query(text, [eventIds])).rowCount;
      await stores.work(
        () => {},
        () => until(async () => (await found()) === eventIds.length),
      );
    },
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
