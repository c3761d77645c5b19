import { MillraceError } from "@millrace/core";
import { retryUntilAvailable } from "@millrace/service";

/** A store that may not be there yet. */
export interface PatientStore<Store> {
  /** The store, once it is open. */
  readonly store: Store | undefined;
  /**
   * The store.
   * @throws `unavailable` until it is open.
   */
  there(): Store;
  /** Begins to open it. Once. */
  open(): Opening;
  close(): Promise<void>;
}

export interface Opening {
  /** Resolves after the first try, whether the server was there or is away. Rejects as `opened`. */
  readonly tried: Promise<unknown>;
  /** Resolves when it is open, or closed before it was; rejects when no wait mends it. */
  readonly opened: Promise<unknown>;
}

/**
 * Opens a store, again and again while its server is away. The ingress listens meanwhile, so that
 * events go to the other place, or senders are told 503 and come back.
 */
export function createPatientStore<Store extends { close(): Promise<void> }>(
  open: () => Promise<Store>,
  options: { name: string; onAway: (error: unknown) => void },
): PatientStore<Store> {
  const closing = new AbortController();
  let store: Store | undefined;
  let opened: Promise<void> | undefined;

  async function openPatiently(onTried: () => void): Promise<void> {
    const onAway = (error: unknown) => {
      options.onAway(error);
      onTried();
    };
    try {
      store = await retryUntilAvailable(open, { signal: closing.signal, onAway });
    } catch (error) {
      if (!closing.signal.aborted) throw error;
    }
  }

  return {
    get store() {
      return store;
    },
    there: () => {
      if (store !== undefined) return store;
      throw new MillraceError("unavailable", `Cannot reach the ${options.name}: not connected yet`);
    },
    open: () => {
      let onTried = () => {};
      const firstTry = new Promise<void>((resolve) => (onTried = resolve));
      const opening = openPatiently(onTried);
      opened = opening;
      // Heard by the caller; it may be no unhandled rejection before the caller listens.
      opening.catch(() => {});
      return { tried: Promise.race([firstTry, opening]), opened: opening };
    },
    close: async () => {
      closing.abort();
      await opened?.catch(() => {});
      await store?.close();
    },
  };
}
