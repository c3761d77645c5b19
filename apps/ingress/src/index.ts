export { createIngress, type Ingress, type IngressDeps } from "./create-ingress.ts";
export { main } from "./main.ts";
export { collectMetrics } from "./shared-metrics.ts";
