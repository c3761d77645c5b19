// What no ingress can beat here: node:http, the HMAC and the parsing, and no queue at all.
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

const key = Buffer.from(process.env.BENCH_WEBHOOK_SECRET.slice("whsec_".length), "base64");
const body = '{"status":"accepted"}';

const server = createServer((request, response) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const bytes = Buffer.concat(chunks);
    const { headersDistinct: headers } = request;
    const signed = `${headers["webhook-id"][0]}.${headers["webhook-timestamp"][0]}.`;
    const digest = createHmac("sha256", key).update(signed).update(bytes).digest();
    const given = Buffer.from(headers["webhook-signature"][0].slice("v1,".length), "base64");
    if (!timingSafeEqual(digest, given)) throw new Error("The bench signs wrongly");
    JSON.parse(bytes.toString());
    response.writeHead(202, { "content-type": "application/json", "content-length": body.length });
    response.end(body);
  });
});
server.listen(0, "127.0.0.1", () => {
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  process.send({ kind: "listening", port });
});
