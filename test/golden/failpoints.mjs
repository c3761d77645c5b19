// Loaded into a role before anything else: prints each failpoint that it reaches.
import { writeSync } from "node:fs";

globalThis[Symbol.for("millrace.failpoint")] = (name) => writeSync(1, `FAILPOINT ${name}\n`);
