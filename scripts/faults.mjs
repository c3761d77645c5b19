// `npm run faults`: installs what is missing, builds what has changed, then breaks things (--help).
import { runTool } from "./run-tool.mjs";

await runTool("test/faults/main.mjs");
