export { createDashboard, type Dashboard, type DashboardDeps } from "./create-dashboard.ts";
export type { DashboardOptions } from "./dashboard-options.ts";
export { createQueueBoard, type QueueBoardOptions } from "./board/queue-board.ts";
export type { Credentials } from "./security/basic-auth.ts";
export { ledgerConnections } from "./ledger-connections.ts";
export { main } from "./main.ts";
