import cluster from "node:cluster";
import type { Logger } from "./logger.ts";

/**
 * Shuts down gracefully: the first SIGTERM or SIGINT calls `close`, which limits its own time, and
 * exits with 0, or with 1 when it fails. A second signal exits at once, except in a process of a
 * cluster, which gets Ctrl-C from the terminal and from its parent.
 */
export function onTermination(logger: Logger, close: () => Promise<void>): void {
  let closing = false;
  const handle = (signal: NodeJS.Signals) => {
    if (closing && cluster.isWorker) return;
    if (closing) {
      logger.warn({ signal }, "second signal: exiting at once");
      process.exit(130);
    }
    closing = true;
    logger.info({ signal }, "shutting down");
    close().then(
      () => process.exit(0),
      (error: unknown) => {
        logger.error({ err: error }, "shutdown failed");
        process.exit(1);
      },
    );
  };
  process.on("SIGTERM", handle);
  process.on("SIGINT", handle);
}

/** Sends the port of a role to the parent process (`millrace start`); does nothing without one. */
export function notifyParent(message: { kind: "listening"; role: string; port: number }): void {
  process.send?.(message);
}
