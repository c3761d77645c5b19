import type { Socket } from "node:net";

interface Open {
  readonly socket: Socket;
  before: Open | undefined;
  after: Open | undefined;
}

/** The most connections with a response in progress that are passed over. */
const ANSWERING_MAX = 64;

export class OpenConnections {
  count = 0;
  #first: Open | undefined;
  #last: Open | undefined;

  add(socket: Socket): void {
    const open: Open = { socket, before: undefined, after: undefined };
    this.#append(open);
    socket.once("close", () => this.#remove(open));
  }

  /** A connection that is passed over counts as new. When many were, the newest is ended. */
  endOldest(isAnswering: (socket: Socket) => boolean): void {
    const newest = this.#last;
    for (let looks = 0; looks < ANSWERING_MAX; looks += 1) {
      const oldest = this.#first;
      if (oldest === undefined || oldest === newest) break;
      this.#remove(oldest);
      if (!isAnswering(oldest.socket)) return void oldest.socket.destroy();
      this.#append(oldest);
    }
    if (newest === undefined) return;
    this.#remove(newest);
    newest.socket.destroy();
  }

  /**
   * Ends those that have had a response and wait for no other. `closeIdleConnections` of Node 26
   * also closes those that have not sent their first request yet.
   */
  endIdle(): void {
    for (let open = this.#first; open !== undefined; open = open.after) {
      const { socket } = open;
      // Node's own mark of a request that has come and has no response yet.
      const hasRequest = "_httpMessage" in socket && socket._httpMessage !== null;
      if (socket.bytesWritten > 0 && !hasRequest) socket.destroy();
    }
  }

  #append(open: Open): void {
    this.count += 1;
    open.before = this.#last;
    if (this.#last === undefined) this.#first = open;
    else this.#last.after = open;
    this.#last = open;
  }

  #remove(open: Open): void {
    const { before, after } = open;
    if (before === undefined) {
      if (this.#first !== open) return;
      this.#first = after;
    } else before.after = after;
    if (after === undefined) this.#last = before;
    else after.before = before;
    open.before = undefined;
    open.after = undefined;
    this.count -= 1;
  }
}
