export { createWorker, type Worker } from "./start-worker.ts";
export { main } from "./main.ts";
export { createWorkerRole } from "./worker-role.ts";
