/** What is asked of an AbortSignal here. A `LazySignal` answers it too, for much less. */
export interface StopSignal {
  readonly aborted: boolean;
  readonly reason: unknown;
  addEventListener(type: "abort", listener: () => void): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

/** A signal whose AbortSignal is made when a handler asks for it: most never do. */
export class LazySignal implements StopSignal {
  private controller: AbortController | undefined;
  private abortedFor: { readonly reason: unknown } | undefined;
  // A set, because an AbortSignal finds a listener that is removed by looking at all of them.
  private readonly listeners = new Set<() => void>();

  get signal(): AbortSignal {
    this.controller ??= new AbortController();
    if (this.abortedFor !== undefined) this.controller.abort(this.abortedFor.reason);
    return this.controller.signal;
  }

  get aborted(): boolean {
    return this.abortedFor !== undefined;
  }

  get reason(): unknown {
    return this.abortedFor?.reason;
  }

  /** Aborts, unless it has before. */
  abort(reason: unknown): void {
    if (this.abortedFor !== undefined) return;
    this.abortedFor = { reason };
    this.controller?.abort(reason);
    for (const listener of this.listeners) listener();
    this.listeners.clear();
  }

  addEventListener(_type: "abort", listener: () => void): void {
    if (!this.aborted) this.listeners.add(listener);
  }

  removeEventListener(_type: "abort", listener: () => void): void {
    this.listeners.delete(listener);
  }
}
