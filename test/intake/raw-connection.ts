import { once } from "node:events";
import { createConnection } from "node:net";
import { until } from "../support/until.ts";

export type RawConnection = Awaited<ReturnType<typeof connect>>;

export async function connect(port: number) {
  const socket = createConnection({ port, host: "127.0.0.1", allowHalfOpen: true });
  let text = "";
  let isFinished = false;
  let isClosed = false;
  let broken: Error | undefined;
  socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
  socket.on("end", () => (isFinished = true));
  socket.on("close", () => (isFinished = isClosed = true));
  socket.on("error", (error) => (broken = error));
  await once(socket, "connect");
  const seen = () => [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => Number(match[1]));
  return {
    write: (bytes: string | Uint8Array) => void socket.write(bytes),
    received: () => text,
    statuses: async (count: number) => {
      await until(() => seen().length >= count, { what: `${count} answers` });
      return seen();
    },
    ended: async () => {
      await until(() => isFinished, { what: "the connection end" });
    },
    get isClosed() {
      return isClosed;
    },
    get error() {
      return broken;
    },
    get isFinished() {
      return isFinished;
    },
    end: () => void socket.end(),
    abort: () => void socket.resetAndDestroy(),
  };
}
