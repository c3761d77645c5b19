import { spawn } from "node:child_process";
import { constants } from "node:os";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"];
// A terminal sends Ctrl-C to every process in front, and npm sends it on to its child once more.
const ONE_PRESS_MS = 400;

/**
 * Runs a command to its end. A signal that comes meanwhile is passed on, once a press.
 * Options are those of `spawn`; `capture` collects stdout and stderr in `output`.
 *
 * `code` is 128 + the signal's number when a signal ended the command, `signalled` is true when one
 * was passed on, `error` is the reason why the command could not run.
 *
 * @param {string} command
 * @param {string[]} args
 * @param {import("node:child_process").SpawnOptions & { capture?: boolean }} [options]
 * @returns {Promise<{ code: number, signalled: boolean, output: string, error?: any }>}
 */
export function runCommand(command, args, options = {}) {
  const { capture = false, ...rest } = options;
  return new Promise((resolve) => {
    /** @type {import("node:child_process").StdioOptions} */
    const stdio = capture ? ["ignore", "pipe", "pipe"] : (rest.stdio ?? "inherit");
    const child = spawn(command, args, { ...rest, stdio });
    const forwarding = forwardSignals(child);
    let output = "";
    const collect = (data) => (output += data.toString());
    if (capture) {
      child.stdout?.on("data", collect);
      child.stderr?.on("data", collect);
    }
    const finish = (code, error) => {
      forwarding.stop();
      resolve({ code, signalled: forwarding.signalled(), output, error });
    };
    child.once("error", (error) => finish(127, error));
    child.once("close", (code, signal) => {
      finish(code ?? 128 + (constants.signals[signal] ?? 0));
    });
  });
}

function forwardSignals(child) {
  const last = new Map();
  const forward = (signal) => {
    const now = Date.now();
    if (now - (last.get(signal) ?? 0) < ONE_PRESS_MS) return;
    last.set(signal, now);
    child.kill(signal);
  };
  for (const signal of SIGNALS) process.on(signal, forward);
  return {
    signalled: () => last.size > 0,
    stop: () => {
      for (const signal of SIGNALS) process.off(signal, forward);
    },
  };
}
