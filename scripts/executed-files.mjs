// `node scripts/executed-files.mjs`: lists the product files that run for one delivery and for one attempt (--help).
import { runTool } from "./run-tool.mjs";

await runTool("test/executed-files/main.mjs", { NODE_ENV: "production" });
