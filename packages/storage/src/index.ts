export { ledgerConnections } from "./ledger-connections.ts";
export { createStorage, type Storage, type StorageOptions } from "./storage.ts";
