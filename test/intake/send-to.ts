import { request as httpRequest } from "node:http";
import type { Adapter } from "../contracts/adapter-fixture.ts";

export function sendTo(
  port: number,
  { source, method = "POST", query = "", headers = {}, body = "" }: Parameters<Adapter["send"]>[0],
): ReturnType<Adapter["send"]> {
  return new Promise((resolve, reject) => {
    const path = `/webhooks/${source}${query}`;
    const outgoing = httpRequest({ port, host: "127.0.0.1", path, method, headers }, (answer) => {
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
