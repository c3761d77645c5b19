import { createServer, request, type IncomingHttpHeaders, type Server } from "node:http";
import express from "express";
import { answerErrors } from "../../api/answer-error.ts";
import { createOpenRoutes } from "../../api/open-routes.ts";
import { checkWrite } from "../check-write.ts";
import { createAuthenticator } from "../authenticator.ts";
import { guard } from "../guard.ts";
import type { Account, Credentials } from "../credentials.ts";

export const OPS = { user: "ops", password: "p:ä, long enough" };
export const GUEST = { user: 'gu"est;\r\nSet-Cookie: a=b', password: "just looking" };
export const ACCOUNTS: readonly [ops: Account, guest: Account] = [
  { ...OPS, role: "operator" },
  { ...GUEST, role: "viewer" },
];
export const CREDENTIALS: Credentials = {
  accounts: ACCOUNTS,
  tokens: [
    { token: "operator-token-new", role: "operator" },
    { token: "operator-token-old", role: "operator" },
    { token: "viewer-token-1", role: "viewer" },
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
  close(): Promise<void>;
}

export async function serveAuthenticator(
  credentials: Credentials | undefined,
  clock: { ms: number },
): Promise<AuthenticatorServer> {
  const app = express();
  const authenticator = createAuthenticator(credentials, { nowMs: () => clock.ms });
  app.use(checkWrite());
  app.use("/api", createOpenRoutes(authenticator));
  app.use(guard(authenticator));
  app.use((asked, response) => void response.json(authenticator.identify(asked, response)));
  app.use(answerErrors(() => {}));
  const server = createServer(app);
  const port = await listen(server);
  const ask: AuthenticatorServer["ask"] = (path, headers = {}, { method = "GET", body } = {}) =>
    send({ port, path, method, headers }, body);
  return {
    ask,
    signIn: (given, headers = {}) =>
      ask(
        "/api/session",
        { "content-type": "application/json", ...headers },
        { method: "POST", body: JSON.stringify(given) },
      ),
    close: async () => {
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
