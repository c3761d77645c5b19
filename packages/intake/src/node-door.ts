import type { IncomingMessage, ServerResponse } from "node:http";
import { failpoint } from "@millrace/core";
import { createByteBudget } from "./byte-budget.ts";
import type { Receiver } from "./create-receiver.ts";
import { doorRefusal, endsConnection, refuseEarly } from "./door-refusals.ts";
import { readBody } from "./read-body.ts";
import type { Received } from "./received.ts";
import { toReceiveRequest } from "./receive-request.ts";
import { answerUnread, writeAnswer } from "./write-answer.ts";

/** The way from a node:http request into a receiver. */
export interface NodeDoor {
  /** Reads, delivers and answers one request. Never throws. */
  handle(request: IncomingMessage, response: ServerResponse, source: string): void;
  /** Answers a request whose body cannot be read with a refusal. */
  refuse(request: IncomingMessage, response: ServerResponse, refusal: Received): void;
  /** Bytes of bodies that are held just now. */
  readonly bytesInFlight: number;
  /** Whether a request of this socket was read whole and still waits for its answer. */
  isAnswering(socket: object): boolean;
  /** Refuses new requests, and resolves when those it has begun are answered. */
  close(): Promise<void>;
}

/**
 * Opens a door straight on node:http. What can be refused is refused before the body is read;
 * limits and deadlines come from the receiver's config.
 */
export function createNodeDoor(receiver: Receiver): NodeDoor {
  const { bodyTimeoutMs: timeoutMs, inFlightBytesMax } = receiver.limits;
  const budget = createByteBudget(inFlightBytesMax);
  // A socket may have several requests under way: they are answered in their order.
  const answering = new WeakMap<object, number>();
  const underWay = new Set<Promise<void>>();
  let closing = false;

  function handle(request: IncomingMessage, response: ServerResponse, source: string): void {
    const serving = serve(request, response, source).catch((error: unknown) => {
      receiver.notify({ kind: "unexpected", source: undefined, error });
      response.destroy();
    });
    underWay.add(serving);
    void serving.then(() => underWay.delete(serving));
  }

  async function serve(request: IncomingMessage, response: ServerResponse, name: string) {
    const source = receiver.source(name);
    const isClosing = closing || receiver.closing;
    const refusal = isClosing ? doorRefusal("shutting_down") : refuseEarly(request, source, budget);
    if (refusal !== undefined) return refuse(request, response, refusal, source && name);
    const bytesMax = source?.bodyBytesMax ?? 0;
    const read = await readBody(request, { bytesMax, timeoutMs, budget });
    if (!read.ok) return refuse(request, response, doorRefusal(read.code), name);
    const { socket } = request;
    answering.set(socket, (answering.get(socket) ?? 0) + 1);
    try {
      const received = await receiver.receive(toReceiveRequest(request, name, read.body));
      failpoint("ingress.before_answer");
      writeAnswer(response, received, { close: closing || receiver.closing });
    } finally {
      answering.set(socket, (answering.get(socket) ?? 1) - 1);
      budget.release(read.body.length);
    }
  }

  function refuse(
    request: IncomingMessage,
    response: ServerResponse,
    refusal: Received,
    source?: string,
  ): void {
    const { outcome, code } = refusal;
    receiver.notify({ kind: "answered", source, outcome, code, durationMs: 0 });
    answerUnread(request, response, refusal, { close: endsConnection(refusal) });
  }

  async function close(): Promise<void> {
    closing = true;
    while (underWay.size > 0) await Promise.all(underWay);
  }

  return {
    handle,
    refuse,
    get bytesInFlight() {
      return budget.taken;
    },
    isAnswering: (socket) => (answering.get(socket) ?? 0) > 0,
    close,
  };
}
