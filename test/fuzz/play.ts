import { createConnection } from "node:net";
import type { FuzzCase } from "./cases.ts";
import { readResponses } from "../bad-input/responses.ts";

/** What became of a case. */
export interface Played {
  /** All that came back, latin1. */
  readonly received: string;
  /** Whether all its answers came, the server ended the connection, or it was still silent. */
  readonly end: "answered" | "ended" | "silent";
}

/** How long what may be half a request is waited for before our side is closed. */
const QUIET_MS = 60;

/**
 * Sends a case, and waits until its answers are there, the server ends the connection, or `limitMs`
 * have passed since the last byte.
 */
export function play(port: number, fuzzCase: FuzzCase, limitMs: number): Promise<Played> {
  const { segments, pauseMs, answers, resets } = fuzzCase;
  return new Promise((resolve) => {
    const socket = createConnection({
      port,
      host: "127.0.0.1",
      allowHalfOpen: true,
      noDelay: true,
    });
    const timers: NodeJS.Timeout[] = [];
    let received = "";
    const finish = (end: Played["end"]) => {
      for (const timer of timers) clearTimeout(timer);
      socket.removeAllListeners().on("error", () => {});
      // Node cannot reset a socket whose end is on its way: it would keep the handle for good.
      const isEnding = socket.writableEnded && !socket.writableFinished;
      if (resets && !isEnding) socket.resetAndDestroy();
      else socket.destroy();
      resolve({ received, end });
    };
    socket.on("data", (chunk: Buffer) => {
      received += chunk.toString("latin1");
      const { all } = readResponses(received);
      if (all.length === 0 || all.length < answers) return;
      if (answers > 0) finish("answered");
      else socket.end();
    });
    // What a server does not want to read it may cut; the answer counts, if it came.
    for (const event of ["end", "close", "error"]) socket.on(event, () => finish("ended"));

    const sendFrom = (index: number) => {
      const segment = segments[index];
      if (segment !== undefined) {
        socket.write(segment);
        timers.push(setTimeout(() => sendFrom(index + 1), pauseMs));
      } else if (resets) {
        finish("ended");
      } else {
        timers.push(setTimeout(() => finish("silent"), limitMs));
        if (answers === 0) timers.push(setTimeout(() => socket.end(), QUIET_MS));
      }
    };
    socket.once("connect", () => sendFrom(0));
  });
}
