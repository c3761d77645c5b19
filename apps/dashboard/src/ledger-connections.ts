/** Connections that the ledger's pool of a dashboard takes at the most. */
export const ledgerConnections = 4;
