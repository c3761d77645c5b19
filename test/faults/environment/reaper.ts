/** Ends, when this process exits however it does, what has not been ended before. */
export interface Reaper {
  watch(pid: number | undefined): void;
  forget(pid: number | undefined): void;
}

export function createReaper(): Reaper {
  const pids = new Set<number>();
  process.on("exit", () => {
    for (const pid of pids) endNow(pid);
  });
  // A signal without a listener would end this process without its exit event.
  if (process.listenerCount("SIGTERM") === 0) process.once("SIGTERM", () => process.exit(143));
  return {
    watch: (pid) => pid !== undefined && pids.add(pid),
    forget: (pid) => pid !== undefined && pids.delete(pid),
  };
}

function endNow(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It is gone.
  }
}
