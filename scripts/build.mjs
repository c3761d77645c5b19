import { join } from "node:path";
import { runCommand } from "./run-command.mjs";
import { withLock } from "./with-lock.mjs";

/**
 * Builds every package through turbo, which does only what has changed. Gives false, and says
 * why, when the build fails; ends the process on a signal.
 */
export function build(root) {
  return withLock(join(root, ".millrace", "build-lock"), async () => {
    const slow = setTimeout(() => console.error("Building..."), 1_500);
    const result = await runTurbo(root, [
      "run",
      "build",
      "--output-logs=errors-only",
      "--ui=stream",
    ]);
    clearTimeout(slow);
    if (result.signalled) process.exit(result.code);
    if (result.code !== 0) {
      const turboRuns = (await runTurbo(root, ["--version"])).code === 0;
      if (turboRuns) return failed(result);
      if (!(await buildWithoutTurbo(root, result))) return false;
    }
    // Its own import: esbuild is there once the dependencies are.
    const { bundle } = await import("./bundle.mjs");
    await bundle(root);
    return true;
  });
}

function runTurbo(root, args) {
  // Turbo reads colours, caches and telemetry from the environment; NODE_ENV is for what is built.
  const { NODE_ENV: _, ...environment } = process.env;
  return runCommand(
    process.execPath,
    [join(root, "node_modules", "turbo", "bin", "turbo"), ...args],
    {
      cwd: root,
      capture: true,
      env: {
        ...environment,
        TURBO_TELEMETRY_DISABLED: "1",
        TURBO_NO_UPDATE_NOTIFIER: "1",
        DO_NOT_TRACK: "1",
      },
    },
  );
}

async function buildWithoutTurbo(root, turbo) {
  console.error(
    "WARNING: turbo does not run on this machine; building with tsc -b and vite instead. It said:",
  );
  console.error((turbo.error?.message ?? turbo.output).trim());
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
  const result = await runCommand(process.execPath, [tsc, "-b"], { cwd: root, capture: true });
  if (result.signalled) process.exit(result.code);
  return result.code === 0 ? await buildPage(root) : failed(result);
}

/** The files for the browser, which tsc does not build. */
async function buildPage(root) {
  const vite = join(root, "node_modules", "vite", "bin", "vite.js");
  const cwd = join(root, "apps", "ledger-page");
  const result = await runCommand(process.execPath, [vite, "build"], { cwd, capture: true });
  if (result.signalled) process.exit(result.code);
  return result.code === 0 || failed(result);
}

function failed(result) {
  process.stderr.write(result.output);
  console.error("Cannot build: see above");
  return false;
}
