import { fork, type ChildProcess } from "node:child_process";

/** Starts `millrace <role>` as a process of its own, whose output is read by us. */
export function launchRole(
  bin: string,
  role: string,
  options: { cwd: string; env: Readonly<Record<string, string | undefined>> },
): ChildProcess {
  return fork(bin, [role], {
    cwd: options.cwd,
    env: { ...options.env },
    execArgv: [],
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    // A group of its own: Ctrl-C in the terminal reaches us alone, and we end it in good order.
    detached: true,
  });
}
