// Node 20 runs no TypeScript by itself.
import { createJiti } from "jiti";

await createJiti(import.meta.url).import("./main.ts");
