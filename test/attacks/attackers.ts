import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

const PROCESS = fileURLToPath(new URL("attackers-process.mjs", import.meta.url));

export interface Attack {
  /**
   * `hold-back`: all of a body but its last byte; `cut-up`: a body without end in chunks of one byte; `silent`: nothing;
   * `half-head`: a request that is answered, and half a head behind it.
   */
  readonly kind: "hold-back" | "cut-up" | "silent" | "half-head";
  readonly source?: string;
  readonly connections: number;
  readonly spreadMs?: number;
  readonly bytes?: number;
  readonly pauseMs?: number;
}

export function startAttackers(port: number, attack: Attack) {
  const { kind, source, connections, bytes = 0, spreadMs = 0, pauseMs = 0 } = attack;
  const framing = kind === "cut-up" ? "transfer-encoding: chunked" : `content-length: ${bytes}`;
  const plan = [port, connections, spreadMs, pauseMs, kind, headOf(framing, source), bytes];
  const child = fork(PROCESS, [JSON.stringify(plan)]);
  const statuses = new Set<number>();
  let ended = 0;
  child.on("message", (status: number | null) => {
    ended += 1;
    if (status !== null) statuses.add(status);
  });
  onTestFinished(async () => {
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
  });
  return { ended: () => ended, statuses };
}

export function headOf(framing: string, source = "github"): string {
  const lines = [
    `POST /webhooks/${source} HTTP/1.1`,
    "host: localhost",
    `x-hub-signature-256: sha256=${"0".repeat(64)}`,
    "x-github-delivery: held",
    "x-github-event: push",
    framing,
  ];
  return `${lines.join("\r\n")}\r\n\r\n`;
}
