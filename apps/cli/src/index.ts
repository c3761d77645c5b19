export type { CliContext, Output } from "./context.ts";
export { runCli, type CommandFailure } from "./program.ts";
