#!/usr/bin/env node
// Plain Node: what it runs was built before.
import { main } from "../dist/main.js";

await main();
