import { createConnection } from "node:net";

/** The first answer that came back over a connection. */
export interface Reply {
  readonly status: number;
  /** The code of an error, or `accepted`, `duplicate`. */
  readonly code: string | undefined;
  /** All that came, head and body. */
  readonly text: string;
}

const ANSWER_TIMEOUT_MS = 20_000;

/**
 * Sends bytes over a connection of their own and gives the first final answer.
 *
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
      const reply = readReply(text);
      if (reply === undefined) return;
      socket.removeAllListeners("end").destroy();
      resolve(reply);
    });
    socket.write(bytes);
  });
}

/** Reads an answer that came whole; undefined for one that did not yet. */
function readReply(text: string): Reply | undefined {
  const final = text.replace(/^HTTP\/1\.1 1\d\d [^]*?\r\n\r\n/, "");
  const end = final.indexOf("\r\n\r\n");
  if (end === -1) return undefined;
  const head = final.slice(0, end);
  const body = final.slice(end + 4);
  const length = /^content-length: (\d+)$/im.exec(head)?.[1];
  if (body.length < Number(length ?? 0)) return undefined;
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? 0);
  return { status, code: /"(?:code|status)":"(\w+)"/.exec(body)?.[1], text };
}
