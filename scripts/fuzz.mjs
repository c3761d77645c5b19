// `npm run fuzz`: installs what is missing, builds what has changed, then sends deliveries that no
// sender should send (--help).
import { runTool } from "./run-tool.mjs";

await runTool("test/fuzz/main.mjs");
