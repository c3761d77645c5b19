import type { ErrorCode, MillraceError } from "@millrace/core";

const PASSING: ReadonlySet<ErrorCode> = new Set([
  "database_unreachable",
  "database_unavailable",
  "redis_unreachable",
  "port_in_use",
  "shutting_down",
]);

/** Whether a process that died of this may well live when it is started again. */
export function isPassing(error: MillraceError): boolean {
  return PASSING.has(error.code);
}
