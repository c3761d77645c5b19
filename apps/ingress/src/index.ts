export { createIngress, type Ingress, type IngressDeps } from "./create-ingress.ts";
export { ledgerConnections } from "./ledger-connections.ts";
export { main } from "./main.ts";
