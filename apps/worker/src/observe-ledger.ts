import type { ConnectionReset } from "@millrace/ledger";
import type { ErrorLog } from "@millrace/service";
import { Counter, type Registry } from "prom-client";

const MESSAGES: Readonly<Record<ConnectionReset["reason"], string>> = {
  session:
    "a handler sent SET, LISTEN, PREPARE or the like; each such event costs a new connection",
  uncleaned: "what a handler may have left on it could not be removed",
};

/** Counts connections that are closed because of what a handler did to them, then logs it. */
export function observeLedger({
  registry,
  logError,
  sources,
}: {
  readonly registry: Registry;
  readonly logError: ErrorLog;
  /** The configured sources. */
  readonly sources: readonly string[];
}): (reset: ConnectionReset) => void {
  const resets = new Counter({
    name: "millrace_worker_connections_reset_total",
    help: "Connections to Postgres that were closed because of what a handler did to them, by source and reason (session: it changed the session; uncleaned: what it left could not be removed).",
    labelNames: ["source", "reason"],
    registers: [registry],
  });
  // An alert on what was never counted would be about nothing, and not about 0.
  for (const source of sources) {
    for (const reason of Object.keys(MESSAGES)) resets.inc({ source, reason }, 0);
  }
  return ({ source, reason }) => {
    resets.inc({ source, reason });
    logError(`connection closed: ${source}`, MESSAGES[reason]);
  };
}
