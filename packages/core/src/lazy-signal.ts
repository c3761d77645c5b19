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
  // No Set: a signal that lives as long as its process would keep the listeners of all groups from being collected, as
  // `Deadlines` says of a Map. No AbortSignal either: what is removed from it still refers to what came next.
  private listeners: (() => void)[] = [];

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
    const { listeners } = this;
    this.listeners = [];
    for (const listener of listeners) listener();
  }

  addEventListener(_type: "abort", listener: () => void): void {
    if (!this.aborted) this.listeners.push(listener);
  }

  removeEventListener(_type: "abort", listener: () => void): void {
    const index = this.listeners.indexOf(listener);
    if (index !== -1) this.listeners.splice(index, 1);
  }
}
