export { createDashboard, type Dashboard, type DashboardDeps } from "./create-dashboard.ts";
export type { DashboardOptions } from "./dashboard-options.ts";
export { createQueueBoard, type QueueBoardOptions } from "./board/queue-board.ts";
export type { Account, Credentials, Token } from "./security/credentials.ts";
export { main } from "./main.ts";
