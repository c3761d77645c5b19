import type { Socket } from "node:net";
import { LinkedList, type Linked } from "@millrace/core";

interface Open extends Linked<Open> {
  readonly socket: Socket;
}

/** The most connections with a response in progress that are passed over. */
const ANSWERING_MAX = 64;

export class OpenConnections {
  count = 0;
  readonly #open = new LinkedList<Open>();

  add(socket: Socket): void {
    const open: Open = { socket, before: undefined, after: undefined };
    this.#append(open);
    socket.once("close", () => this.#remove(open));
  }

  /** A connection that is passed over counts as new. When many were, the newest is ended. */
  endOldest(isAnswering: (socket: Socket) => boolean): void {
    const newest = this.#open.last;
    for (let looks = 0; looks < ANSWERING_MAX; looks += 1) {
      const oldest = this.#open.first;
      if (oldest === undefined || oldest === newest) break;
      this.#remove(oldest);
      if (!isAnswering(oldest.socket)) return void oldest.socket.destroy();
      this.#append(oldest);
    }
    if (newest === undefined) return;
    this.#remove(newest);
    newest.socket.destroy();
  }

  /** `closeIdleConnections` of Node 26 also ends connections that have not had a first request. */
  endIdle(): void {
    for (let open = this.#open.first; open !== undefined; open = open.after) {
      const { socket } = open;
      // Node's own mark of a request that has come and has no response yet.
      const hasRequest = "_httpMessage" in socket && socket._httpMessage !== null;
      if (socket.bytesWritten > 0 && !hasRequest) socket.destroy();
    }
  }

  #append(open: Open): void {
    this.count += 1;
    this.#open.append(open);
  }

  #remove(open: Open): void {
    if (!this.#open.has(open)) return;
    this.#open.remove(open);
    this.count -= 1;
  }
}
