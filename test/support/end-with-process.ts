import { spawn } from "node:child_process";
import { Socket } from "node:net";

const SCRIPT = 'read -r _; kill -9 "$1"; rm -rf "$2"';

/**
 * Ends a server, and removes its folder, when this process ends without having done so, also by SIGKILL.
 * @returns what to call once the server has ended otherwise: its pid may be another process' from then on.
 */
export function endWithThisProcess(pid: number, folder: string): () => void {
  const shell = spawn("sh", ["-c", SCRIPT, "sh", String(pid), folder], {
    // Ctrl-C in a terminal passes it by.
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  const pipe = shell.stdin;
  shell.unref();
  if (pipe instanceof Socket) pipe.unref();
  return () => {
    shell.kill("SIGKILL");
    pipe.destroy();
  };
}
