import { fastify, type FastifyInstance } from "fastify";
import type { Receiver, ReceiveRequest } from "millrace";

/** An app with routes of its own, and `/webhooks/<source>`. */
export function createApp(receiver: Receiver): FastifyInstance {
  const app = fastify({ bodyLimit: 1024 * 1024 });
  app.post("/echo", async (request) => request.body);
  // Registered when the app is made ready; what it throws comes out there.
  void app.register(async (webhooks) => receiveWebhooks(webhooks, receiver));
  return app;
}

/** Parsers hold for the plugin that they are added in: the app's other routes keep theirs. */
function receiveWebhooks(webhooks: FastifyInstance, receiver: Receiver): void {
  webhooks.removeAllContentTypeParsers();
  // Whatever it says it is: what is verified are the bytes as they came.
  webhooks.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => {
    done(null, body);
  });
  webhooks.all<{ Params: { source: string }; Body?: Buffer }>(
    "/webhooks/:source",
    async (request, reply) => {
      const { status, headers, body } = await receiver.receive({
        source: request.params.source,
        method: request.method,
        url: request.raw.url ?? "",
        headers: request.headers as ReceiveRequest["headers"],
        body: request.body ?? Buffer.alloc(0),
      });
      return await reply.code(status).headers(headers).send(body);
    },
  );
}
