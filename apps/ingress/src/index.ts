export { createIngress, type Ingress, type IngressDeps } from "./create-ingress.ts";
export { ledgerConnections } from "@millrace/storage";
export { main } from "./main.ts";
