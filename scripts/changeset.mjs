// `npm run changeset`: asks what a change means to users, and writes it into .changeset.
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { runChangeset } from "./run-changeset.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
process.exit((await runChangeset(root, process.argv.slice(2))).code);
