import cluster from "node:cluster";
import { createLogger, notifyParent } from "@millrace/service";
import { type CliContext, loadProject } from "../context.ts";
import { onStopRequest } from "../stop-request.ts";
import { createSupervisor } from "./supervisor.ts";

/** For what an ingress does after `ingress.shutdownTimeoutMs`, before it is killed. */
const GRACE_MS = 5_000;

/** Runs several ingress processes on one port; this process accepts and distributes. */
export async function runProcesses(context: CliContext, count: number): Promise<void> {
  const { config, environment } = await loadProject(context);
  const logger = createLogger({ role: "ingress", level: environment.LOG_LEVEL });
  const { collectMetrics } = await import("@millrace/ingress");
  collectMetrics();
  const supervisor = createSupervisor({
    onListening: ({ name, pid }) =>
      logger.info({ process: name, processId: pid }, "a process listens"),
    onRestart: (name, reason, waitMs) => {
      logger.error({ process: name, reason, waitMs }, "a process ended and is being restarted");
    },
  });
  const launch = async () => cluster.fork().process;
  const stop = onStopRequest(context, () => {
    supervisor.kill();
    context.exit(130);
  });
  const unlessGivenUp = async (reached: Promise<void>): Promise<void> => {
    const error = await Promise.race([reached, supervisor.givenUp(), stop.requested]);
    if (error !== undefined) throw error;
  };
  try {
    // By itself, so that what keeps all of them from starting is said once.
    supervisor.add("ingress-1", launch);
    await unlessGivenUp(supervisor.listening());
    for (let number = 2; number <= count; number += 1) supervisor.add(`ingress-${number}`, launch);
    await unlessGivenUp(supervisor.listening());
    const [{ port } = { port: 0 }] = supervisor.processes();
    notifyParent({ kind: "listening", role: "ingress", port });
    await unlessGivenUp(stop.requested);
  } finally {
    await supervisor.stop(config.ingress.shutdownTimeoutMs + GRACE_MS);
    stop.dispose();
  }
}
