/**
 * Connect: `openIngress`, `openWorker`, `openDashboard`, and `openCommand` open a role's stores:
 * the ledger on Postgres and the queues on Redis, or on Postgres where there is no `REDIS_URL`.
 * A store is unopened → open → closed. It opens when its server has passed a check: Postgres'
 * version, rights, schema (check-database.ts) and connections (connection-budget.ts); Redis keeps
 * its data. `millrace doctor` reports by the same functions.
 * - Ingress and worker try again while a server is away; a dashboard and a command fail. An error
 * that waiting does not solve rejects `opened` in every role.
 * - An ingress has one store or two, which take events once they are open (ingress-stores.ts).
 * - Errors without a caller go to `StoreWatch`. `close` also ends stores that are being opened.
 */
export {
  horizonFindings,
  requireServer,
  retentionFinding,
  settingFindings,
  type Finding,
} from "./check-database.ts";
export {
  connectionFinding,
  connectionsGiven,
  dashboardConnections,
  ingressConnections,
  readConnectionUse,
  workerConnections,
  workerFinding,
} from "./connection-budget.ts";
export { openIngress } from "./ingress-stores.ts";
export { openLedger, sessionFinding, sessionNeeded } from "./open-ledger.ts";
export {
  openQueues,
  queueKeys,
  warnIfUnsigned,
  type StoreUrls,
  type StoreWatch,
} from "./open-queues.ts";
export { findJobOwner } from "./queue-owner.ts";
export {
  openCommand,
  openDashboard,
  openWorker,
  requireDatabase,
  type Opening,
  type WorkerStores,
} from "./open-stores.ts";
