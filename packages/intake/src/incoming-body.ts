import { Deadlines, type Deadline } from "@millrace/core";
import { poolFor, type BodyBeingRead, type BodyPool, type SourceBytes } from "./byte-budget.ts";
import type { AdmissionReason } from "./notice.ts";
import { earlyRejection, type Received } from "./received.ts";

export type BodyRead = BodyHeld | BodyRefused;

/** A whole body. Its bytes stay taken until the caller releases them: `pool.release(bytes)`. */
export interface BodyHeld {
  readonly ok: true;
  readonly body: Buffer;
  readonly pool: BodyPool;
  readonly bytes: number;
}

export interface BodyRefused {
  readonly ok: false;
  readonly rejection: Received;
  readonly reason: AdmissionReason | undefined;
}

export type BodyProblem = Parameters<typeof earlyRejection>[0];

export function refused(code: BodyProblem, reason?: AdmissionReason): BodyRefused {
  return { ok: false, rejection: earlyRejection(code), reason };
}

const CHUNKS_FREE = 256;
const CHUNK_BYTES_MIN = 32;

/** The smallest buffer for what comes in pieces: what a few bytes take in any case. */
const BUFFER_BYTES_MIN = 256;

export interface IncomingBodyOptions {
  readonly bytesMax: number;
  readonly bytes: SourceBytes;
  readonly clock: BodyClock;
  readonly length: number | undefined;
}

/**
 * Its pieces go into one buffer that doubles up to the announced length. Bytes are charged as they
 * arrive: a sender that announces much and sends nothing takes no capacity.
 */
export class IncomingBody implements BodyBeingRead {
  readonly startedMs = performance.now();
  before: BodyBeingRead | undefined = undefined;
  after: BodyBeingRead | undefined = undefined;
  size = 0;
  readonly #options: IncomingBodyOptions;
  readonly #onOver: (read: BodyRead) => void;
  readonly #ticket: ClockTicket;
  #pool: BodyPool;
  #taken = 0;
  #buffer: Uint8Array | undefined;
  #chunks = 0;
  #isOver = false;

  constructor(options: IncomingBodyOptions, onOver: (read: BodyRead) => void) {
    this.#options = options;
    this.#onOver = onOver;
    this.#pool = poolFor(options.bytes, options.length ?? 0);
    this.#ticket = options.clock.begin(this);
  }

  /** True after it came whole or was refused. Later bytes are dropped. */
  get isOver(): boolean {
    return this.#isOver;
  }

  add(chunk: Uint8Array): void {
    if (this.#isOver) return;
    const size = this.size + chunk.length;
    this.#chunks += 1;
    if (size > this.#options.bytesMax) return this.refuse("body_too_large");
    if (this.#chunks > CHUNKS_FREE + size / CHUNK_BYTES_MIN) return this.refuse("too_many_chunks");
    if (this.#buffer === undefined) {
      if (!this.#takeUpTo(size)) return;
      this.#buffer = chunk;
    } else {
      if (size > this.#buffer.length && !this.#grow(this.#buffer, size)) return;
      this.#buffer.set(chunk, this.size);
    }
    this.size = size;
  }

  end(): void {
    if (this.#isOver) return;
    this.#leave();
    const buffer = asBuffer(this.#buffer);
    const body = buffer.length === this.size ? buffer : buffer.subarray(0, this.size);
    this.#onOver({ ok: true, body, pool: this.#pool, bytes: this.#taken });
  }

  refuse(code: BodyProblem, reason?: AdmissionReason): void {
    if (this.#isOver) return;
    this.#leave();
    this.#pool.release(this.#taken);
    this.#buffer = undefined;
    this.#onOver(refused(code, reason));
  }

  evict(): void {
    this.refuse("overloaded", "gave_way");
  }

  #leave(): void {
    this.#isOver = true;
    this.#pool.leave(this);
    this.#options.clock.end(this.#ticket);
  }

  #grow(from: Uint8Array, size: number): boolean {
    const { length, bytesMax } = this.#options;
    const atMost = length !== undefined && length >= size ? length : bytesMax;
    const capacity = Math.min(Math.max(2 * size, BUFFER_BYTES_MIN), atMost);
    if (!this.#takeUpTo(capacity)) return false;
    const buffer = Buffer.allocUnsafeSlow(capacity);
    buffer.set(from.subarray(0, this.size));
    this.#buffer = buffer;
    return true;
  }

  #takeUpTo(capacity: number): boolean {
    const { bytes, length = 0 } = this.#options;
    const pool = poolFor(bytes, Math.max(capacity, length));
    if (pool !== this.#pool) {
      this.#pool.leave(this);
      this.#pool.release(this.#taken);
      this.#taken = 0;
      this.#pool = pool;
    }
    const shortage = pool.take(capacity - this.#taken, this);
    if (shortage !== undefined) {
      this.refuse("overloaded", shortage);
      return false;
    }
    this.#taken = capacity;
    // Not before it has bytes to give back.
    pool.enter(this);
    return true;
  }
}

interface ClockTicket {
  readonly body: IncomingBody;
  readonly whole: Deadline<IncomingBody>;
  window: Deadline<ClockTicket> | undefined;
  isFirst: boolean;
  sizeBefore: number;
}

const WINDOW_MS = 5_000;
/** 4 kB a second: less than any link that servers send webhooks over. */
const WINDOW_BYTES_MIN = 20_000;

export class BodyClock {
  readonly #whole: Deadlines<IncomingBody>;
  readonly #windows = new Deadlines<ClockTicket>(WINDOW_MS, (ticket) => this.#checkPace(ticket));

  constructor(timeoutMs: number) {
    this.#whole = new Deadlines(timeoutMs, (body) => body.refuse("body_timeout"));
  }

  begin(body: IncomingBody): ClockTicket {
    const whole = this.#whole.add(body);
    const ticket: ClockTicket = { body, whole, window: undefined, isFirst: true, sizeBefore: 0 };
    ticket.window = this.#windows.add(ticket);
    return ticket;
  }

  end({ whole, window }: ClockTicket): void {
    this.#whole.delete(whole);
    if (window !== undefined) this.#windows.delete(window);
  }

  #checkPace(ticket: ClockTicket): void {
    const { body, isFirst, sizeBefore } = ticket;
    if (!isFirst && body.size - sizeBefore < WINDOW_BYTES_MIN) {
      return body.refuse("body_timeout", "too_slow");
    }
    ticket.isFirst = false;
    ticket.sizeBefore = body.size;
    ticket.window = this.#windows.add(ticket);
  }
}

function asBuffer(bytes: Uint8Array | undefined): Buffer {
  if (bytes === undefined) return Buffer.alloc(0);
  return Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
