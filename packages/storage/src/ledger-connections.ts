/**
 * Connections that the ledger's pool of an ingress takes at the most. Deliveries take one: their calls
 * go one after another. The rest is for a call that came late, two retries of events that were
 * delivered again, the marks of what was enqueued, and checks.
 */
export const ledgerConnections = 4;
