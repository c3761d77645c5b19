// `npm run bench`: installs what is missing, builds what has changed, then measures.
import { runTool } from "./run-tool.mjs";

await runTool("test/bench/run.mjs", { NODE_ENV: "production" });
