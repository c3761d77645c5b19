#!/usr/bin/env node
// Plain Node: it loads the bundle, which `npm run build` writes.
import { main } from "../../../packages/millrace/bundle/main.js";

await main();
