import { millraceFetch, openReceiver, type FetchHandler, type Receiver } from "millrace";
import config from "./millrace.config.ts";

interface WayIn {
  readonly receiver: Receiver;
  /** One for all requests: it bounds how many bytes are held at once. */
  readonly handle: FetchHandler;
}

// Next.js loads this module anew with every change while you develop; the connections stay.
const kept = globalThis as { millraceWayIn?: Promise<WayIn> | undefined };

/** The way in, opened with the first request: a build has no stores to connect to. */
export async function webhooks(): Promise<FetchHandler> {
  kept.millraceWayIn ??= open();
  try {
    return (await kept.millraceWayIn).handle;
  } catch (error) {
    // The next request tries again.
    kept.millraceWayIn = undefined;
    throw error;
  }
}

/** Disconnects, where a process is told before it ends. */
export async function closeWebhooks(): Promise<void> {
  await (await kept.millraceWayIn)?.receiver.close();
  kept.millraceWayIn = undefined;
}

async function open(): Promise<WayIn> {
  const receiver = await openReceiver(config, process.env);
  return { receiver, handle: millraceFetch(receiver) };
}
