import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { until } from "../support/until.ts";
import { SECRET } from "./plain-config.ts";

const MAIN = new URL("../../apps/ingress/dist/main.js", import.meta.url).href;
const CONFIG = fileURLToPath(new URL("./fixture/millrace.config.ts", import.meta.url));
const RUN = `
  const { main } = await import(${JSON.stringify(MAIN)});
  await main(process.env).catch((error) => {
    console.error(error.code, error.message);
    process.exit(1);
  });
`;

export const ingressEnvironment = {
  MILLRACE_CONFIG: CONFIG,
  PLAIN_WEBHOOK_SECRET: SECRET,
  HOST: "127.0.0.1",
  INGRESS_PORT: "0",
};

/** An ingress as it was built, in a process of its own. */
export interface IngressProcess {
  /** Waits until it listens, and gives the port. */
  port(): Promise<number>;
  output(): string;
  signal(signal: NodeJS.Signals): void;
  /** Waits for its end, and gives its exit code. */
  exited(): Promise<number | null>;
}

export function launchIngress(env: Readonly<Record<string, string>>): IngressProcess {
  const child = spawn(process.execPath, ["--input-type=module", "-e", RUN], {
    env: {
      PATH: process.env["PATH"],
      ...ingressEnvironment,
      ...env,
    },
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  let output = "";
  let port: number | undefined;
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (chunk: Buffer) => (output += chunk.toString()));
  }
  child.on("message", (message: { kind?: string; role?: string; port?: number }) => {
    if (message.kind === "listening" && message.role === "ingress") port = message.port;
  });
  const hasExited = () => child.exitCode !== null || child.signalCode !== null;
  return {
    port: async () => {
      await until(() => hasExited() || port !== undefined);
      if (port === undefined) throw new Error(`It exited with ${child.exitCode}: ${output}`);
      return port;
    },
    output: () => output,
    signal: (signal) => void child.kill(signal),
    exited: async () => {
      if (!hasExited()) await once(child, "exit");
      return child.exitCode;
    },
  };
}
