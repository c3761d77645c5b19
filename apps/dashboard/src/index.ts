export { createDashboard, type DashboardOptions } from "./create-dashboard.ts";
export { createQueueBoard } from "./board/queue-board.ts";
export type { Credentials } from "./security/credentials.ts";
export { main } from "./main.ts";
