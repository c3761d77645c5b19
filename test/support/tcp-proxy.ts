import { connect, createServer, type Socket } from "node:net";
import { createLane } from "./lane.ts";

/** A TCP proxy in front of a server, which breaks connections where a test wants it. */
export interface TcpProxy {
  readonly port: number;
  /** The server's URL by way of the proxy. */
  readonly url: string;
  /** How often `cutAfter`, `cutBefore` or `strandAfter` struck. */
  readonly struck: number;
  /** Cuts the next connection that sends this text, once the server has it. No answer comes back. */
  cutAfter(text: string): void;
  /** Cuts the next connection that sends this text, before the server has it. */
  cutBefore(text: string): void;
  /** A black hole: connections stay open and new ones are taken, and nothing passes either way. */
  freeze(): void;
  thaw(): void;
  /** Half-open: what is connected stays so, and nothing passes on it for good. New connections work. */
  strand(): void;
  /** Strands each connection that sends this text, once the server has it; undefined ends that. */
  strandAfter(text: string | undefined): void;
  /** Every byte comes so many milliseconds late, each way; 0 ends it. */
  delay(ms: number): void;
  /** What a Redis sends a replica comes so many milliseconds late; 0 ends it. What is on its way is lost with `cut`. */
  lag(ms: number): void;
  /** Cuts every connection, and every new one, until `admit`. */
  refuse(): void;
  admit(): void;
  /** New connections go to another server; those that are there are cut, unless told otherwise. */
  retarget(serverUrl: string, options?: { cut?: boolean }): void;
  /** Cuts every connection. */
  cut(): void;
  close(): Promise<void>;
}

export async function startTcpProxy(serverUrl: string): Promise<TcpProxy> {
  let target = new URL(serverUrl);
  const pairs = new Set<readonly [Socket, Socket]>();
  const stranded = new Set<readonly [Socket, Socket]>();
  let strandingText: string | undefined;
  let trap: { text: string; forward: boolean } | undefined;
  let struck = 0;
  let frozen = false;
  let refusing = false;
  let delayMs = 0;
  let lagMs = 0;

  const server = createServer((client) => {
    client.on("error", () => client.destroy());
    if (refusing) {
      client.destroy();
      return;
    }
    const upstream = connect(Number(target.port), target.hostname);
    const pair = [client, upstream] as const;
    pairs.add(pair);
    for (const socket of pair) {
      socket.on("error", () => socket.destroy());
      // One of them may stay for long: it waits for its peer to end, or was paused in the moment the other one
      // closed. And neither side of a half-open connection hears that the other one has ended.
      socket.on("close", () => {
        if (pair.every((each) => each.closed)) pairs.delete(pair);
      });
    }
    const passes = (): boolean => !stranded.has(pair);
    let isReplica = false;
    const toClient = createLane(() => (isReplica ? lagMs : delayMs));
    const toServer = createLane(() => delayMs);
    upstream.on("data", (data) => toClient(() => passes() && client.write(data)));
    upstream.on("end", () => toClient(() => passes() && client.end()));
    upstream.on("error", () => passes() && client.destroy());
    client.on("end", () => toServer(() => passes() && upstream.end()));
    client.on("error", () => passes() && upstream.destroy());
    client.on("data", (data) => {
      if (!passes()) return;
      isReplica ||= data.includes("PSYNC");
      if (strandingText !== undefined && data.includes(strandingText)) {
        struck += 1;
        upstream.write(data);
        stranded.add(pair);
        return;
      }
      if (trap === undefined || !data.includes(trap.text)) {
        toServer(() => upstream.write(data));
        return;
      }
      struck += 1;
      client.destroy();
      upstream.removeAllListeners("data").resume();
      if (trap.forward) upstream.end(data);
      else upstream.destroy();
      trap = undefined;
    });
    if (frozen) pair.forEach((socket) => socket.pause());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("Cannot listen");
  const url = new URL(serverUrl);
  url.hostname = "127.0.0.1";
  url.port = String(address.port);
  const cut = () => {
    for (const socket of [...pairs].flat()) socket.destroy();
  };
  return {
    port: address.port,
    url: url.href,
    get struck() {
      return struck;
    },
    cutAfter: (text) => (trap = { text, forward: true }),
    cutBefore: (text) => (trap = { text, forward: false }),
    freeze: () => {
      frozen = true;
      [...pairs].flat().forEach((socket) => socket.pause());
    },
    thaw: () => {
      frozen = false;
      [...pairs].flat().forEach((socket) => socket.resume());
    },
    strand: () => {
      for (const pair of pairs) stranded.add(pair);
    },
    strandAfter: (text) => (strandingText = text),
    delay: (ms) => (delayMs = ms),
    lag: (ms) => (lagMs = ms),
    refuse: () => {
      refusing = true;
      cut();
    },
    admit: () => (refusing = false),
    retarget: (url_, options) => {
      target = new URL(url_);
      if (options?.cut !== false) cut();
    },
    cut,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        cut();
      }),
  };
}
