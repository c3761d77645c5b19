import type { Logger } from "./logger.ts";

/**
 * Ends the process well: the first SIGTERM or SIGINT calls `close` and exits 0 when it is done, a
 * second one exits at once. `close` bounds its own time; should it fail, the process exits 1.
 */
export function onTermination(logger: Logger, close: () => Promise<void>): void {
  let closing = false;
  const handle = (signal: NodeJS.Signals) => {
    if (closing) {
      logger.warn({ signal }, "second signal: exiting at once");
      process.exit(130);
    }
    closing = true;
    logger.info({ signal }, "closing");
    close().then(
      () => process.exit(0),
      (error: unknown) => {
        logger.error({ err: error }, "could not close");
        process.exit(1);
      },
    );
  };
  process.on("SIGTERM", handle);
  process.on("SIGINT", handle);
}
