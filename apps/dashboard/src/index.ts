export { createDashboard } from "./create-dashboard.ts";
export type { DashboardOptions } from "./dashboard-options.ts";
export { createQueueBoard } from "./board/queue-board.ts";
export type { Credentials } from "./security/credentials.ts";
export { main } from "./main.ts";
