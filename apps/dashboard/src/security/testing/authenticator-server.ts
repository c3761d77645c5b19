import { createServer, request, type IncomingHttpHeaders, type Server } from "node:http";
import express from "express";
import { answerErrors } from "../../api/answer-error.ts";
import { createOpenRoutes } from "../../api/create-api.ts";
import { createAuthenticator, guard } from "../authenticator.ts";
import { checkWrite } from "../browser-security.ts";
import type { Account, Credentials } from "../credentials.ts";
import type { SessionStore } from "../sessions.ts";
import type { SignInRecord } from "../sign-in-record.ts";

export const OPS = { user: "ops", password: "p:ä, long enough" };
export const GUEST = { user: 'gu"est;\r\nSet-Cookie: a=b', password: "just looking around" };
export const ACCOUNTS: readonly [ops: Account, guest: Account] = [
  { ...OPS, role: "operator" },
  { ...GUEST, role: "viewer" },
];
export const CREDENTIALS: Credentials = {
  accounts: ACCOUNTS,
  tokens: [
    { name: "deploy", token: "operator-token-new", role: "operator" },
    { name: "deploy", token: "operator-token-old", role: "operator" },
    { name: "prometheus", token: "viewer-token-number-1", role: "viewer" },
  ],
};

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Behind the guard, who asked. */
  readonly json: { user?: string | null; role?: string; via?: string; error?: { code: string } };
}

type Headers = Record<string, string | string[]>;

/** A real server with an authenticator and a guard; behind them it only answers who asked. */
export interface AuthenticatorServer {
  ask(path: string, headers?: Headers, sent?: { method?: string; body?: string }): Promise<Answer>;
  signIn(given: unknown, headers?: Headers): Promise<Answer>;
  /** The recorded lines: `signed_in ops 127.0.0.1`. */
  readonly recorded: string[];
  close(): Promise<void>;
}

export async function serveAuthenticator(
  credentials: Credentials | undefined,
  clock: { ms: number },
  { trustProxy = 0 }: { trustProxy?: number | readonly string[] } = {},
): Promise<AuthenticatorServer> {
  const app = express();
  app.set("trust proxy", trustProxy);
  const recorded: string[] = [];
  const record: SignInRecord = {
    signedIn: async ({ user }, network) => void recorded.push(`signed_in ${user} ${network}`),
    failed: (failure, network) => void recorded.push(`${failure} ${network}`),
    close: async () => {},
  };
  const ended = new Set<string>();
  const store: SessionStore = {
    isEnded: async ({ id }) => ended.has(id),
    end: async ({ id }) => void ended.add(id),
  };
  const authenticator = createAuthenticator(credentials, { record, store, nowMs: () => clock.ms });
  app.use(checkWrite);
  app.use("/api", createOpenRoutes(authenticator));
  app.use(guard(authenticator));
  app.use(async (asked, response) => {
    response.json(await authenticator.identify(asked, response));
  });
  app.use(answerErrors(() => {}));
  const server = createServer(app);
  const port = await listen(server);
  const ask: AuthenticatorServer["ask"] = (path, headers = {}, { method = "GET", body } = {}) =>
    send({ port, path, method, headers }, body);
  return {
    ask,
    recorded,
    signIn: (given, headers = {}) =>
      ask(
        "/api/session",
        { "content-type": "application/json", ...headers },
        { method: "POST", body: JSON.stringify(given) },
      ),
    close: async () => {
      await authenticator.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

// fetch() would not let a test choose Host, Origin or Cookie.
function send(
  options: { port: number; path: string; method: string; headers: Headers },
  body: string | undefined,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asked = request({ host: "127.0.0.1", ...options }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () => {
        const text = Buffer.concat(chunks).toString();
        const { statusCode: status = 0, headers } = response;
        const isJson = headers["content-type"]?.includes("json") === true;
        resolve({ status, headers, json: isJson ? JSON.parse(text) : {} });
      });
    });
    asked.on("error", reject);
    asked.end(body);
  });
}

/** The session's cookie as the browser sends it back. */
export const cookieOf = ({ headers }: Answer): string =>
  headers["set-cookie"]?.[0]?.split(";")[0] ?? "";

/** `401 unauthorized` */
export const codeOf = ({ status, json }: Answer): string => `${status} ${json.error?.code}`;

export const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
