import type { Logger } from "./logger.ts";
import { reasonOf } from "./trouble-log.ts";

/**
 * Keeps the process alive when a user's handler leaves a promise behind that rejects later, as one
 * that writes through its transaction after it was closed does. It is logged, and harms nobody.
 */
export function surviveStrayRejections(logger: Logger): void {
  process.on("unhandledRejection", (reason) => {
    logger.error({ reason: reasonOf(reason) }, "nobody heard a rejection");
  });
}
