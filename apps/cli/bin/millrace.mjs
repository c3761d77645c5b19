#!/usr/bin/env node
// Plain Node: it loads the built files.
import { main } from "../dist/main.js";

await main();
