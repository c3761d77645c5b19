// `npm run fuzz`: installs what is missing, builds what has changed, then sends what no sender should (--help).
import { runTool } from "./run-tool.mjs";

await runTool("test/fuzz/main.mjs");
