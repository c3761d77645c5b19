// Posts signed events over 64 connections for so many seconds, as a process of its own, and tells
// how many were answered 202. Bodies are 1.4 kB and signed before the clock starts.
import { createHmac, randomUUID } from "node:crypto";
import { Agent, request } from "node:http";

const [url, seconds, connections, count] = [
  process.argv[2],
  Number(process.argv[3]),
  Number(process.argv[4]),
  Number(process.argv[5] ?? Infinity),
];
const key = Buffer.from(process.env.BENCH_WEBHOOK_SECRET.slice("whsec_".length), "base64");
const body = Buffer.from(
  JSON.stringify({ type: "bench.event", data: { text: "x".repeat(1_330), amount: 1 } }),
);
const run = randomUUID();
const agent = new Agent({ keepAlive: true, maxSockets: connections });
const at = String(Math.floor(Date.now() / 1_000));
const { hostname, port, pathname } = new URL(url);

function post(id) {
  const signature = createHmac("sha256", key).update(`${id}.${at}.`).update(body).digest("base64");
  const headers = {
    "content-type": "application/json",
    "content-length": body.length,
    "webhook-id": id,
    "webhook-timestamp": at,
    "webhook-signature": `v1,${signature}`,
  };
  return new Promise((resolve, reject) => {
    const sent = request({ hostname, port, path: pathname, method: "POST", agent, headers });
    sent.on("error", reject);
    sent.on("response", (response) => {
      response.resume();
      response.on("end", () => resolve(response.statusCode));
    });
    sent.end(body);
  });
}

let posted = 0;
let accepted = 0;
const began = performance.now();
const deadline = began + seconds * 1_000;
async function lane() {
  while (performance.now() < deadline && posted < count) {
    posted += 1;
    const status = await post(`msg_${run}_${posted}`);
    if (status !== 202) throw new Error(`Cannot count an answer of ${status}`);
    accepted += 1;
  }
}
await Promise.all(Array.from({ length: connections }, lane));
process.send({ kind: "done", accepted, seconds: (performance.now() - began) / 1_000 });
agent.destroy();
process.disconnect();
