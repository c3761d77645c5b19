export { createWorker, type Worker, type WorkerDeps } from "./create-worker.ts";
export { main } from "./main.ts";
export { createWorkerRole, type RoleDeps, type WorkerRole } from "./worker-role.ts";
