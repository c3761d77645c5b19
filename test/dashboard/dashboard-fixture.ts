import { request } from "node:http";
import type { Credentials, DashboardOptions } from "@millrace/dashboard";
import type { TestServers } from "../support/backends.ts";
import { startInProcess } from "../support/in-process.ts";
import { openForAll } from "../support/open-for.ts";
import { environmentOf } from "../support/server-urls.ts";
import { openTestStores, STORES_CONFIG } from "../support/stores-fixture.ts";

export type TestDashboard = Awaited<ReturnType<typeof startTestDashboard>>;

export const OPS = { user: "ops", password: "a long, good password" };
export const OPERATOR_TOKEN = "a-token-that-may-do-all";
export const VIEWER_TOKEN = "a-token-that-may-look";
export const CREDENTIALS: Credentials = {
  accounts: [{ ...OPS, role: "operator" }],
  tokens: [
    { name: "deploy", token: OPERATOR_TOKEN, role: "operator" },
    { name: "viewer", token: VIEWER_TOKEN, role: "viewer" },
  ],
};
export const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

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

export function useDashboard(
  prepare: () => Promise<TestServers>,
  options?: Partial<DashboardOptions>,
): TestDashboard {
  return openForAll(async () => startTestDashboard(await prepare(), options));
}

export async function startTestDashboard(
  servers: TestServers,
  options: Partial<DashboardOptions> = {},
) {
  const stores = await openTestStores(servers);
  const { url, close } = await startInProcess("dashboard", STORES_CONFIG, environmentOf(servers), {
    dashboard: { shutdownTimeoutMs: 500, ...options },
  }).catch(async (error: unknown) => {
    await stores.close();
    throw error;
  });
  const port = Number(new URL(url).port);
  const send = (method: string, path: string, sent: SendOptions = {}) =>
    sendRequest({ method, port, path, ...sent });
  const post = (path: string, body: unknown, headers?: SendOptions["headers"]) =>
    send("POST", path, {
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    });
  return {
    ...stores,
    port,
    send,
    post,
    get: (path: string) => send("GET", path),
    signIn: async (user: { readonly user: string; readonly password: string }) => {
      const signedIn = await post("/api/session", user);
      return String(signedIn.headers["set-cookie"]).split(";")[0] ?? "";
    },
    complete: async (...eventIds: readonly string[]) => {
      const text = "SELECT FROM millrace.events WHERE event_id = ANY ($1) AND status = 'completed'";
      const found = async () => (await stores.pool.query(text, [eventIds])).rowCount;
      await stores.runUntil(async () => (await found()) === eventIds.length);
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
