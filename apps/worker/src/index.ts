export { createWorker, type Worker } from "./create-worker.ts";
export { main } from "./main.ts";
export { createWorkerRole } from "./worker-role.ts";
