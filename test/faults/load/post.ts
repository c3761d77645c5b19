import { Agent, request } from "node:http";
import type { SignedDelivery } from "./sign.ts";

export interface Posted {
  /** The status, or the error code where the connection gave no answer. */
  readonly answer: number | string;
  readonly retryAfter: string | undefined;
  readonly tookMs: number;
}

/** A sender gives up by then; an answer that takes so long counts as none. */
const GIVE_UP_MS = 10_000;

/** Posts deliveries over connections that are kept. */
export function createPoster(): {
  post(url: string, delivery: SignedDelivery): Promise<Posted>;
  close(): void;
} {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });

  function post(url: string, { headers, body }: SignedDelivery): Promise<Posted> {
    const startedMs = performance.now();
    return new Promise((resolve) => {
      const finish = (answer: number | string, retryAfter?: string) =>
        resolve({ answer, retryAfter, tookMs: performance.now() - startedMs });
      const sent = request(url, { method: "POST", agent, headers }, (response) => {
        response.resume();
        response.on("end", () => finish(response.statusCode ?? 0, response.headers["retry-after"]));
        response.on("error", (error) => finish(codeOf(error)));
      });
      sent.setTimeout(GIVE_UP_MS, () => sent.destroy(new Error("no answer")));
      sent.on("error", (error) => finish(codeOf(error)));
      sent.end(body);
    });
  }

  return { post, close: () => agent.destroy() };
}

function codeOf(error: Error & { code?: string }): string {
  return error.code ?? error.message;
}
