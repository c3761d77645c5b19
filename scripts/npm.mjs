import { accessSync, constants, existsSync } from "node:fs";
import { homedir } from "node:os";
import { basename, join } from "node:path";
import { runCommand } from "./run-command.mjs";

/**
 * Runs npm in this clone, the very npm that runs us where there is one.
 */
export async function runNpm(root, args) {
  const cli = process.env["npm_execpath"];
  const own = cli !== undefined && basename(cli) === "npm-cli.js" && existsSync(cli);
  const [command, first] = own ? [process.execPath, [cli]] : ["npm", []];
  const all = [...first, ...args, ...cacheArguments(root)];
  const result = await runCommand(command, all, { cwd: root, capture: true });
  if (result.error?.code === "ENOENT") {
    console.error(
      "Cannot install: there is no npm on PATH. It comes with Node: https://nodejs.org",
    );
  }
  return result;
}

// npm keeps its cache in the home, which service users and containers may not have.
function cacheArguments(root) {
  if (
    process.env["npm_config_cache"] !== undefined &&
    isWritable(process.env["npm_config_cache"])
  ) {
    return [];
  }
  const home = join(homedir(), ".npm");
  const writable = [join(home, "_cacache"), home, homedir()].find((path) => existsSync(path));
  if (writable !== undefined && isWritable(writable)) return [];
  return ["--cache", join(root, ".millrace", "npm-cache")];
}

function isWritable(path) {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
