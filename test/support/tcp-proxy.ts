import { connect, createServer, type Socket } from "node:net";
import { listenOnLoopback } from "./free-port.ts";

export type TcpProxy = Awaited<ReturnType<typeof startTcpProxy>>;

export async function startTcpProxy(serverUrl: string) {
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
      // One of them may stay for long: paused, half-open, or waiting for its peer to end.
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
  const port = await listenOnLoopback(server);
  const url = new URL(serverUrl);
  url.hostname = "127.0.0.1";
  url.port = String(port);
  const cut = () => {
    for (const socket of [...pairs].flat()) socket.destroy();
  };
  return {
    port,
    url: url.href,
    get struck(): number {
      return struck;
    },
    cutAfter: (text: string) => void (trap = { text, forward: true }),
    cutBefore: (text: string) => void (trap = { text, forward: false }),
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
    strandAfter: (text: string | undefined) => void (strandingText = text),
    delay: (ms: number) => void (delayMs = ms),
    lag: (ms: number) => void (lagMs = ms),
    refuse: () => {
      refusing = true;
      cut();
    },
    admit: () => void (refusing = false),
    retarget: (otherUrl: string, options?: { cut?: boolean }) => {
      target = new URL(otherUrl);
      if (options?.cut !== false) cut();
    },
    cut,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        cut();
      }),
  };
}

function createLane(delayMs: () => number): (pass: () => void) => void {
  const waiting: { readonly atMs: number; readonly pass: () => void }[] = [];
  // One timer, for what is first: of two timers, a process that is late may hear the second first.
  const passDue = () => {
    for (let first = waiting[0]; first !== undefined; first = waiting[0]) {
      const leftMs = first.atMs - performance.now();
      if (leftMs > 0) {
        setTimeout(passDue, Math.ceil(leftMs));
        return;
      }
      waiting.shift();
      first.pass();
    }
  };
  return (pass) => {
    waiting.push({ atMs: performance.now() + delayMs(), pass });
    if (waiting.length === 1) passDue();
  };
}
