import { createIngress } from "@millrace/ingress";
import { Receiver, createFetchAdapter, createExpressAdapter } from "@millrace/intake";
import { createLogger } from "@millrace/service";
import express from "express";
import { Registry } from "prom-client";
import { sendTo } from "../intake/send-to.ts";
import { serve } from "../support/free-port.ts";
import { failingStoreContract } from "./failing-store.contract.ts";
import { providersContract } from "./providers.contract.ts";
import { receiveContract } from "./receive.contract.ts";
import { refuseBodyContract, refuseContract } from "./refuse.contract.ts";
import type { OpenAdapter } from "./adapter-fixture.ts";

const bare: OpenAdapter = async (deps) => {
  const receiver = new Receiver(deps);
  return {
    send: async ({ source, method = "POST", query = "", headers = {}, body = "" }) => {
      const answer = await receiver.receive({
        source,
        method,
        url: `/webhooks/${source}${query}`,
        headers,
        body: Buffer.from(body),
      });
      return { status: answer.status, headers: { ...answer.headers }, text: answer.body };
    },
    close: () => receiver.close(),
  };
};

const hotRoute: OpenAdapter = async (deps) => {
  const logger = createLogger({ role: "ingress", level: "silent" });
  const registry = new Registry();
  const ingress = createIngress({ ...deps, logger, registry });
  const port = await ingress.listen({ port: 0, host: "127.0.0.1" });
  return { send: (request) => sendTo(port, request), close: () => ingress.close() };
};

const router: OpenAdapter = async (deps) => {
  const receiver = new Receiver(deps);
  const app = express();
  app.use("/webhooks", createExpressAdapter(receiver));
  app.use(express.json());
  const server = await serve(app);
  return {
    send: (request) => sendTo(server.port, request),
    close: async () => {
      await receiver.close();
      await server.close();
    },
  };
};

const fetchHandler: OpenAdapter = async (deps) => {
  const receiver = new Receiver(deps);
  const handle = createFetchAdapter(receiver);
  return {
    send: async ({ source, method = "POST", query = "", headers = {}, body }) => {
      const url = `https://hooks.example.com/webhooks/${source}${query}`;
      const request = new Request(url, { method, headers, ...(body !== undefined && { body }) });
      const answer = await handle(request, source);
      const { status } = answer;
      return { status, headers: Object.fromEntries(answer.headers), text: await answer.text() };
    },
    close: () => receiver.close(),
  };
};

const ADAPTERS = [
  { title: "bare receive()", open: bare, readsBodies: false },
  { title: "the hot route of the ingress", open: hotRoute, readsBodies: true },
  { title: "the Express adapter in an Express 5 app", open: router, readsBodies: true },
  { title: "the fetch adapter", open: fetchHandler, readsBodies: true },
];

for (const { title, open, readsBodies } of ADAPTERS) {
  receiveContract(title, open);
  refuseContract(title, open);
  providersContract(title, open);
  failingStoreContract(title, open);
  if (readsBodies) refuseBodyContract(title, open);
}
