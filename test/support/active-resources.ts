import { ChildProcess } from "node:child_process";
import { Server, Socket } from "node:net";

export type ActiveResources = ReturnType<typeof activeResources>;

export function activeResources() {
  const counts = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo()) {
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return { counts, handles: new Set(activeHandles()) };
}

/**
 * What is active now and was not `before`, for a person: `1 Timeout, 1 TCPServerWrap (server on port 80)`.
 * Empty when there is nothing.
 */
export function addedSince(before: ActiveResources): string {
  const now = activeResources();
  const added = [...now.counts]
    .map(([kind, count]) => ({ kind, count: count - (before.counts.get(kind) ?? 0) }))
    .filter(({ count }) => count > 0);
  if (added.length === 0) return "";
  const kinds = added.map(({ kind, count }) => `${count} ${kind}`).join(", ");
  const handles = [...now.handles]
    .filter((handle) => !before.handles.has(handle))
    .flatMap((handle) => describeHandle(handle) ?? []);
  return handles.length === 0 ? kinds : `${kinds} (${handles.join(", ")})`;
}

/**
 * Waits until nothing is active that was not active `before`: what a test has closed may still be closing.
 * @throws after `withinMs` (5 s), with what is still active.
 */
export async function untilReleased(
  before: ActiveResources,
  { withinMs = 5_000 }: { withinMs?: number } = {},
): Promise<void> {
  const deadlineMs = performance.now() + withinMs;
  let left = addedSince(before);
  while (left !== "") {
    if (performance.now() > deadlineMs) throw new Error(`Cannot end the file: it leaves ${left}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
    left = addedSince(before);
  }
}

function activeHandles(): readonly unknown[] {
  const list: unknown = Reflect.get(process, "_getActiveHandles");
  const handles: unknown = typeof list === "function" ? list.call(process) : [];
  return Array.isArray(handles) ? handles : [];
}

function describeHandle(handle: unknown): string | undefined {
  if (handle instanceof ChildProcess) return `child ${handle.spawnfile} with pid ${handle.pid}`;
  if (handle instanceof Server) return `server on ${addressOf(handle)}`;
  if (handle instanceof Socket && handle.localPort !== undefined) {
    return `socket from port ${handle.localPort} to ${peerOf(handle)}`;
  }
  return undefined;
}

function peerOf(socket: Socket): string {
  if (socket.remotePort !== undefined) return `port ${socket.remotePort}`;
  return `nobody (${socket.isPaused() ? "paused" : socket.readyState})`;
}

function addressOf(server: Server): string {
  const address = server.address();
  if (typeof address === "string") return address;
  return address === null ? "no address" : `port ${address.port}`;
}
