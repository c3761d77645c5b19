/** A signal that is made when a handler asks for it: most never do. */
export class LazySignal {
  private controller: AbortController | undefined;
  private abortedFor: { readonly reason: unknown } | undefined;

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

  abort(reason: unknown): void {
    this.abortedFor ??= { reason };
    this.controller?.abort(reason);
  }
}
