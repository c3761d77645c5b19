import { request as httpRequest, type Agent } from "node:http";
import type { Adapter } from "../contracts/adapter-fixture.ts";

type Sent = Parameters<Adapter["send"]>[0] & { agent?: Agent };

export function sendTo(
  port: number,
  { source, method = "POST", query = "", headers = {}, body = "", agent }: Sent,
): ReturnType<Adapter["send"]> {
  return new Promise((resolve, reject) => {
    const path = `/webhooks/${source}${query}`;
    const request = { port, host: "127.0.0.1", path, method, headers, agent };
    const outgoing = httpRequest(request, (answer) => {
      const chunks: Buffer[] = [];
      answer.on("data", (chunk: Buffer) => chunks.push(chunk));
      answer.on("end", () => {
        resolve({
          status: answer.statusCode ?? 0,
          headers: answer.headers as Record<string, string>,
          text: Buffer.concat(chunks).toString(),
        });
      });
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}
