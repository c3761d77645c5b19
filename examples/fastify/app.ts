import { fastify, type FastifyInstance } from "fastify";
import type { Receiver } from "millrace";

/** An app with routes of its own, and `/webhooks/<source>`. */
export function createApp(receiver: Receiver): FastifyInstance {
  const app = fastify();
  app.post("/echo", async (request) => request.body);
  // Registered when the app is made ready; what it throws comes out there.
  void app.register(async (webhooks) => receiveWebhooks(webhooks, receiver));
  return app;
}

/** Parsers hold for the plugin that they are added in: the app's other routes keep theirs. */
function receiveWebhooks(webhooks: FastifyInstance, receiver: Receiver): void {
  webhooks.removeAllContentTypeParsers();
  // Reads nothing: the signature is over the bytes as they came, and the receiver reads them.
  webhooks.addContentTypeParser("*", (_request, _body, done) => done(null));
  webhooks.all<{ Params: { source: string } }>("/webhooks/:source", (request, reply) => {
    receiver.node(request.raw, reply.hijack().raw, request.params.source);
  });
}
