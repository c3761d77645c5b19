import type { StopSignal } from "@millrace/core";

export class HandlerTimer {
  isOver = false;
  readonly #stop: StopSignal;
  readonly #timer: NodeJS.Timeout;
  #giveUp: ((reason: unknown) => void) | undefined;
  readonly #onStop = () => this.#expire(this.#stop.reason);

  constructor({ stop, patienceMs }: { readonly stop: StopSignal; readonly patienceMs: number }) {
    this.#stop = stop;
    const late = () => this.#expire(new Error(`it ran longer than ${patienceMs} ms`));
    this.#timer = setTimeout(late, patienceMs);
    stop.addEventListener("abort", this.#onStop);
  }

  wait<T>(work: Promise<T>): Promise<T> {
    this.isOver = false;
    this.#timer.refresh();
    return new Promise((resolve, reject) => {
      this.#giveUp = reject;
      work.then(resolve, reject);
    });
  }

  end(): void {
    this.#giveUp = undefined;
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#stop.removeEventListener("abort", this.#onStop);
  }

  #expire(reason: unknown): void {
    if (this.#giveUp === undefined) return;
    this.isOver = true;
    this.#giveUp(reason);
  }
}
