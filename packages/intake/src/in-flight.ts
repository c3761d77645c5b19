/** Counts the work that has begun and not ended, so that a close can wait for it. */
export class InFlight {
  #count = 0;
  #onNone: (() => void)[] = [];

  begin(): void {
    this.#count += 1;
  }

  end(): void {
    this.#count -= 1;
    if (this.#count > 0) return;
    for (const resolve of this.#onNone.splice(0)) resolve();
  }

  /** Resolves when all that has begun by then has ended. */
  async none(): Promise<void> {
    while (this.#count > 0) await new Promise<void>((resolve) => this.#onNone.push(resolve));
  }
}
