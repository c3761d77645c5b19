export type { CliContext } from "./context.ts";
export { runCli } from "./program.ts";
