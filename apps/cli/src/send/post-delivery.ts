import { Agent as HttpAgent, request as httpRequest } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { jsonOf } from "@millrace/core";

export type Reply =
  | { readonly kind: "answer"; readonly status: number; readonly body: string; readonly ms: number }
  | { readonly kind: "no_answer"; readonly reason: string; readonly refused: boolean };

const TIMEOUT_MS = 15_000;

export function createPoster(url: URL, connections: number) {
  const isSecure = url.protocol === "https:";
  const options = { keepAlive: true, maxSockets: connections };
  const agent = isSecure ? new HttpsAgent(options) : new HttpAgent(options);
  const send = isSecure ? httpsRequest : httpRequest;

  function post(headers: Readonly<Record<string, string>>, body: Uint8Array): Promise<Reply> {
    return new Promise((resolve) => {
      const startedAt = performance.now();
      const fail = (error: NodeJS.ErrnoException) => resolve(noAnswer(error));
      const length = { "content-length": String(body.byteLength) };
      const request = send(
        url,
        { method: "POST", agent, headers: { ...headers, ...length }, timeout: TIMEOUT_MS },
        (response) => {
          const chunks: Buffer[] = [];
          response.on("data", (chunk: Buffer) => chunks.push(chunk));
          response.once("error", fail);
          response.once("end", () => {
            const ms = performance.now() - startedAt;
            const text = Buffer.concat(chunks).toString();
            resolve({ kind: "answer", status: response.statusCode ?? 0, body: text, ms });
          });
        },
      );
      request.once("timeout", () => request.destroy(new Error(`silent for ${TIMEOUT_MS} ms`)));
      request.once("error", fail);
      request.end(body);
    });
  }

  return { post, close: () => agent.destroy() };
}

function noAnswer(error: NodeJS.ErrnoException): Reply {
  // Every address of a host refused: the reason stands in the first of the errors within.
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  const cause: NodeJS.ErrnoException = first instanceof Error ? first : error;
  const refused = cause.code === "ECONNREFUSED" || cause.code === "ENOTFOUND";
  return { kind: "no_answer", reason: cause.message, refused };
}

type Verdict = "accepted" | "duplicate" | { readonly rejected: string };

export function readVerdict(reply: Reply): Verdict {
  if (reply.kind === "no_answer") return { rejected: "no_answer" };
  const body = (jsonOf(reply.body) ?? {}) as { status?: string; error?: { code?: string } };
  if (reply.status >= 200 && reply.status < 300) {
    return body.status === "duplicate" ? "duplicate" : "accepted";
  }
  return { rejected: body.error?.code ?? `http_${reply.status}` };
}
