import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { parseConfig, type Provider, type ReadSecrets } from "@millrace/core";
import { expect, onTestFinished, test } from "vitest";
import { Receiver } from "../receiver.ts";
import { createFetchAdapter } from "./fetch.ts";
import { createExpressAdapter } from "./node.ts";

const provider = {
  ...{ name: "own", methods: ["POST"], bodyBytesMax: 1_000, keptHeaders: [], idIsSigned: true },
  createVerifier: () => ({ verify: () => ({ ok: true }) }),
  identify: () => ({ ok: true, events: [] }),
  generateSecret: () => "a-secret",
} as unknown as Provider;

async function open(secrets?: ReadSecrets) {
  const options = secrets === undefined ? { secret: "a-secret" } : { secrets };
  const config = parseConfig({ sources: { pay: { provider, options } } });
  const receiver = new Receiver({ config, secrets: {}, stores: [] });
  const handle = createExpressAdapter(receiver);
  const server = createServer((request, response) => {
    handle(request, response, () => response.writeHead(418).end());
  });
  onTestFinished(async () => {
    server.close();
    await receiver.close();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const post = async (path: string) =>
    (await fetch(`http://127.0.0.1:${port}/${path}`, { method: "POST", body: "{}" })).status;
  return { receiver, post };
}

test("with tenants, two segments are a source and its tenant, and other paths go on", async () => {
  const { receiver, post } = await open((tenant) => (tenant === "acme" ? "a-secret" : null));
  for (const path of ["pay/acme", "pay/acme?a=b/c"]) expect(await post(path)).toBe(202);
  for (const path of ["pay", "pay/b", "b/acme", "b"]) expect(await post(path)).toBe(401);
  for (const path of ["pay/acme/1", "pay/", ""]) expect(await post(path)).toBe(418);
  const request = new Request("https://a.example/pay/acme", { method: "POST", body: "{}" });
  expect((await createFetchAdapter(receiver)(request, "pay/acme")).status).toBe(202);
});

test("without tenants, a path of two segments goes on", async () => {
  const { post } = await open();
  expect(await Promise.all(["pay", "pay/acme", "b/acme"].map(post))).toEqual([202, 418, 418]);
});
