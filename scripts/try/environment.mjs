import { spawnSync } from "node:child_process";

const OURS =
  /^(npm_.*|NODE_ENV|LANG|LANGUAGE|LC_.*|(RETENTION_)?DATABASE_URL|REDIS_URL|HOST|LOG_LEVEL|CI|PG.*|MILLRACE_.*|DASHBOARD_.*|.*_PORT|.*_WEBHOOK_SECRET(_FILE)?)$/;
const NETWORK = ["registry", "cafile", "proxy", "https-proxy"];
let network;

/** Our environment without a locale, without Millrace's and npm's variables, with our network. */
export function cleanEnvironment(root) {
  network ??= networkSettings(root);
  const rest = Object.entries(process.env).filter(([name]) => !OURS.test(name));
  return { ...Object.fromEntries(rest), ...network };
}

// A user without a home has no .npmrc that says which way the registry is.
function networkSettings(root) {
  const settings = {};
  for (const name of NETWORK) {
    const result = spawnSync("npm", ["config", "get", name], { cwd: root, encoding: "utf8" });
    const value = result.stdout.trim();
    if (value !== "" && value !== "null" && value !== "undefined") {
      settings[`npm_config_${name.replaceAll("-", "_")}`] = value;
    }
  }
  return settings;
}
