import { createConnection } from "node:net";
import { readResponses } from "./responses.ts";

export interface Reply {
  readonly status: number;
  readonly code: string | undefined;
  readonly text: string;
}

const ANSWER_TIMEOUT_MS = 20_000;

/**
 * Sends bytes over a connection of their own and gives the first final answer.
 * @throws when the connection ends or breaks without one.
 */
export function exchange(port: number, bytes: Uint8Array): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const socket = createConnection({ port, host: "127.0.0.1", allowHalfOpen: true });
    let text = "";
    const fail = (why: string) => {
      socket.destroy();
      reject(new Error(`Cannot get an answer: ${why}, after ${JSON.stringify(text)}`));
    };
    socket.setTimeout(ANSWER_TIMEOUT_MS, () => fail("none came in time"));
    socket.on("error", (error) => fail(error.message));
    socket.on("end", () => fail("the connection ended"));
    socket.on("data", (chunk: Buffer) => {
      text += chunk.toString("latin1");
      const [answer] = readResponses(text);
      if (answer === undefined) return;
      socket.removeAllListeners("end").destroy();
      const code = /"(?:code|status)":"(\w+)"/.exec(answer.body)?.[1];
      resolve({ status: answer.status, code, text });
    });
    socket.write(bytes);
  });
}
