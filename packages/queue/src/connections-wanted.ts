/** What a process does with its queues; it decides how many connections it needs. */
export type QueueRole = "ingress" | "worker" | "dashboard" | "cli";

const POOL: Record<QueueRole, number> = { ingress: 4, worker: 10, dashboard: 4, cli: 2 };

/**
 * Connections that a process' queues take of Postgres' `max_connections`, at the most. The workers of
 * all sources share one connection for LISTEN, so the number of sources does not count.
 */
export function connectionsWanted(role: QueueRole): number {
  return POOL[role] + (role === "worker" ? 1 : 0);
}
