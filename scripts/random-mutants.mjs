// `npm run mutants`: installs what is missing, builds what has changed, then makes random mistakes
// (--help).
import { runTool } from "./run-tool.mjs";

await runTool("test/random-mutants/main.mjs");
