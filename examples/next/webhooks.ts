import { openReceiver, type Receiver } from "millrace";
import config from "./millrace.config.ts";

// Next.js loads this module anew with every change while you develop; the connections stay.
const kept = globalThis as { millraceReceiver?: Promise<Receiver> | undefined };

/** The receiver, opened with the first request: a build has no stores to connect to. */
export async function receiver(): Promise<Receiver> {
  kept.millraceReceiver ??= openReceiver(config, process.env);
  try {
    return await kept.millraceReceiver;
  } catch (error) {
    // The next request tries again.
    kept.millraceReceiver = undefined;
    throw error;
  }
}

/** Disconnects, where a process is told before it ends. */
export async function closeReceiver(): Promise<void> {
  await (await kept.millraceReceiver)?.close();
  kept.millraceReceiver = undefined;
}
