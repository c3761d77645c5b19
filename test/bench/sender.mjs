import { Agent, request } from "node:http";
import { BODY, eventId, signature, signingKey } from "./event.mjs";

export function createSender(url, connections) {
  const key = signingKey(process.env.BENCH_WEBHOOK_SECRET);
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const { hostname, port, pathname } = new URL(url);

  function post(number) {
    const id = eventId(number);
    const at = String(Math.floor(Date.now() / 1_000));
    const headers = {
      "content-type": "application/json",
      "content-length": BODY.length,
      "webhook-id": id,
      "webhook-timestamp": at,
      "webhook-signature": `v1,${signature(key, { id, at, body: BODY })}`,
    };
    return new Promise((resolve, reject) => {
      const sent = request({ hostname, port, path: pathname, method: "POST", agent, headers });
      sent.on("error", reject);
      sent.on("response", (response) => {
        response.resume();
        response.on("end", () => resolve(response.statusCode));
      });
      sent.end(BODY);
    });
  }

  return { post, close: () => agent.destroy() };
}
