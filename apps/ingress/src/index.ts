export { createIngress, type Ingress } from "./create-ingress.ts";
export { main } from "./main.ts";
export { collectMetrics } from "./shared-metrics.ts";
